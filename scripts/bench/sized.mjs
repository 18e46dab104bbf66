// Files of any size for the benches that ask what size costs, each written once a run, by SQL alone, and shared:
// how their rows come about is not what these benches measure. The wallet and its counter are real, so that
// paygate goes on issuing behind them; scripthashes and txids are random, so that no server knows them. Its wallet is
// scanned and a mark stands beside it, as paygate left them: a start finds no copy, and has nothing to scan.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { openDatabase } from '../../src/store/db/database.ts';
import { createAdmin } from '../../src/store/records/admin.ts';
import { addStore } from './paygate.mjs';
import { launcher } from './program.mjs';

const DAY_MS = 86_400_000;
/** All are hot: issued in the last 7 days. */
const ISSUED_WITHIN_MS = 6 * DAY_MS;
const PAID_WITHIN_MS = 60 * DAY_MS;
/** Of a signed-in session in each file. */
export const TOKEN = 'bench';

/**
 * @typedef {object} Sized
 * @property {string} path
 * @property {string} apiKey
 *
 * @typedef {import('../bench.mjs').Context} Context
 */

/** @type {Map<string, Promise<Sized>>} */
const files = new Map();

/**
 * A file with so many issued addresses, all hot and none of them paid.
 * @param {Context} context
 * @param {number} count
 */
export const issuedFile = (context, count) => sized(context, `issued-${count}`, count, issue);

/**
 * A file with so many addresses, each with a settled payment whose callback was delivered; every
 * hundredth was given up.
 * @param {Context} context
 * @param {number} count
 */
export const paidFile = (context, count) =>
  sized(context, `paid-${count}`, count, (sqlite, rows) => {
    issue(sqlite, rows);
    pay(sqlite, rows);
  });

/**
 * @param {Context} context
 * @param {string} name
 * @param {number} count
 * @param {(sqlite: SqliteDatabase.Database, count: number) => void} write
 * @returns {Promise<Sized>}
 */
function sized(context, name, count, write) {
  const file = files.get(name) ?? make(context, name, count, write);
  files.set(name, file);
  return file;
}

/**
 * @param {Context} context
 * @param {string} name
 * @param {number} count
 * @param {(sqlite: SqliteDatabase.Database, count: number) => void} write
 */
async function make(context, name, count, write) {
  context.progress(`writing the file ${name}`);
  const file = await addStore(context, name, undefined, count);
  await signIn(file.path);
  const sqlite = new SqliteDatabase(file.path);
  sqlite.pragma('journal_mode = OFF');
  sqlite.pragma('synchronous = OFF');
  sqlite.pragma('cache_size = -500000');
  sqlite.transaction(() => write(sqlite, count))();
  sqlite.exec('UPDATE wallets SET scanned_at = created_at');
  sqlite.pragma('journal_mode = WAL');
  sqlite.close();
  await promisify(execFile)(launcher(context), ['restore', '--moved', '--db', file.path]);
  return file;
}

/** @param {string} path */
async function signIn(path) {
  const database = openDatabase({ path, create: false });
  const admin = createAdmin(database.orm);
  await database.write((tx) => {
    const now = Date.now();
    admin.setPassword(tx, now, 'none');
    admin.begin(tx, now, { token: TOKEN, client: '127.0.0.1', agent: 'bench' });
  });
  await database.close();
}

/**
 * @param {SqliteDatabase.Database} sqlite
 * @param {number} count
 */
function issue(sqlite, count) {
  sqlite
    .prepare(
      `WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < :count)
       INSERT INTO addresses (id, wallet_id, branch, derivation_index, address, script, scripthash,
         origin, store_id, issued_at)
       SELECT n, 1, 0, n - 1, 'bcrt1qbench' || n, randomblob(22), lower(hex(randomblob(32))),
         'issued', 1, cast(:now - (:count - n) * (:within / :count) AS integer)
       FROM row WHERE :count > 0`,
    )
    .run({ count, now: Date.now(), within: ISSUED_WITHIN_MS });
}

/**
 * @param {SqliteDatabase.Database} sqlite
 * @param {number} count
 */
function pay(sqlite, count) {
  const times = { count, now: Date.now(), within: PAID_WITHIN_MS };
  sqlite
    .prepare(
      `INSERT INTO payments (id, address_id, txid, value_sat, state, height, block_hash, status,
         first_seen_at, changed_at)
       SELECT id, id, lower(hex(randomblob(32))), 1000 + id % 9000, 'settled', 1, 'none', 2,
         cast(:now - (:count - id) * (:within / :count) AS integer), cast(:now AS integer)
       FROM addresses WHERE id <= :count`,
    )
    .run(times);
  sqlite
    .prepare(
      `INSERT INTO callbacks (id, payment_id, address_id, store_id, version, event_id, status, query, state,
         attempt_count, step, next_attempt_at, created_at, settled_at)
       SELECT id, id, address_id, 1, 1, lower(hex(randomblob(16))), 2, 'status=2&addr=bcrt1qbench' || id,
         iif(id % 100 = 0, 'exhausted', 'delivered'), 1, 1, first_seen_at, first_seen_at, first_seen_at
       FROM payments WHERE id <= :count`,
    )
    .run({ count });
}
