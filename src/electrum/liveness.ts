// Whether a server still answers, and how fast: the deadline of every request, the ping of a silent
// server, and the count of overdue requests. It never sends: the channel does. Only responses in
// time count as life. A server that stopped listening may still send notifications. An ElectrumX
// over its limit refuses 30 s late.

import type { Cancel, World } from '../world/world.ts';
import type { InFlight, Request } from './requests.ts';

const pingAfterMs = 30_000;
const deadAfterMs = 15_000;
const stalledAfterMs = 60_000;
/** The share of the newest round trip in the average: that of TCP, RFC 6298 section 2. */
const latencyWeight = 1 / 8;

export interface LivenessOptions {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  readonly inFlight: InFlight;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly maxBulkInFlight: number;
  readonly events: LivenessEvents;
}

export interface LivenessEvents {
  /** A request has passed its deadline; its response may still come. */
  onTimeout(request: Request): void;
  /** The server must be asked for something. */
  onPing(): void;
  /** No response came, not even to a ping. Called at most once. */
  onSilent(): void;
  /** Overdue requests fill the in-flight limit. */
  onStalled(reason: string): void;
}

export class Liveness {
  readonly #options: LivenessOptions;
  #answeredAt: number;
  #latencyMs: number | undefined;
  /**
   * Overdue requests count against the in-flight limit, so that a slow server is not asked more.
   */
  #overdue = 0;
  #bulkOverdue = 0;
  #cancelSilence: Cancel = () => {};
  #cancelDeadline: Cancel | undefined;
  #cancelStalled: Cancel | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#answeredAt = options.world.monotonic();
    this.#watchSilence();
  }

  /** The round trip of small requests, smoothed; undefined before the first. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  sent(): void {
    if (this.#cancelDeadline === undefined) this.#watchDeadline();
  }

  answered({ isOverdue, bulk, large, sentAt }: Request): void {
    if (isOverdue) this.#answeredLate(bulk);
    else this.#answeredInTime(sentAt, large);
  }

  stop(): void {
    this.#cancelSilence();
    this.#cancelDeadline?.();
    this.#cancelStalled?.();
  }

  #answeredInTime(sentAt: number, large: boolean): void {
    this.#answeredAt = this.#options.world.monotonic();
    if (large) return;
    const tookMs = this.#answeredAt - sentAt;
    this.#latencyMs ??= tookMs;
    this.#latencyMs += (tookMs - this.#latencyMs) * latencyWeight;
  }

  #answeredLate(bulk: boolean): void {
    this.#overdue -= 1;
    if (!bulk) return;
    this.#bulkOverdue -= 1;
    this.#cancelStalled?.();
    this.#cancelStalled = undefined;
  }

  #watchSilence(): void {
    const { world, events } = this.#options;
    const silentMs = world.monotonic() - this.#answeredAt;
    if (silentMs < pingAfterMs) {
      this.#cancelSilence = world.after(pingAfterMs - silentMs, () => this.#watchSilence());
      return;
    }
    const pingedAt = world.monotonic();
    events.onPing();
    this.#cancelSilence = world.after(deadAfterMs, () => {
      if (this.#answeredAt < pingedAt) events.onSilent();
      else this.#watchSilence();
    });
  }

  /** All requests have the same timeout, so the oldest is due first and one timer serves all. */
  #watchDeadline(): void {
    const { world, inFlight, timeoutMs } = this.#options;
    const [oldest] = inFlight.awaited();
    this.#cancelDeadline = undefined;
    if (oldest === undefined) return;
    const leftMs = oldest.sentAt + timeoutMs - world.monotonic();
    this.#cancelDeadline = world.after(leftMs, () => {
      const since = world.monotonic() - timeoutMs;
      for (const request of inFlight.awaited()) {
        if (request.sentAt > since) break;
        this.#expire(request);
      }
      this.#watchDeadline();
    });
  }

  #expire(request: Request): void {
    const { world, maxInFlight, maxBulkInFlight, events } = this.#options;
    request.isOverdue = true;
    events.onTimeout(request);
    this.#overdue += 1;
    if (request.bulk) this.#bulkOverdue += 1;
    if (this.#overdue >= maxInFlight) events.onStalled('the server has stopped answering');
    else if (this.#bulkOverdue >= maxBulkInFlight) {
      // Urgent requests go on, but bulk requests would wait for ever.
      this.#cancelStalled ??= world.after(stalledAfterMs, () =>
        events.onStalled('the server leaves many requests unanswered'),
      );
    }
  }
}
