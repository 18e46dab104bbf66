// How callbacks and webhook events leave: a dispatcher claims pending deliveries of one channel,
// sends and records them. Each channel has a dispatcher of its own, and they share nothing: neither
// channel delays the other.
//
// Format. The queue is the channel's rows of the table `deliveries` (store/delivery/outbox.ts and
// webhook-queue.ts). Nothing else survives a crash. A row is pending until its shop
// receives it, its retries are exhausted, or a newer row supersedes it. A doubtful answer to a
// callback makes the row due again, at most twice. A lease marks a row whose request is in flight.
//
// Algorithm. `wake` starts the pump, or makes a running pump claim once more. A thousand wakes
// therefore cost one claim. A claim is one transaction: it leases the rows that are due, up to
// the number of free slots. Each leased row becomes a delivery: one attempt under the sender's
// deadline, then one transaction that records the attempt and the next due time. The delivery also
// wakes the pump, because its slot is free. The claim after that wake shares its commit with the
// records of other deliveries. A tick each second finds rows that became due, and repairs a lost
// wake. It only reads unless something is due.
//
// Invariants.
// 1. At least once: an attempt that was not recorded (crash, stop, full disk) leaves a row with a
//    lease. When the lease ends, the same event id is sent again.
// 2. At most one request of an address to a receiver, which is a store or a webhook. The queue
//    claims none while a lease lasts. A lease is longer than an attempt can take. `#inFlight`
//    enforces this limit, and that of a receiver, even when the wall clock jumps over a lease.
// 3. Bounded: `maxInFlight` requests in all, and `maxPerReceiver` to one. After a failure, it has
//    one request at a time (circuit-breaker.ts), so a shop that hangs delays only itself.
// 4. A host that cannot be reached costs its waiting rows no attempt (circuit-breaker.ts).
//    They stay due. One a minute goes out as a probe, or at once when a person asks for it.
// 5. A failed attempt never ends the pump.
// 6. The pump never spins: it claims again only after a wake.

import {
  isWaitExhausted,
  maxWaits,
  nextAttempt,
  nextConfirmation,
  unsureWaitMs,
} from '../domain/delivery/retry.ts';
import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { dayMs, minuteMs, secondMs } from '../lib/time-units.ts';
import type { Tx } from '../store/db/writer.ts';
import type { ClaimedDelivery } from '../store/delivery/delivery-claims.ts';
import type { NextAttempt } from '../store/delivery/delivery-records.ts';
import { type AgeJudge, trustedClock } from '../world/clock-watch.ts';
import type { Cancel } from '../world/world.ts';
import { type AttemptParts, makeAttempt, recordAttempt } from './attempt.ts';
import { CircuitBreaker, hostOf } from './circuit-breaker.ts';
import type { Attempt } from './sender.ts';

export interface DownHost {
  readonly host: string;
  readonly waiting: number;
}

export const deliveryLimits = {
  maxInFlight: 128,
  maxPerReceiver: 2,
  /** Longer than the sender's deadline. */
  leaseMs: 30 * secondMs,
  /** `stop` waits this long for requests in flight, then aborts them. */
  drainMs: 5 * secondMs,
};
export type DeliveryLimits = Readonly<typeof deliveryLimits>;

export interface DispatcherParts extends AttemptParts {
  readonly limits?: DeliveryLimits;
  /** The dispatcher claims nothing while this is true. Its owner calls `wake` when it ends. */
  readonly isHeldBack?: () => boolean;
  /** While the clock may be wrong, nothing is exhausted and no old row is deleted. */
  readonly clock?: AgeJudge;
}

/** What other modules ask of a dispatcher, whichever channel it serves. */
export type DispatcherStatus = Pick<
  DeliveryDispatcher,
  'isDown' | 'downHosts' | 'inFlight' | 'stallReason'
>;

/** The delivery's receiver and address, between which at most one request is in flight. */
const laneOf = ({ receiverId, addressId }: ClaimedDelivery): string => `${receiverId} ${addressId}`;

/** In one turn of the event loop. A request takes 0.15 ms of it. */
const maxLaunchesPerTurn = 16;
const everySecond = '* * * * * *';
const everyHour = '0 0 * * * *';
/** A failure of the queue is reported after this time: a lock of another process may pass. */
const maxHiddenFailureMs = minuteMs;
/** Older attempts are deleted. Their number stays. */
const attemptRetentionMs = 90 * dayMs;

