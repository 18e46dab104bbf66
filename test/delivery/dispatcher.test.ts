import { eq } from 'drizzle-orm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { deadlineMs } from '../../src/delivery/callback-request.ts';
import { failuresToOpen } from '../../src/delivery/circuit-breaker.ts';
import { deliveryLimits } from '../../src/delivery/dispatcher.ts';
import { eventId } from '../../src/domain/delivery/callback.ts';
import { retryScheduleMs } from '../../src/domain/delivery/retry.ts';
import { Events } from '../../src/lib/events.ts';
import type { StoreEventMap, StoreEvents } from '../../src/store/db/store-events.ts';
import { deliveries } from '../../src/store/schema/delivery-schema.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { Catalog } from '../../src/store/wallets/catalog.ts';
import { makeAuthority } from '../support/authority.ts';
import type { Answer, ReceiverOptions } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';
import { closeAll, receiver, setUp } from './dispatcher-setup.ts';
import { withStatus } from './owed.ts';

afterEach(closeAll);

describe('delivering', () => {
  it('sends an enqueued callback once after a wake, and logs it without secrets', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher, states } = setUp();
    await dispatcher.start();
    const callback = owed.addPayment(owed.addStore({ callbackUrl: `${shop.origin}/?secret=s` }));
    await owed.enqueue(world.now(), callback);
    dispatcher.wake();
    await dispatcher.idle();
    expect(shop.requests.map((request) => request.url)).toEqual([
      `/?secret=s&status=0&addr=${callback.address}&value=1000&txid=${callback.txid}`,
    ]);
    expect(states()).toEqual(['delivered']);
    expect(world.logs).toEqual([
      {
        level: 'info',
        message: 'callback attempted',
        fields: {
          ...{ callbackId: 1, storeId: 1, eventId: eventId(callback), attempt: 1 },
          ...{ address: callback.address, valueSat: 1_000, txid: callback.txid, status: 0 },
          ...{ outcome: 'delivered', httpStatus: 200, durationMs: 0 },
        },
      },
    ]);
    await world.advance(10_000);
    expect(shop.requests).toHaveLength(1);
  });

  it('logs why a callback failed, without the secrets that the answer repeats', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    shop.script({ status: 302, headers: { location: `${shop.origin}/login?back=tulip` } });
    await dispatcher.start();
    const store = owed.addStore({ callbackUrl: `${shop.origin}/?secret=tulip` });
    await owed.enqueue(world.now(), owed.addPayment(store));
    dispatcher.wake();
    await dispatcher.idle();
    const { host } = new URL(shop.origin);
    expect(world.logs.map(({ fields }) => fields?.reason)).toEqual([
      `${host} answered 302, pointing to ${shop.origin}/login?…; redirects are not followed`,
    ]);
    expect(world.logs.map(({ level }) => level)).toEqual(['warn']);
    expect(JSON.stringify(world.logs)).not.toContain('tulip');
  });

  it('finds a callback without a wake within a second', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    await dispatcher.start();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await world.advance(1000);
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
  });

  it('makes one claim for a thousand wakes', async () => {
    const { world, dispatcher, outbox } = setUp();
    const claim = vi.spyOn(outbox, 'claim');
    await dispatcher.start();
    for (let wakes = 0; wakes < 1000; wakes++) dispatcher.wake();
    await dispatcher.idle();
    const claims = claim.mock.calls.length;
    expect(claims).toBeLessThanOrEqual(2);
    await world.advance(10_000);
    expect(claim.mock.calls.length).toBe(claims);
  });

  it('signs with the previous secret too, until it expires', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    const storeId = owed.addStore({
      callbackUrl: shop.origin,
      previousWebhookSecret: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
      previousSecretUntil: world.now() + 5000,
    });
    await dispatcher.start();
    for (const waitMs of [0, 5000]) {
      await world.advance(waitMs);
      await owed.enqueue(world.now(), owed.addPayment(storeId));
      dispatcher.wake();
      await dispatcher.idle();
    }
    const signatures = shop.requests.map(({ headers }) => headers['webhook-signature'] ?? '');
    expect(signatures.map((each) => each.split(' ').length)).toEqual([2, 1]);
  });

  it('trusts the certificate authority of a store for this store only', async () => {
    const ours = makeAuthority();
    const { certificate: callbackCa } = ours;
    const tls = ours.issue('shop.test', '20200101000000Z', '20990101000000Z');
    ours.remove();
    const shop = await receiver({ tls });
    const world = { ...createTestWorld(), resolve: async () => ['127.0.0.1'] };
    const { owed, dispatcher, states } = setUp({ world });
    const callbackUrl = `https://shop.test:${shop.port}/`;
    const ids = [callbackCa, null].map((callbackCa) => owed.addStore({ callbackUrl, callbackCa }));
    await owed.enqueue(world.now(), ...ids.map((id) => owed.addPayment(id)));
    await dispatcher.start();
    await dispatcher.idle();
    expect(states()).toEqual(['delivered', 'owed']);
    expect(shop.requests).toHaveLength(1);
  });

  it('records address, phases and doubt of an attempt', async () => {
    const shop = await receiver({ answer: () => ({ status: 200, body: 'Invalid secret' }) });
    const { owed, world, dispatcher, outbox, states } = setUp();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    expect(states()).toEqual(['delivered']);
    expect(outbox.attempts(1)).toMatchObject([
      {
        outcome: 'delivered',
        address: '127.0.0.1',
        doubt: 'Invalid secret',
        body: 'Invalid secret',
      },
    ]);
    const phases = JSON.parse(outbox.attempts(1)[0]?.phases ?? '{}');
    expect(phases).toEqual({ connect: 0, response: 0, body: 0 });
    expect(world.logs[0]?.fields).toMatchObject({ doubt: 'Invalid secret' });
  });

  it('deletes attempts older than 90 days, but not their number', async () => {
    const shop = await receiver({ answer: () => ({ status: 500 }) });
    const { owed, world, dispatcher, outbox } = setUp();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    world.jumpWallClock(90 * 86_400_000);
    await world.advance(3_600_000);
    await dispatcher.idle();
    const { attemptCount } = outbox.callback(1);
    expect(attemptCount).toBeGreaterThan(1);
    expect(outbox.attempts(1)).toHaveLength(attemptCount - 1);
  });

  it('waits without spinning for a due time beyond the limit of a timer', async () => {
    const { owed, world, dispatcher, outbox } = setUp();
    const claim = vi.spyOn(outbox, 'claim');
    await dispatcher.start();
    // At a start it would be taken for the work of a clock that was ahead.
    await owed.enqueue(world.now() + 60 * 86_400_000, owed.addPayment(owed.addStore()));
    dispatcher.wake();
    await dispatcher.idle();
    const before = claim.mock.calls.length;
    await world.advance(30_000);
    expect(claim.mock.calls.length).toBe(before);
  });

  it('claims nothing while it is held back, and continues after a wake', async () => {
    const shop = await receiver();
    let isHeldBack = true;
    const { owed, world, dispatcher, states } = setUp({
      parts: () => ({ isHeldBack: () => isHeldBack }),
    });
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await world.advance(5_000);
    expect(shop.requests).toEqual([]);
    isHeldBack = false;
    dispatcher.wake();
    await dispatcher.idle();
    expect(states()).toEqual(['delivered']);
  });

  it('is idle at once without pending callbacks', async () => {
    const { dispatcher } = setUp();
    await dispatcher.idle();
  });

  it('counts an internal error as a failed attempt', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher, outbox } = setUp();
    const storeId = owed.addStore({ callbackUrl: shop.origin, webhookSecret: 'whsec_?' });
    await owed.enqueue(world.now(), owed.addPayment(storeId));
    await dispatcher.start();
    await dispatcher.idle();
    expect(outbox.list({ limit: 1 })).toMatchObject([
      { state: 'owed', outcome: 'internal', attemptCount: 1 },
    ]);
    expect(world.logs.map((entry) => entry.level)).toEqual(['error', 'warn']);
  });
});

