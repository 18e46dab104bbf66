import { and, asc, eq, lt, sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { openSqlite } from '../../../src/store/db/driver.ts';
import { ormOf } from '../../../src/store/db/orm.ts';
import { payments } from '../../../src/store/db/schema.ts';
import { Snapshot } from '../../../src/store/db/snapshot.ts';

const closings: (() => void)[] = [];

afterEach(() => {
  for (const close of closings.splice(0)) close();
});

function openOrm() {
  const sqlite = openSqlite(':memory:');
  closings.push(() => sqlite.close());
  return ormOf(sqlite, new Snapshot(sqlite));
}

test('no parameter has a part in the choice of a plan, so that nothing is compiled twice', () => {
  const orm = openOrm();
  const queries = [
    orm
      .select()
      .from(payments)
      .where(and(eq(payments.addressId, sql.placeholder('id')), lt(payments.id, 9)))
      .orderBy(asc(payments.id))
      .limit(sql.placeholder('limit')),
    orm.update(payments).set({ valueSat: 5 }).where(eq(payments.id, 7)),
    orm.delete(payments).where(eq(payments.id, 7)),
  ];
  for (const query of queries) {
    const { sql: text } = query.toSQL();
    expect(text).toContain('+?');
    expect(text).not.toMatch(/(?<!\+)\?/);
  }
});

test.each([
  [null, 'null'],
  [7, 'real'],
  [2 ** 52 + 1, 'real'],
  ['+1', 'text'],
  ['', 'text'],
  [Buffer.from([0, 0xff]), 'blob'],
])('%j is given as it is', (value, type) => {
  const given = sql`${value}`;
  const row = openOrm().get(sql`select ${given} as value, typeof(${given}) as type`);
  expect(row).toEqual({ value, type });
});
