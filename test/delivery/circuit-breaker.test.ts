import { afterEach, describe, expect, it } from 'vitest';
import {
  CircuitBreaker,
  failuresToOpen,
  hostProbeIntervalMs,
  urlProbeIntervalMs,
} from '../../src/delivery/circuit-breaker.ts';
import { retryScheduleMs } from '../../src/domain/delivery/retry.ts';
import { startReceiver } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';
import { closeAll, receiver, setUp } from './dispatcher-setup.ts';

afterEach(closeAll);

const url = 'https://shop.example/cb?secret=s';

/** As a claim that is committed. */
function allow(breaker: CircuitBreaker, url: string, wanted: number, underWay: number, at: number) {
  const turns = breaker.quotaAt(at);
  const allowed = turns.allow(url, wanted, underWay);
  turns.commit();
  return allowed;
}

describe('a circuit breaker', () => {
  const failTimes = (breaker: CircuitBreaker, times: number, at = 0) =>
    Array.from({ length: times }, () => breaker.hostFailed(url, at)).at(-1);

  it('opens at the fifth failure in a row', () => {
    const breaker = new CircuitBreaker();
    expect(failTimes(breaker, failuresToOpen - 1)).toBeUndefined();
    expect(allow(breaker, url, 2, 0, 0)).toBe(1);
    expect(failTimes(breaker, 1)).toBe('down');
    expect(allow(breaker, url, 2, 0, 0)).toBe(0);
  });

  it('counts from zero after the host was reached', () => {
    const breaker = new CircuitBreaker();
    failTimes(breaker, failuresToOpen - 1);
    expect(breaker.hostReached(url, false, 0)).toBeUndefined();
    expect(failTimes(breaker, failuresToOpen - 1)).toBeUndefined();
    expect(failTimes(breaker, 1)).toBe('down');
    expect(breaker.hostReached(url, true, 0)).toBe('up');
    expect(allow(breaker, url, 2, 0, 0)).toBe(2);
  });

  it('measures the downtime of a host from the failure that opened it', () => {
    const breaker = new CircuitBreaker();
    expect(breaker.downForMs(url, 1_000)).toBeUndefined();
    failTimes(breaker, failuresToOpen, 1_000);
    expect(breaker.downForMs(url, 61_000)).toBe(60_000);
    breaker.hostFailed(url, 61_000);
    expect(breaker.downForMs(url, 91_000)).toBe(90_000);
    breaker.hostReached(url, true, 91_000);
    expect(breaker.downForMs(url, 92_000)).toBeUndefined();
  });

  it('allows two requests of a store after its shop received a single one', () => {
    const breaker = new CircuitBreaker();
    expect([allow(breaker, url, 2, 0, 0), allow(breaker, url, 1, 1, 0)]).toEqual([1, 0]);
    breaker.hostReached(url, true, 0);
    expect([allow(breaker, url, 2, 0, 0), allow(breaker, url, 1, 1, 0)]).toEqual([2, 1]);
    breaker.hostReached(url, false, 0);
    expect(allow(breaker, url, 1, 1, 0)).toBe(0);
    breaker.hostReached(url, true, 0);
    breaker.hostFailed(url, 0);
    expect(allow(breaker, url, 1, 1, 0)).toBe(0);
  });

  it('allows one request a second to a shop that received none of the last five', () => {
    const breaker = new CircuitBreaker();
    for (let misses = 1; misses < failuresToOpen; misses += 1) breaker.hostReached(url, false, 0);
    expect([breaker.isBlocked(url, 0), allow(breaker, url, 2, 0, 0)]).toEqual([false, 1]);
    breaker.hostReached(url, false, 0);
    expect([breaker.isBlocked(url, 999), allow(breaker, url, 2, 0, 999)]).toEqual([true, 0]);
    // One under way takes no turn, and another shop of the host does not suffer.
    expect(allow(breaker, url, 1, 1, urlProbeIntervalMs)).toBe(0);
    expect(allow(breaker, 'https://shop.example/other', 2, 0, 999)).toBe(1);
    expect(allow(breaker, url, 2, 0, urlProbeIntervalMs)).toBe(1);
    expect(allow(breaker, url, 2, 0, urlProbeIntervalMs)).toBe(0);
    expect(breaker.isDown(url)).toBe(false);
    breaker.hostReached(url, true, urlProbeIntervalMs);
    expect(allow(breaker, url, 2, 0, urlProbeIntervalMs)).toBe(2);
  });

  it('allows one probe a minute', () => {
    const breaker = new CircuitBreaker();
    failTimes(breaker, failuresToOpen);
    expect(breaker.isBlocked(url, hostProbeIntervalMs - 1)).toBe(true);
    expect(breaker.isBlocked(url, hostProbeIntervalMs)).toBe(false);
    expect(allow(breaker, url, 2, 0, hostProbeIntervalMs)).toBe(1);
    expect(allow(breaker, url, 2, 0, hostProbeIntervalMs)).toBe(0);
    expect(allow(breaker, url, 2, 0, 2 * hostProbeIntervalMs)).toBe(1);
  });

  it('allows one probe a claim, and counts it only after the commit', () => {
    const breaker = new CircuitBreaker();
    failTimes(breaker, failuresToOpen);
    expect(breaker.quotaAt(hostProbeIntervalMs).allow(url, 2, 0)).toBe(1);
    const turns = breaker.quotaAt(hostProbeIntervalMs);
    expect(turns.allow(url, 2, 0)).toBe(1);
    expect(turns.allow('https://shop.example/other', 2, 0)).toBe(0);
    turns.commit();
    expect(allow(breaker, url, 2, 0, hostProbeIntervalMs)).toBe(0);
  });

  it('blocks a healthy callback URL once its host is down', () => {
    const breaker = new CircuitBreaker();
    breaker.hostReached('https://shop.example/other', true, 0);
    failTimes(breaker, failuresToOpen);
    expect(allow(breaker, 'https://shop.example/other', 2, 0, 0)).toBe(0);
    expect(allow(breaker, 'https://shop.example/other', 2, 0, hostProbeIntervalMs)).toBe(1);
    expect(allow(breaker, url, 2, 0, hostProbeIntervalMs)).toBe(0);
  });

  it('counts all paths of a host and port together, and other ports apart', () => {
    const breaker = new CircuitBreaker();
    failTimes(breaker, failuresToOpen);
    expect(allow(breaker, 'https://SHOP.example:443/other', 2, 0, 0)).toBe(0);
    expect(allow(breaker, 'https://shop.example:8443/cb', 2, 0, 0)).toBe(1);
    expect(allow(breaker, 'http://shop.example/cb', 2, 0, 0)).toBe(1);
  });
});

