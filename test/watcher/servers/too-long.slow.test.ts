// An address with a history that is longer than any response that is read. It costs each server one
// connection, and the other addresses nothing.

import { afterEach, expect, test } from 'vitest';
import { cleanUp } from '../../support/files.ts';
import type { Lie, Message } from '../../support/liar.ts';
import { prepareLying } from '../../support/lying.ts';

afterEach(cleanUp);

const getHistory = 'blockchain.scripthash.get_history';

/** More than 9 MB of it. */
const items = Array.from({ length: 100_000 }, (_, at) => ({
  tx_hash: at.toString(16).padStart(64, 'a'),
  height: 5,
}));

const idFirst = ({ id }: Message): Message => ({ ...(id !== undefined && { id }), result: items });
const idLast = ({ id }: Message): Message => ({ result: items, ...(id !== undefined && { id }) });

test.each([
  { name: 'that names its request first', servers: 1, tell: idFirst, losses: 1 },
  { name: 'that names its request first', servers: 2, tell: idFirst, losses: 2 },
  // The first time, the other request may have ended the connection.
  { name: 'that names its request last', servers: 2, tell: idLast, losses: 4 },
])('P-154 a history too long, $name, $servers server(s)', async ({ servers, tell, losses }) => {
  const app = await prepareLying({ servers });
  const { world, watcher, liars } = app;
  const lost = () =>
    world.logs.filter(
      ({ message, fields }) =>
        message === 'electrum server lost' && String(fields?.reason).endsWith('9 MB'),
    ).length;
  const asked = () => [...scripts].filter((each) => each === flooded.scripthash).length;
  const scripts: unknown[] = [];
  await app.start();
  await world.until(() => watcher.status().servers.every(({ state }) => state === 'live'), 'all');
  const [flooded, other] = [await app.issue(), await app.issue()];
  const flood: Lie = ({ method, params: [of] }, message) => {
    if (method !== getHistory) return message;
    scripts.push(of);
    return of === flooded.scripthash ? tell(message) : message;
  };
  for (const liar of liars) liar.lie = flood;
  app.chain.pay([flooded, other].map(({ address }) => ({ address, valueSat: 1_000 })));
  for (let count = 1; count <= losses; count += 1) {
    await world.until(() => lost() >= count, `loss ${count}`);
    // At a whole second of the clock.
    await world.advance(5_000 - (world.now() % 1_000));
  }
  await world.until(() => watcher.status().caughtUp, 'a session anew');
  await watcher.idle();
  expect(app.payments(other)).toMatchObject([{ state: 'unconfirmed' }]);

  app.chain.pay([flooded, other].map(({ address }) => ({ address, valueSat: 2_000 })));
  await watcher.idle();
  expect(app.payments(other)).toHaveLength(2);
  await app.minutes(30);
  expect(lost()).toBe(losses);
  expect(asked()).toBe(losses);
  const reason = expect.stringContaining('a history of more than 9 MB');
  expect(watcher.status().failures).toMatchObject([{ scripts: 1, reason }]);
  // A day later the history may fit: at another server, or with longer responses.
  for (const liar of liars) liar.lie = undefined;
  for (let hour = 0; hour < 24; hour += 1) await world.advance(3_600_000);
  await app.minutes(11);
  expect(app.payments(flooded)).toHaveLength(2);
  expect(watcher.status().failures).toEqual([]);
});
