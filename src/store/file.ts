// Looks at a database file before SQLite may touch it: a zero-byte, truncated, foreign or newer
// file is refused with one clear line and stays as it is. And the lock that lets one server run.
// https://www.sqlite.org/fileformat.html#the_database_header

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { PaygateError, reasonOf } from '../errors.ts';
import { markPath } from './highwater.ts';
import { migrations } from './migrations.ts';

/** "PAYG": says in the file's header whose database it is. */
export const applicationId = 0x50415947;

const headerBytes = 100;
const magic = 'SQLite format 3\0';

/**
 * What stands at the path: nothing (and nothing was expected), or a database of ours.
 * @throws PaygateError for everything else, naming the path and what helps
 */
export function inspectFile(path: string): 'absent' | 'ours' {
  const refuse = (text: string) => new PaygateError('unavailable', `${path}: ${text}`);
  if (!existsSync(dirname(path))) throw refuse(`the folder ${dirname(path)} does not exist`);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    const trace = [`${path}-wal`, markPath(path)].find((each) => existsSync(each));
    if (trace === undefined) return 'absent';
    throw refuse(
      `is missing, but ${trace} shows that it was here; put the database or a backup back`,
    );
  }
  if (!stat.isFile()) throw refuse('is not a file');
  if (stat.size === 0) throw refuse('is empty (0 bytes); put a backup in its place or delete it');

  const header = readHeader(path);
  if (header.toString('latin1', 0, 16) !== magic) throw refuse('is not a paygate database');
  if (header.readUInt32BE(68) !== applicationId) {
    throw refuse('is the database of another program');
  }
  if (stat.size < declaredBytes(header)) {
    throw refuse('is truncated; put a backup in its place');
  }
  if (header.readUInt32BE(60) > migrations.length) {
    throw refuse('was written by a newer paygate; start that version');
  }
  return 'ours';
}

function readHeader(path: string): Buffer {
  const header = Buffer.alloc(headerBytes);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, headerBytes, 0);
  } finally {
    closeSync(file);
  }
  return header;
}

/** The size that the header speaks of: pages × page size; 0 where it does not say. */
function declaredBytes(header: Buffer): number {
  const pageSize = header.readUInt16BE(16);
  const countIsValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  return countIsValid ? header.readUInt32BE(28) * (pageSize === 1 ? 65_536 : pageSize) : 0;
}

/**
 * Makes this process the only server of the file until it ends, however it ends: the kernel
 * gives the lock back. @throws PaygateError conflict while another one runs
 */
export function lockForServer(path: string): { release(): void } {
  const lock = new SqliteDatabase(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    const taken = error instanceof SqliteDatabase.SqliteError && error.code === 'SQLITE_BUSY';
    if (!taken) throw new PaygateError('unavailable', `${path}.lock: ${reasonOf(error)}`);
    throw new PaygateError('conflict', `${path}: another \`paygate serve\` uses this database`);
  }
  return { release: () => lock.close() };
}
