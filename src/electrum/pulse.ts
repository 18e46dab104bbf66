// Whether a server still answers, and how fast. Only answers in time count: what it sends unasked, or a
// line that never ends, may come from a server that has long stopped listening, and an ElectrumX over its
// limit refuses each request 30 s late. 30 s after the last answer it is pinged, and 15 s later, when
// nothing at all was answered in time since, it is dead.

import type { Cancel, World } from '../world/world.ts';

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
