// Counts of orders for the metrics, by index and up to a bound.

import { sql } from 'drizzle-orm';
import type { OrderStatus } from '../../domain/order/order.ts';
import { type Orm, placeholder, prepared } from '../db/orm.ts';
import { orders } from '../schema/order-schema.ts';
import { stores } from '../schema/schema.ts';

export type OrderCounts = ReturnType<typeof createOrderCounts>;

export function createOrderCounts(orm: Orm) {
  // By store, because the index of the status begins with the store.
  const counted = sql<number>`(select count(*) from (select 1 from ${stores} s cross join ${orders} o
    where o.store_id = s.id and o.status = ${placeholder('status')} limit ${placeholder('max')}))`;
  const statement = prepared(() => orm.select({ counted }).from(sql`(select 1)`));
  return {
    /** Orders of all stores with this status, at most `max`. */
    withStatus: (status: OrderStatus, max: number): number =>
      statement.get({ status, max })?.counted ?? 0,
  };
}
