// The one SQLite file: opened with the pragmas that make a commit durable, written through one
// queue. Writes that arrive in the same turn of the event loop share one BEGIN IMMEDIATE and one
// fsync, each in a savepoint of its own; every caller hears back after the commit, never before.
// It knows no table but `settings`; the rooms beside it do.

import { linkSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import type { Raise } from '../domain/allocation.ts';
import { PaygateError, reasonOf } from '../errors.ts';
import { keepBeforeUpdate, type Pace, writeBackup } from './backup.ts';
import { ownAs } from './disk.ts';
import { openSqlite, type Sqlite } from './driver.ts';
import { applicationId, inspectFile } from './file.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import * as schema from './schema.ts';

export type Orm = BetterSQLite3Database<typeof schema>;

/** Proof of being inside `write`, and the place where a counter's raise is announced. */
export interface Tx {
  /**
   * Announces that a wallet's counter rises in this transaction. The mark is made durable
   * before the commit, so that no restored database can issue these indexes again.
   * @param wallet its name in the mark
   */
  raise(wallet: string, from: number, to: number): void;
  /** Runs when this write is on the disk, before its caller hears of it; never when it is undone. */
  afterCommit(run: () => void): void;
}

export interface DatabaseOptions {
  readonly path: string;
  /** Whether a file that does not exist is made. */
  readonly create: boolean;
  /** Called before a commit with the counters that it raises; throws to prevent the commit. */
  readonly beforeCommit?: (raises: readonly Raise[]) => void;
  /** An fsync failed: nothing about the file is certain any more, the process must end. */
  readonly onFatal?: (error: Error) => void;
}

/**
 * What a write is worth. A loss of power may take back the latest `losable` ones, as if they had not been
 * made; they cost no fsync of their own, and are done behind the others of their group.
 */
export type Worth = 'durable' | 'losable';

export interface Database {
  readonly path: string;
  /** Reads at any time; statements prepared on it run inside `write` as well. */
  readonly orm: Orm;
  /** Synchronous work in a group commit; resolves with its result after the commit. */
  write<T>(work: (tx: Tx) => T, worth?: Worth): Promise<T>;
  /** Whether another process has committed to the file since the last call. */
  changedElsewhere(): boolean;
  /** How many writes wait for their commit. */
  queued(): number;
  /** Moves the write-ahead log into the main file. False while a reader or a full disk is in the way. */
  checkpoint(): boolean;
  /** Another text after anything was written to the file, by this process or another. */
  changes(): string;
  /** A complete copy under another name (backup.ts). @throws PaygateError unavailable */
  backup(target: string, pace: Pace): Promise<void>;
  /** Of the main file, without the log. */
  bytes(): number;
  walBytes(): number;
  freeBytes(): number;
  /** Finishes what is queued, then closes. */
  close(): Promise<void>;
}

interface Job {
  readonly work: (tx: Tx) => unknown;
  readonly worth: Worth;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** How many writes may share a commit, so that the event loop is never held for long: payments take 10 ms. */
const groupLimit = 100;
/** Turns of the event loop in which no further write comes, after which none is waited for. */
const quietTurns = 200;
/** How long a write waits for another process's transaction. */
const busyTimeoutMs = 5_000;

/** Opens (or makes) the file and brings its schema up to date. @throws PaygateError */
export function openDatabase(options: DatabaseOptions): Database {
  const found = inspectFile(options.path);
  if (found === 'absent' && !options.create) {
    throw new PaygateError(
      'not_found',
      `${options.path}: there is no such database; \`paygate serve\` or \`paygate store add\` makes one`,
    );
  }
  try {
    if (found === 'absent') make(options.path);
    return wrap(open(options.path), options);
  } catch (error) {
    throw openFailure(options.path, error);
  }
}

/**
 * A new file appears under its name with all its tables or not at all: who opens it meanwhile finds
 * none or a whole one, and a crash leaves nothing that looks like a damaged database.
 */
function make(path: string): void {
  const folder = mkdtempSync(join(dirname(path), '.paygate-new-'));
  const fresh = join(folder, 'paygate.db');
  try {
    const sqlite = openSqlite(fresh);
    sqlite.pragma(`application_id = ${applicationId}`);
    sqlite.close();
    open(fresh).close();
    ownAs(fresh, dirname(path));
    linkSync(fresh, path);
  } catch (error) {
    // Another process was first: its file is as good.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function open(path: string): Sqlite {
  const sqlite = openSqlite(path, { timeout: busyTimeoutMs });
  try {
    setPragmas(sqlite);
    migrate(sqlite, migrations, () => keepBeforeUpdate(sqlite, path));
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/**
 * `synchronous` must follow `journal_mode`: the driver's WAL default is NORMAL, which loses commits. What a
 * savepoint might have to undo is kept in memory: on disk it is a file of pages, written for nearly every job.
 */
function setPragmas(sqlite: Sqlite): void {
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  sqlite.pragma('wal_autocheckpoint = 0');
  sqlite.pragma('temp_store = MEMORY');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma('trusted_schema = OFF');
}

/** What to say of a file that could not be opened, or not be read while it was. */
export function openFailure(path: string, error: unknown): unknown {
  if (error instanceof PaygateError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (/^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES|EPERM|EROFS)/.test(code)) {
    return new PaygateError(
      'unavailable',
      `${path}: cannot be opened for writing; check that the folder exists and is yours`,
    );
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return new PaygateError(
      'unavailable',
      `${path}: the database is damaged (${reasonOf(error)}); put a backup in its place`,
    );
  }
  return writeFailure(error);
}

const sqliteCode = (error: unknown): string =>
  error instanceof SqliteDatabase.SqliteError ? error.code : '';

function wrap(sqlite: Sqlite, options: DatabaseOptions): Database {
  const writer = createWriter(sqlite, options);
  const totalChanges = sqlite.prepare('SELECT total_changes()').pluck();
  let seenVersion = dataVersion(sqlite);
  return {
    path: options.path,
    orm: drizzle(sqlite, { schema }),
    write: writer.write,
    queued: writer.queued,
    changedElsewhere() {
      const version = dataVersion(sqlite);
      const changed = version !== seenVersion;
      seenVersion = version;
      return changed;
    },
    checkpoint: () => checkpoint(sqlite, options),
    changes: () => `${totalChanges.get()} ${dataVersion(sqlite)}`,
    backup: (target, pace) => writeBackup(sqlite, target, pace),
    bytes: () => statSync(options.path).size,
    walBytes: () => statSync(`${options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    freeBytes() {
      const { bavail, bsize } = statfsSync(dirname(options.path));
      return bavail * bsize;
    },
    async close() {
      await writer.drain();
      sqlite.close();
    },
  };
}

/** Waits for nobody: a reader may be in the way for hours, and everything else would wait as well. */
function checkpoint(sqlite: Sqlite, { onFatal }: DatabaseOptions): boolean {
  try {
    sqlite.pragma('busy_timeout = 0');
    const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
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

const dataVersion = (sqlite: Sqlite): number =>
  sqlite.pragma('data_version', { simple: true }) as number;

interface Writer {
  write<T>(work: (tx: Tx) => T, worth?: Worth): Promise<T>;
  queued(): number;
  drain(): Promise<void>;
}

function createWriter(sqlite: Sqlite, options: DatabaseOptions): Writer {
  const begin = sqlite.prepare('BEGIN IMMEDIATE');
  const commit = sqlite.prepare('COMMIT');
  const rollback = sqlite.prepare('ROLLBACK');
  const runJob = createJobs(sqlite);
  let queue: Job[] = [];
  /** Done behind the others of their group, whose commit they share. */
  let losable: Job[] = [];
  let scheduled = false;
  /** How many of the last group raised a counter. */
  let raisers = 0;

  function runGroup(jobs: readonly Job[]): void {
    raisers = 0;
    try {
      begin.run();
      const raises: Raise[] = [];
      const answers = jobs.map((job) => runJob(job, raises));
      raisers = raises.length;
      if (raises.length > 0) options.beforeCommit?.(merge(raises));
      commit.run();
      for (const answer of answers) answer();
    } catch (error) {
      if (sqlite.inTransaction) rollback.run();
      if (isLostSync(error)) options.onFatal?.(error as Error);
      const failure = writeFailure(error);
      for (const job of jobs) job.reject(failure);
    }
  }

  const waiting = (): number => queue.length + losable.length;

  /**
   * Shops that were given their addresses together ask again together, but not all in one turn. Without a
   * wait the first would have a commit for themselves, and all others wait for that and then for their own.
   */
  function gather(known: number, quiet: number): void {
    const length = waiting();
    if (length >= raisers || quiet === quietTurns) flush();
    else setImmediate(() => gather(length, length > known ? 0 : quiet + 1));
  }

  function flush(): void {
    const jobs = [...queue.slice(0, groupLimit), ...losable];
    queue = queue.slice(groupLimit);
    losable = [];
    scheduled = queue.length > 0;
    if (scheduled) setImmediate(() => gather(0, 0));
    atWorth(sqlite, jobs, () => runGroup(jobs));
  }

  function write<T>(work: (tx: Tx) => T, worth: Worth = 'durable'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job = { work, worth, resolve: resolve as (result: unknown) => void, reject };
      (worth === 'losable' ? losable : queue).push(job);
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => gather(0, 0));
    });
  }

  return {
    write,
    queued: waiting,
    async drain() {
      while (waiting() > 0) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** Does a job in a savepoint of its own. @returns what its caller hears once it is committed */
function createJobs(sqlite: Sqlite): (job: Job, raises: Raise[]) => () => void {
  const savepoint = sqlite.prepare('SAVEPOINT job');
  const release = sqlite.prepare('RELEASE job');
  const undo = sqlite.prepare('ROLLBACK TO job');
  return (job, raises) => {
    const own: Raise[] = [];
    const after: (() => void)[] = [];
    savepoint.run();
    try {
      const result = job.work({
        raise: (wallet, from, to) => own.push({ wallet, from, to }),
        afterCommit: (run) => after.push(run),
      });
      release.run();
      raises.push(...own);
      return () => {
        for (const run of after) run();
        job.resolve(result);
      };
    } catch (error) {
      // A full disk may have rolled the whole transaction back: then no savepoint is left.
      if (!sqlite.inTransaction) throw error;
      undo.run();
      release.run();
      return () => job.reject(error);
    }
  };
}

/** A commit of nothing but losable writes waits for no disk. */
function atWorth(sqlite: Sqlite, jobs: readonly Job[], run: () => void): void {
  const isLosable = jobs.every(({ worth }) => worth === 'losable');
  try {
    if (isLosable) sqlite.pragma('synchronous = NORMAL');
    run();
  } finally {
    if (isLosable) sqlite.pragma('synchronous = FULL');
  }
}

/** One range a wallet: from the lowest start to the highest end. */
function merge(raises: readonly Raise[]): Raise[] {
  const merged = new Map<string, Raise>();
  for (const { wallet, from, to } of raises) {
    const known = merged.get(wallet) ?? { wallet, from, to };
    merged.set(wallet, {
      wallet,
      from: Math.min(known.from, from),
      to: Math.max(known.to, to),
    });
  }
  return [...merged.values()];
}

/** An fsync that failed may have dropped what it should have kept: nothing can be taken back. */
const isLostSync = (error: unknown): boolean =>
  /^SQLITE_IOERR.*FSYNC/.test(sqliteCode(error)) || (error as NodeJS.ErrnoException).code === 'EIO';

function writeFailure(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === 'SQLITE_FULL' || code.startsWith('SQLITE_IOERR')) {
    return new PaygateError('unavailable', `the database cannot be written (${code})`, {
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  if (code === 'SQLITE_BUSY') {
    return new PaygateError('unavailable', 'another process keeps the database locked', {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  return error;
}