describe('a failed attempt', () => {
  async function failing(answer: ReceiverOptions['answer']) {
    const shop = await receiver(answer && { answer });
    const set = setUp();
    const storeId = set.owed.addStore({ callbackUrl: shop.origin });
    const callback = set.owed.addPayment(storeId);
    await set.owed.enqueue(set.world.now(), callback);
    await set.dispatcher.start();
    await set.dispatcher.idle();
    /** Moves the clock to a moment, as an operator would: no ticks between. */
    const jumpTo = async (at: number) => {
      set.world.jumpWallClock(at - set.world.now());
      await set.world.advance(1000);
      await set.dispatcher.idle();
    };
    const dueAt = () => set.outbox.list({ limit: 1 })[0]?.nextAttemptAt ?? 0;
    return { ...set, shop, callback, jumpTo, dueAt };
  }

  it('is repeated when it is due, not before', async () => {
    const { shop, world, dispatcher, dueAt, states } = await failing(() => ({ status: 500 }));
    const due = dueAt();
    expect(due - world.now()).toBeGreaterThanOrEqual(3200);
    expect(due - world.now()).toBeLessThanOrEqual(4800);
    await world.advance(due - world.now() - 1);
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
    shop.script({ status: 200 });
    await world.advance(1000);
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(2);
    expect(states()).toEqual(['delivered']);
    const [first, second] = shop.requests.map((request) => request.headers['webhook-id']);
    expect(second).toBe(first);
  });

  it('waits longer if the shop asks for it', async () => {
    const headers = { 'retry-after': '3600' };
    const { world, dueAt } = await failing(() => ({ status: 429, headers }));
    expect(dueAt() - world.now()).toBeGreaterThanOrEqual(2 * 3200);
    expect(dueAt() - world.now()).toBeLessThanOrEqual(2 * 4800);
  });

  it('P-68 follows the retry schedule to its end, then logs a warning', async () => {
    const { shop, world, jumpTo, dueAt, states, outbox } = await failing(() => ({ status: 404 }));
    for (const wait of retryScheduleMs) {
      const left = dueAt() - world.now();
      expect(left).toBeGreaterThanOrEqual(wait * 0.8 - 1000);
      expect(left).toBeLessThanOrEqual(wait * 1.2);
      await jumpTo(dueAt());
    }
    expect(shop.requests).toHaveLength(15);
    expect(states()).toEqual(['exhausted']);
    expect(outbox.counts()).toEqual({ owed: 0, exhausted: 1 });
    expect(world.logs.filter(({ message }) => message === 'callback exhausted')).toMatchObject([
      { level: 'warn', fields: { callbackId: 1 } },
    ]);
    await jumpTo(world.now() + 1e9);
    expect(shop.requests).toHaveLength(15);
  });

  it('is not repeated after a newer status', async () => {
    const { owed, shop, world, dispatcher, callback, jumpTo, states } = await failing(() => ({
      status: 500,
    }));
    shop.script({ status: 200 });
    await owed.enqueue(world.now(), withStatus(callback, 1));
    dispatcher.wake();
    await jumpTo(world.now() + 60_000);
    expect(shop.requests.map((request) => request.url[9])).toEqual(['0', '1']);
    expect(states()).toEqual(['superseded', 'delivered']);
  });

  it.each([
    ['its first', 0],
    ['its last but one', retryScheduleMs.length - 2],
    ['its last', retryScheduleMs.length],
  ])('leaves the schedule alone that a resend began meanwhile, on %s', async (_, step) => {
    const shop = await receiver();
    const { owed, world, dispatcher, outbox, states } = setUp();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    owed.database.orm.update(deliveries).set({ step, attemptCount: step }).run();
    shop.script('hang');
    await dispatcher.start();
    await shop.waitFor(1);
    await world.advance(1_000);
    await owed.database.write((tx) => outbox.resend(tx, world.now(), 1));
    dispatcher.retry();
    await world.advance(deadlineMs);
    await dispatcher.idle();
    expect(outbox.callback(1)).toMatchObject({ attemptCount: step + 2, step: 1 });
    expect(outbox.attempts(1)).toHaveLength(2);
    expect(states()).toEqual(['delivered']);
  });
});

