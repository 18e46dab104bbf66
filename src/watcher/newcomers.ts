// When addresses that were issued are subscribed: at once, but of very many in a row those that come later wait until no
// shop asks for more, so that shops are answered first. A payment that was faster than its subscription is told with it.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Cancel, World } from '../world/world.ts';

export interface NewcomersParts {
  readonly world: World;
  readonly watch: (scripthashes: readonly Scripthash[]) => void;
}

/** Of a row, so many are watched at once. */
const promptly = 50;
/** It is quiet when nobody has asked for so long. */
export const quietMs = 100;
/** However many are asked for, none is watched later. */
const longestMs = 1_000;

export class Newcomers {
  readonly #parts: NewcomersParts;
  #waiting: Scripthash[] = [];
  /** Of what waits, by the monotonic clock. */
  #firstAt = 0;
  /** When somebody asked for an address, or else the start. */
  #lastAt: number;
  #inRow = 0;
  #cancel: Cancel = () => {};

  constructor(parts: NewcomersParts) {
    this.#parts = parts;
    this.#lastAt = parts.world.monotonic();
  }

  isQuiet(): boolean {
    return this.#parts.world.monotonic() - this.#lastAt >= quietMs;
  }

  add(scripthash: Scripthash): void {
    this.#inRow = this.isQuiet() ? 1 : this.#inRow + 1;
    this.#lastAt = this.#parts.world.monotonic();
    if (this.#waiting.length > 0) this.#waiting.push(scripthash);
    else if (this.#inRow > promptly) this.#gather(scripthash);
    else this.#parts.watch([scripthash]);
  }

  stop(): void {
    this.#cancel();
  }

  #gather(first: Scripthash): void {
    this.#firstAt = this.#lastAt;
    this.#waiting = [first];
    this.#later();
  }

  #later(): void {
    this.#cancel = this.#parts.world.after(quietMs, () => this.#look());
  }

  #look(): void {
    const waitedMs = this.#parts.world.monotonic() - this.#firstAt;
    if (!this.isQuiet() && waitedMs < longestMs) {
      this.#later();
      return;
    }
    const watched = this.#waiting;
    this.#waiting = [];
    this.#parts.watch(watched);
  }
}
