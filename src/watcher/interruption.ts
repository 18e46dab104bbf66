// What could not be seen live. While every address is watched, the last look is at most a second
// old. An interruption begins with it: a server is lost, paygate stops, the machine sleeps, the
// clock jumps. A payment that the next look finds may have arrived at any time of it
// (in-time.ts). For each script, it ends with the first look at that script. A stop notes
// the last look in the file, and so does each minute in which a quote may end.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { minuteMs, secondMs } from '../lib/time-units.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';

export interface InterruptionParts {
  readonly world: Pick<World, 'now' | 'monotonic' | 'log'>;
  readonly records: Pick<Records, 'state' | 'database' | 'orders'>;
  readonly tasks: BackgroundTasks;
}

/** The grace of a quote, and some minutes for the note of its end. */
const noteForMs = 5 * minuteMs;
/**
 * Looks are a second apart. After a longer pause, what arrived meanwhile was not read. It is well
 * below the grace of a quote, so that a shorter pause makes no payment late.
 */
const maxPauseMs = 30 * secondMs;
/** Transactions of first looks in memory. Beyond them, all of a script count as of its first. */
const maxFound = 100_000;

interface FoundScript {
  /** The last look before the interruption, epoch milliseconds. */
  readonly since: number;
  /** What the first look showed; undefined before it, and where that is too much. */
  shown: Set<Txid> | undefined;
  isLookedAt: boolean;
}

export class Interruption {
  readonly #parts: InterruptionParts;
  /** The last look before the interruption, epoch milliseconds; undefined while there is none. */
  #since: number | undefined;
  /** The last look, by both clocks; undefined during an interruption. */
  #look: { readonly wall: number; readonly monotonic: number } | undefined;
  #hasPaused = false;
  /** Whether the file has a note, which must not outlive an interruption. */
  #hasNote: boolean;
  /** Epoch milliseconds. */
  #noteUntil = 0;
  /** Scripts that the first look after the interruption is for. */
  readonly #found = new Map<Scripthash, FoundScript>();
  /** Scripts that were looked at since the interruption began. */
  readonly #watched = new Set<Scripthash>();
  #foundCount = 0;

  constructor(parts: InterruptionParts) {
    this.#parts = parts;
    const noted = parts.records.state.watchedAt.read();
    // Without a note, no address was ever watched while a quote could end.
    this.#since = noted ?? 0;
    this.#hasNote = noted !== undefined;
  }

  /** Every address is watched: a payment that is announced now is seen live. */
  isWatching(): boolean {
    this.#checkPause();
    return this.#since === undefined;
  }

  /** The server that watched every address is not used any more. */
  begin(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#look?.wall ?? this.#parts.world.now();
    this.#look = undefined;
    this.#watched.clear();
  }

  end(): void {
    this.#since = undefined;
    this.#watched.clear();
    this.#lookNow();
    if (this.#hasNote || this.#mayNeedNote()) this.#parts.tasks.run(() => this.#note());
  }

  /**
   * Called each second.
   * @returns whether the machine slept or its clock jumped since the last look: sessions are stale
   */
  look(): boolean {
    this.#checkPause();
    if (this.#since === undefined) this.#lookNow();
    const hasPaused = this.#hasPaused;
    this.#hasPaused = false;
    return hasPaused;
  }

  /** A script must be checked. */
  found(scripthash: Scripthash): void {
    this.#checkPause();
    if (this.#since === undefined || this.#watched.has(scripthash)) return;
    if (this.#found.has(scripthash)) return;
    this.#found.set(scripthash, { since: this.#since, shown: undefined, isLookedAt: false });
  }

  /** The server in use has for a script what is recorded. */
  compared(scripthash: Scripthash): void {
    if (this.#since !== undefined) this.#watched.add(scripthash);
  }

  /** Whether no history of a script was shown since it was found. */
  isFirstLook(scripthash: Scripthash): boolean {
    return this.#found.get(scripthash)?.isLookedAt === false;
  }

  /** What the first look at a script shows. What a later one shows more of was seen live. */
  shown(scripthash: Scripthash, txids: Iterable<Txid>): void {
    const found = this.#found.get(scripthash);
    if (found === undefined || (found.isLookedAt && found.shown === undefined)) return;
    const all = new Set([...(found.shown ?? []), ...txids]);
    this.#foundCount += all.size - (found.shown?.size ?? 0);
    found.isLookedAt = true;
    found.shown = all;
    if (this.#foundCount <= maxFound) return;
    this.#foundCount -= all.size;
    found.shown = undefined;
  }

  /** All that the server has shown of a script is recorded. */
  recorded(scripthash: Scripthash): void {
    this.#foundCount -= this.#found.get(scripthash)?.shown?.size ?? 0;
    this.#found.delete(scripthash);
    this.compared(scripthash);
  }

  /** The last look before the interruption that hid a payment; null for one that was seen live. */
  of(scripthash: Scripthash, txid: Txid): number | null {
    const found = this.#found.get(scripthash);
    if (found === undefined || found.shown?.has(txid) === false) return null;
    return found.since;
  }

  tick(): void {
    if (this.isWatching() && this.#mayNeedNote()) this.#parts.tasks.run(() => this.#note());
  }

  /** Notes the last look before a stop. */
  async stop(): Promise<void> {
    if (this.isWatching() && this.#mayNeedNote()) await this.#note();
  }

  #lookNow(): void {
    const { world } = this.#parts;
    this.#look = { wall: world.now(), monotonic: world.monotonic() };
  }

  /** A sleep stops the looks and often the monotonic clock; a step moves the wall clock alone. */
  #checkPause(): void {
    if (this.#look === undefined) return;
    const { world } = this.#parts;
    const wallMs = world.now() - this.#look.wall;
    const monotonicMs = world.monotonic() - this.#look.monotonic;
    const pauseMs = Math.max(Math.abs(wallMs), monotonicMs);
    if (pauseMs <= maxPauseMs) return;
    world.log.warn('the machine slept, or its clock jumped', {
      seconds: Math.round(wallMs / secondMs),
    });
    this.#hasPaused = true;
    this.begin();
  }

  #mayNeedNote(): boolean {
    const now = this.#parts.world.now();
    const { orders } = this.#parts.records;
    if (orders.mayEnd(now - noteForMs, now + noteForMs)) this.#noteUntil = now + noteForMs;
    return now < this.#noteUntil;
  }

  async #note(): Promise<void> {
    const { records } = this.#parts;
    const at = this.#look?.wall;
    if (at === undefined) return;
    this.#hasNote = true;
    try {
      await records.database.write((tx) => records.state.watchedAt.write(tx, at));
    } catch (error) {
      // The next minute notes it.
      if (!(error instanceof Unwritten)) throw error;
    }
  }
}
