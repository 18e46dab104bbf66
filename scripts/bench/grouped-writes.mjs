// Method of `grouped-writes`: 64 writes that arrive together, each of one row (an idempotency key), go through
// the store's `write` in this process, on a file on the real disk: one savepoint, one commit, one fsync.
// The floor, in turns: the bytes that such a commit adds to SQLite's log, in one `pwrite` and one
// `fdatasync` over bytes that exist. Beside them the driver alone: one INSERT a row, 64 a commit, and the same sync,
// which is what SQLite leaves to be had of the floor. All in rows a second.
// `grouped-writes-slow-disk` is the same bench in a process each of whose fsyncs takes 10 ms longer (slow-disk.mjs): where
// a sync costs something, the ratio is that of the syncs.

import { execFile } from 'node:child_process';
import { closeSync, fdatasyncSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { openStore } from '../../src/store/open-store.ts';
import { atEnd } from './ending.mjs';
import { addStore } from './paygate.mjs';
import { slowDisk } from './slow-disk.mjs';
import { median, pairedRatio, rateOf, takeTurns } from './stats.mjs';

const ROUNDS = 9;
const SECONDS = 0.5;
const GROUP = 64;
/** Groups after which the log is moved into the file, as paygate does at 16 MB. */
const GROUPS_A_LOG = 200;
const FILE_BYTES = 16 * 1024 * 1024;
const LEAST_OF_BARE = 0.8;
const ADDED_MS = 10;

/** @type {import('../bench.mjs').Bench} */
export async function benchGroupedWrites(context) {
  const { path } = await addStore(context, 'grouped-writes');
  const newInstance = () => '';
  // Between the rounds, and not in one.
  const store = await openStore({ path, create: false, network: undefined, newInstance });
  const { database, idempotency, addresses } = store;
  atEnd(() => database.close());
  const { id } = await database.write((tx) => addresses.issue(tx, Date.now(), 1, 1));
  let written = 0;

  async function writeGroup() {
    await Promise.all(
      Array.from({ length: GROUP }, () =>
        database.write((tx) => {
          written += 1;
          idempotency.keep(tx, Date.now(), 1, `order ${written}`, id);
        }),
      ),
    );
  }

  async function ours() {
    database.checkpoint();
    await writeGroup();
    const start = performance.now();
    let groups = 0;
    while (groups < GROUPS_A_LOG && performance.now() - start < SECONDS * 1000) {
      await writeGroup();
      groups += 1;
    }
    return (groups * GROUP * 1000) / (performance.now() - start);
  }

  await ours();
  const bytes = bytesOfGroup(path, Math.floor(written / GROUP));
  const bareRate = bareWrites(join(context.folder, 'bare'), bytes);
  const driverRate = driverWrites((await addStore(context, 'grouped-writes-driver')).path);
  driverRate(SECONDS);
  const rates = await takeTurns(ROUNDS, {
    ours,
    driver: () => driverRate(SECONDS),
    floor: () => bareRate(SECONDS),
  });
  const ratio = pairedRatio(rates.ours, rates.floor);
  return {
    name: 'grouped-writes',
    unit: '/s',
    ours: median(rates.ours),
    floor: median(rates.floor),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'the driver alone, one INSERT a row',
        value: median(rates.driver),
        ratio: pairedRatio(rates.ours, rates.driver),
      },
    ],
    targets: [{ text: `≥ ${LEAST_OF_BARE} of pwrite + fdatasync`, met: ratio >= LEAST_OF_BARE }],
    notes: [
      `Rows a second, ${GROUP} a commit, ${(bytes / 1024).toFixed(0)} KiB of log each; floor: one pwrite ` +
        'of as many bytes and one fdatasync. On a disk that syncs fast the time is that of SQLite: the driver ' +
        `alone has ${pairedRatio(rates.driver, rates.floor).toFixed(2)} of the floor.`,
    ],
  };
}

/** @type {import('../bench.mjs').Bench} */
export async function benchGroupedWritesSlowDisk({ checkout, folder }) {
  const args = [join(checkout, 'scripts/bench.mjs'), '--only', 'grouped-writes', '--json'];
  const env = { ...process.env, ...slowDisk(folder, ADDED_MS) };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  /** @type {{ rows: import('./table.mjs').Row[] }} */
  const { rows } = JSON.parse(stdout);
  const [row] = rows;
  if (row === undefined) throw new Error('grouped-writes gave no row');
  const note = `As grouped-writes, with ${ADDED_MS} ms added to each fsync.`;
  return { ...row, name: 'grouped-writes-slow-disk', notes: [note] };
}

/**
 * @param {string} path a database that `paygate store add` made
 * @returns {(seconds: number) => number} rows a second
 */
function driverWrites(path) {
  const sqlite = new SqliteDatabase(path);
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = NORMAL');
  sqlite.pragma('wal_autocheckpoint = 0');
  sqlite.pragma('foreign_keys = OFF');
  sqlite.exec('BEGIN IMMEDIATE; COMMIT');
  const log = openSync(`${path}-wal`, 'r');
  atEnd(() => {
    sqlite.close();
    closeSync(log);
  });
  const begin = sqlite.prepare('BEGIN IMMEDIATE');
  const commit = sqlite.prepare('COMMIT');
  const insert = sqlite.prepare(
    'INSERT INTO idempotency_keys (store_id, key, address_id, created_at) VALUES (1, ?, 1, ?)',
  );
  let written = 0;
  return (seconds) => {
    sqlite.pragma('wal_checkpoint(RESTART)');
    return rateOf(seconds, () => {
      begin.run();
      for (let row = 0; row < GROUP; row += 1) {
        written += 1;
        insert.run(`order ${written}`, Date.now());
      }
      commit.run();
      fdatasyncSync(log);
      return GROUP;
    });
  };
}

/**
 * @param {string} path
 * @param {number} groups that the log holds
 */
const bytesOfGroup = (path, groups) => Math.ceil(statSync(`${path}-wal`).size / groups);

/**
 * @param {string} path
 * @param {number} bytes
 * @returns {(seconds: number) => number} rows a second
 */
function bareWrites(path, bytes) {
  const file = openSync(path, 'w');
  atEnd(() => closeSync(file));
  writeSync(file, Buffer.alloc(FILE_BYTES), 0, FILE_BYTES, 0);
  fsyncSync(file);
  const group = Buffer.alloc(bytes, 7);
  let at = 0;
  return (seconds) =>
    rateOf(seconds, () => {
      if (at + bytes > FILE_BYTES) at = 0;
      writeSync(file, group, 0, bytes, at);
      fdatasyncSync(file);
      at += bytes;
      return GROUP;
    });
}
