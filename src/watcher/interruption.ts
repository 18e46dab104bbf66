// When watching was interrupted. A payment that the first scan after an interruption finds may have
// arrived at any time of it (domain/quote.ts). While orders are open, the file records each minute
// that all addresses are watched, because a crash leaves no other trace. A silent server is noticed
// within the grace time of a quote.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Store } from '../store/open-store.ts';
import { noteWatched, watchedAt } from '../store/records/settings.ts';
import type { World } from '../world/world.ts';

export interface InterruptionParts {
  readonly world: World;
  readonly store: Pick<Store, 'catalog' | 'database' | 'orders'>;
  readonly tasks: BackgroundTasks;
}

/**
 * How long the time is noted after the last order was open: until then the last of its quotes is
 * over. A payment that arrives later, in an interruption of days, is late.
 */
const noteForMs = hourMs + 5 * minuteMs;

export class Interruption {
  readonly #parts: InterruptionParts;
  /** Epoch milliseconds; undefined while every address is watched, and before it ever was. */
  #since: number | undefined;
  #isOver = false;
  #hasNote: boolean;
  /** Epoch milliseconds. */
  #noteUntil: number;
  /** Scripts that are checked because of the scan after an interruption, and when that began. */
  readonly #found = new Map<Scripthash, number>();

  constructor(parts: InterruptionParts) {
    this.#parts = parts;
    this.#since = watchedAt(parts.store.catalog);
    this.#hasNote = this.#since !== undefined;
    this.#noteUntil = this.#hasNote ? parts.world.now() + noteForMs : 0;
  }

  /** The server that watched every address is not used any more. */
  begin(): void {
    this.#since = this.#parts.world.now();
    this.#isOver = false;
  }

  /** Every address was compared with the server in use. */
  end(): void {
    this.#since = undefined;
    this.#isOver = true;
    if (!this.#hasNote) this.#note();
  }

  /** A script must be checked. */
  found(scripthash: Scripthash): void {
    if (this.#since === undefined || this.#found.has(scripthash)) return;
    this.#found.set(scripthash, this.#since);
  }

  /** All that the server has shown of a script is recorded. */
  recorded(scripthash: Scripthash): void {
    this.#found.delete(scripthash);
  }

  /** The beginning of the interruption after which a script was found, epoch milliseconds. */
  of(scripthash: Scripthash): number | null {
    return this.#found.get(scripthash) ?? null;
  }

  /** Called each minute. */
  tick(): void {
    const { world, store } = this.#parts;
    if (!this.#isOver) return;
    if (store.orders.hasOpen()) this.#noteUntil = world.now() + noteForMs;
    if (world.now() < this.#noteUntil) this.#note();
  }

  #note(): void {
    const { world, store, tasks } = this.#parts;
    this.#hasNote = true;
    tasks.run(async () => {
      try {
        await store.database.write((tx) => noteWatched(tx, store.catalog, world.now()));
      } catch (error) {
        // The next minute notes it.
        if (!(error instanceof Unwritten)) throw error;
      }
    });
  }
}
