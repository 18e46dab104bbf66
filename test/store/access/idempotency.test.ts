import { afterEach, expect, test } from 'vitest';
import { idempotencyKeys } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const dayMs = 86_400_000;
const answer = (addressId: number) => ({ addressId, bodyHash: null });

async function shopWith(keys: number): Promise<{ records: TestRecords; addressId: number }> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const addressId = await records.write((tx) => {
    const { id } = records.addresses.issue(tx, now, 1, 1);
    for (let key = 0; key < keys; key += 1) {
      records.idempotency.keep(tx, now, 1, `order ${key}`, answer(id));
    }
    return id;
  });
  return { records, addressId };
}

const countOf = ({ database }: TestRecords): number =>
  database.orm.select().from(idempotencyKeys).all().length;

test('each new key deletes a few keys older than a day, however many there are', async () => {
  const { records, addressId } = await shopWith(250);
  const keep = (key: string) =>
    records.write((tx) => records.idempotency.keep(tx, now + dayMs, 1, key, answer(addressId)));
  await keep('of today');
  expect(countOf(records)).toBe(151);
  for (const key of ['two', 'three', 'four']) await keep(key);
  expect(countOf(records)).toBe(4);
});

test('each key is deleted when it is a day old', async () => {
  const { records, addressId } = await shopWith(0);
  const hourMs = 3_600_000;
  const keptAfter = async (hours: readonly number[]) => {
    const kept: number[] = [];
    for (const hour of hours) {
      const at = now + hour * hourMs;
      await records.write((tx) =>
        records.idempotency.keep(tx, at, 1, `of hour ${hour}`, answer(addressId)),
      );
      kept.push(countOf(records));
    }
    return kept;
  };
  expect(await keptAfter([0, 1, 2, 23, 24, 25, 48, 49, 100])).toEqual([1, 2, 3, 4, 4, 4, 2, 2, 1]);
  // A clock that was ahead, and is right again.
  expect(await keptAfter([9_000, 101, 102, 126, 150])).toEqual([1, 2, 3, 2, 2]);
});

test('a rollback leaves old keys to the next deletion', async () => {
  const { records, addressId } = await shopWith(1);
  const keep = (key: string, fails: boolean) =>
    records.write((tx) => {
      records.idempotency.keep(tx, now + dayMs, 1, key, answer(addressId));
      if (fails) throw new Error('taken back');
    });
  await expect(keep('first', true)).rejects.toThrow('taken back');
  await keep('second', false);
  expect(countOf(records)).toBe(1);
});

test('a key that is a day old and not deleted begins anew', async () => {
  const { records } = await shopWith(250);
  const { id } = await records.write((tx) => records.addresses.issue(tx, now + dayMs, 1, 1));
  const addressOf = (key: string) => records.idempotency.find(now + dayMs, 1, key)?.addressId;
  expect(addressOf('order 249')).toBeUndefined();
  await records.write((tx) =>
    records.idempotency.keep(tx, now + dayMs, 1, 'order 249', answer(id)),
  );
  expect(addressOf('order 249')).toBe(id);
});

test('while the clock may be wrong, no key is too old and none is deleted', async () => {
  const { records, addressId } = await shopWith(3);
  let passedAt = now;
  records.idempotency.judgeBy({ isSure: () => false, passed: (at) => Math.min(at, passedAt) });
  const later = now + 400 * dayMs;
  const addressOf = (key: string) => records.idempotency.find(later, 1, key)?.addressId;
  expect(addressOf('order 1')).toBe(addressId);
  await records.write((tx) =>
    records.idempotency.keep(tx, later, 1, 'of the jump', answer(addressId)),
  );
  expect(countOf(records)).toBe(4);
  expect(records.idempotency.since(later)).toBe(now - dayMs);
  passedAt = later;
  expect(addressOf('order 1')).toBeUndefined();
  expect(addressOf('of the jump')).toBe(addressId);
});
