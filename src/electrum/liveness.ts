// Whether a server still answers, and how fast. Only answers in time count: what it sends unasked, or a
// line that never ends, may come from a server that has long stopped listening, and an ElectrumX over its
// limit refuses each request 30 s late. 30 s after the last answer it is pinged, and 15 s later, when
// nothing at all was answered in time since, it is dead.

import type { Cancel, World } from '../world/world.ts';
import type { Request } from './requests.ts';

const pingAfterMs = 30_000;
const deadAfterMs = 15_000;
/** The share of the newest round trip in the average: that of TCP, RFC 6298 section 2. */
const latencyWeight = 1 / 8;

export interface PulseOptions {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  /** Asks for an answer. */
  readonly ping: () => void;
  /** Called at most once. */
  readonly dead: () => void;
}

export class Pulse {
  readonly #options: PulseOptions;
  #answeredAt: number;
  #latencyMs: number | undefined;
  #cancel: Cancel = () => {};

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#answeredAt = options.world.monotonic();
    this.#listen();
  }

  /** The round trip of small requests, smoothed; undefined before the first. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** Tells that a request of that time was answered in time; `small` when its answer is no matter of size. */
  answered(sentAt: number, small: boolean): void {
    this.#answeredAt = this.#options.world.monotonic();
    if (!small) return;
    const tookMs = this.#answeredAt - sentAt;
    this.#latencyMs ??= tookMs;
    this.#latencyMs += (tookMs - this.#latencyMs) * latencyWeight;
  }

  stop(): void {
    this.#cancel();
  }

  #listen(): void {
    const { world, ping, dead } = this.#options;
    const silentMs = world.monotonic() - this.#answeredAt;
    if (silentMs < pingAfterMs) {
      this.#cancel = world.after(pingAfterMs - silentMs, () => this.#listen());
      return;
    }
    const pingedAt = world.monotonic();
    ping();
    this.#cancel = world.after(deadAfterMs, () => {
      if (this.#answeredAt < pingedAt) dead();
      else this.#listen();
    });
  }
}

// The deadline of every request in flight, by one timer: all have the same time, so the first in flight is the
// first that is due, and one timer does for thousands.

export interface DeadlineParts {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  /** From the sending of a request to its answer. */
  readonly timeoutMs: number;
  /** In the order in which they were sent. */
  readonly inFlight: ReadonlyMap<number, Request>;
  readonly expire: (request: Request) => void;
}

export class Deadlines {
  readonly #parts: DeadlineParts;
  #cancel: Cancel | undefined;

  constructor(parts: DeadlineParts) {
    this.#parts = parts;
  }

  /** A request was sent. */
  sent(): void {
    if (this.#cancel === undefined) this.#await();
  }

  stop(): void {
    this.#cancel?.();
  }

  #await(): void {
    const { world, timeoutMs, expire } = this.#parts;
    const [first] = this.#awaited();
    this.#cancel = undefined;
    if (first === undefined) return;
    const leftMs = first.sentAt + timeoutMs - world.monotonic();
    this.#cancel = world.after(leftMs, () => {
      const since = world.monotonic() - timeoutMs;
      for (const request of this.#awaited()) {
        if (request.sentAt > since) break;
        expire(request);
      }
      this.#await();
    });
  }

  *#awaited(): Generator<Request, void> {
    for (const request of this.#parts.inFlight.values()) if (!request.overdue) yield request;
  }
}

// What a server leaves unanswered. An overdue request keeps its place until it is answered, so that a slow server is not asked ever
// more. Where that has taken all places, nothing goes on any more; where it has taken all of mass requests, and not one of
// them is answered for a minute, these would wait for ever, though everything else goes on.

export interface UnansweredParts {
  readonly world: Pick<World, 'after'>;
  readonly places: number;
  /** For mass requests. */
  readonly bulkPlaces: number;
  readonly end: (reason: string) => void;
}

const stuckMs = 60_000;

export class Unanswered {
  readonly #parts: UnansweredParts;
  #count = 0;
  #bulkCount = 0;
  #cancel: Cancel | undefined;

  constructor(parts: UnansweredParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#count;
  }

  overdue(bulk: boolean): void {
    const { world, places, bulkPlaces, end } = this.#parts;
    this.#count += 1;
    if (bulk) this.#bulkCount += 1;
    if (this.#count >= places) end('the server has stopped answering');
    else if (this.#bulkCount >= bulkPlaces) {
      this.#cancel ??= world.after(stuckMs, () => end('the server leaves much unanswered'));
    }
  }

  answeredLate(bulk: boolean): void {
    this.#count -= 1;
    if (!bulk) return;
    this.#bulkCount -= 1;
    this.stop();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