describe('bounds', () => {
  it('allow one request a payment; the newer status follows the older one', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher, states } = setUp();
    const callback = owed.addPayment(owed.addStore({ callbackUrl: shop.origin }));
    shop.script('hang');
    await owed.enqueue(world.now(), callback);
    await dispatcher.start();
    await shop.waitFor(1);
    await owed.enqueue(world.now(), withStatus(callback, 1));
    dispatcher.wake();
    await world.advance(5000);
    expect(shop.requests).toHaveLength(1);
    await world.advance(deadlineMs);
    await dispatcher.idle();
    expect(shop.requests.map((request) => request.url[9])).toEqual(['0', '1']);
    expect(states()).toEqual(['superseded', 'delivered']);
  });

  it('keep a shop that hangs from delaying others', async () => {
    const hanging = await receiver({ answer: () => 'hang' });
    const healthy = await receiver();
    const { owed, world, dispatcher } = setUp({ limits: { maxInFlight: 4 } });
    const stores = [hanging, healthy].map(({ origin }) => owed.addStore({ callbackUrl: origin }));
    const each = Array.from({ length: 10 }, () => stores.map((id) => owed.addPayment(id)));
    await owed.enqueue(world.now(), ...each.flat());
    await dispatcher.start();
    await healthy.waitFor(10);
    await world.turn();
    expect(hanging.requests).toHaveLength(1);
    expect(healthy.peak).toBeLessThanOrEqual(2);
  });

  it('apply to all stores together', async () => {
    const held: (() => void)[] = [];
    const answer = () =>
      new Promise<{ status: number }>((resolve) => held.push(() => resolve({ status: 200 })));
    const shop = await receiver({ answer });
    const { owed, world, dispatcher, states } = setUp({ limits: { maxInFlight: 3 } });
    const stores = Array.from({ length: 5 }, () => owed.addStore({ callbackUrl: shop.origin }));
    const each = Array.from({ length: 3 }, () => stores.map((id) => owed.addPayment(id)));
    await owed.enqueue(world.now(), ...each.flat());
    await dispatcher.start();
    for (let answered = 0; answered < 15; answered++) {
      await shop.waitFor(Math.min(15, answered + 3));
      dispatcher.wake();
      await world.turn();
      expect(shop.requests.length).toBeLessThanOrEqual(answered + 3);
      held.shift()?.();
    }
    await dispatcher.idle();
    expect(shop.peak).toBe(3);
    expect(new Set(states())).toEqual(new Set(['delivered']));
  });

  it('are shared: stores alternate', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp({ limits: { maxInFlight: 1 } });
    const stores = ['/1', '/2', '/3'].map((path) =>
      owed.addStore({ callbackUrl: shop.origin + path }),
    );
    const each = stores.flatMap((id) => [owed.addPayment(id), owed.addPayment(id)]);
    await owed.enqueue(world.now(), ...each);
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.requests.map((request) => request.url[1]).join('')).toBe('123123');
  });

  it('include a lease longer than the deadline of an attempt', () => {
    expect(deliveryLimits.leaseMs).toBeGreaterThan(deadlineMs);
  });

  it('P-67 apply while the wall clock jumps over a lease', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    shop.script('hang');
    const callback = owed.addPayment(owed.addStore({ callbackUrl: shop.origin }));
    await owed.enqueue(world.now(), callback);
    await dispatcher.start();
    await shop.waitFor(1);
    world.jumpWallClock(3_600_000);
    await world.advance(3000);
    expect(shop.requests).toHaveLength(1);
    await world.advance(deadlineMs);
    await dispatcher.idle();
    expect(world.logs.filter((entry) => entry.fields.outcome === 'timeout')).toHaveLength(1);
  });

  it('apply to a store while the wall clock jumps over its leases', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    await dispatcher.start();
    await owed.enqueue(world.now(), owed.addPayment(storeId));
    dispatcher.wake();
    await dispatcher.idle();
    shop.script(...Array.from({ length: 4 }, () => 'hang' as const));
    const waiting = Array.from({ length: 4 }, () => owed.addPayment(storeId));
    await owed.enqueue(world.now(), ...waiting);
    dispatcher.wake();
    await shop.waitFor(3);
    // Newer statuses supersede the callbacks in flight: other rows are pending now.
    await owed.enqueue(world.now(), ...waiting.slice(0, 2).map((each) => withStatus(each, 1)));
    world.jumpWallClock(3_600_000);
    await world.advance(3000);
    expect(shop.requests).toHaveLength(3);
  });
});

