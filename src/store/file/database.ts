// The SQLite file: opened with the pragmas that paygate relies on, written through one queue
// (writer.ts). It knows no table but `settings`.

import { existsSync, linkSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { freeBytesAt } from '../../world/disk.ts';
import { DiskRefusal, Unwritten, writeFailure } from '../db/disk-refusal.ts';
import { isDamage, openSqlite, type Sqlite, sqliteCode, withSqlite } from '../db/driver.ts';
import { leaveEmptyLog } from '../db/empty-log.ts';
import { makersFolder, makersName, refuseTwoNames, truePath } from '../db/file-path.ts';
import { isBehind, migrate, userVersion } from '../db/migrate.ts';
import { type Orm, ormOf } from '../db/orm.ts';
import { ReadSnapshot } from '../db/read-snapshot.ts';
import { type Priority, type Tx, Writer, type WriterOptions } from '../db/writer.ts';
import { migrations } from '../schema/migrations.ts';
import { settings } from '../schema/schema.ts';
import { keepBeforeUpdate, type Pace, restoreHint, writeBackup } from './backup.ts';
import { busyTimeoutMs, Checkpoints, checkpoint, limitWal } from './checkpoint.ts';
import {
  applicationId,
  inspectFile,
  lockForServer,
  refuseLostLog,
  refuseUnwritable,
} from './file-guards.ts';

export interface DatabaseOptions extends WriterOptions {
  readonly path: string;
  readonly create: boolean;
  /** We have the server's lock, so no other process serves the file. */
  readonly hasLock?: boolean;
  /** Called with the schema's numbers before a migration, which takes a minute in a large file. */
  readonly onUpdate?:
    | ((versions: { readonly from: number; readonly to: number }) => void)
    | undefined;
}

export interface Database {
  readonly path: string;
  /** Reads at any time. Writes, inside `write` only. */
  readonly orm: Orm;
  /**
   * Runs synchronous work in a group commit. Resolves with its result once that is on the disk. The
   * work can run twice, with the first run undone: it must change nothing but the file.
   */
  write<T>(work: (tx: Tx) => T, priority?: Priority): Promise<T>;
  /** A further request joins a write that is queued: its group waits for those that follow. */
  joined(): void;
  /** Whether another process has committed to the file since the last call. */
  changedElsewhere(): boolean;
  refused(): string | undefined;
  /** Checks whether a disk that refused takes writes again. */
  probe(): Promise<void>;
  queued(): number;
  /**
   * Copies the write-ahead log into the main file. False while a reader or a full disk is in the
   * way.
   */
  checkpoint(): boolean;
  /** Makes a checkpoint if the WAL is long and no process writes. Call it each second. */
  checkpointIfQuiet(): void;
  /** A text that differs after any write to the file, by this process or another. */
  changes(): string;
  /** A complete copy under another name (backup.ts). @throws PaygateError unavailable */
  backup(target: string, pace: Pace): Promise<void>;
  /** Size of the whole database, as of a copy. */
  bytes(): number;
  /**
   * What is at the path: the open file, no file, another file, or the open file without its WAL.
   * Unless it is 'ours', new commits are lost with this process.
   */
  place(): 'ours' | 'empty' | 'taken' | 'logless';
  /** Size of the part of the write-ahead log that is not in the main file yet. */
  walBytes(): number;
  freeBytes(): number;
  close(): Promise<void>;
}

/** Opens (or makes) the file and brings its schema up to date. @throws PaygateError */
export function openDatabase(options: DatabaseOptions): Database {
  // An absolute path, because the working folder can be moved together with the file.
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
    // A second name has a WAL of its own, which would damage the file that another process serves.
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
 * A new file appears under its name with all tables or not at all. Another process that opens it
 * meanwhile finds none or a whole one, and a crash leaves no damaged database.
 */
function make(path: string): void {
  const folder = mkdtempSync(join(dirname(path), makersFolder));
  const fresh = join(folder, makersName);
  try {
    withSqlite(fresh, {}, (sqlite) => sqlite.pragma(`application_id = ${applicationId}`));
    open({ path: fresh, hasLock: true }).close();
    linkSync(fresh, path);
  } catch (error) {
    // Another process was first. Its file serves as well.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    // `force`, because a starting server can have removed it.
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
      // The file itself says its version then, also to who does not read its log; later, where the
      // disk is full.
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

/**
 * Takes the server's lock for a migration. A server that still runs on the older schema would write
 * into one that it does not know.
 */
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
 * FULL: SQLite syncs the write-ahead log in each commit (docs/decisions/042,
 * https://sqlite.org/pragma.html#pragma_synchronous). It must follow `journal_mode`, because the
 * driver's WAL default is NORMAL. Undo data of a savepoint stays in memory; on disk it would be a
 * file that each commit writes.
 */
function setPragmas(sqlite: Sqlite): void {
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  limitWal(sqlite);
  sqlite.pragma('temp_store = MEMORY');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma('trusted_schema = OFF');
}

/** The error for a failure while the file is in use; errors of another kind pass unchanged. */
export const useFailure = (path: string, error: unknown): unknown =>
  sqliteCode(error) === '' && !(error instanceof Unwritten)
    ? error
    : openFailure(truePath(path), error);

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
  /** Whether the WAL existed before. */
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
  const snapshot = new ReadSnapshot(sqlite);
  const checkpoints = new Checkpoints({ ...options, sqlite, snapshot });
  // A killed process can leave commits in the WAL that are not on the disk. The checkpoint syncs
  // them before any response shows them.
  if (options.hasLock) checkpoints.run();
  const totalChanges = sqlite.prepare('SELECT total_changes()').pluck();
  const changes = () => totalChanges.get() as number;
  const refusal = new DiskRefusal(mainPath);
  const writer = new Writer({ ...options, sqlite, snapshot, changes, refusal });
  const orm = ormOf(sqlite, snapshot);
  const dataVersion = sqlite.prepare('PRAGMA data_version').pluck();
  let seenVersion = dataVersion.get();
  const pageSize = sqlite.pragma('page_size', { simple: true }) as number;
  const pageCount = sqlite.prepare('PRAGMA page_count').pluck();
  return {
    path: options.path,
    orm,
    write: (work, priority) => writer.write(work, priority),
    joined: () => writer.joined(),
    refused: () => refusal.text(),
    probe: () => writer.probe(() => orm.update(settings).set({ value: settings.value }).run()),
    queued: () => writer.queued(),
    changedElsewhere() {
      snapshot.end();
      const version = dataVersion.get();
      const changed = version !== seenVersion;
      seenVersion = version;
      return changed;
    },
    checkpoint: () => checkpoints.run(),
    checkpointIfQuiet: () => checkpoints.everySecond(),
    changes() {
      snapshot.end();
      return `${changes()} ${dataVersion.get()}`;
    },
    backup(target, pace) {
      snapshot.end();
      return writeBackup(sqlite, target, pace);
    },
    bytes: () => pageSize * (pageCount.get() as number),
    place,
    walBytes: () => checkpoints.walBytes(),
    freeBytes: () => freeBytesAt(dirname(options.path)),
    async close() {
      await writer.drain();
      if (!sqlite.open) return;
      snapshot.end();
      const isInPlace = isOurs();
      // A process that only read leaves the folder as it was.
      const leavesLog = isInPlace && (options.hadLog || changes() > 0);
      try {
        // SQLite would leave the WAL, and the next file at this path would replay it. It also
        // leaves a server's WAL if a reader is still open.
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

/** Which file is at a path. Never opened for that: closing it would end SQLite's locks on it. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}
