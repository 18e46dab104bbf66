// The floor of `new_address`: the same durable writes in a bare loop, on the same schema. One commit (WAL,
// synchronous FULL) updates, for each address, its row and the wallet's counter; before it, one line of
// the mark is written over bytes that exist and synced (fdatasync). Rows are made before the clock runs;
// inside a run nothing is derived, inserted or checkpointed, which paygate must do as well.

import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { atEnd } from './ending.mjs';
import { rateOf } from './stats.mjs';

const MARK_BYTES = 65_536;
const ROWS_A_RUN = 40_000;

/**
 * @param {string} path a database that `paygate store add` made
 * @param {number} grouped addresses in one commit
 * @returns {{ once: () => number, rate: (seconds: number) => number }} one commit, and addresses a second; a
 *   run ends early when its rows do
 */
export function durableWrites(path, grouped) {
  const sqlite = new SqliteDatabase(path);
  atEnd(() => sqlite.close());
  sqlite.pragma('journal_mode = WAL');
  sqlite.pragma('synchronous = FULL');
  sqlite.pragma('wal_autocheckpoint = 0');
  const mark = openMark(`${path}-bench-mark`);
  const begin = sqlite.prepare('BEGIN IMMEDIATE');
  const commit = sqlite.prepare('COMMIT');
  const issue = sqlite.prepare(
    `UPDATE addresses SET origin = 'issued', store_id = 1, issued_at = ?
     WHERE wallet_id = 1 AND branch = 0 AND derivation_index = ?`,
  );
  const raise = sqlite.prepare('UPDATE wallets SET next_index = ? WHERE id = 1');
  let index = 0;
  let rows = 0;

  function commitGroup() {
    const from = index;
    if (from + grouped > rows) return 0;
    begin.run();
    for (; index < from + grouped; index += 1) {
      issue.run(Date.now(), index);
      raise.run(index + 1);
    }
    mark(`1 ${from} ${index} 0123abcd\n`);
    commit.run();
    return grouped;
  }

  function prepare() {
    fill(sqlite, rows, index + ROWS_A_RUN);
    rows = index + ROWS_A_RUN;
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
  }

  prepare();
  return {
    once: commitGroup,
    rate(seconds) {
      prepare();
      return rateOf(seconds, commitGroup);
    },
  };
}

/**
 * @param {SqliteDatabase.Database} sqlite
 * @param {number} from
 * @param {number} to
 */
function fill(sqlite, from, to) {
  const insert = sqlite.prepare(
    `INSERT INTO addresses (wallet_id, branch, derivation_index, address, script, scripthash, origin)
     VALUES (1, 0, @index, 'bcrt1q' || hex(randomblob(19)), randomblob(22), hex(randomblob(32)), 'ahead')`,
  );
  sqlite.transaction(() => {
    for (let index = from; index < to; index += 1) insert.run({ index });
  })();
}

/**
 * @param {string} path
 * @returns {(line: string) => void}
 */
function openMark(path) {
  const file = openSync(path, 'w');
  atEnd(() => closeSync(file));
  writeSync(file, Buffer.alloc(MARK_BYTES), 0, MARK_BYTES, 0);
  fsyncSync(file);
  let end = 0;
  return (line) => {
    const bytes = Buffer.from(line);
    if (end + bytes.length > MARK_BYTES) end = 0;
    writeSync(file, bytes, 0, bytes.length, end);
    fdatasyncSync(file);
    end += bytes.length;
  };
}
