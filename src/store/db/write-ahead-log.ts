// The write-ahead log of an open database: synced, and moved into the main file once it has grown (a checkpoint,
// https://sqlite.org/wal.html#ckpt), both beside the event loop. The long part of moving is the sync of the main file: SQLite would
// hold the event loop for it, for seconds where the disk is slow and the pages lie far apart. So SQLite writes the pages without
// any sync, and a thread syncs the file.
//
// What makes that as safe: SQLite writes the log over only once all of it was moved. A reader is held on what is there, and when
// the log has gone on behind it, no more is moved than it sees. So a part of the log is left whatever comes, until it is moved with
// SQLite's own syncs, which are of the whole main file. A crash before that finds the whole log. Where the sync fails, the index of
// the log, which says that they were moved, is made void.

import { closeSync, openSync, writeSync } from 'node:fs';
import { syncData } from '../../world/disk.ts';
import { openSqlite, type Sqlite, sqliteCode } from './driver.ts';
import type { Snapshot } from './snapshot.ts';
import { isLostSync, type WriterOptions } from './writer.ts';

export interface LogOptions {
  /** Makes what was written to an open file durable; by the kernel without it. */
  readonly syncData?: ((descriptor: number) => Promise<void>) | undefined;
  /** By how much the log grows until it is moved into the main file; 8 MiB without it. */
  readonly logBytes?: number | undefined;
}

export interface LogParts extends LogOptions, Pick<WriterOptions, 'onFatal'> {
  readonly sqlite: Sqlite;
  readonly snapshot: Snapshot;
  /** Of the main file. */
  readonly path: string;
  readonly logPath: string;
  /** Whether the main file is still the one that stands at its path. */
  readonly isOurs: () => boolean;
}

/** Its pages are written in a turn of the event loop, 1 ms for each MiB (docs/benchmarks.md). */
const defaultLogBytes = 8 * 1024 * 1024;
/** Where a reader kept it from being moved for long, it is cut to this once it was. */
export const longestKeptBytes = 2 * defaultLogBytes;
/** What may be left to be moved there and then: so small a part that its sync holds nobody for long. */
const restShare = 16;
/** How long a write waits for another process's transaction. */
export const busyTimeoutMs = 5_000;

const logHeaderBytes = 32;
const frameHeaderBytes = 24;
/** Twice the same. */
const indexHeaderBytes = 96;

/** How far the log goes, and how much of that was moved. */
interface Measured {
  readonly frames: number;
  readonly moved: number;
}

/** A reader, and how far the log went once it had begun: it sees no more. */
interface Pin {
  readonly reader: Sqlite;
  readonly frames: number;
}

export class WriteAheadLog {
  readonly #parts: LogParts;
  readonly #sync: (descriptor: number) => Promise<void>;
  readonly #most: number;
  /** It stays the same file for as long as the connection is open. */
  readonly #log: number;
  /** Once it is needed, and as long as the process lives: to close it ends all locks that the process has on the main file. */
  #main: number | undefined;
  readonly #measure: () => Measured;
  readonly #frameBytes: number;
  /** What a reader kept from being moved. */
  #left = 0;
  #pin: Pin | undefined;
  #moving: Promise<void> | undefined;
  #isEnding = false;

  /** From now on commits are synced by `sync`, and no longer by SQLite, which would hold the event loop for that time. */
  constructor(parts: LogParts) {
    const { sqlite } = parts;
    this.#parts = parts;
    this.#sync = parts.syncData ?? syncData;
    this.#most = parts.logBytes ?? defaultLogBytes;
    sqlite.pragma('synchronous = NORMAL');
    this.#log = openSync(parts.logPath, 'r');
    this.#frameBytes = frameHeaderBytes + (sqlite.pragma('page_size', { simple: true }) as number);
    this.#measure = measureOf(parts);
  }

  /** Makes durable what was committed. */
  sync(): Promise<void> {
    return this.#sync(this.#log);
  }

  /**
   * How much of it is still to be moved, by its index: the file keeps its length, so that a sync of what is written over it
   * need not write down a new one.
   */
  unmoved(): number {
    return this.#bytes(this.#measure());
  }

