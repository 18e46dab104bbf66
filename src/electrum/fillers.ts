// When to send a filler: a request that is made for the size of its response alone. ElectrumX
// (server/transport.py) sends nothing until 1,024 bytes have gathered or 1 s has passed since it
// last sent. Without fillers each small request takes 1 s. The response to a filler carries theirs
// along. At most one filler is in flight.

import type { Cancel, World } from '../world/world.ts';
import type { InFlight, Request } from './requests.ts';

/**
 * The waits before each filler that follows an answered one. A response that takes the server
 * longer, such as a transaction from bitcoind, misses the first filler. More fillers follow, at
 * growing distances, until the server's own second is over.
 */
const followUpMs = [1, 1, 1, 1, 2, 2, 5, 10, 20, 40, 80, 160, 320] as const;

/**
 * The first wait behind a large response, which rarely needs a filler. ElectrumX writes in sizes
 * that are powers of two, and may hold back the rest of it.
 */
const firstBehindLarge = followUpMs.indexOf(10);

export class Fillers {
  readonly #world: Pick<World, 'after'>;
  readonly #inFlight: InFlight;
  readonly #send: () => Request;
  #filler: Request | undefined;
  #isInFlight = false;
  /** Requests were sent while a filler was in flight, perhaps too late to be carried by it. */
  #isOwed = false;
  #followUps = 0;
  #sentCount = 0;
  /** Set while the next filler waits. */
  #cancel: Cancel | undefined;

  /** @param send puts one filler on the wire and calls `answered` when its response has come */
  constructor(world: Pick<World, 'after'>, inFlight: InFlight, send: () => Request) {
    this.#world = world;
    this.#inFlight = inFlight;
    this.#send = send;
  }

  get sentCount(): number {
    return this.#sentCount;
  }

  /** How many of the requests in flight are fillers: 0 or 1. */
  get inFlightCount(): number {
    return this.#filler !== undefined && this.#inFlight.has(this.#filler.id) ? 1 : 0;
  }

  isFiller(request: Request): boolean {
    return request === this.#filler;
  }

  /** Requests were put on the wire. */
  sent(requests: readonly Request[]): void {
    if (requests.some(({ large }) => large)) this.#largeSent();
    else if (requests.length > 0) this.#smallSent();
  }

  answered(): void {
    this.#isInFlight = false;
    if (!this.#isAwaiting()) return;
    if (this.#isOwed) this.#sendFiller();
    else this.#followUp();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #isAwaiting(): boolean {
    return this.#inFlight.size > this.inFlightCount;
  }

  #sendFiller(): void {
    this.stop();
    this.#isOwed = false;
    this.#isInFlight = true;
    this.#sentCount += 1;
    this.#filler = this.#send();
  }

  #smallSent(): void {
    this.#followUps = 0;
    if (this.#isInFlight) this.#isOwed = true;
    else this.#sendFiller();
  }

  #largeSent(): void {
    const isFollowed = this.#isInFlight || this.#cancel !== undefined;
    this.#followUps = isFollowed ? Math.min(this.#followUps, firstBehindLarge) : firstBehindLarge;
    if (!isFollowed) this.#followUp();
  }

  #followUp(): void {
    const waitMs = followUpMs[this.#followUps];
    if (waitMs === undefined) return;
    this.#followUps++;
    this.#cancel = this.#world.after(waitMs, () => {
      this.#cancel = undefined;
      if (this.#isAwaiting()) this.#sendFiller();
    });
  }
}
