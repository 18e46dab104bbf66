// Brings every callback that is owed to its shop: claim → send → record, for ever.
//
// Format. The queue is the `callbacks` table (store/records/outbox.ts); nothing else survives a crash. A row is owed until an
// attempt is answered with 200, the schedule ends, or a newer status of the same payment supersedes it. A 200 that is
// doubtful has it sent again, twice at most. A lease marks a row that is on the wire.
//
// Algorithm. `wake` starts the pump, or makes a running one go round once more, so a thousand wakes cost one claim. A
// claim is one transaction: it leases what is due, up to the free room. Each leased callback is a flight of its own: one
// attempt (bounded by the sender's deadline), then one transaction that records it with the next due time, then a wake,
// since its place is free. That wake's claim shares the commit of the records of flights that end meanwhile. A tick each second finds what became due with time, and makes up for any wake that was lost; it only
// reads unless something is due.
//
// Invariants.
// - At least once: an attempt that was not recorded (crash, stop, full disk) leaves a row whose lease ends, and it is
//   sent again with the same event id.
// - At most one flight an address: the outbox claims none while a lease lasts, the lease is longer than an attempt can
//   take, and `inFlight` holds even when the wall clock jumps over a lease, also for the bound of a store.
// - Bounded: `inFlight` flights in all, `perStore` of one store, one where it did not receive the last callback
//   (circuit-breaker.ts), so a shop that hangs delays itself.
// - A host that can't be reached costs its waiting callbacks no attempt (circuit-breaker.ts): they stay due, held back, and one
//   a minute goes out to see, or at somebody's word.
// - A failed attempt never ends the pump, and the pump never spins: it goes round only for a wake.

import { emptyDoubt } from '../domain/callback-answer.ts';
import { isWaitExhausted, maxWaits, nextAttempt, nextConfirmation } from '../domain/retry.ts';
import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Database } from '../store/db/database.ts';
import type { CallbackState } from '../store/db/schema.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Claimed, Next, Outbox } from '../store/records/outbox.ts';
import type { Cancel, World } from '../world/world.ts';
import { CircuitBreaker, hostOf } from './circuit-breaker.ts';
import { type DeliveryLimits, deliveryLimits } from './delivery-limits.ts';
import { type Attempt, type Sender, unsentAttempt } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** A host that cannot be reached, though something is owed to it. */
export interface DownHost {
  /** Host and port. */
  readonly host: string;
  /** Callbacks that are owed there. */
  readonly waiting: number;
}

/** What became of an attempt that was recorded. */
export interface AttemptReport {
  readonly outcome: Attempt['outcome'];
  readonly durationMs: number;
  readonly state: CallbackState;
  /** Since the callback was owed, where it is delivered by this attempt. */
  readonly deliveredAfterMs: number | undefined;
}

export interface DispatcherParts {
  readonly world: World;
  readonly database: Pick<Database, 'write'>;
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly limits?: DeliveryLimits;
  /** Nothing is claimed while this is so; whoever knows when it is over wakes. */
  readonly isHeldBack?: () => boolean;
  /** Hears of each attempt once it is recorded. */
  readonly onAttempt?: (report: AttemptReport) => void;
}

/** In one turn of the event loop: a request takes 0.15 ms. */
const maxLaunchesPerTurn = 16;
const everySecond = '* * * * * *';
const everyHour = '0 0 * * * *';
/** How long the queue may fail before it is spoken of: a lock of another process passes. */
const maxHiddenFailureMs = 60_000;
/** Attempts older than this are only counted. */
const attemptRetentionMs = 90 * 86_400_000;

