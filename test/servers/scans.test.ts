// A scan of a wallet, or of an xpub for its balance, at a server that leaves a little unanswered.
// Answers are cached, another server is asked for the rest, and a scan that cannot end says why.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { descriptorChecksum } from '../../src/bitcoin/descriptor.ts';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { Fault } from '../../src/sandbox/electrum/server-faults.ts';
import type { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const getHistory = 'blockchain.scripthash.get_history';
const key = merchantKey(2);
const hashes = firstAddresses(key, 60).map((address) =>
  scripthash(addressToScript(address, networks.regtest)),
);

const faults: Readonly<Record<string, Fault>> = {
  refused: { kind: 'error', code: 1, message: 'history too large' },
  'never answered': { kind: 'hang' },
};

/** The histories of these addresses, of the second wallet alone. */
function fail(server: SimulatedServer, fault: Fault, indexes: readonly number[]): () => void {
  const failing = new Set<unknown>(indexes.map((index) => hashes[index]));
  const when = (method: string, [first]: readonly unknown[]) =>
    method === getHistory && failing.has(first);
  return server.inject({ ...fault, when });
}

const askedOf = (server: SimulatedServer, index: number): number =>
  server.requests.filter(
    ({ method, params: [first] }) => method === getHistory && first === hashes[index],
  ).length;

const addSecond = (house: TestApp) =>
  house.addStore({ name: 'Second', key, callbackUrl: `${house.receiver.origin}/second` });

async function pass({ world }: TestApp, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) await world.advance(Math.min(left, 1_000));
}

const newAddress = (house: TestApp) => house.ask('/api/new_address?match_callback=/second');

describe.each(Object.entries(faults))('%s', (_, fault) => {
  const many = [2, 3, 4, 5, 6, 7, 8, 9];

  test('P-168 by one of two servers: the scan ends by the other one, and no index is left out', async () => {
    const house = await openReady({ servers: 2 });
    fail(house.inUse(), fault, many);
    await addSecond(house);
    await pass(house, 30_000);
    expect(house.running.health().wallets.scanning).toBe(0);
    const { body } = await newAddress(house);
    expect(body.address).toBe(firstAddresses(key, 1)[0]);
  });

  test('P-168 by the only one: what was answered is not asked again, and the 503 names the trouble', async () => {
    const house = await openReady();
    const end = fail(house.server, fault, many);
    await addSecond(house);
    house.server.clearLog();
    await pass(house, 150_000);
    expect(askedOf(house.server, 0)).toBe(1);
    expect(askedOf(house.server, 15)).toBe(1);
    expect(askedOf(house.server, 4)).toBeGreaterThan(1);
    const { status, body } = await newAddress(house);
    expect(status).toBe(503);
    expect(body.message).toContain(`the last try failed: ${house.labels[0]}: the server`);
    expect(body.message).toContain(getHistory);
    expect(house.running.health().warnings.join('\n')).toMatch(/wait for a scan.*get_history/);
    end();
    await pass(house, 70_000);
    expect((await newAddress(house)).status).toBe(200);
    expect(askedOf(house.server, 0)).toBe(1);
  });
});

describe('the balance of an xpub of which one address is not told', () => {
  const body = `wpkh(${key.account}/0/*)`;
  const addr = encodeURIComponent(`${body}#${descriptorChecksum(body)}`);
  const balanceOf = (house: TestApp) => house.ask(`/api/balance?addr=${addr}`);

  test.each(Object.entries(faults))('P-168 (%s) is told by another server', async (_, fault) => {
    const house = await openReady({ servers: 2, config: { foreignBalances: true } });
    house.pay(firstAddresses(key, 3)[2] ?? '', 5_000);
    await house.settle();
    fail(house.inUse(), fault, [2]);
    let answer = { status: 503, body: {} };
    // A long search goes on after its first response.
    for (let time = 0; answer.status === 503 && time < 3; time += 1) {
      let isAnswered = false;
      const asked = balanceOf(house).finally(() => {
        isAnswered = true;
      });
      for (let second = 0; !isAnswered && second < 60; second += 1) await pass(house, 1_000);
      answer = await asked;
    }
    expect(answer.body).toMatchObject({ response: [{ unconfirmed: 5_000 }] });
  });

  test('by the only server names it, and keeps what was answered', async () => {
    const house = await openReady({ config: { foreignBalances: true } });
    const end = fail(house.server, faults.refused as Fault, [2]);
    const { status, body } = await balanceOf(house);
    expect(status).toBe(503);
    expect(body.message).toContain(`${house.labels[0]} refuses ${getHistory}`);
    end();
    await house.settle();
    expect((await balanceOf(house)).status).toBe(200);
    expect(askedOf(house.server, 0)).toBe(1);
    expect(askedOf(house.server, 2)).toBe(2);
  });
});
