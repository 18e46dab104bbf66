// Public servers that bill requests, and addresses whose long histories change often. The budget of
// each server is spent in a few minutes, and forgiven in an hour.

import { afterEach, expect, test } from 'vitest';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { cleanUp } from '../../support/files.ts';
import { prepareLying } from '../../support/lying.ts';

afterEach(cleanUp);

/** As long as one of 5,000 transactions. */
const padding = 'x'.repeat(500_000);

test.each([
  ['servers that are left in turns', 2, 15],
  ['one that is spent while another has nothing to do', 1, 2],
])('P-143 payments to other addresses do not wait for %s', async (_, count, soonMinutes) => {
  const app = await prepareLying({ own: false, software: 'ElectrumX 1.20.0' });
  const { world, watcher, chain, liars } = app;
  const pass = async (seconds: number) => {
    for (let gone = 0; gone < seconds; gone += 1) {
      await world.advance(1_000);
      for (let turns = 0; turns < 2; turns += 1) await world.turn();
    }
  };
  watcher.start();
  await pass(30);
  await world.until(() => watcher.status().caughtUp, 'the watcher to catch up');
  const pay = (...to: readonly IssuedAddress[]) =>
    chain.pay(to.map(({ address }) => ({ address, valueSat: 7_000 })));
  const long = await Promise.all(Array.from({ length: 3 }, () => app.issue()));
  const others = await Promise.all(Array.from({ length: 10 }, () => app.issue()));
  await pass(10);
  for (const liar of count === 1 ? [app.inUse()] : liars) {
    liar.lie = ({ method, params: [of] }, answer) => {
      const isLong = long.some(({ scripthash }) => scripthash === of);
      return method === 'blockchain.scripthash.get_history' && isLong
        ? { ...answer, padding }
        : answer;
    };
  }
  const lateness: number[] = [];
  const owed = new Map<IssuedAddress, number>();
  for (let minute = 0; minute < 72; minute += 1) {
    const other = minute % 6 === 0 ? others.shift() : undefined;
    if (other !== undefined) {
      pay(other);
      owed.set(other, minute);
    }
    for (let third = 0; third < 3; third += 1) {
      pay(...long);
      await pass(20);
    }
    for (const [each, paidAt] of owed) {
      if (app.payments(each).length === 0) continue;
      lateness.push(minute - paidAt);
      owed.delete(each);
    }
  }
  expect(owed.size).toBe(0);
  expect(Math.max(...lateness)).toBeLessThan(soonMinutes);
});
