// The audit log: what an API key did ends at a number, because a thief may hold the key.

import { sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { type AuditEntry, createAudit, maxOfKey } from '../../../src/store/access/audit.ts';
import { audit as table } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { plansOf, statementsOf } from '../../support/plans.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const change: Omit<AuditEntry, 'keyId'> = { action: 'link.change', storeId: null, detail: {} };

/** Two keys; the first one has as many entries as stay, with one of the other between them. */
async function full(): Promise<{
  readonly records: TestRecords;
  readonly keyIds: readonly number[];
}> {
  const records = await openTestStore();
  const { audit, keys, database } = records;
  await records.addWallet();
  await records.addStore();
  const keyIds = await records.write((tx) =>
    [1, 2].map((byte) => {
      const secret = new Uint8Array(32).fill(byte);
      keys.add(tx, now, { scope: 'payments', storeId: 1, secret });
      return keys.list(now).at(-1)?.id ?? 0;
    }),
  );
  const [first = 0, second = 0] = keyIds;
  await records.write((tx) => {
    audit.noteChange(tx, now, 'command', 'password.set');
    audit.note(tx, now, { ...change, keyId: first, detail: { place: 'oldest' } });
    audit.note(tx, now, { ...change, keyId: second });
    database.orm.run(sql`insert into audit (at, key_id, action, detail)
      with recursive n(i) as (select 2 union all select i + 1 from n where i < ${maxOfKey})
      select ${now}, ${first}, 'link.change', '{}' from n`);
  });
  return { records, keyIds };
}

const countOf = ({ database }: TestRecords, keyId: number | null): number =>
  database.orm.select({ id: table.id }).from(table).where(sql`key_id is ${keyId}`).all().length;

test('S-86 of each key, the newest changes stay, and all of others', async () => {
  const { records, keyIds } = await full();
  const [first = 0, second = 0] = keyIds;
  const oldest = () =>
    records.audit.list(maxOfKey + 10).filter(({ detail }) => detail.includes('oldest'));
  expect([countOf(records, first), oldest()]).toEqual([maxOfKey, [expect.anything()]]);
  await records.write((tx) => records.audit.note(tx, now, { ...change, keyId: second }));
  await records.write((tx) => records.audit.noteChange(tx, now, 'command', 'password.set'));
  expect(oldest()).toHaveLength(1);
  await records.write((tx) => records.audit.note(tx, now, { ...change, keyId: first }));
  expect([countOf(records, first), oldest()]).toEqual([maxOfKey, []]);
  expect([countOf(records, second), countOf(records, null)]).toEqual([2, 2]);
});

test('what is beyond is found by an index', async () => {
  const records = await openTestStore();
  const statements = await statementsOf(() => createAudit(records.database.orm));
  expect(statements).toHaveLength(1);
  const plan = plansOf(records.path, statements).flat();
  expect(plan.filter((step) => step.includes('USING'))).toEqual([
    'SEARCH audit USING COVERING INDEX audit_key (key_id=? AND rowid<?)',
    'SEARCH audit USING COVERING INDEX audit_key (key_id=?)',
  ]);
});