describe('a host that cannot be reached', () => {
  /** A port without a listener, pending callbacks to it, and five failures. */
  async function down(owedCount: number, world = createTestWorld(), owedForMs = 0) {
    const gone = await startReceiver();
    await gone.close();
    const set = setUp({ world });
    const { owed, dispatcher } = set;
    const storeId = owed.addStore({ callbackUrl: gone.origin });
    const payments = Array.from({ length: owedCount }, () => owed.addPayment(storeId));
    await owed.enqueue(world.now() - owedForMs, ...payments);
    await dispatcher.start();
    await dispatcher.idle();
    const rows = () => set.outbox.list({ limit: 100 }).reverse();
    const steps = () => rows().map(({ step }) => step);
    const attempts = () => rows().reduce((sum, row) => sum + row.attemptCount, 0);
    return { ...set, gone, storeId, rows, steps, attempts };
  }
  const sum = (values: number[]) => values.reduce((one, other) => one + other, 0);

  it('gets one callback a minute, at no attempt for the others', async () => {
    const { world, dispatcher, steps, attempts, states } = await down(20);
    expect(sum(steps())).toBe(failuresToOpen);
    const before = attempts();
    expect(before).toBe(failuresToOpen);
    await world.advance(10 * hostProbeIntervalMs);
    await dispatcher.idle();
    expect(attempts()).toBe(before + 10);
    expect(sum(steps())).toBe(failuresToOpen);
    expect(new Set(states())).toEqual(new Set(['owed']));
    const warned = world.logs.filter(({ level }) => level === 'warn');
    expect(warned.filter(({ message }) => message !== 'callback attempted')).toMatchObject([
      { message: 'host cannot be reached, retried once a minute' },
    ]);
  });

  it('gets one probe at once when a person asks for a retry', async () => {
    const { world, dispatcher, gone, attempts, states } = await down(20);
    dispatcher.retry();
    await dispatcher.idle();
    expect(attempts()).toBe(failuresToOpen + 1);
    const back = await startReceiver({ port: gone.port });
    dispatcher.wake();
    await dispatcher.idle();
    expect(back.requests).toHaveLength(0);
    dispatcher.retry();
    await dispatcher.idle();
    // The others had one attempt each before the host was known to be down.
    expect(back.requests).toHaveLength(20 - failuresToOpen);
    await world.advance(10_000);
    await dispatcher.idle();
    expect(new Set(states())).toEqual(new Set(['delivered']));
    await back.close();
  });

  it('gets all waiting callbacks within a minute once it is back', async () => {
    const { world, dispatcher, gone, states } = await down(20);
    await world.advance(3 * hostProbeIntervalMs);
    const back = await startReceiver({ port: gone.port });
    await world.advance(hostProbeIntervalMs);
    await dispatcher.idle();
    expect(new Set(states())).toEqual(new Set(['delivered']));
    expect(back.requests).toHaveLength(20);
    expect(back.peak).toBeLessThanOrEqual(2);
    expect(world.logs.map(({ message }) => message)).toContain('host can be reached again');
    await back.close();
  });

  it('stops all callbacks while no other host has pending ones', async () => {
    const { owed, world, dispatcher, gone } = await down(5);
    const none = 'none of the shops with pending callbacks can be reached';
    expect(dispatcher.stallReason()).toBe(none);
    expect(dispatcher.downHosts()).toEqual([{ host: new URL(gone.origin).host, waiting: 5 }]);
    const hanging = await receiver({ answer: () => 'hang' });
    const other = owed.addStore({ callbackUrl: hanging.origin });
    await owed.enqueue(world.now(), owed.addPayment(other));
    expect(dispatcher.stallReason()).toBeUndefined();
    const back = await startReceiver({ port: gone.port });
    await world.advance(hostProbeIntervalMs);
    await hanging.waitFor(1);
    expect(dispatcher.stallReason()).toBeUndefined();
    await back.close();
  });

  it('delays no other host', async () => {
    const { owed, world, dispatcher } = await down(5);
    const shop = await receiver();
    const other = owed.addStore({ callbackUrl: shop.origin });
    await owed.enqueue(world.now(), owed.addPayment(other));
    dispatcher.wake();
    await dispatcher.idle();
    expect(shop.requests).toHaveLength(1);
  });

  it('is probed once a minute for all its stores together', async () => {
    const { owed, world, dispatcher, gone, attempts } = await down(5);
    const other = owed.addStore({ callbackUrl: `${gone.origin}/other` });
    await owed.enqueue(world.now(), owed.addPayment(other), owed.addPayment(other));
    const before = attempts();
    await world.advance(4 * hostProbeIntervalMs);
    await dispatcher.idle();
    expect(attempts()).toBe(before + 4);
  });

  it('exhausts a callback that waited as long as the whole retry schedule takes', async () => {
    const plain = createTestWorld();
    let passedMs = 0;
    const monotonic = () => plain.monotonic() + passedMs;
    const { world, dispatcher, states, steps } = await down(6, { ...plain, monotonic });
    const before = sum(steps());
    passedMs = sum([...retryScheduleMs]) + 86_400_000;
    world.jumpWallClock(passedMs);
    await world.advance(hostProbeIntervalMs);
    await dispatcher.idle();
    expect(states().filter((state) => state === 'exhausted')).toHaveLength(1);
    expect(sum(steps())).toBe(before);
    expect(world.logs.map(({ message }) => message)).toContain('callback exhausted');
  });

  it('exhausts no callback while paygate itself was down', async () => {
    const { world, dispatcher, states } = await down(8, createTestWorld(), 4 * 86_400_000);
    await world.advance(2 * hostProbeIntervalMs);
    await dispatcher.idle();
    expect(new Set(states())).toEqual(new Set(['owed']));
  });

  it('is not a host that hangs or answers badly: those cost attempts', async () => {
    const shop = await receiver({ answer: () => ({ status: 500 }) });
    const { owed, world, dispatcher, outbox } = setUp();
    const storeId = owed.addStore({ callbackUrl: shop.origin });
    await owed.enqueue(world.now(), ...Array.from({ length: 20 }, () => owed.addPayment(storeId)));
    await dispatcher.start();
    await dispatcher.idle();
    // Five at once, and then one a second.
    expect(shop.requests).toHaveLength(failuresToOpen);
    await world.advance(10 * urlProbeIntervalMs);
    await dispatcher.idle();
    expect(shop.requests.length).toBe(failuresToOpen + 10);
    const charged = outbox.list({ limit: 100 }).reduce((all, { step }) => all + step, 0);
    expect(charged).toBe(shop.requests.length);
    shop.script({ status: 200 });
    const before = shop.requests.length;
    await world.advance(urlProbeIntervalMs);
    await dispatcher.idle();
    // It received one: all the others go out as well, and five of them in vain.
    expect(shop.requests.length).toBeGreaterThan(before + 1);
  });

  it('is detected again after a restart, at five attempts in all', async () => {
    const { owed, world, dispatcher } = await down(8);
    await dispatcher.stop();
    const charged = (outbox: typeof owed.outbox) =>
      sum(outbox.list({ limit: 100 }).map(({ step }) => step));
    const before = charged(owed.outbox);
    const again = owed.reopen();
    const restarted = setUp({ owed: again, world });
    await restarted.dispatcher.start();
    await restarted.dispatcher.idle();
    await world.advance(10_000);
    await restarted.dispatcher.idle();
    expect(charged(again.outbox) - before).toBe(failuresToOpen);
    // None of them is further on than it would be by itself.
    expect(again.outbox.list({ limit: 100 }).every(({ step }) => step <= 2)).toBe(true);
  });

  it('keeps each due time through a restart', async () => {
    const { owed, dispatcher, rows } = await down(4);
    const dueTimes = () => rows().map(({ nextAttemptAt }) => nextAttemptAt);
    const before = dueTimes();
    await dispatcher.stop();
    const again = owed.reopen();
    const after = again.outbox.list({ limit: 100 }).reverse();
    expect(after.map(({ nextAttemptAt }) => nextAttemptAt)).toEqual(before);
    await again.database.close();
  });
});
