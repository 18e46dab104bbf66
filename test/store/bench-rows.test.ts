// The rows that the benches write by SQL fit the schema, and paygate reads them.

import SqliteDatabase from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { issue, order, pay, signIn } from '../../scripts/bench/rows.ts';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

it('addresses, orders, payments and a session of a large file', async () => {
  const records = await openTestStore();
  const { id } = await records.addWallet({ startIndex: 200 });
  await records.addStore({ walletId: id });
  await records.database.close();

  const sqlite = new SqliteDatabase(records.path);
  issue(sqlite, 200);
  order(sqlite, 200);
  pay(sqlite, 100);
  signIn(sqlite);
  const counted = sqlite
    .prepare(
      `SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM quotes) AS quotes,
         (SELECT count(*) FROM payments) AS payments, (SELECT count(*) FROM deliveries) AS deliveries,
         (SELECT count(*) FROM sessions JOIN admin ON admin.id = person_id) AS sessions`,
    )
    .get();
  sqlite.close();
  expect(counted).toEqual({
    orders: 200,
    quotes: 200,
    payments: 100,
    deliveries: 100,
    sessions: 1,
  });
  expect(checkFile(records.path)).toMatchObject({ faults: [] });
});