export class CallbackDispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DeliveryLimits;
  /** Addresses with a request on the wire, and their stores. */
  readonly #inFlight = new Map<number, number>();
  /** Flights, until their record is written. */
  readonly #deliveries = new Set<Promise<void>>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #abortAll = new AbortController();
  readonly #breaker = new CircuitBreaker();
  #cancels: Cancel[] = [];
  #pump: Promise<void> | undefined;
  #claimAgain = false;
  #started = false;
  #stopping = false;
  #lastStoreId = 0;
  /** What the file refuses, and since when (monotonic). */
  readonly #failingSince = new Map<'claim' | 'record', number>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = parts.limits ?? deliveryLimits;
  }

  /** Frees the leases of the process before, then delivers until `stop`. */
  async start(): Promise<void> {
    const { database, outbox, world } = this.#parts;
    await database.write((tx) => outbox.releaseLeases(tx));
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

  /** Something was enqueued, perhaps before the start. Losing a wake only costs the time to the next tick. */
  wake(): void {
    if (!this.#mayClaim()) return;
    this.#claimAgain = true;
    this.#pump ??= this.#runPump();
  }

  /** The same at somebody's word: what is held back is tried at once. */
  retry(): void {
    this.#breaker.probeNow();
    this.wake();
  }

  /** Wakes if something is due. */
  tick(): void {
    if (this.#isDue()) this.wake();
  }

  /** Resolves when nothing is under way and nothing is due now. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.tick();
      this.#settleIdle();
    });
  }

  /** In the order of the stores; a restart finds them out anew. */
  downHosts(): DownHost[] {
    const waiting = new Map<string, number>();
    for (const { callbackUrl, owed } of this.#parts.outbox.owedByStore()) {
      if (owed === 0 || !this.#breaker.isDown(callbackUrl)) continue;
      const host = hostOf(callbackUrl);
      waiting.set(host, (waiting.get(host) ?? 0) + owed);
    }
    return [...waiting].map(([host, count]) => ({ host, waiting: count }));
  }

  /** Whether the host of a callback URL is one of them. */
  isDown(callbackUrl: string): boolean {
    return this.#breaker.isDown(callbackUrl);
  }

  /** How many requests are on the wire. */
  inFlight(): number {
    return this.#inFlight.size;
  }

  /** Why nothing leaves though something is owed, in words; undefined while all is well. */
  stallReason(): string | undefined {
    const owing = this.#parts.outbox.owing();
    if (owing.length > 0 && owing.every((callbackUrl) => this.#breaker.isDown(callbackUrl))) {
      return 'none of the shops that are owed one can be reached';
    }
    const shownBefore = this.#parts.world.monotonic() - maxHiddenFailureMs;
    return [...this.#failingSince.values()].some((since) => since <= shownBefore)
      ? 'the queue in the database cannot be worked on, the log says why'
      : undefined;
  }

  /** Claims nothing more, and waits for what is under way, but not for longer than `drainMs`. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const cancel of this.#cancels) cancel();
    const reason = new Error('paygate is stopping');
    const cancel = this.#parts.world.after(this.#limits.drainMs, () =>
      this.#abortAll.abort(reason),
    );
    await this.#pump;
    await Promise.all(this.#deliveries);
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
    const { database, outbox, world } = this.#parts;
    if (this.#freeSlots() <= 0) return;
    try {
      const monotonic = world.monotonic();
      const afterStoreId = this.#lastStoreId;
      const onWire = (storeId: number) => this.#addressesInFlight(storeId);
      const { maxPerStore: perStore, leaseMs } = this.#limits;
      const limits = { perStore, leaseMs, afterStoreId, onWire };
      const claim = (tx: Tx) => {
        const { allow, commit } = this.#breaker.quotaAt(monotonic);
        tx.afterCommit(commit);
        return outbox.claim(tx, world.now(), { ...limits, allow, limit: this.#freeSlots() });
      };
      const claimed = await database.write(claim);
      this.#lastStoreId = claimed.at(-1)?.storeId ?? this.#lastStoreId;
      for (const [index, callback] of claimed.entries()) {
        if (index > 0 && index % maxLaunchesPerTurn === 0) await nextTurn();
        this.#launch(callback);
      }
      this.#noteQueueHealth('claim', true);
    } catch (error) {
      this.#noteQueueHealth('claim', false);
      world.log.error('callbacks could not be claimed', { reason: reasonOf(error) });
    }
  }

  #freeSlots(): number {
    return this.#limits.maxInFlight - this.#inFlight.size;
  }

  #addressesInFlight(storeId: number): number[] {
    return [...this.#inFlight].flatMap(([address, store]) => (store === storeId ? [address] : []));
  }

  #launch(callback: Claimed): void {
    if (this.#stopping || this.#inFlight.has(callback.addressId)) return;
    this.#inFlight.set(callback.addressId, callback.storeId);
    this.#track(this.#deliver(callback));
  }

  /** What `idle` and `stop` wait for. */
  #track(work: Promise<void>): void {
    const open = work.finally(() => {
      this.#deliveries.delete(open);
      this.#settleIdle();
    });
    this.#deliveries.add(open);
  }

  async #deliver(callback: Claimed): Promise<void> {
    const attempt = await makeAttempt(this.#parts, callback, this.#abortAll.signal);
    this.#inFlight.delete(callback.addressId);
    if (attempt === undefined) return;
    const next = this.#nextOf(callback, attempt);
    const recorded = recordAttempt(this.#parts, callback, attempt, next);
    this.wake();
    this.#noteQueueHealth('record', await recorded);
  }

  #noteQueueHealth(what: 'claim' | 'record', succeeded: boolean): void {
    if (succeeded) this.#failingSince.delete(what);
    else if (!this.#failingSince.has(what)) {
      this.#failingSince.set(what, this.#parts.world.monotonic());
    }
  }

  /** When to try again; a host that is down is not charged to those that wait for it. */
  #nextOf(callback: Claimed, attempt: Attempt): Next {
    const { world } = this.#parts;
    const { callbackUrl, step, dueAt } = callback;
    const isConfirmation = callback.state === 'delivered';
    const now = world.now();
    const downForMs = this.#breaker.downForMs(callbackUrl, world.monotonic());
    this.#noteReachability(callbackUrl, attempt);
    if (downForMs !== undefined && attempt.unreachable) {
      return { step, at: isWaitExhausted(now - dueAt, downForMs) ? undefined : dueAt };
    }
    if (isConfirmation || attempt.doubt !== null) {
      const answers = isConfirmation ? step + 1 : 1;
      return { step: answers, at: nextConfirmation(answers, now) };
    }
    const { retryAfterSeconds } = attempt;
    const failed = { attemptCount: step + 1, now, jitter: world.random(), retryAfterSeconds };
    return { step: step + 1, at: nextAttempt(failed) };
  }

  #noteReachability(callbackUrl: string, { unreachable, outcome }: Attempt): void {
    const { world } = this.#parts;
    if (outcome === 'refused' || outcome === 'internal') return;
    const change = unreachable
      ? this.#breaker.hostFailed(callbackUrl, world.monotonic())
      : this.#breaker.hostReached(callbackUrl, outcome === 'delivered', world.monotonic());
    const host = hostOf(callbackUrl);
    if (change === 'down') world.log.warn('host cannot be reached, tried once a minute', { host });
    if (change === 'up') world.log.info('host can be reached again', { host });
  }

  async #deleteOldAttempts(): Promise<void> {
    const { database, outbox, world } = this.#parts;
    const before = world.now() - attemptRetentionMs;
    try {
      while (!this.#stopping && (await database.write((tx) => outbox.fold(tx, before)))) {}
    } catch (error) {
      world.log.error('old attempts could not be folded', { reason: reasonOf(error) });
    }
  }

  /** What was put off by a clock that was ahead, by hours or by years, is due now. */
  async #correctDueTimes(): Promise<void> {
    const { database, outbox, world } = this.#parts;
    try {
      const { leaseMs } = this.#limits;
      await database.write((tx) => outbox.recall(tx, world.now(), maxWaits, leaseMs));
    } catch (error) {
      world.log.error('due times could not be looked through', { reason: reasonOf(error) });
    }
  }

  #isDue(): boolean {
    const { world, outbox } = this.#parts;
    const [now, monotonic] = [world.now(), world.monotonic()];
    const isHeld = (url: string) => this.#breaker.isBlocked(url, monotonic);
    const dueAt = outbox.nextDueAt(now, isHeld, [...this.#inFlight.keys()]);
    return dueAt !== undefined && dueAt <= now;
  }

  #settleIdle(): void {
    if (this.#idleWaiters.length === 0 || this.#pump !== undefined || this.#deliveries.size > 0)
      return;
    if (!this.#stopping && this.#isDue()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** One attempt; undefined when `stop` cut it off. A fault of ours counts as a failed attempt. */
async function makeAttempt(
  { world, sender, outbox }: DispatcherParts,
  callback: Claimed,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const startedAt = world.now();
  try {
    const { callbackCa, ...order } = callback;
    const ca = callbackCa ?? undefined;
    const webhookSecrets = signingSecrets(callback, startedAt);
    const attempt = await sender.send({ ...order, ca, webhookSecrets }, signal);
    const isDoubtful = attempt.verdict === 'empty' && outbox.hasSpoken(callback.storeId);
    return isDoubtful ? { ...attempt, doubt: emptyDoubt } : attempt;
  } catch (error) {
    if (signal.aborted) return undefined;
    const reason = 'an internal error of paygate; its log says more';
    world.log.error('callback attempt broke', { ...idsOf(callback), reason: reasonOf(error) });
    return { ...unsentAttempt, startedAt, durationMs: 0, outcome: 'internal', reason };
  }
}

/** Never rejects: what can't be recorded is sent again when its lease ends. Answers whether it was. */
async function recordAttempt(
  { world, database, outbox, onAttempt }: DispatcherParts,
  callback: Claimed,
  attempt: Attempt,
  next: Next,
): Promise<boolean> {
  const { outcome, httpStatus, durationMs, doubt, reason } = attempt;
  const fields = {
    ...idsOf(callback),
    attempt: callback.attemptCount + 1,
    outcome,
    httpStatus,
    durationMs,
    ...(reason !== null && { reason }),
    ...(doubt !== null && { doubt }),
  };
  try {
    const now = world.now();
    const state = await database.write((tx) => outbox.record(tx, now, callback, attempt, next));
    world.log[outcome === 'delivered' ? 'info' : 'warn']('callback attempted', fields);
    const isFirst = outcome === 'delivered' && callback.state !== 'delivered';
    const deliveredAfterMs = isFirst ? now - callback.createdAt : undefined;
    onAttempt?.({ outcome, durationMs, state, deliveredAfterMs });
    if (state === 'exhausted') world.log.warn('callback exhausted', idsOf(callback));
    return true;
  } catch (error) {
    world.log.error('callback attempt not recorded', { ...fields, fault: reasonOf(error) });
    return false;
  }
}

const idsOf = ({ callbackId, storeId, eventId }: Claimed): Record<string, unknown> => ({
  callbackId,
  storeId,
  eventId,
});