describe('a doubtful answer', () => {
  const minute = 60_000;

  /** A shop with scripted answers, and the minute of each request since the first. */
  async function doubting(body = 'Error: secret does not match') {
    let answer: Exclude<Answer, string> = { status: 200, body };
    const world = createTestWorld();
    const times: number[] = [];
    const shop = await receiver({
      answer: () => {
        times.push(world.now());
        return answer;
      },
    });
    const set = setUp({ world });
    const storeId = set.owed.addStore({ callbackUrl: shop.origin });
    const callback = set.owed.addPayment(storeId);
    await set.owed.enqueue(world.now(), callback);
    await set.dispatcher.start();
    await set.dispatcher.idle();
    const advance = async (ms: number) => {
      await world.advance(ms);
      await set.dispatcher.idle();
    };
    return {
      ...{ ...set, shop, storeId, callback, advance },
      answers: (next: typeof answer) => {
        answer = next;
      },
      minutes: () => times.map((at) => (at - (times[0] ?? 0)) / minute),
      row: () => set.outbox.callback(1),
    };
  }

  it('P-63 is sent again after 5 minutes, then after 60, under one id', async () => {
    const { shop, advance, minutes, row, world, outbox } = await doubting();
    const acknowledgedAt = world.now();
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: world.now() + 5 * minute });
    expect(outbox.counts()).toEqual({ owed: 0, exhausted: 0 });
    await advance(5 * minute - 1000);
    expect(minutes()).toEqual([0]);
    await advance(1000);
    expect(minutes()).toEqual([0, 5]);
    await advance(60 * minute - 1000);
    expect(minutes()).toEqual([0, 5]);
    await advance(1000);
    expect(minutes()).toEqual([0, 5, 65]);
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null, attemptCount: 3 });
    expect(row().settledAt).toBe(acknowledgedAt);
    await advance(24 * 60 * minute);
    expect(minutes()).toEqual([0, 5, 65]);
    expect(new Set(shop.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(shop.requests.map(({ url }) => url)).size).toBe(1);
  });

  it.each([
    ['a web page', '<!DOCTYPE html><title>Shop</title>'],
    ['a refusal', 'Order not found'],
  ])('of %s ends with the first one that is not', async (_, body) => {
    const { advance, answers, minutes, row, outbox } = await doubting(body);
    expect(outbox.doubtfulAnswers()).toMatchObject([{ storeId: 1, answers: 1 }]);
    answers({ status: 200, body: 'ok' });
    await advance(2 * 60 * minute);
    expect(minutes()).toEqual([0, 5]);
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null, doubt: null });
    expect(outbox.doubtfulAnswers()).toEqual([]);
  });

  it('P-63 is an empty answer, if an earlier answer of the store was not empty', async () => {
    const { owed, world, shop, dispatcher, outbox, advance, answers, storeId } =
      await doubting('ok');
    const notice = '<br />\n<b>Notice</b>:  a in <b>/b</b> on line <b>1</b><br />\n';
    answers({ status: 200, body: notice });
    const other = owed.addStore({ callbackUrl: shop.origin });
    await owed.enqueue(world.now(), owed.addPayment(storeId), owed.addPayment(other));
    dispatcher.wake();
    await dispatcher.idle();
    expect(outbox.callback(2)).toMatchObject({ state: 'delivered', doubt: 'an empty answer' });
    expect(outbox.callback(3)).toMatchObject({ state: 'delivered', doubt: null });
    answers({ status: 200, body: 'ok' });
    await advance(5 * minute);
    expect(outbox.callback(2)).toMatchObject({ confirmAt: null, doubt: null, attemptCount: 2 });
  });

  it.each([
    ['another query, which may have lost its secret', '?other', 'an empty answer'],
    ['another path, where another receiver answers', '/other', null],
  ])('of an empty one after the Callback URL got %s: %s is %j', async (_, path, doubt) => {
    const { owed, world, shop, dispatcher, outbox, answers, storeId } = await doubting('ok');
    answers({ status: 200, body: '' });
    await owed.database.write((tx) =>
      new Catalog(owed.database.orm, 'regtest').changeStore(tx, storeId, {
        callbackUrl: `${shop.origin}${path}`,
      }),
    );
    await owed.enqueue(world.now(), owed.addPayment(storeId));
    dispatcher.wake();
    await dispatcher.idle();
    expect(outbox.callback(2)).toMatchObject({ state: 'delivered', doubt });
  });

  it('is not an empty answer, if all were empty', async () => {
    const { row, outbox } = await doubting('');
    expect(row()).toMatchObject({ confirmAt: null, doubt: null });
    expect(outbox.doubtfulAnswers()).toEqual([]);
  });

  it('P-63 stays delivered when the confirmations fail', async () => {
    const { advance, answers, minutes, row, outbox } = await doubting();
    answers({ status: 503, headers: { 'retry-after': '1' } });
    await advance(5 * minute);
    expect(row()).toMatchObject({ state: 'delivered', outcome: 'status' });
    await advance(24 * 60 * minute);
    expect(minutes()).toEqual([0, 5, 65]);
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null });
    expect(outbox.counts()).toEqual({ owed: 0, exhausted: 0 });
    expect(outbox.doubtfulAnswers()).toMatchObject([{ answers: 1 }]);
  });

  it('P-63 is not sent again after a newer status, in flight or not', async () => {
    const { owed, world, advance, answers, shop, callback, outbox, dispatcher } = await doubting();
    answers({ status: 200, body: 'ok' });
    await owed.enqueue(world.now(), withStatus(callback, 1));
    await advance(2 * 60 * minute);
    const sent = () => shop.requests.map(({ url }) => /status=(\d)/.exec(url)?.[1]).join('');
    expect(sent()).toBe('01');
    // On the wire.
    answers({ status: 200, body: 'error' });
    await owed.enqueue(world.now(), withStatus(callback, 0, 1));
    dispatcher.wake();
    await shop.waitFor(3);
    await owed.enqueue(world.now(), withStatus(callback, 1, 1));
    answers({ status: 200, body: 'ok' });
    await dispatcher.idle();
    await advance(2 * 60 * minute);
    expect(sent()).toBe('0101');
    expect(outbox.list({ limit: 9, state: 'superseded' })).toEqual([]);
  });

  it('of a confirmation superseded in flight is the last', async () => {
    const { owed, world, shop, callback, dispatcher, row } = await doubting();
    shop.script('hang');
    await world.advance(5 * minute);
    await shop.waitFor(2);
    await owed.enqueue(world.now(), withStatus(callback, 1));
    await world.advance(deadlineMs);
    await dispatcher.idle();
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null });
    await world.advance(5 * minute);
    await dispatcher.idle();
    const sent = shop.requests.map(({ url }) => /status=(\d)/.exec(url)?.[1]).join('');
    expect(sent.slice(0, 3)).toBe('001');
    expect(sent.slice(3)).not.toContain('0');
  });

  it('P-63 is sent again after a restart', async () => {
    const { owed, world, dispatcher, advance, minutes } = await doubting();
    await advance(2 * minute);
    await dispatcher.stop();
    const next = setUp({ owed, world });
    await next.dispatcher.start();
    await world.advance(3 * minute - 1000);
    await next.dispatcher.idle();
    expect(minutes()).toEqual([0]);
    await world.advance(1000);
    await next.dispatcher.idle();
    expect(minutes()).toEqual([0, 5]);
  });

  it('is sent again after a crash in between', async () => {
    const { owed, world, shop } = await doubting();
    shop.script('hang');
    await world.advance(5 * minute);
    await shop.waitFor(2);
    const again = owed.reopen();
    const next = setUp({ owed: { ...again, close: again.database.close }, world });
    await next.dispatcher.start();
    await shop.waitFor(3);
    await next.dispatcher.idle();
    expect(again.outbox.callback(1).state).toBe('delivered');
  });

  it('P-63 is not sent again while its payment is gone', async () => {
    const { owed, advance, minutes, callback } = await doubting();
    const set = (state: 'dropped' | 'unconfirmed') =>
      owed.database.orm.update(payments).set({ state }).where(eq(payments.id, callback.paymentId));
    set('dropped').run();
    await advance(10 * minute);
    expect(minutes()).toEqual([0]);
    set('unconfirmed').run();
    await advance(minute);
    expect(minutes()).toHaveLength(2);
  });

  it('that is resent by hand is pending like any other', async () => {
    const { owed, world, advance, answers, outbox, row } = await doubting();
    await owed.database.write((tx) => outbox.resend(tx, world.now(), 1));
    expect(row()).toMatchObject({ state: 'owed', confirmAt: null });
    answers({ status: 500 });
    await advance(1000);
    expect(row()).toMatchObject({ state: 'owed', step: 1 });
    answers({ status: 200, body: 'ok' });
    await advance(minute);
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null });
  });

  it('waits for a host that is down, at no attempt', async () => {
    const { owed, world, shop, advance, row } = await doubting();
    const { port } = shop;
    await shop.close();
    const waiting = Array.from({ length: failuresToOpen }, () => owed.addPayment(1));
    await owed.enqueue(world.now(), ...waiting);
    await advance(6 * minute);
    expect(row()).toMatchObject({ state: 'delivered', step: 1 });
    const back = await receiver({ port, answer: () => ({ status: 200, body: 'ok' }) });
    await advance(2 * minute);
    expect(row()).toMatchObject({ state: 'delivered', confirmAt: null, doubt: null });
    expect(back.requests.length).toBe(1 + failuresToOpen);
  });

  it('is due at once if a fast clock had delayed it', async () => {
    const { world, row } = await doubting();
    world.jumpWallClock(-2 * 86_400_000);
    expect(row().confirmAt).toBeGreaterThan(world.now() + 86_400_000);
    await world.advance(3_600_000);
    expect(row().attemptCount).toBeGreaterThan(1);
  });

  it('counts as one delivery', async () => {
    const shop = await receiver({ answer: () => ({ status: 200, body: 'error' }) });
    const after: (number | undefined)[] = [];
    const events: StoreEvents = new Events<StoreEventMap>();
    events.on('attemptRecorded', ({ deliveredAfterMs }) => after.push(deliveredAfterMs));
    const { owed, world, dispatcher } = setUp({ parts: () => ({ events }) });
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    await world.advance(5 * minute);
    await dispatcher.idle();
    expect(after).toEqual([0, undefined]);
  });
});

