// The stores that a list goes through, because the indexes of lists begin with the store.

import type { Orm } from '../db/orm.ts';
import { prepared } from '../db/prepared.ts';
import { stores } from '../db/schema.ts';

/** The store that a filter names, or all of them. */
export type StoreIds = (storeId?: number) => readonly number[];

export function createStoreIds(orm: Orm): StoreIds {
  const all = prepared(() => orm.select({ id: stores.id }).from(stores));
  return (storeId) => (storeId === undefined ? all.all().map(({ id }) => id) : [storeId]);
}