export class DeliveryDispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DeliveryLimits;
  readonly #clock: AgeJudge;
  /** Receivers and addresses with a request in flight. */
  readonly #inFlight = new Map<string, readonly [receiverId: number, addressId: number]>();
  /** Deliveries whose record is not yet written. Housekeeping tasks as well. */
  readonly #running = new Set<Promise<void>>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #abortAll = new AbortController();
  readonly #breaker = new CircuitBreaker();
  #cancels: Cancel[] = [];
  #pump: Promise<void> | undefined;
  #claimAgain = false;
  #started = false;
  #stopping = false;
  #lastReceiverId = 0;
  /** Since when each step of the queue fails, monotonic. */
  readonly #failingSince = new Map<'claim' | 'record', number>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = parts.limits ?? deliveryLimits;
    this.#clock = parts.clock ?? trustedClock;
  }

  /** Ends the leases of the previous process, then delivers until `stop`. */
  async start(): Promise<void> {
    const { database, channel, world } = this.#parts;
    await database.write((tx) => channel.queue.releaseLeases(tx));
    await this.#correctDueTimes();
    this.#cancels = [
      world.schedule(everySecond, () => this.tick()),
      world.schedule(everyHour, () => this.#track(this.#deleteOldAttempts())),
      world.schedule(everyHour, () => this.#track(this.#correctDueTimes())),
    ];
    this.#track(this.#deleteOldAttempts());
    this.#started = true;
    this.wake();
  }

  /** A delivery was enqueued. A wake before `start` is ignored. A lost wake waits for the tick. */
  wake(): void {
    if (!this.#mayClaim()) return;
    this.#claimAgain = true;
    this.#pump ??= this.#runPump();
  }

  /** A person asks for a retry: what the circuit breaker blocks goes out now. */
  retry(): void {
    this.#breaker.probeNow();
    this.wake();
  }

  tick(): void {
    if (this.#isDue()) this.wake();
  }

  /** Resolves when nothing is in flight and nothing is due. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.tick();
      this.#settleIdle();
    });
  }

  /** In the order of the stores. A restart forgets them. */
  downHosts(): DownHost[] {
    const waiting = new Map<string, number>();
    for (const { url, owed } of this.#parts.channel.queue.owedByStore()) {
      if (owed === 0 || !this.#breaker.isDown(url)) continue;
      const host = hostOf(url);
      waiting.set(host, (waiting.get(host) ?? 0) + owed);
    }
    return [...waiting].map(([host, count]) => ({ host, waiting: count }));
  }

  isDown(url: string): boolean {
    return this.#breaker.isDown(url);
  }

  inFlight(): number {
    return this.#inFlight.size;
  }

  /** Why nothing pending can leave, as text; undefined when nothing stops it. */
  stallReason(): string | undefined {
    const { queue, noun } = this.#parts.channel;
    const pending = queue.owing();
    if (pending.length > 0 && pending.every((url) => this.#breaker.isDown(url))) {
      return `none of the shops with pending ${noun}s can be reached`;
    }
    const shownBefore = this.#parts.world.monotonic() - maxHiddenFailureMs;
    return [...this.#failingSince.values()].some((since) => since <= shownBefore)
      ? `the ${noun} queue in the database fails; the log says why`
      : undefined;
  }

  /** Claims nothing more. Waits for deliveries up to `drainMs`, then aborts them. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const cancel of this.#cancels) cancel();
    const reason = new Error('paygate is stopping');
    const abort = () => this.#abortAll.abort(reason);
    const cancel = this.#parts.world.after(this.#limits.drainMs, abort);
    await this.#pump;
    await Promise.all(this.#running);
    cancel();
    this.#settleIdle();
  }

  #mayClaim(): boolean {
    return this.#started && !this.#stopping && !this.#parts.isHeldBack?.();
  }

  async #runPump(): Promise<void> {
    while (this.#claimAgain && this.#mayClaim()) {
      this.#claimAgain = false;
      await this.#claim();
    }
    this.#pump = undefined;
    this.#settleIdle();
  }

  async #claim(): Promise<void> {
    const { database, channel, world } = this.#parts;
    if (this.#freeSlots() <= 0) return;
    try {
      const monotonic = world.monotonic();
      const afterReceiverId = this.#lastReceiverId;
      const onWire = (receiverId: number) => this.#addressesInFlight(receiverId);
      const { maxPerReceiver: perReceiver, leaseMs } = this.#limits;
      const limits = { perReceiver, leaseMs, afterReceiverId, onWire };
      const claim = (tx: Tx) => {
        const { allow, commit } = this.#breaker.quotaAt(monotonic);
        tx.afterCommit(commit);
        return channel.queue.claim(tx, world.now(), { ...limits, allow, limit: this.#freeSlots() });
      };
      const claimed = await database.write(claim);
      this.#lastReceiverId = claimed.at(-1)?.receiverId ?? this.#lastReceiverId;
      for (const [index, delivery] of claimed.entries()) {
        if (index > 0 && index % maxLaunchesPerTurn === 0) await nextTurn();
        this.#launch(delivery);
      }
      this.#noteQueueHealth('claim', true);
    } catch (error) {
      this.#noteQueueHealth('claim', false);
      world.log.error(`${channel.noun}s could not be claimed`, { reason: reasonOf(error) });
    }
  }

  #freeSlots(): number {
    return this.#limits.maxInFlight - this.#inFlight.size;
  }

  #addressesInFlight(receiverId: number): number[] {
    const all = [...this.#inFlight.values()];
    return all.flatMap(([receiver, address]) => (receiver === receiverId ? [address] : []));
  }

  #launch(delivery: ClaimedDelivery): void {
    const { receiverId, addressId } = delivery;
    if (this.#stopping || this.#inFlight.has(laneOf(delivery))) return;
    this.#inFlight.set(laneOf(delivery), [receiverId, addressId]);
    this.#track(this.#deliver(delivery));
  }

  /** `idle` and `stop` wait for this work. */
  #track(work: Promise<void>): void {
    const tracked = work.finally(() => {
      this.#running.delete(tracked);
      this.#settleIdle();
    });
    this.#running.add(tracked);
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const attempt = await makeAttempt(this.#parts, delivery, this.#abortAll.signal);
    this.#inFlight.delete(laneOf(delivery));
    if (attempt === undefined) return;
    const next = this.#nextOf(delivery, attempt);
    const recorded = recordAttempt(this.#parts, delivery, attempt, next);
    this.wake();
    this.#noteQueueHealth('record', await recorded);
  }

  #noteQueueHealth(step: 'claim' | 'record', succeeded: boolean): void {
    if (succeeded) this.#failingSince.delete(step);
    else if (!this.#failingSince.has(step)) {
      this.#failingSince.set(step, this.#parts.world.monotonic());
    }
  }

  /**
   * When the delivery is due again. A host that is down costs it no attempt. See
   * docs/decisions/011.
   */
  #nextOf({ url, step, dueAt, state }: ClaimedDelivery, attempt: Attempt): NextAttempt {
    const { world } = this.#parts;
    const isConfirmation = state === 'delivered';
    const now = world.now();
    const downForMs = this.#breaker.downForMs(url, world.monotonic());
    this.#noteReachability(url, attempt);
    if (downForMs !== undefined && attempt.unreachable) {
      const isOver = isWaitExhausted(now - dueAt, downForMs) && this.#clock.isSure();
      return { step, at: isOver ? undefined : dueAt };
    }
    if (isConfirmation || attempt.doubt !== null) {
      const answers = isConfirmation ? step + 1 : 1;
      return { step: answers, at: nextConfirmation(answers, now) };
    }
    const { retryAfterSeconds } = attempt;
    const failed = { attemptCount: step + 1, now, jitter: world.random(), retryAfterSeconds };
    const at = nextAttempt(failed);
    return at === undefined && !this.#clock.isSure()
      ? { step, at: now + unsureWaitMs }
      : { step: step + 1, at };
  }

  #noteReachability(url: string, { unreachable, outcome }: Attempt): void {
    const { world } = this.#parts;
    if (outcome === 'refused' || outcome === 'internal') return;
    const change = unreachable
      ? this.#breaker.hostFailed(url, world.monotonic())
      : this.#breaker.hostReached(url, outcome === 'delivered', world.monotonic());
    const host = hostOf(url);
    if (change === 'down')
      world.log.warn('host cannot be reached, retried once a minute', { host });
    if (change === 'up') world.log.info('host can be reached again', { host });
  }

  async #deleteOldAttempts(): Promise<void> {
    const { database, channel, world } = this.#parts;
    const before = this.#clock.passed(world.now()) - attemptRetentionMs;
    try {
      while (!this.#stopping && (await database.write((tx) => channel.queue.fold(tx, before)))) {}
    } catch (error) {
      world.log.error('old attempts could not be deleted', { reason: reasonOf(error) });
    }
  }

  /** Makes rows due whose due time was set by a clock that was ahead, by hours or by years. */
  async #correctDueTimes(): Promise<void> {
    const { database, channel, world } = this.#parts;
    try {
      const { leaseMs } = this.#limits;
      await database.write((tx) => channel.queue.recall(tx, world.now(), maxWaits, leaseMs));
    } catch (error) {
      world.log.error('due times could not be corrected', { reason: reasonOf(error) });
    }
  }

  #isDue(): boolean {
    const { world, channel } = this.#parts;
    const [now, monotonic] = [world.now(), world.monotonic()];
    const isBlocked = (url: string) => this.#breaker.isBlocked(url, monotonic);
    const dueAt = channel.queue.nextDueAt(now, isBlocked, [...this.#inFlight.values()]);
    return dueAt !== undefined && dueAt <= now;
  }

  #settleIdle(): void {
    const isBusy = this.#pump !== undefined || this.#running.size > 0;
    if (this.#idleWaiters.length === 0 || isBusy) return;
    if (!this.#stopping && this.#isDue()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