describe('callbacks of one address', () => {
  /** A shop that counts its requests for each address, and answers when the test allows it. */
  async function counting() {
    const open = new Map<string, number>();
    const held: (() => void)[] = [];
    let overlaps = 0;
    const shop = await receiver({
      answer: ({ url }) => {
        const address = new URLSearchParams(url.split('?')[1]).get('addr') ?? '';
        const count = (open.get(address) ?? 0) + 1;
        open.set(address, count);
        if (count > 1) overlaps += 1;
        return new Promise((resolve) =>
          held.push(() => {
            open.set(address, (open.get(address) ?? 0) - 1);
            resolve({ status: 200 });
          }),
        );
      },
    });
    const txids = () => shop.requests.map(({ url }) => new URLSearchParams(url).get('txid'));
    return { shop, held, txids, overlaps: () => overlaps };
  }

  it('P-67 never overlap, follow the order of their events, and delay no others', async () => {
    const { shop, held, txids, overlaps } = await counting();
    const { owed, world, dispatcher, states } = setUp();
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    // The shop has received one: two at a time from now on.
    await owed.enqueue(world.now(), owed.addPayment(storeId));
    await dispatcher.start();
    await shop.waitFor(1);
    held.shift()?.();
    await dispatcher.idle();
    const first = owed.addPayment(storeId);
    const paid = [first, owed.addPayment(storeId, first), owed.addPayment(storeId, first)];
    const others = [owed.addPayment(storeId), owed.addPayment(storeId)];
    await owed.enqueue(world.now(), ...paid, ...others);
    dispatcher.wake();
    for (let answered = 0; answered < 5; answered += 1) {
      await shop.waitFor(Math.min(6, answered + 3));
      dispatcher.wake();
      await world.turn();
      held.shift()?.();
    }
    await dispatcher.idle();
    expect(overlaps()).toBe(0);
    expect(shop.peak).toBe(2);
    const mine = new Set<string | null>(paid.map(({ txid }) => txid));
    expect(txids().filter((txid) => mine.has(txid))).toEqual(paid.map(({ txid }) => txid));
    expect(new Set(states())).toEqual(new Set(['delivered']));
  });

  it('P-67 do not overlap when the wall clock jumps over a lease', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    shop.script('hang');
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    const first = owed.addPayment(storeId);
    await owed.enqueue(world.now(), first, owed.addPayment(storeId, first));
    await dispatcher.start();
    await shop.waitFor(1);
    world.jumpWallClock(3_600_000);
    await world.advance(3000);
    expect(shop.requests).toHaveLength(1);
    await world.advance(deadlineMs);
    await dispatcher.idle();
    expect(shop.requests.length).toBeGreaterThan(1);
  });

  it('P-67 delay no others, even ten thousand of them', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    const first = owed.addPayment(storeId);
    const dust = Array.from({ length: 9_999 }, () => owed.addPayment(storeId, first));
    const other = owed.addPayment(storeId);
    await owed.enqueue(world.now(), first, ...dust, other);
    await dispatcher.start();
    await shop.waitFor(6);
    const place = shop.requests.findIndex(({ url }) => url.includes(`addr=${other.address}&`));
    expect(place).toBeGreaterThanOrEqual(0);
    await dispatcher.stop();
  });
});