  #bytes({ frames, moved }: Measured): number {
    return frames > moved ? logHeaderBytes + (frames - moved) * this.#frameBytes : 0;
  }

  /** After a commit that was synced: moves it where it has grown. Not before those are answered who waited for the sync. */
  onSynced(): void {
    const bytes = this.unmoved();
    this.#left = Math.min(this.#left, bytes);
    if (this.#moving !== undefined) return;
    if (this.#pin !== undefined || bytes - this.#left >= this.#most)
      setImmediate(() => this.#next());
  }

  /**
   * Moves all of it there and then, after which it is written from its beginning again. Waits for nobody: a reader may be in
   * the way for hours, and everything else would wait as well.
   * @returns false where a reader, a full disk or a move under way is in the way
   */
  move(): boolean {
    if (this.#moving !== undefined) return false;
    this.#release();
    this.#parts.snapshot.end();
    const isMoved = checkpoint(this.#parts.sqlite, this.#parts.onFatal);
    this.#left = this.unmoved();
    return isMoved;
  }

  /** No move is under way, and none begins any more. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#moving;
    this.#release();
  }

  /** Once the connection is closed. */
  close(): void {
    closeSync(this.#log);
  }

  #next(): void {
    if (this.#isEnding || this.#moving !== undefined || !this.#parts.sqlite.open) return;
    if (this.#pin === undefined) {
      this.#hold();
      return;
    }
    if (this.#measure().frames <= this.#pin.frames) return;
    const pin = this.#pin;
    this.#moving = this.#moveSeen().then(() => this.#goOn(pin));
  }

  /** Holds a reader on what is there; where there can be none, the log is moved there and then. */
  #hold(): void {
    const { path, isOurs } = this.#parts;
    try {
      if (!isOurs()) throw new Error('another file stands at its path');
      this.#main ??= openSync(path, 'r');
      const reader = readerOf(path);
      // Measured behind it: what another process commits in between it may see or not.
      this.#pin = { reader, frames: this.#measure().frames };
    } catch {
      this.move();
    }
  }

  #release(): void {
    this.#pin?.reader.close();
    this.#pin = undefined;
  }

  /** Moves what the reader sees. A sync that is lost ends the process. */
  async #moveSeen(): Promise<void> {
    const { sqlite, snapshot, onFatal } = this.#parts;
    try {
      // Also what another process has committed.
      await this.#sync(this.#log);
      snapshot.end();
      sqlite.pragma('synchronous = OFF');
      try {
        checkpoint(sqlite, onFatal, 'PASSIVE');
      } finally {
        sqlite.pragma('synchronous = NORMAL');
      }
      await this.#sync(this.#main as number);
    } catch (error) {
      // What was not written is not written by another sync either; the log has it.
      this.#isEnding = true;
      voidIndex(this.#parts.path);
      onFatal?.(error as Error);
    }
  }

  /** The rest is moved there and then as soon as it is small, or the log long; until then by another reader. */
  #goOn({ frames: seen }: Pin): void {
    this.#moving = undefined;
    if (this.#isEnding) return;
    this.#release();
    const measured = this.#measure();
    this.#left = this.#bytes(measured);
    const isLong = measured.frames * this.#frameBytes >= 2 * this.#most;
    if (isLong || this.#left <= this.#most / restShare) this.move();
    // Else somebody else reads what this reader saw: not before it has grown as much again.
    else if (measured.moved >= seen) this.#hold();
  }
}

/**
 * The index says how much was moved, which may not be on the disk. Without its header, whoever reads next makes it anew from the
 * whole log, also where another process has the file open and a start would take the index as it is. For a process that
 * ends: the descriptor is not closed, for its locks. https://sqlite.org/walformat.html#walidxfmt
 */
function voidIndex(path: string): void {
  try {
    const header = Buffer.alloc(indexHeaderBytes);
    writeSync(openSync(`${path}-shm`, 'r+'), header, 0, header.length, 0);
  } catch {
    // One that is gone is made anew by itself.
  }
}

/** A connection that reads what is committed now until it is closed. */
function readerOf(path: string): Sqlite {
  const reader = openSqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    reader.exec('BEGIN');
    reader.prepare('SELECT 1 FROM sqlite_schema').get();
    return reader;
  } catch (error) {
    reader.close();
    throw error;
  }
}

function measureOf({ sqlite, snapshot }: LogParts): () => Measured {
  // https://sqlite.org/pragma.html#pragma_wal_checkpoint
  const state = sqlite.prepare<[], [busy: number, frames: number, moved: number]>(
    'PRAGMA wal_checkpoint(NOOP)',
  );
  state.raw();
  return () => {
    snapshot.end();
    const [, frames = 0, moved = 0] = state.get() ?? [];
    return { frames, moved };
  };
}

/** @returns whether nothing is left, nor in the way of the log's being written from its beginning */
export function checkpoint(
  sqlite: Sqlite,
  onFatal: WriterOptions['onFatal'],
  mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE' = 'RESTART',
): boolean {
  try {
    sqlite.pragma('busy_timeout = 0');
    const [result] = sqlite.pragma(`wal_checkpoint(${mode})`) as { busy: number }[];
    return result?.busy === 0;
  } catch (error) {
    if (isLostSync(error)) onFatal?.(error as Error);
    // The log holds everything until it can be moved.
    if (/^SQLITE_(FULL|IOERR)/.test(sqliteCode(error))) return false;
    throw error;
  } finally {
    sqlite.pragma(`busy_timeout = ${busyTimeoutMs}`);
  }
}
