// How many light mass requests may be in flight beyond the window, on a server that answers them fast: electrs takes
// what has come in one go and then looks through everything that is subscribed, so that the fewer goes, the better.
// Others never are: to tell of a script with a history it reads blocks, and what is in flight must be answered in time.

/** A whole window was answered at least as fast as this: it is widened. */
const fastMs = 250;
/** By so many times. */
const wider = 4;
/** An answer that took longer halves it. */
const slowMs = 1_000;
/** Whatever the window was set to, if that was less. */
const most = 50_000;

export class MassWindow {
  readonly #base: number;
  #places: number;
  #fast = 0;

  /** @param base mass requests of any kind in flight, at any server */
  constructor(base: number) {
    this.#base = base;
    this.#places = base;
  }

  /** Places beyond the base. */
  get extra(): number {
    return this.#places - this.#base;
  }

  /** Tells how long the answer to a light request took, or to so many at once. */
  answered(tookMs: number, count = 1): void {
    if (tookMs > slowMs) this.#shrink();
    this.#fast = tookMs > fastMs ? 0 : this.#fast + count;
    if (this.#fast < this.#places) return;
    this.#places = Math.max(this.#base, Math.min(wider * this.#places, most));
    this.#fast = 0;
  }

  #shrink(): void {
    this.#places = Math.max(this.#base, Math.floor(this.#places / 2));
  }
}
