// Whether a server takes several requests in one message, as the protocol allows and not each of them does. One is
// tried, and all others wait for its answer; where it is refused, or the session's last, that server is asked one by one
// from then on.
// https://www.jsonrpc.org/specification#batch

/** With more than this nothing was faster. Fulcrum takes 345 of one address, in all that is under way, unless told otherwise. */
export const mostInBatch = 50;
/** Sessions that may end while some are in flight at a server that has taken one: not each end is over them. */
const mostLosses = 2;

/** Keep one for a server, not for a connection. */
export class Batches {
  #state: 'untried' | 'tried' | 'taken' | 'refused' = 'untried';
  #losses = 0;
  #lastLost: number | undefined;
  /** Who waits until it is known, and with how many requests. */
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  /** Whether a batch may be sent now; call it only to send one. */
  begin(): boolean {
    if (this.#state === 'untried') {
      this.#state = 'tried';
      return true;
    }
    return this.#state === 'taken';
  }

  /** How many requests wait until it is known. */
  get waiting(): number {
    return this.#waiting.reduce((sum, { count }) => sum + count, 0);
  }

  /** While one is being tried, resolves when it is known, for so many requests; undefined when none is. */
  known(count: number): Promise<void> | undefined {
    if (this.#state !== 'tried') return undefined;
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
    });
  }

  answered(): void {
    if (this.#state === 'tried') this.#become('taken');
  }

  refused(): void {
    this.#become('refused');
  }

  /** The session ended before a batch was answered. @param generation of that session, which may have lost many at once */
  lost(generation: number): void {
    if (generation === this.#lastLost) return;
    this.#lastLost = generation;
    this.#losses += 1;
    if (this.#state === 'tried' || this.#losses > mostLosses) this.#become('refused');
  }

  #become(state: 'taken' | 'refused'): void {
    this.#state = state;
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }
}
