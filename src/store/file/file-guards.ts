// Checks a database file before SQLite opens it: an empty, truncated, foreign or newer file is
// refused and stays as it is. Also the lock that lets only one server run.
// https://www.sqlite.org/fileformat.html#the_database_header

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { NetworkName } from '../../bitcoin/network.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { openSqlite, type Sqlite, sqliteCode, withSqlite } from '../db/driver.ts';
import { logAsFound } from '../db/empty-log.ts';
import { besideEnds, isLog, refuseTwoNames, truePath } from '../db/file-path.ts';
import { madeBeforeRelease } from '../db/migrate.ts';
import { markPath } from '../mark/high-water-mark.ts';
import { migrations } from '../schema/migrations.ts';
import { backupFolder, latestName, restoreHint } from './backup.ts';

/** "PAY1": says in the file's header whose database it is. */
export const applicationId = 0x50415931;

/** "PAYG": of development versions before the first release, whose tables no version updates. */
const developmentId = 0x50415947;

const headerBytes = 100;
const magic = 'SQLite format 3\0';

/**
 * What is at the path: no file, if none is expected, or a database of ours.
 * @param isCopy whether it can be a backup, which is not to be replaced by one.
 * @throws PaygateError for anything else, with the path and advice
 */
export function inspectFile(given: string, isCopy = false): 'absent' | 'ours' {
  const path = truePath(given);
  const refuse = (text: string) => refusal(path, text);
  const replaceOr = (other = '') =>
    isCopy ? '' : `; put a backup in its place by ${restoreHint(path)}${other}`;
  if (!existsSync(dirname(path))) throw noFolder(path);
  // Before the file itself: a process that makes one at this moment makes these after it.
  const log = `${path}-wal`;
  const traces = [markPath(path), join(backupFolder(path), latestName)];
  const trace = isLog(log) ? log : traces.find((each) => existsSync(each));
  const found = readHeaderAt(path);
  if (found === undefined) {
    if (trace === undefined) return 'absent';
    throw refuse(
      `is missing, but ${trace} shows that it was here; put it back, or a backup by ${restoreHint(path)}`,
    );
  }
  const { size, header } = found;
  if (size === 0) throw refuse(`is empty (0 bytes)${replaceOr(', or delete it')}`);
  if (header.toString('latin1', 0, 16) !== magic) throw refuse('is not a paygate database');
  const application = header.readUInt32BE(68);
  if (application === developmentId) throw refuse(madeBeforeRelease);
  if (application !== applicationId) throw refuse('is the database of another program');
  if (isTruncated(path, size, header)) {
    throw refuse(`is truncated${replaceOr()}`);
  }
  if (header.readUInt32BE(60) > migrations.length) {
    throw refuse('was written by a newer paygate; start that version');
  }
  return 'ours';
}

const refusal = (path: string, text: string): PaygateError =>
  new PaygateError('unavailable', `${path}: ${text}`);

const noFolder = (path: string): PaygateError =>
  refusal(path, `the folder ${dirname(path)} does not exist; make it, or name another file`);

/** Whether opening a file of ours would change its schema. */
export function isOutdated(path: string): boolean {
  const found = readHeaderAt(path);
  return found !== undefined && found.header.readUInt32BE(60) < migrations.length;
}

