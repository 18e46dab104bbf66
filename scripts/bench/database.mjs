// Database files of the benches. The CLI makes the store, the wallet and its counter; SQL adds
// rows, because these benches do not measure how rows come about. Scripthashes and txids are
// random, so no server knows them. A large file is written once a run, and its rows share it.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { accountKey } from './account-key.mjs';
import { launcher } from './server.mjs';

const DAY_MS = 86_400_000;
/** All addresses are hot: issued within the last 7 days. */
const ISSUED_WITHIN_MS = 6 * DAY_MS;
const PAID_WITHIN_MS = 60 * DAY_MS;
/** The cookie's text of a signed-in session in each large file. */
const SESSION_TOKEN = 'bench';
const run = promisify(execFile);

/**
 * @typedef {object} File
 * @property {string} path
 * @property {string} apiKey
 *
 * @typedef {import('../bench.mjs').Context} Context
 */

/**
 * Makes a database with one store, which issues from `startIndex` without a scan.
 * @param {Context} context
 * @param {string} name of the file
 * @param {{ callbackUrl?: string, startIndex?: number }} [store]
 * @returns {Promise<File>}
 */
export async function addStore(context, name, store = {}) {
  const { callbackUrl = 'http://127.0.0.1:9/', startIndex = 0 } = store;
  const path = join(context.folder, `${name}.db`);
  const { stdout } = await run(launcher(context), [
    ...['store', 'add', '--db', path, '--network', 'regtest', '--name', 'Bench', '--json'],
    ...['--xpub', accountKey('regtest'), '--script', 'p2wpkh', '--start-index', `${startIndex}`],
    ...['--callback-url', callbackUrl, '--allow-private-callback'],
  ]);
  return { path, apiKey: JSON.parse(stdout).api_key };
}

/**
 * Adds a store with the settings of the first one for each further callback URL.
 * @param {string} path
 * @param {readonly string[]} callbackUrls
 */
export function addStores(path, callbackUrls) {
  const sqlite = new SqliteDatabase(path);
  const copy = sqlite.prepare(
    `INSERT INTO stores (name, wallet_id, callback_url, required_confirmations,
       allow_private_callback, webhook_secret, created_at)
     SELECT name, wallet_id, ?, required_confirmations, allow_private_callback, webhook_secret,
       created_at FROM stores WHERE id = 1`,
  );
  sqlite.transaction(() => {
    for (const url of callbackUrls) copy.run(url);
  })();
  sqlite.close();
}

/**
 * Gives every store of a file another callback URL.
 * @param {string} path
 * @param {string} url
 */
export function setCallbackUrl(path, url) {
  const sqlite = new SqliteDatabase(path);
  sqlite.prepare('UPDATE stores SET callback_url = ?').run(url);
  sqlite.close();
}

/** @type {Map<string, Promise<File>>} */
const files = new Map();

/**
 * A file with issued addresses, all hot and none paid.
 * @param {Context} context
 * @param {number} count
 */
export const issuedFile = (context, count) => largeFile(context, `issued-${count}`, count, issue);

/**
 * A file with addresses that have one settled payment each, whose callback was delivered; every
 * hundredth callback is exhausted.
 * @param {Context} context
 * @param {number} count
 */
export const paidFile = (context, count) =>
  largeFile(context, `paid-${count}`, count, (sqlite, rows) => {
    issue(sqlite, rows);
    pay(sqlite, rows);
  });

/**
 * A file with orders of 12.50 EUR, whose quote is in force. The first half received too little.
 * @param {Context} context
 * @param {number} count
 */
export const orderedFile = (context, count) =>
  largeFile(context, `ordered-${count}`, count, (sqlite, rows) => {
    issue(sqlite, rows);
    order(sqlite, rows);
    pay(sqlite, Math.floor(rows / 2));
  });

/**
 * The public id of the order on an address of `orderedFile`.
 * @param {number} addressId
 */
export const orderIdOf = (addressId) =>
  `ord_${`${addressId}`.padStart(22, '0').replaceAll('0', 'z')}`;

/**
 * @param {Context} context
 * @param {string} name
 * @param {number} count
 * @param {(sqlite: SqliteDatabase.Database, count: number) => void} write
 * @returns {Promise<File>}
 */
