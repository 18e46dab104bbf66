// Checkpoints: SQLite copies the write-ahead log (WAL) into the main file and syncs both. This
// module decides when. A checkpoint holds the event loop, so a large one waits for a quiet second.
// It never waits for a reader. https://sqlite.org/wal.html#ckpt

import { isLostSync } from '../db/disk-refusal.ts';
import { type Sqlite, sqliteCode } from '../db/driver.ts';
import type { ReadSnapshot } from '../db/read-snapshot.ts';
import type { WriterOptions } from '../db/writer.ts';

const mebibyte = 1024 * 1024;
/** From this size on the WAL is copied in the next quiet second. */
const quietWalBytes = 8 * mebibyte;
/**
 * The commit that reaches this size copies the WAL. A WAL that a reader made longer is cut to it.
 */
const maxWalBytes = 16 * mebibyte;
/** How long a write waits for another process's transaction. */
export const busyTimeoutMs = 5_000;

const walHeaderBytes = 32;
const frameHeaderBytes = 24;

export interface CheckpointParts extends Pick<WriterOptions, 'onFatal'> {
  readonly sqlite: Sqlite;
  readonly snapshot: ReadSnapshot;
}

/**
 * What `PRAGMA wal_checkpoint` returns: frames in the WAL, and how many of them are in the main
 * file.
 */
interface Progress {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

export class Checkpoints {
  readonly #parts: CheckpointParts;
  readonly #frameBytes: number;
  /** Frames in the WAL a second ago. */
  #framesBefore = 0;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    this.#frameBytes = frameHeaderBytes + pageBytes(parts.sqlite);
  }

  /** Size of what is not in the main file yet. The WAL file itself keeps its length. */
  walBytes(): number {
    return this.#bytes(this.#progress());
  }

  /** @returns false while a reader or a full disk is in the way */
  run(): boolean {
    const { sqlite, snapshot, onFatal } = this.#parts;
    snapshot.end();
    return checkpoint(sqlite, 'PASSIVE', onFatal);
  }

  /** Call it each second. A second is quiet if no process has committed in it. */
  everySecond(): void {
    const progress = this.#progress();
    const isQuiet = progress.log === this.#framesBefore;
    this.#framesBefore = progress.log;
    if (isQuiet && this.#bytes(progress) >= quietWalBytes) this.run();
  }

  #progress(): Progress {
    this.#parts.snapshot.end();
    const [progress] = this.#parts.sqlite.pragma('wal_checkpoint(NOOP)') as Progress[];
    return progress ?? { busy: 0, log: 0, checkpointed: 0 };
  }

  #bytes({ log, checkpointed }: Progress): number {
    return log > checkpointed ? walHeaderBytes + (log - checkpointed) * this.#frameBytes : 0;
  }
}

/**
 * Settings of a connection: at which size of the WAL a commit makes a checkpoint, and to which size
 * it is cut.
 */
export function limitWal(sqlite: Sqlite): void {
  const frameBytes = frameHeaderBytes + pageBytes(sqlite);
  sqlite.pragma(`wal_autocheckpoint = ${Math.floor(maxWalBytes / frameBytes)}`);
  sqlite.pragma(`journal_size_limit = ${maxWalBytes}`);
}

/** @returns whether the main file holds all that was committed */
export function checkpoint(
  sqlite: Sqlite,
  mode: 'PASSIVE' | 'TRUNCATE',
  onFatal: WriterOptions['onFatal'],
): boolean {
  try {
    sqlite.pragma('busy_timeout = 0');
    const [progress] = sqlite.pragma(`wal_checkpoint(${mode})`) as Progress[];
    return progress?.busy === 0 && progress.log === progress.checkpointed;
  } catch (error) {
    if (isLostSync(error)) onFatal?.(error as Error);
    // The WAL holds everything until it can be copied.
    if (/^SQLITE_(FULL|IOERR)/.test(sqliteCode(error))) return false;
    throw error;
  } finally {
    sqlite.pragma(`busy_timeout = ${busyTimeoutMs}`);
  }
}

const pageBytes = (sqlite: Sqlite): number =>
  sqlite.pragma('page_size', { simple: true }) as number;
