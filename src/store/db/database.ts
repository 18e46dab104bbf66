// The one SQLite file: opened with the pragmas that paygate relies on, and written through one queue (writer.ts).
// It knows no table but `settings`; the rooms beside it do.

import { existsSync, linkSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { freeBytesAt } from '../../world/disk.ts';
import { keepBeforeUpdate, type Pace, restoreHint, writeBackup } from '../backup/backup.ts';
import { busyTimeoutMs, Checkpoints, checkpoint, limitWal } from './checkpoint.ts';
import { DiskRefusal, Unwritten, writeFailure } from './disk-refusal.ts';
import { isDamage, openSqlite, type Sqlite, sqliteCode, withSqlite } from './driver.ts';
import { leaveEmptyLog } from './empty-log.ts';
import {
  applicationId,
  inspectFile,
  lockForServer,
  refuseLostLog,
  refuseUnwritable,
} from './file-guards.ts';
import { makersFolder, makersName, refuseTwoNames, truePath } from './file-path.ts';
import { isBehind, migrate, userVersion } from './migrate.ts';
import { migrations } from './migrations.ts';
import { type Orm, ormOf } from './orm.ts';
import { settings } from './schema.ts';
import { type Priority, type Tx, Writer, type WriterOptions } from './writer.ts';

export interface DatabaseOptions extends WriterOptions {
  readonly path: string;
  /** Whether a file that does not exist is made. */
  readonly create: boolean;
  /** The server's lock is ours, so that nobody else can be serving the file. */
  readonly hasLock?: boolean;
  /** Before the file is brought to the newest schema, which takes a minute where it is large: the numbers of its migrations. */
  readonly onUpdate?:
    | ((versions: { readonly from: number; readonly to: number }) => void)
    | undefined;
}

export interface Database {
  readonly path: string;
  /** Reads at any time; statements prepared on it run inside `write` as well. */
  readonly orm: Orm;
  /**
   * Synchronous work in a group commit; resolves with its result when that is on the disk. It may be done twice, of which the
   * first time is taken back: what it changes is the file, and nothing else.
   */
  write<T>(work: (tx: Tx) => T, priority?: Priority): Promise<T>;
  /** Whether another process has committed to the file since the last call. */
  changedElsewhere(): boolean;
  /** That the disk refuses what is written, and why; undefined while it does not. */
  refused(): string | undefined;
  /** Sees whether a disk that refused takes writes again. */
  probe(): Promise<void>;
  /** How many writes wait for their commit. */
  queued(): number;
  /** Copies the write-ahead log into the main file. False while a reader or a full disk is in the way. */
  checkpoint(): boolean;
  /** Makes a checkpoint if the log is long and nobody writes; call it each second. */
  checkpointIfQuiet(): void;
  /** Another text after anything was written to the file, by this process or another. */
  changes(): string;
  /** A complete copy under another name (backup.ts). @throws PaygateError unavailable */
  backup(target: string, pace: Pace): Promise<void>;
  /** Of the whole database, as a copy of it would have. */
  bytes(): number;
  /**
   * What stands at its path: the file that is open, none, or another one; or it stands there and its log no longer
   * beside it. Where it is not 'ours', what is known is lost with this process.
   */
  place(): 'ours' | 'empty' | 'taken' | 'logless';
  /** Size of the part of the write-ahead log that is not in the main file yet. */
  walBytes(): number;
  freeBytes(): number;
  /** Finishes what is queued, then closes. */
  close(): Promise<void>;
}

/** Opens (or makes) the file and brings its schema up to date. @throws PaygateError */
export function openDatabase(options: DatabaseOptions): Database {
  // As the database is named, for the working folder may be moved with both of them.
  const mainPath = truePath(options.path);
  const logPath = `${mainPath}-wal`;
  const hadLog = existsSync(logPath);
  const found = inspectFile(options.path);
  if (found === 'absent' && !options.create) {
    throw new PaygateError(
      'not_found',
      `${options.path}: there is no such database; name it by --db (\`paygate serve\` or \`paygate store add\` makes a new one)`,
    );
  }
  try {
    // A command that wrote a log of its own would damage what another process serves.
    refuseTwoNames(options.path);
    refuseUnwritable(options.path);
    if (!options.hasLock) refuseLostLog(options.path);
    if (found === 'absent') make(options.path);
    return wrap(open(options), { ...options, mainPath, logPath, hadLog });
  } catch (error) {
    if (hadLog) leaveEmptyLog(options.path, logPath);
    throw openFailure(options.path, error);
  }
}

/**
 * A new file appears under its name with all its tables or not at all: who opens it meanwhile finds
 * none or a whole one, and a crash leaves nothing that looks like a damaged database.
 */
function make(path: string): void {
  const folder = mkdtempSync(join(dirname(path), makersFolder));
  const fresh = join(folder, makersName);
  try {
    withSqlite(fresh, {}, (sqlite) => sqlite.pragma(`application_id = ${applicationId}`));
    open({ path: fresh, hasLock: true }).close();
    linkSync(fresh, path);
  } catch (error) {
    // Another process was first: its file is as good.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    // A server that starts may have done so.
    rmSync(folder, { recursive: true, force: true });
  }
}

type Opening = Pick<DatabaseOptions, 'path' | 'hasLock' | 'onUpdate'>;

function open({ path, hasLock = false, onUpdate }: Opening): Sqlite {
  const sqlite = openSqlite(path, { timeout: busyTimeoutMs });
  try {
    setPragmas(sqlite);
    const behind = isBehind(sqlite);
    const lock = hasLock || !behind ? undefined : lockForUpdate(path);
    try {
      if (behind) onUpdate?.({ from: userVersion(sqlite), to: migrations.length });
      migrate(sqlite, migrations, () => keepBeforeUpdate(sqlite, path));
      // The file itself says its version then, also to who does not read its log; later, where the disk is full.
      if (behind) checkpoint(sqlite, 'PASSIVE', raise);
    } finally {
      lock?.release();
    }
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Whoever serves an older file is of that version: it would write on into a schema that it does not know, and not start again. */
function lockForUpdate(path: string): { release(): void } {
  try {
    return lockForServer(path);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code !== 'conflict') throw error;
    throw new PaygateError(
      'conflict',
      `${path}: is of an older version, and in use: restart a running \`paygate serve\` with this version, ` +
        'which updates the file, or wait for the command that is doing so; then repeat yours',
    );
  }
}

/**
 * FULL: SQLite syncs the write-ahead log in each commit (https://sqlite.org/pragma.html#pragma_synchronous). It must
 * follow `journal_mode`, because the driver's WAL default is NORMAL. What a savepoint might have to undo is kept in
 * memory: on disk it is a file of pages, written for each commit.
 */
function setPragmas(sqlite: Sqlite): void {
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  limitWal(sqlite);
  sqlite.pragma('temp_store = MEMORY');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma('trusted_schema = OFF');
}

/** What to say of a file in use, where other things may fail as well. */
export const useFailure = (path: string, error: unknown): unknown =>
  sqliteCode(error) === '' && !(error instanceof Unwritten)
    ? error
    : openFailure(truePath(path), error);

/** What to say of a file that could not be opened, or not be read while it was. */
export function openFailure(path: string, error: unknown): unknown {
  if (error instanceof PaygateError && !(error instanceof Unwritten)) return error;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // https://man7.org/linux/man-pages/man2/link.2.html
  if (syscall === 'link' && /^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS)$/.test(code)) {
    return new PaygateError(
      'unavailable',
      `${path}: its file system has no hard links (FAT, exFAT) and does not suit a database; keep it on another one, as ext4, XFS or btrfs; backups may lie there`,
    );
  }
  if (/^(SQLITE_CANTOPEN|SQLITE_READONLY|EACCES|EPERM|EROFS)/.test(code)) {
    return new PaygateError(
      'unavailable',
      `${path}: cannot be opened for writing; check that the folder exists and is yours`,
    );
  }
  // https://sqlite.org/wal.html#use_of_wal_without_shared_memory
  if (/^SQLITE_IOERR_SHM(MAP|LOCK)/.test(code)) {
    return new PaygateError(
      'unavailable',
      `${path}: its file system cannot share memory between processes, as those of many network and shared folders; keep it on a disk of this machine`,
    );
  }
  if (isDamage(error)) {
    return new PaygateError(
      'unavailable',
      `${path}: the database is damaged (${reasonOf(error)}); put a backup in its place by ${restoreHint(path)}`,
    );
  }
  const failure = writeFailure(error);
  if (!(failure instanceof Unwritten)) return failure;
  return new PaygateError('unavailable', `${path}: ${failure.message}`, { cause: error });
}

interface Opened extends DatabaseOptions {
  readonly mainPath: string;
  readonly logPath: string;
  /** Whether the log stood there before. */
  readonly hadLog: boolean;
}

function wrap(sqlite: Sqlite, options: Opened): Database {
  const { mainPath, logPath } = options;
  const opened = identityOf(options.path);
  const openedLog = identityOf(logPath);
  function place() {
    const found = identityOf(options.path);
    if (found === undefined) return 'empty';
    if (found !== opened) return 'taken';
    return identityOf(logPath) === openedLog ? 'ours' : 'logless';
  }
  const isOurs = () => place() === 'ours';
  const checkpoints = new Checkpoints({ ...options, sqlite });
  // The commits that a killed process left in the log may not be on the disk: nobody hears of them before.
  if (options.hasLock) checkpoints.run();
  const totalChanges = sqlite.prepare('SELECT total_changes()').pluck();
  const changes = () => totalChanges.get() as number;
  const refusal = new DiskRefusal(mainPath);
  const writer = new Writer({ ...options, sqlite, changes, refusal });
  const orm = ormOf(sqlite);
  let seenVersion = dataVersion(sqlite);
  const pageSize = sqlite.pragma('page_size', { simple: true }) as number;
  const pageCount = sqlite.prepare('PRAGMA page_count').pluck();
  return {
    path: options.path,
    orm,
    write: (work, priority) => writer.write(work, priority),
    refused: () => refusal.text(),
    probe: () => writer.probe(() => orm.update(settings).set({ value: settings.value }).run()),
    queued: () => writer.queued(),
    changedElsewhere() {
      const version = dataVersion(sqlite);
      const changed = version !== seenVersion;
      seenVersion = version;
      return changed;
    },
    checkpoint: () => checkpoints.run(),
    checkpointIfQuiet: () => checkpoints.everySecond(),
    changes: () => `${changes()} ${dataVersion(sqlite)}`,
    backup: (target, pace) => writeBackup(sqlite, target, pace),
    bytes: () => pageSize * (pageCount.get() as number),
    place,
    walBytes: () => checkpoints.walBytes(),
    freeBytes: () => freeBytesAt(dirname(options.path)),
    async close() {
      await writer.drain();
      if (!sqlite.open) return;
      const isInPlace = isOurs();
      // Who only looked leaves a folder as it was.
      const leavesLog = isInPlace && (options.hadLog || changes() > 0);
      try {
        // SQLite would leave the log, which would be played into whatever file is put there next; and a server's beside a reader.
        if (!isInPlace || (options.hasLock && changes() > 0)) {
          checkpoint(sqlite, 'TRUNCATE', options.onFatal);
        }
      } finally {
        sqlite.close();
      }
      if (leavesLog) leaveEmptyLog(options.path, logPath);
    },
  };
}

function raise(error: Error): never {
  throw error;
}

/** Which file stands at a path. It is never opened for that: to close it again would end SQLite's locks on it. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

const dataVersion = (sqlite: Sqlite): number =>
  sqlite.pragma('data_version', { simple: true }) as number;
