// Brings every callback that is owed to its shop: claim → send → record, for ever.
//
// Format. The queue is the `callbacks` table (store/outbox.ts); nothing else survives a crash. A row
// is owed until an attempt is answered with 200, the schedule ends, or a newer status of the same
// payment supersedes it. A lease marks a row that is on the wire.
//
// Algorithm. `wake` starts the pump, or makes a running one go round once more, so a thousand wakes
// cost one claim. A claim is one transaction: it leases what is due, up to the free room. Each leased
// callback is a flight of its own: one attempt (bounded by the sender's deadline), then one transaction
// that records it with the next due time, then a wake, since its place is free. That wake's claim is
// queued right behind the record and mostly shares its commit. A tick each second finds what became due
// with time, and makes up for any wake that was lost; it only reads unless something is due.
//
// Invariants.
// - At least once: an attempt that was not recorded (crash, stop, full disk) leaves a row whose lease
//   ends, and it is sent again with the same event id.
// - At most one flight a payment: the outbox claims none while a lease lasts, the lease is longer than
//   an attempt can take, and `inFlight` holds even when the wall clock jumps over a lease.
// - Bounded: `inFlight` flights in all, `perStore` of one store, so a shop that hangs delays itself.
// - A failed attempt never ends the pump, and the pump never spins: it goes round only for a wake.

import { nextAttempt } from '../domain/retry.ts';
import { reasonOf } from '../errors.ts';
import type { Database } from '../store/database.ts';
import type { Claimed, Outbox } from '../store/outbox.ts';
import type { Cancel, World } from '../world.ts';
import type { Attempt, Sender } from './sender.ts';

export interface DeliveryLimits {
  /** Requests under way in all. */
  readonly inFlight: number;
  /** Requests under way to one store. */
  readonly perStore: number;
  /** Longer than the sender's deadline. */
  readonly leaseMs: number;
  /** How long `stop` waits for requests under way before it cuts them off. */
  readonly drainMs: number;
}

export const deliveryLimits: DeliveryLimits = {
  inFlight: 64,
  perStore: 2,
  leaseMs: 30_000,
  drainMs: 5_000,
};

export interface CallbackDispatcher {
  /** Frees the leases of the process before, then delivers until `stop`. */
  start(): Promise<void>;
  /** Something was enqueued. Losing a wake only costs the time to the next tick. */
  wake(): void;
  /** Wakes if something is due. */
  tick(): void;
  /** Resolves when nothing is under way and nothing is due now. */
  idle(): Promise<void>;
  /** Claims nothing more, and waits for what is under way, but not for longer than `drainMs`. */
  stop(): Promise<void>;
}

export interface DispatcherParts {
  readonly world: World;
  readonly database: Pick<Database, 'write'>;
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly limits?: DeliveryLimits;
}

const everySecond = '* * * * * *';

export const createDispatcher = (parts: DispatcherParts): CallbackDispatcher => new Engine(parts);

class Engine implements CallbackDispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DeliveryLimits;
  /** Payments with a request on the wire. */
  readonly #inFlight = new Set<number>();
  /** Flights, until their record is written. */
  readonly #open = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  readonly #cutOff = new AbortController();
  #cancelTick: Cancel = () => {};
  #pump: Promise<void> | undefined;
  #again = false;
  #stopping = false;
  #lastStoreId = 0;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = parts.limits ?? deliveryLimits;
  }

  async start(): Promise<void> {
    const { database, outbox, world } = this.#parts;
    await database.write((tx) => outbox.releaseLeases(tx));
    this.#cancelTick = world.schedule(everySecond, () => this.tick());
    this.wake();
  }

  wake(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#pump ??= this.#run();
  }

  tick(): void {
    if (this.#isDue()) this.wake();
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.tick();
      this.#settleIdle();
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelTick();
    const reason = new Error('paygate is stopping');
    const cancel = this.#parts.world.after(this.#limits.drainMs, () => this.#cutOff.abort(reason));
    await this.#pump;
    await Promise.all(this.#open);
    cancel();
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stopping) {
      this.#again = false;
      await this.#claim();
    }
    this.#pump = undefined;
    this.#settleIdle();
  }

  async #claim(): Promise<void> {
    const { database, outbox, world } = this.#parts;
    const limit = this.#limits.inFlight - this.#inFlight.size;
    if (limit <= 0) return;
    try {
      const limits = { ...this.#limits, limit, afterStoreId: this.#lastStoreId };
      const claimed = await database.write((tx) => outbox.claim(tx, world.now(), limits));
      this.#lastStoreId = claimed.at(-1)?.storeId ?? this.#lastStoreId;
      for (const callback of claimed) this.#launch(callback);
    } catch (error) {
      world.log.error('callbacks could not be claimed', { reason: reasonOf(error) });
    }
  }

  #launch(callback: Claimed): void {
    if (this.#stopping || this.#inFlight.has(callback.paymentId)) return;
    this.#inFlight.add(callback.paymentId);
    const flight = this.#fly(callback).finally(() => {
      this.#open.delete(flight);
      this.#settleIdle();
    });
    this.#open.add(flight);
  }

  async #fly(callback: Claimed): Promise<void> {
    const attempt = await attemptOf(this.#parts, callback, this.#cutOff.signal);
    this.#inFlight.delete(callback.paymentId);
    if (attempt === undefined) return;
    const recorded = record(this.#parts, callback, attempt);
    this.wake();
    await recorded;
  }

  #isDue(): boolean {
    const now = this.#parts.world.now();
    return (this.#parts.outbox.nextDueAt(now) ?? Number.POSITIVE_INFINITY) <= now;
  }

  #settleIdle(): void {
    if (this.#waiting.length === 0 || this.#pump !== undefined || this.#open.size > 0) return;
    if (!this.#stopping && this.#isDue()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** One attempt; undefined when `stop` cut it off. A fault of ours counts as a failed attempt. */
async function attemptOf(
  { world, sender }: DispatcherParts,
  callback: Claimed,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const startedAt = world.now();
  try {
    const { webhookSecret, ...order } = callback;
    return await sender.send({ ...order, webhookSecrets: [webhookSecret] }, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    const reason = 'an internal error of paygate; its log says more';
    world.log.error('callback attempt broke', { ...idsOf(callback), reason: reasonOf(error) });
    return { startedAt, durationMs: 0, outcome: 'internal', httpStatus: null, reason, body: null };
  }
}

/** Never rejects: what can't be recorded is sent again when its lease ends. */
async function record(
  { world, database, outbox }: DispatcherParts,
  callback: Claimed,
  attempt: Attempt,
): Promise<void> {
  const now = world.now();
  const attemptCount = callback.attemptCount + 1;
  const { retryAfterSeconds, outcome, httpStatus, durationMs } = attempt;
  const nextAttemptAt = nextAttempt({
    attemptCount,
    now,
    jitter: world.random(),
    retryAfterSeconds,
  });
  const fields = { ...idsOf(callback), attempt: attemptCount, outcome, httpStatus, durationMs };
  try {
    const state = await database.write((tx) =>
      outbox.record(tx, now, callback.callbackId, attempt, nextAttemptAt),
    );
    world.log.info('callback attempted', fields);
    if (state === 'exhausted') world.log.warn('callback exhausted', idsOf(callback));
  } catch (error) {
    world.log.error('callback attempt not recorded', { ...fields, reason: reasonOf(error) });
  }
}

const idsOf = ({ callbackId, storeId, eventId }: Claimed): Record<string, unknown> => ({
  callbackId,
  storeId,
  eventId,
});
