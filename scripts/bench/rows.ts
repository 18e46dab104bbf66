// Rows of the benches' large files, written by SQL. Scripthashes and txids are random, so no server
// knows them.

import { createHash } from 'node:crypto';
import type { Sqlite } from './database.ts';

const DAY_MS = 86_400_000;
/** All addresses are hot: issued within the last 7 days. */
const ISSUED_WITHIN_MS = 6 * DAY_MS;
const PAID_WITHIN_MS = 60 * DAY_MS;
/** The cookie's text of a signed-in session in each large file. */
export const SESSION_TOKEN = 'bench';

/** The owner with a session, whose cookie is `SESSION_TOKEN`. */
export function signIn(sqlite: Sqlite) {
  const now = Date.now();
  sqlite
    .prepare(
      "INSERT INTO admin (id, name, password_hash, password_at) VALUES (1, 'admin', 'none', ?)",
    )
    .run(now);
  sqlite
    .prepare(
      `INSERT INTO sessions (person_id, hash, created_at, seen_at, confirmed_at, client, agent)
       VALUES (1, :hash, :now, :now, :now, '127.0.0.1', 'bench')`,
    )
    .run({ hash: createHash('sha256').update(SESSION_TOKEN).digest(), now });
}

export function issue(sqlite: Sqlite, count: number) {
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

export function order(sqlite: Sqlite, count: number) {
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

export function pay(sqlite: Sqlite, count: number) {
  sqlite
    .prepare(
      `INSERT INTO payments (id, address_id, txid, value_sat, state, height, block_hash, status,
         first_seen_at, changed_at)
       SELECT id, id, lower(hex(randomblob(32))), 1000 + id % 9000, 'settled', 1, 'none', 2,
         cast(:now - (:count - id) * (:within / :count) AS integer), cast(:now AS integer)
       FROM addresses WHERE id <= :count`,
    )
    .run({ count, now: Date.now(), within: PAID_WITHIN_MS });
  sqlite.exec(
    `INSERT INTO deliveries (channel, id, payment_id, address_id, store_id, version, event_id,
       status, content, state, attempt_count, step, next_attempt_at, created_at, settled_at)
     SELECT 'callback', id, id, address_id, 1, 1, lower(hex(randomblob(16))), 2,
       'status=2&addr=bcrt1qbench' || id, iif(id % 100 = 0, 'exhausted', 'delivered'), 1, 1,
       first_seen_at, first_seen_at, first_seen_at
     FROM payments`,
  );
}
