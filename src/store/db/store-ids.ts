// The stores that a list goes through, because the indexes of lists begin with the store.

import { stores } from '../schema/schema.ts';
import { type Orm, prepared } from './orm.ts';

export type StoreIds = (storeId?: number) => readonly number[];

export function createStoreIds(orm: Orm): StoreIds {
  const all = prepared(() => orm.select({ id: stores.id }).from(stores));
  return (storeId) => (storeId === undefined ? all.all().map(({ id }) => id) : [storeId]);
}