describe('a clock that was ahead and is corrected', () => {
  it('delays a retry by an hour at most', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher, states } = setUp();
    shop.script({ status: 500 });
    world.jumpWallClock(2 * 86_400_000);
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
    world.jumpWallClock(-2 * 86_400_000);
    await world.advance(3_600_000);
    await dispatcher.idle();
    expect(states()).toEqual(['delivered']);
  });

  it('delays a lease without a recorded attempt by as little', async () => {
    const shop = await receiver();
    let broken = true;
    const { owed, world, dispatcher, states } = setUp({
      parts: ({ outbox }) => ({
        outbox: {
          ...outbox,
          record: (...what) => {
            if (broken) throw new Error('the disk is full');
            return outbox.record(...what);
          },
        },
      }),
    });
    world.jumpWallClock(2 * 86_400_000);
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    broken = false;
    world.jumpWallClock(-2 * 86_400_000);
    await world.advance(3_600_000);
    await dispatcher.idle();
    expect(states()).toEqual(['delivered']);
  });

  it('does not shorten a delay that the schedule allows', async () => {
    const { owed, world, dispatcher, outbox } = setUp();
    const [longest = 0] = retryScheduleMs.slice(-1);
    const storeId = owed.addStore();
    await owed.enqueue(world.now(), owed.addPayment(storeId), owed.addPayment(storeId));
    const nextAttemptAt = world.now() + 2.4 * longest;
    const set = (step: number, id: number) =>
      owed.database.orm
        .update(deliveries)
        .set({ step, nextAttemptAt })
        .where(eq(deliveries.id, id));
    set(retryScheduleMs.length, 1).run();
    set(retryScheduleMs.length - 3, 2).run();
    const now = world.now();
    await dispatcher.start();
    const dueAt = (id: number) => outbox.callback(id).nextAttemptAt;
    expect([dueAt(1), dueAt(2)]).toEqual([nextAttemptAt, now]);
  });
});

