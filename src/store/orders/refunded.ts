// What customers received back of an order. Only refunds that are done count.

import { and, isNotNull } from 'drizzle-orm';
import { equals, type Orm, prepared } from '../db/orm.ts';
import { satSum } from '../db/sat-sum.ts';
import { refunds } from '../schema/order-schema.ts';

/** Satoshis, without what the merchant deducted for the network fee. */
export type RefundedSatOf = (orderId: number) => number;

export function createRefundedSatOf(orm: Orm): RefundedSatOf {
  const statement = prepared(() =>
    orm
      .select({ sat: satSum(refunds.amountSat) })
      .from(refunds)
      .where(and(equals(refunds.orderId, 'orderId'), isNotNull(refunds.doneAt))),
  );
  return (orderId) => statement.get({ orderId })?.sat ?? 0;
}
