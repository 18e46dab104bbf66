// How many mass requests may be in flight beyond the window, on a server that answers them fast: electrs takes
// what has come in one go, so that 100 at a time cost it ten times as much as 1,000. A server that becomes slow,
// because it reads from a slow disk, has its window back soon: what is in flight must be answered in time.

/** A whole window was answered at least as fast as this: it is doubled. */
const fastMs = 250;
/** An answer that took longer halves it. */
const slowMs = 1_000;
/** At most, of the window that was set. */
const mostFold = 10;

export class MassWindow {
  readonly #base: number;
  #places: number;
  #fast = 0;

  /** @param base mass requests in flight at any server */
  constructor(base: number) {
    this.#base = base;
    this.#places = base;
  }

  /** Places beyond the base. */
  get extra(): number {
    return this.#places - this.#base;
  }

  /** Tells how long the answer to a mass request took. */
  answered(tookMs: number): void {
    if (tookMs > slowMs) this.#shrink();
    this.#fast = tookMs > fastMs ? 0 : this.#fast + 1;
    if (this.#fast < this.#places) return;
    this.#places = Math.min(2 * this.#places, mostFold * this.#base);
    this.#fast = 0;
  }

  #shrink(): void {
    this.#places = Math.max(this.#base, Math.floor(this.#places / 2));
  }
}
