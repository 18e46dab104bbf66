// kill -9 at 200 random moments around an acknowledged delivery: nothing is lost, nothing arrives more
// than twice, and what arrives twice has the same id. `npm run test:faults`.

import { sql } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { callbacks } from '../../src/store/db/schema.ts';
import { openOwed } from '../delivery/owed.ts';
import { startChild } from '../support/child.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';

afterEach(cleanUp);

const program = `${import.meta.dirname}/deliver.ts`;
const kills = 200;
const owedAtOnce = 4;
/** How long after an answer the kill may come: longer than it takes to write it down. */
const maxMs = 40;

it(`${kills} kills lose nothing, and double nothing twice`, async () => {
  const shop = await startReceiver();
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  for (const path of ['/one', '/two']) owed.addStore({ callbackUrl: shop.origin + path });
  const count = kills * owedAtOnce;
  for (let payment = 0; payment < count; payment += 1) owed.addPayment(1 + ((payment + 1) % 2));

  for (let kill = 0; kill < kills; kill += 1) {
    // What the life before left behind is delivered first, undisturbed.
    const child = startChild(program, owed.path);
    expect(await child.line()).toBe('idle');
    const from = 1 + kill * owedAtOnce;
    const before = shop.requests.length;
    child.say(`${from} ${from + owedAtOnce}`);
    expect(await child.line()).toBe('owed');
    // The answer goes out in the turn after the request came in.
    await shop.waitFor(before + 1 + (kill % owedAtOnce));
    const waitMs = Math.random() * maxMs;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    child.kill();
    expect(await child.ended).toEqual({ by: 'SIGKILL', errors: '' });
  }
  const last = startChild(program, owed.path);
  expect(await last.line()).toBe('idle');
  last.kill();
  await last.ended;

  const states = owed.outbox.list({ limit: 10_000 });
  expect(states).toHaveLength(count);
  expect(new Set(states.map(({ state }) => state))).toEqual(new Set(['delivered']));
  const idsOf = new Map<string, string[]>();
  for (const { url, headers } of shop.requests) {
    idsOf.set(url, [...(idsOf.get(url) ?? []), headers['webhook-id'] ?? '']);
  }
  const times = [...idsOf.values()];
  expect(times).toHaveLength(count);
  expect(times.filter((ids) => ids.length > 2 || new Set(ids).size > 1)).toEqual([]);
  const twice = times.filter((ids) => ids.length === 2).length;
  process.stdout.write(
    `${kills} kills, ${count} callbacks: 0 lost, ${twice} twice, 0 more often\n`,
  );
  // Else no kill fell between an answer and its record.
  expect(twice).toBeGreaterThan(0);
});

it('a kill keeps each due time', async () => {
  const shop = await startReceiver({ answer: () => ({ status: 500 }) });
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  const storeId = owed.addStore({ callbackUrl: shop.origin });
  const payments = Array.from({ length: 20 }, () => owed.addPayment(storeId));
  await owed.enqueue(Date.now(), ...payments);
  const dueTimes = () => owed.outbox.list({ limit: 100 }).map((row) => row.nextAttemptAt);
  const first = startChild(program, owed.path);
  expect(await first.line()).toBe('idle');
  first.kill();
  await first.ended;
  // The shop that received none of these gets one a second from here on: the rest is owed as before.
  const attempts = shop.requests.length;
  expect(attempts).toBeGreaterThan(0);
  // Far off, so that none becomes due while the test runs, but no further than a wait of its step can be.
  const later = Date.now() + 3_600_000;
  owed.database.orm
    .update(callbacks)
    .set({ step: 12, nextAttemptAt: sql`${later} + id * 1000` })
    .run();
  const before = dueTimes();
  const second = startChild(program, owed.path);
  expect(await second.line()).toBe('idle');
  second.kill();
  await second.ended;
  expect(dueTimes()).toEqual(before);
  expect(shop.requests).toHaveLength(attempts);
});

it('a kill keeps when a doubtful answer is confirmed, and what was on the wire is confirmed again', async () => {
  let body = 'Error: secret does not match';
  const shop = await startReceiver({ answer: () => ({ status: 200, body }) });
  whenOver(() => shop.close());
  const owed = openOwed();
  whenOver(owed.close);
  await owed.enqueue(Date.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
  const first = startChild(program, owed.path);
  expect(await first.line()).toBe('idle');
  first.kill();
  await first.ended;
  const { confirmAt } = owed.outbox.callback(1);
  expect(confirmAt).toBeGreaterThan(Date.now() + 4 * 60_000);

  shop.script('hang');
  const due = () => owed.database.orm.update(callbacks).set({ confirmAt: Date.now() }).run();
  due();
  const second = startChild(program, owed.path);
  await shop.waitFor(2);
  second.kill();
  await second.ended;
  body = 'ok';
  const third = startChild(program, owed.path);
  expect(await third.line()).toBe('idle');
  third.kill();
  await third.ended;
  expect(owed.outbox.callback(1)).toMatchObject({
    state: 'delivered',
    confirmAt: null,
    doubt: null,
  });
  expect(new Set(shop.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(shop.requests).toHaveLength(3);
});
