import { describe, expect, it } from 'vitest';
import type { Scripthash, Txid } from '../../src/bitcoin/ids.ts';
import { Budget } from '../../src/electrum/budget.ts';
import { SendQueue } from '../../src/electrum/requests.ts';
import { methods } from '../../src/electrum/wire.ts';
import { type Connected, first, open, start } from './open-session.ts';
import { electrumX, type Script } from './scripted-server.ts';

const scripthash = (index: number): Scripthash =>
  index.toString(16).padStart(64, '0') as Scripthash;
const many = (count: number): Scripthash[] =>
  Array.from({ length: count }, (_, index) => scripthash(index));

const answers: Script = {
  'blockchain.scripthash.subscribe': (to, request) => to.answer(request, null),
  'blockchain.scripthash.get_history': (to, request) => to.answer(request, []),
  'server.ping': (to, request) => to.answer(request, null),
};

const subscribed = ({ peer }: Connected): number =>
  peer.asked('blockchain.scripthash.subscribe').length;

/** Subscribes so many in bulk; the result grows as they are answered. */
function subscribeAll({ session }: Connected, count: number): { answered: number; lost: number } {
  const progress = { answered: 0, lost: 0 };
  for (const each of many(count)) {
    session.subscribe(each, { bulk: true }).then(
      () => progress.answered++,
      () => progress.lost++,
    );
  }
  return progress;
}

/** A window goes out whole, so the burst may end a little earlier. */
const burst = 993;

describe('bulk requests to a public server', () => {
  it('are a burst of a thousand, then ten a second, and none is lost', async () => {
    const connected = await open(answers);
    const { world, session } = connected;
    const progress = subscribeAll(connected, 1_200);
    await world.until(() => progress.answered >= burst, 'the burst');
    for (let turns = 0; turns < 10; turns++) await world.turn();
    const sent = subscribed(connected);
    expect(sent).toBeLessThanOrEqual(1_000);
    expect(session.bulkWaiting).toBe(1_200 - sent);
    await world.advance(10_000);
    expect(subscribed(connected)).toBeGreaterThan(sent + 90);
    expect(subscribed(connected)).toBeLessThanOrEqual(sent + 108);
    await world.advance(10_400);
    await world.until(() => progress.answered === 1_200, 'the rest');
    expect(progress.lost).toBe(0);
    expect(session.bulkWaiting).toBe(0);
  });

  it('have their deadline counted from sending', async () => {
    const connected = await open(answers);
    const progress = subscribeAll(connected, 1_500);
    await connected.world.until(() => progress.answered >= burst, 'the burst');
    for (let second = 0; second < 51; second++) await connected.world.advance(1_000);
    await connected.world.until(() => progress.answered === 1_500, 'the rest');
    expect(progress.lost).toBe(0);
  });

  it('leave two requests in flight to others', async () => {
    const connected = await open({ 'server.ping': answers['server.ping'] ?? (() => {}) });
    const progress = subscribeAll(connected, 30);
    await connected.world.until(() => subscribed(connected) === 8);
    await connected.world.turn();
    expect(subscribed(connected)).toBe(8);
    await connected.session.ping();
    const asked = connected.peer.asked('blockchain.scripthash.subscribe');
    connected.peer.answer(asked[0], null);
    await connected.world.until(() => subscribed(connected) === 9);
    expect(progress.answered).toBe(1);
  });

  it('are preceded by urgent requests, also while they are paced', async () => {
    const connected = await open(answers);
    const { world, session, peer } = connected;
    const progress = subscribeAll(connected, 3_000);
    expect(await session.history(first)).toEqual([]);
    await world.until(() => progress.answered >= burst, 'the burst');
    await world.turn();
    expect(await session.history(first)).toEqual([]);
    expect(await session.subscribe(scripthash(9_999))).toBeNull();
    expect(peer.asked('blockchain.scripthash.subscribe').at(-1)?.params).toEqual([
      scripthash(9_999),
    ]);
    session.close('enough');
    await world.until(
      () => progress.answered + progress.lost === 3_000,
      'the others to be rejected',
    );
    expect(progress.answered).toBeLessThanOrEqual(1_000);
  });

  it('limit histories and subscriptions alike', async () => {
    const { session, world, peer } = await open(answers);
    let answered = 0;
    for (const each of many(1_100)) {
      void session.history(each, { bulk: true }).then(
        () => answered++,
        () => {},
      );
    }
    await world.until(() => answered >= burst, 'the burst');
    for (let turns = 0; turns < 10; turns++) await world.turn();
    const asked = peer.asked('blockchain.scripthash.get_history').length;
    expect(asked).toBeLessThanOrEqual(1_000);
  });

  it('continue with the spent budget of an earlier connection', async () => {
    const connected = await open(answers);
    const { world } = connected;
    const budget = new Budget(world);
    const earlier = await open(answers, { world, budget });
    const spent = subscribeAll(earlier, 1_000);
    await world.until(() => spent.answered >= burst);
    await world.turn();
    earlier.session.close('lost');
    const later = await open(answers, { world, budget });
    const progress = subscribeAll(later, 80);
    await world.turn();
    expect(subscribed(later)).toBe(0);
    await world.advance(8_800);
    await world.until(() => progress.answered === 80);
  });
});