describe('after a crash', () => {
  it('between answer and record, the same event is sent again', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp({
      parts: ({ outbox }) => ({
        outbox: {
          ...outbox,
          record: () => {
            throw new Error('the power failed');
          },
        },
      }),
    });
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
    expect(world.logs.map((entry) => entry.message)).toEqual(['callback attempt not recorded']);

    const reopened = owed.reopen();
    const after = setUp({ owed: { ...reopened, close: reopened.database.close } });
    await after.dispatcher.start();
    await after.dispatcher.idle();
    const [first, second] = shop.requests;
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(second?.url).toBe(first?.url);
    expect(after.states()).toEqual(['delivered']);
  });

  it('or without one, an attempt that was not recorded is repeated when its lease ends', async () => {
    const shop = await receiver();
    let broken = true;
    const { owed, world, dispatcher, states } = setUp({
      parts: ({ outbox }) => ({
        outbox: {
          ...outbox,
          record: (...what) => {
            if (broken) throw new Error('the disk is full');
            return outbox.record(...what);
          },
        },
      }),
    });
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await dispatcher.idle();
    broken = false;
    await world.advance(deliveryLimits.leaseMs - 1000);
    expect(shop.requests).toHaveLength(1);
    await world.advance(2000);
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(2);
    expect(states()).toEqual(['delivered']);
  });

  it.each(['claim', 'record'] as const)(
    'of each %s is reported after a minute, until one succeeds',
    async (what) => {
      const shop = await receiver();
      let broken = true;
      const { owed, world, dispatcher, states } = setUp({
        parts: ({ outbox }) => ({
          outbox: {
            ...outbox,
            [what]: (...given: never[]) => {
              if (broken) throw new Error('the disk is full');
              return (outbox[what] as (...given: never[]) => unknown)(...given);
            },
          },
        }),
      });
      await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
      await dispatcher.start();
      await world.until(() => world.logs.some(({ level }) => level === 'error'));
      await world.advance(59_000);
      expect(dispatcher.stallReason()).toBeUndefined();
      await world.advance(1_000);
      expect(dispatcher.stallReason()).toContain('the log says why');
      broken = false;
      await world.advance(deliveryLimits.leaseMs);
      await dispatcher.idle();
      expect(dispatcher.stallReason()).toBeUndefined();
      expect(states()).toEqual(['delivered']);
    },
  );

  it('during a claim, the next tick continues', async () => {
    const shop = await receiver();
    let broken = true;
    const { owed, world, dispatcher, states } = setUp({
      parts: ({ outbox }) => ({
        outbox: {
          ...outbox,
          claim: (...what) => {
            if (broken) throw new Error('the disk is full');
            return outbox.claim(...what);
          },
        },
      }),
    });
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    const idle = dispatcher.idle();
    await world.until(() => world.logs.length > 0);
    expect(world.logs).toMatchObject([
      { level: 'error', message: 'callbacks could not be claimed' },
    ]);
    broken = false;
    await world.advance(1000);
    await idle;
    expect(states()).toEqual(['delivered']);
  });
});

