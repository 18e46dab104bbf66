// How often a process syncs which file, counted by strace; and how many commits a write-ahead log of
// SQLite holds. The first needs strace and the right to trace, the second nothing.
// The log's format: https://www.sqlite.org/fileformat2.html#walformat

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { atEnd } from './ending.mjs';

const WAL_HEADER = 32;
const FRAME_HEADER = 24;
/** After what happened last, for strace to write it down. */
const SETTLE_MS = 200;

/** Why nothing can be counted here; undefined where it can. */
export const noStrace = () =>
  spawnSync('strace', ['-V']).status === 0 ? undefined : 'strace is not installed';

/**
 * @typedef {object} Syncs
 * @property {number} log of the database's write-ahead log
 * @property {number} main of the database itself
 * @property {number} mark of the sidecar
 * @property {number} other of whatever else
 *
 * @typedef {object} Counter
 * @property {() => Promise<Syncs>} taken since it was asked last
 */

/**
 * Counts from now on, until the bench is over.
 * @param {number} pid
 * @param {string} path the database
 * @param {string} folder for what strace writes
 * @returns {Promise<Counter>}
 */
export async function countSyncs(pid, path, folder) {
  const output = join(folder, `strace-${pid}`);
  const traced = ['-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', output, '-p', `${pid}`];
  const strace = spawn('strace', traced, { stdio: ['ignore', 'ignore', 'pipe'] });
  atEnd(async () => {
    if (strace.exitCode !== null) return;
    strace.kill('SIGINT');
    await once(strace, 'exit');
  });
  // It says so when it is attached.
  const [said] = await Promise.race([once(strace.stderr, 'data'), once(strace, 'exit')]);
  if (strace.exitCode !== null) throw new Error(`strace could not attach: ${said}`);
  strace.stderr.resume();
  let seen = 0;
  return {
    async taken() {
      await sleep(SETTLE_MS);
      // Not the second half of a call that another thread's broke in two.
      const calls = readFileSync(output, 'utf8').split('\n').filter(isCall);
      const fresh = calls.slice(seen);
      seen = calls.length;
      return sortOut(fresh, basename(path));
    },
  };
}

/** @param {string} line */
const isCall = (line) => /\b(fsync|fdatasync)\(\d+</.test(line);

/**
 * @param {string[]} calls
 * @param {string} name of the database
 * @returns {Syncs}
 */
function sortOut(calls, name) {
  const syncs = { log: 0, main: 0, mark: 0, other: 0 };
  for (const call of calls) {
    const [, file = ''] = /\(\d+<([^>]*)>/.exec(call) ?? [];
    if (file.includes('/.paygate-mark/')) syncs.mark += 1;
    else if (file.endsWith(`/${name}-wal`)) syncs.log += 1;
    else if (file.endsWith(`/${name}`)) syncs.main += 1;
    else syncs.other += 1;
  }
  return syncs;
}

/**
 * Begins the log anew, as the server does when it is long.
 * @param {string} path the database
 */
export async function emptyLog(path) {
  const sqlite = new SqliteDatabase(path);
  while (Number(sqlite.pragma('wal_checkpoint(TRUNCATE)', { simple: true })) !== 0) await sleep(10);
  sqlite.close();
}

/**
 * How many transactions the log holds since it was begun anew.
 * @param {string} path the database
 */
export function commitsInLog(path) {
  const log = readFileSync(`${path}-wal`);
  const pageSize = log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = WAL_HEADER; at + FRAME_HEADER + pageSize <= log.length; ) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    // The last frame of a transaction tells how large the database is after it.
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
    at += FRAME_HEADER + pageSize;
  }
  return commits;
}