describe('an own server', () => {
  it('gets requests as fast as it responds, a hundred in flight', async () => {
    const server = await start(answers, { own: true });
    const connected = await open({}, { server });
    const progress = subscribeAll(connected, 5_000);
    await connected.world.until(() => progress.answered === 5_000, 'all of them');
  });

  it('has an in-flight limit that is a setting', async () => {
    for (const [options, places] of [
      [{}, 100],
      [{ ownMaxInFlight: 20, maxInFlight: 5 }, 20],
    ] as const) {
      const connected = await open({}, { server: await start({}, { own: true }), options });
      for (const each of many(200)) void connected.session.subscribe(each).catch(() => {});
      await connected.world.until(() => subscribed(connected) === places);
      await connected.world.turn();
      expect(subscribed(connected)).toBe(places);
    }
  });
});

describe('the session cost of an ElectrumX', () => {
  it('delays even urgent requests near its limit, to one a second', async () => {
    const connected = await open({
      ...electrumX,
      ...answers,
      'blockchain.transaction.get': (to, request) => to.refuse(request, 2, 'no such transaction'),
    });
    const { session, world, peer, events } = connected;
    const served = (): number => peer.asked('blockchain.transaction.get').length;
    let refused = 0;
    for (let request = 0; request < 150; request++) {
      session.transaction(scripthash(request) as string as Txid).catch(() => refused++);
    }
    // Each is billed at 1, and its refusal at 100; those in flight go beyond the ceiling.
    await world.until(() => refused > 78 && refused === served());
    for (let turns = 0; turns < 10; turns++) await world.turn();
    const before = served();
    expect(before).toBeLessThan(90);
    for (let second = 0; second < 3_000; second++) await world.advance(1_000);
    expect(served() - before).toBeGreaterThan(18);
    expect(served() - before).toBeLessThan(31);
    // The pings were sent and answered all the while.
    expect(events).toEqual([]);
  });

  it('grows by a hundred with each refusal', () => {
    let now = 0;
    const budget = new Budget({ monotonic: () => now });
    budget.opened(true);
    const request = { method: methods.transaction, text: '', bulk: false };
    for (let refusal = 0; refusal < 79; refusal++) budget.refused();
    expect(budget.waitMs(request)).toBe(0);
    budget.refused();
    expect(budget.waitMs(request)).toBe(6_000);
    now += 6_000;
    expect(budget.waitMs(request)).toBe(0);
  });

  it('stays below half its limit while 10,000 addresses are subscribed in 15 minutes', () => {
    let now = 0;
    const budget = new Budget({ monotonic: () => now });
    budget.opened(true);
    const queue = new SendQueue<{
      method: typeof methods.subscribe;
      text: string;
      bulk: boolean;
    }>();
    queue.budget = budget;
    const places = { total: 9, bulk: 7, bulkTogether: 7 };
    const text = 'x'.repeat(150);
    for (let index = 0; index < 10_000; index++) {
      queue.add({ method: methods.subscribe, text, bulk: true });
    }
    // The bill of server/session.py: 0.1 for the session, 0.1 for a history out of its cache, 0.1
    // for the status, a 5,000th for each byte. A filler goes with each write.
    let bill = 5;
    let highest = 0;
    let sent = 0;
    while (queue.length > 0) {
      const count = queue.take(places).length;
      sent += count;
      const filler = count > 0 ? 8 / 50 + (90 + 1_450) / 5_000 : 0;
      bill += count * (0.3 + (150 + 110) / 5_000) + filler;
      budget.received(count * 110 + (count > 0 ? 1_450 : 0));
      highest = Math.max(highest, bill);
      const waitMs = Math.max(1, queue.waitMs(7));
      now += waitMs;
      bill = Math.max(0, bill - (waitMs / 1_000) * (10_000 / (10_000 + 5 * sent)));
    }
    expect(sent).toBe(10_000);
    expect(highest).toBeLessThan(5_000);
    expect(now).toBeLessThan(16 * 60_000);
    expect(now).toBeGreaterThan(14 * 60_000);
  });

  it('is not counted for other servers', () => {
    const budget = new Budget({ monotonic: () => 0 });
    budget.opened(false);
    for (let refusal = 0; refusal < 1_000; refusal++) budget.refused();
    expect(budget.waitMs({ method: methods.ping, text: '', bulk: false })).toBe(0);
  });
});