function readHeaderAt(path: string): { size: number; header: Buffer } | undefined {
  let file: number | undefined;
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const header = Buffer.alloc(headerBytes);
    file = openSync(path, 'r');
    readSync(file, header, 0, headerBytes, 0);
    return { size: stat.size, header };
  } catch (error) {
    if (error instanceof PaygateError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(path, `cannot be read (${code ?? reasonOf(error)}); check that it is yours`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Whether pages are missing that the header counts. A checkpoint writes the header first, so that a
 * checkpoint that was cut off leaves a short file too. Then the WAL has the rest.
 */
function isTruncated(path: string, size: number, header: Buffer): boolean {
  const written = header.readUInt16BE(16);
  const pageSize = written === 1 ? 65_536 : written;
  const countIsValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  const pageCount = header.readUInt32BE(28);
  const whole = pageCount * pageSize;
  if (!countIsValid || size >= whole) return false;
  const inLog = pagesInLog(`${path}-wal`, pageSize);
  for (let page = Math.floor(size / pageSize) + 1; page <= pageCount; page += 1) {
    // A checkpoint of a running server may have ended between the looks at file and log.
    if (!inLog.has(page)) return statSync(path).size < whole;
  }
  return false;
}

/**
 * The pages that a write-ahead log has committed. https://www.sqlite.org/fileformat.html#walformat
 */
function pagesInLog(path: string, pageSize: number): Set<number> {
  const pages = new Set<number>();
  const log = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const salts = log.subarray(16, 24);
  const frameBytes = 24 + pageSize;
  let open: number[] = [];
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) {
    // Frames with other salts are left over from before the log was begun anew.
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    open.push(log.readUInt32BE(at));
    if (log.readUInt32BE(at + 4) === 0) continue;
    for (const page of open) pages.add(page);
    open = [];
  }
  return pages;
}

/**
 * Makes this process the only server of the file. The kernel releases the lock, however the process
 * ends.
 * @throws PaygateError conflict while another server runs
 */
export function lockForServer(given: string): { release(): void } {
  const path = truePath(given);
  if (!existsSync(dirname(path))) throw noFolder(path);
  refuseTwoNames(path);
  let lock: Sqlite | undefined;
  try {
    lock = openSqlite(`${path}.lock`, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    const code = sqliteCode(error);
    if (code === 'SQLITE_BUSY') throw served(path);
    throw refusal(`${path}.lock`, lockFault(code, error));
  }
  const held = lock;
  return { release: () => held.close() };
}

/**
 * @param network the file's own; none where it says none yet.
 * @throws PaygateError invalid where another one is named
 */
export function refuseOtherNetwork(
  path: string,
  network: string | null | undefined,
  named: NetworkName | undefined,
): void {
  if (named === undefined || (network ?? named) === named) return;
  throw new PaygateError(
    'invalid',
    `${path}: this database is for ${network}, not ${named}; leave --network out or use another file`,
  );
}

/**
 * Refuses a file that a server writes to, because its name alone cannot be copied. The lock is only
 * read: it can be a copy on a disk that is not writable.
 * @throws PaygateError conflict
 */
export function refuseServed(path: string): void {
  if (!existsSync(`${path}.lock`)) return;
  try {
    withSqlite(`${path}.lock`, { readonly: true, timeout: 0 }, (lock) =>
      lock.pragma('user_version'),
    );
  } catch (error) {
    if (sqliteCode(error) === 'SQLITE_BUSY') throw served(path);
    throw refusal(`${path}.lock`, `cannot be read (${reasonOf(error)})`);
  }
}

const served = (path: string): PaygateError =>
  new PaygateError('conflict', `${path}: another \`paygate serve\` uses this database`);

/**
 * Refuses a read-only file. SQLite would open it, and create a read-only WAL and index, which stand
 * in the way once the file is writable again.
 * @throws PaygateError unavailable
 */
export function refuseUnwritable(given: string): void {
  const [fault] = unwritableAt(truePath(given));
  if (fault !== undefined) throw new PaygateError('unavailable', fault);
}

/** Files of a database that this user may not write to, and advice. */
export function unwritableAt(path: string): string[] {
  return ['', ...besideEnds].flatMap((end) => {
    try {
      accessSync(`${path}${end}`, constants.W_OK);
      return [];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return [];
      const help =
        code === 'EROFS' ? 'its disk is mounted read-only' : 'as its owner, run chmod u+w';
      return [`${path}${end}: cannot be opened for writing; ${help}`];
    }
  });
}

/** As long as who opens a file, or ends, needs to be done with it. */
const maxAttempts = 10;
const attemptMs = 100;

/**
 * Refuses a file whose server lost its WAL or index and still writes. A new one beside it would
 * damage the file.
 * @throws PaygateError conflict
 */
export function refuseLostLog(given: string): void {
  const path = truePath(given);
  const missing = () => ['-wal', '-shm'].find((end) => !existsSync(`${path}${end}`));
  for (let looks = 0; looks < maxAttempts; looks += 1) {
    // A process that has just opened the file creates both next. One that checks it, as we do, has
    // it open only for a moment.
    if (missing() === undefined || !isOpenElsewhere(path)) return;
  }
  const lost = missing() === '-shm' ? 'the index of its write-ahead log' : 'its write-ahead log';
  throw new PaygateError(
    'conflict',
    `${path}: ${lost} was deleted while a running \`paygate serve\` writes it; stop that first: it saves its data when it stops`,
  );
}

/**
 * Whether another connection has the file open, be it without log and index: only who is alone may
 * lock it whole.
 */
function isOpenElsewhere(path: string): boolean {
  const leaveLog = logAsFound(path);
  try {
    withSqlite(path, { fileMustExist: true, timeout: attemptMs }, (sqlite) => {
      sqlite.pragma('locking_mode = EXCLUSIVE');
      sqlite.pragma('user_version');
    });
    return false;
  } catch (error) {
    // Any other fault fails the process that opens it next.
    return sqliteCode(error).startsWith('SQLITE_BUSY');
  } finally {
    leaveLog();
  }
}

const lockFault = (code: string, error: unknown): string =>
  /^SQLITE_(CANTOPEN|READONLY)/.test(code)
    ? 'cannot be opened for writing; check that the folder is yours'
    : reasonOf(error);