function largeFile(context, name, count, write) {
  const file = files.get(name) ?? makeLarge(context, name, count, write);
  files.set(name, file);
  return file;
}

/**
 * @param {Context} context
 * @param {string} name
 * @param {number} count
 * @param {(sqlite: SqliteDatabase.Database, count: number) => void} write
 * @returns {Promise<File>}
 */
async function makeLarge(context, name, count, write) {
  context.progress(`writing the file ${name}`);
  const file = await addStore(context, name, { startIndex: count });
  const sqlite = new SqliteDatabase(file.path);
  sqlite.pragma('journal_mode = OFF');
  sqlite.pragma('synchronous = OFF');
  sqlite.pragma('cache_size = -500000');
  sqlite.transaction(() => {
    write(sqlite, count);
    signIn(sqlite);
    // The wallet is scanned: a start has nothing to scan.
    sqlite.exec('UPDATE wallets SET scanned_at = created_at');
  })();
  sqlite.pragma('journal_mode = WAL');
  sqlite.close();
  // The mark stands beside the file: a start finds no copy.
  await run(launcher(context), ['restore', '--moved', '--without-mark', '--db', file.path]);
  return file;
}

/**
 * The cookie of the session in a large file.
 * @param {{ port: number }} server
 */
export const sessionCookie = ({ port }) => `paygate-${port}=${SESSION_TOKEN}`;

/** @param {SqliteDatabase.Database} sqlite */
function signIn(sqlite) {
  const now = Date.now();
  sqlite
    .prepare("INSERT INTO admin (id, password_hash, password_at) VALUES (1, 'none', ?)")
    .run(now);
  sqlite
    .prepare(
      `INSERT INTO sessions (hash, created_at, seen_at, confirmed_at, client, agent)
       VALUES (?, ?, ?, ?, '127.0.0.1', 'bench')`,
    )
    .run(createHash('sha256').update(SESSION_TOKEN).digest(), now, now, now);
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
function order(sqlite, count) {
  sqlite
    .prepare(
      `INSERT INTO orders (id, public_id, store_id, address_id, currency, amount_minor, amount_sat,
         tolerance_basis_points, late_policy, quote_seconds, reference, description, created_at,
         expires_at, status, version, fingerprint)
       SELECT id, 'ord_' || replace(printf('%022d', id), '0', 'z'), 1, id, 'EUR', 1250, 25000, 50,
         'worth', 900, 'no. ' || id, '2 posters', issued_at, cast(:now + :day AS integer), 'open',
         1, ''
       FROM addresses WHERE id <= :count`,
    )
    .run({ count, now: Date.now(), day: DAY_MS });
  sqlite.exec(
    `INSERT INTO quotes (id, order_id, rate_cents, amount_sat, created_at, expires_at)
       SELECT id, id, 5000000, 25000, created_at, expires_at FROM orders;
     UPDATE addresses SET order_id = id`,
  );
}

/**
 * @param {SqliteDatabase.Database} sqlite
 * @param {number} count
 */
function pay(sqlite, count) {
  sqlite
    .prepare(
      `INSERT INTO payments (id, address_id, txid, value_sat, state, height, block_hash, status,
         first_seen_at, changed_at)
       SELECT id, id, lower(hex(randomblob(32))), 1000 + id % 9000, 'settled', 1, 'none', 2,
         cast(:now - (:count - id) * (:within / :count) AS integer), cast(:now AS integer)
       FROM addresses WHERE id <= :count`,
    )
    .run({ count, now: Date.now(), within: PAID_WITHIN_MS });
  sqlite
    .prepare(
      `INSERT INTO deliveries (channel, id, payment_id, address_id, store_id, version, event_id,
         status, content, state, attempt_count, step, next_attempt_at, created_at, settled_at)
       SELECT 'callback', id, id, address_id, 1, 1, lower(hex(randomblob(16))), 2,
         'status=2&addr=bcrt1qbench' || id, iif(id % 100 = 0, 'exhausted', 'delivered'), 1, 1,
         first_seen_at, first_seen_at, first_seen_at
       FROM payments WHERE id <= :count`,
    )
    .run({ count });
}
