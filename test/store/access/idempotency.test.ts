import { afterEach, expect, test } from 'vitest';
import { idempotencyKeys } from '../../../src/store/schema/schema.ts';
import { cleanUp } from '../../support/files.ts';
import { now, openTestStore, type TestStore } from '../../support/store.ts';

afterEach(cleanUp);

const dayMs = 86_400_000;
const answer = (addressId: number) => ({ addressId, bodyHash: null });

async function shopWith(keys: number): Promise<{ store: TestStore; addressId: number }> {
  const store = await openTestStore();
  await store.addWallet();
  await store.addStore();
  const addressId = await store.write((tx) => {
    const { id } = store.addresses.issue(tx, now, 1, 1);
    for (let key = 0; key < keys; key += 1) {
      store.idempotency.keep(tx, now, 1, `order ${key}`, answer(id));
    }
    return id;
  });
  return { store, addressId };
}

const countOf = ({ database }: TestStore): number =>
  database.orm.select().from(idempotencyKeys).all().length;

test('each new key deletes a few keys older than a day, however many there are', async () => {
  const { store, addressId } = await shopWith(250);
  const keep = (key: string) =>
    store.write((tx) => store.idempotency.keep(tx, now + dayMs, 1, key, answer(addressId)));
  await keep('of today');
  expect(countOf(store)).toBe(151);
  for (const key of ['two', 'three', 'four']) await keep(key);
  expect(countOf(store)).toBe(4);
});

test('each key is deleted when it is a day old', async () => {
  const { store, addressId } = await shopWith(0);
  const hourMs = 3_600_000;
  const keptAfter = async (hours: readonly number[]) => {
    const kept: number[] = [];
    for (const hour of hours) {
      const at = now + hour * hourMs;
      await store.write((tx) =>
        store.idempotency.keep(tx, at, 1, `of hour ${hour}`, answer(addressId)),
      );
      kept.push(countOf(store));
    }
    return kept;
  };
  expect(await keptAfter([0, 1, 2, 23, 24, 25, 48, 49, 100])).toEqual([1, 2, 3, 4, 4, 4, 2, 2, 1]);
  // A clock that was ahead, and is right again.
  expect(await keptAfter([9_000, 101, 102, 126, 150])).toEqual([1, 2, 3, 2, 2]);
});

test('a rollback leaves old keys to the next deletion', async () => {
  const { store, addressId } = await shopWith(1);
  const keep = (key: string, fails: boolean) =>
    store.write((tx) => {
      store.idempotency.keep(tx, now + dayMs, 1, key, answer(addressId));
      if (fails) throw new Error('taken back');
    });
  await expect(keep('first', true)).rejects.toThrow('taken back');
  await keep('second', false);
  expect(countOf(store)).toBe(1);
});

test('a key that is a day old and not deleted begins anew', async () => {
  const { store } = await shopWith(250);
  const { id } = await store.write((tx) => store.addresses.issue(tx, now + dayMs, 1, 1));
  const addressOf = (key: string) => store.idempotency.find(now + dayMs, 1, key)?.addressId;
  expect(addressOf('order 249')).toBeUndefined();
  await store.write((tx) => store.idempotency.keep(tx, now + dayMs, 1, 'order 249', answer(id)));
  expect(addressOf('order 249')).toBe(id);
});

test('while the clock may be wrong, no key is too old and none is deleted', async () => {
  const { store, addressId } = await shopWith(3);
  let passedAt = now;
  store.idempotency.judgeBy({ isSure: () => false, passed: (at) => Math.min(at, passedAt) });
  const later = now + 400 * dayMs;
  const addressOf = (key: string) => store.idempotency.find(later, 1, key)?.addressId;
  expect(addressOf('order 1')).toBe(addressId);
  await store.write((tx) => store.idempotency.keep(tx, later, 1, 'of the jump', answer(addressId)));
  expect(countOf(store)).toBe(4);
  expect(store.idempotency.since(later)).toBe(now - dayMs);
  passedAt = later;
  expect(addressOf('order 1')).toBeUndefined();
  expect(addressOf('of the jump')).toBe(addressId);
});
