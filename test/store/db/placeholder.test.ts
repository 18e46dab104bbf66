import { eq, sql } from 'drizzle-orm';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { afterEach, expect, test } from 'vitest';
import { openSqlite } from '../../../src/store/db/driver.ts';
import { equals, ormOf, placeholder, placeholders } from '../../../src/store/db/orm.ts';
import { ReadSnapshot } from '../../../src/store/db/read-snapshot.ts';
import { payments } from '../../../src/store/schema/schema.ts';

const closings: (() => void)[] = [];

afterEach(() => {
  for (const close of closings.splice(0)) close();
});

function openOrm() {
  const sqlite = openSqlite(':memory:');
  closings.push(() => sqlite.close());
  return ormOf(sqlite, new ReadSnapshot(sqlite));
}

test('a placeholder has no part in the choice of a plan, so that SQLite compiles a statement once', () => {
  const query = openOrm()
    .select()
    .from(payments)
    .where(eq(payments.addressId, placeholder('id')));
  expect(query.toSQL().sql).toMatch(/= \+\?$/);
});

test.each([
  [null, 'null'],
  [7, 'real'],
  [2 ** 52 + 1, 'real'],
  ['+1', 'text'],
  ['', 'text'],
  [Buffer.from([0, 0xff]), 'blob'],
])('%j is given as it is', (value, type) => {
  const orm = openOrm();
  const one = placeholder('value');
  const statement = orm
    .select({ value: sql`${one}`, type: sql`typeof(${one})` })
    .from(sql`(select 1)`)
    .prepare();
  expect(statement.get({ value })).toEqual({ value, type });
});

test('placeholders give each column the value of its own name', () => {
  const sqlite = openSqlite(':memory:');
  closings.push(() => sqlite.close());
  sqlite.exec('create table pairs (one, other)');
  const pairs = sqliteTable('pairs', { one: text('one'), other: text('other') });
  const orm = ormOf(sqlite, new ReadSnapshot(sqlite));
  orm.insert(pairs).values(placeholders('one', 'other')).prepare().run({ other: 'b', one: 'a' });
  const named = orm.select().from(pairs).where(equals(pairs.other, 'wanted')).prepare();
  expect(named.all({ wanted: 'b' })).toEqual([{ one: 'a', other: 'b' }]);
  expect(named.all({ wanted: 'a' })).toEqual([]);
});
