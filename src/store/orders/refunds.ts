// Refunds that a merchant pays from a wallet of their own: written before they are sent, and done
// when their transaction is known. An order has one at a time that is not done.

import { and, asc, eq, isNull } from 'drizzle-orm';
import type { RefundAmount, RefundChoice } from '../../domain/order/refund.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { refunds } from '../schema/order-schema.ts';

export type RefundRow = typeof refunds.$inferSelect;

export interface NewRefund extends RefundAmount {
  readonly orderId: number;
  readonly choice: RefundChoice;
  readonly address: string;
}

export type Refunds = ReturnType<typeof createRefunds>;
export type SentRefund = Pick<RefundRow, 'txid' | 'currency' | 'priceCents'>;

export function createRefunds(orm: Orm) {
  const isPending = (orderId: number) => and(eq(refunds.orderId, orderId), isNull(refunds.doneAt));

  const pendingOf = (orderId: number): RefundRow | undefined =>
    orm.select().from(refunds).where(isPending(orderId)).get();

  return {
    /** All of an order, the oldest first. */
    of: (orderId: number): RefundRow[] =>
      orm.select().from(refunds).where(eq(refunds.orderId, orderId)).orderBy(asc(refunds.id)).all(),
    pendingOf,
    /** @throws PaygateError conflict while another one of the order is not done */
    prepare(_tx: Tx, now: number, refund: NewRefund): RefundRow {
      if (pendingOf(refund.orderId) !== undefined) {
        throw new PaygateError('conflict', 'a refund of this order is prepared already');
      }
      const values = { ...refund, createdAt: now };
      return orm.insert(refunds).values(values).returning().get();
    },
    /** @throws PaygateError conflict if none of the order is pending */
    finish: (
      _tx: Tx,
      now: number,
      orderId: number,
      { txid, currency, priceCents }: SentRefund,
    ): RefundRow =>
      pending(
        orm
          .update(refunds)
          .set({ txid, currency, priceCents, doneAt: now })
          .where(isPending(orderId))
          .returning()
          .get(),
      ),
    /** Deletes the one that is not done. @throws PaygateError conflict if there is none */
    discard: (_tx: Tx, orderId: number): RefundRow =>
      pending(orm.delete(refunds).where(isPending(orderId)).returning().get()),
  };
}

function pending(row: RefundRow | undefined): RefundRow {
  if (row !== undefined) return row;
  throw new PaygateError('conflict', 'no refund of this order is prepared');
}
