// What payments were worth when they were first seen: which of them still wait for a price, and the
// price once it is known. A payment of a store without a currency waits for none.

import { sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { payments, recordedAt } from '../schema/schema.ts';
import type { Orders } from './orders.ts';

export type ReceiptPrices = ReturnType<typeof createReceiptPrices>;

export interface ReceiptPrice {
  readonly currency: string;
  readonly priceCents: number;
  readonly sources: readonly string[];
}

/** How long after it was recorded a payment may be given a price. */
export const receiptPriceMs = 10 * 60_000;

/** @param orders whose late payments count by these prices */
export function createReceiptPrices(orm: Orm, orders: Pick<Orders, 'repriced'>) {
  // As the index has it. A plus keeps SQLite from the index of all payments with a currency.
  const currencyOf = sql<string>`+${payments.currency}`;
  const isWaiting = (recordedAfter: number) =>
    sql`currency is not null and price_cents is null and ${recordedAt} > ${recordedAfter}`;
  return {
    waiting: (recordedAfter: number): string[] =>
      orm
        .selectDistinct({ currency: currencyOf })
        .from(payments)
        .where(isWaiting(recordedAfter))
        .all()
        .map(({ currency }) => currency),
    /**
     * Gives the price of a bitcoin to payments that wait for it.
     * @returns how many, at most `limit`
     */
    put(
      tx: Tx,
      now: number,
      recordedAfter: number,
      { currency, priceCents, sources }: ReceiptPrice,
      limit: number,
    ): number {
      const found = sql`(select id from payments
        where ${isWaiting(recordedAfter)} and ${currencyOf} = ${currency} limit ${limit})`;
      const priced = orm
        .update(payments)
        .set({ priceCents, priceSources: sources.join(' ') })
        .where(sql`${payments.id} in ${found}`)
        .returning({ addressId: payments.addressId })
        .all();
      orders.repriced(tx, now, [...new Set(priced.map(({ addressId }) => addressId))]);
      return priced.length;
    },
  };
}