describe('stopping', () => {
  it('waits for requests in flight and claims nothing more', async () => {
    let answer = (_: { status: number }): void => {};
    const shop = await receiver({
      answer: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const { owed, world, dispatcher, states } = setUp({ limits: { maxInFlight: 1 } });
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    await owed.enqueue(world.now(), owed.addPayment(storeId), owed.addPayment(storeId));
    await dispatcher.start();
    await shop.waitFor(1);
    const stopped = dispatcher.stop();
    answer({ status: 200 });
    await stopped;
    expect(states()).toEqual(['delivered', 'owed']);
    dispatcher.wake();
    await world.advance(10_000);
    expect(shop.requests).toHaveLength(1);
    await dispatcher.idle();
  });

  it('sends nothing before the start', async () => {
    const shop = await receiver();
    const { owed, world, outbox, dispatcher } = setUp();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    dispatcher.wake();
    for (let turns = 0; turns < 20; turns += 1) await world.turn();
    expect([outbox.nextDueAt(world.now()), shop.requests.length]).toEqual([world.now(), 0]);
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
  });

  it('resolves `idle` if it ends before the start', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher } = setUp();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    const idle = dispatcher.idle();
    await dispatcher.stop();
    await idle;
    expect(shop.requests).toEqual([]);
  });

  it('does not send what was only claimed', async () => {
    const shop = await receiver();
    const { owed, world, outbox, dispatcher } = setUp();
    await dispatcher.start();
    await dispatcher.idle();
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    dispatcher.wake();
    await dispatcher.stop();
    expect(outbox.nextDueAt(world.now())).toBeUndefined();
    await world.turn();
    expect(shop.requests).toEqual([]);
  });

  it('aborts slow requests; the next start sends them again', async () => {
    const shop = await receiver();
    const { owed, world, dispatcher, states } = setUp();
    shop.script('hang');
    await owed.enqueue(world.now(), owed.addPayment(owed.addStore({ callbackUrl: shop.origin })));
    await dispatcher.start();
    await shop.waitFor(1);
    const stopped = dispatcher.stop();
    await world.advance(deliveryLimits.drainMs);
    await stopped;
    expect(states()).toEqual(['owed']);
    const next = setUp({ owed, world });
    await next.dispatcher.start();
    await next.dispatcher.idle();
    expect(shop.requests).toHaveLength(2);
    expect(states()).toEqual(['delivered']);
  });
});
