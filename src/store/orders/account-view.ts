// The rows of a shop's accounts, read page by page so that a file of a million payments needs
// little memory. It adds to a payment what its order and its block have.

import type { AccountOrder, AccountRow, AccountSums } from '../../domain/payment/account-row.ts';
import { addUp, isBooked, noSums } from '../../domain/payment/account-row.ts';
import { pagesOf } from '../../lib/row-pages.ts';
import type { Headers } from '../chain/headers.ts';
import type { PaymentEntry, PaymentFilter, PaymentView } from '../payments/payment-view.ts';
import type { OrderView } from './order-view.ts';
import type { RefundedSatOf } from './refunded.ts';

export type AccountFilter = Omit<PaymentFilter, 'beforeId' | 'limit'>;

export type AccountView = ReturnType<typeof createAccountView>;

interface Parts {
  readonly paymentView: Pick<PaymentView, 'page'>;
  readonly orderView: Pick<OrderView, 'byAddressId' | 'record' | 'standing'>;
  readonly headers: Pick<Headers, 'bestAt'>;
  readonly refundedSatOf: RefundedSatOf;
}

export function createAccountView(parts: Parts) {
  const { paymentView, orderView, headers, refundedSatOf } = parts;

  const entries = (filter: AccountFilter) =>
    pagesOf<PaymentEntry>((place) => paymentView.page({ ...filter, ...place }));

  function readOrder(addressId: number, now: number): PaidOrder | undefined {
    const row = orderView.byAddressId(addressId);
    if (row === undefined) return undefined;
    const { payments } = orderView.standing(orderView.record(row), now);
    const refundedTxid = payments.find(({ payment }) => isBooked(payment))?.payment.txid;
    return {
      refundedTxid,
      refundedSat: refundedTxid === undefined ? 0 : refundedSatOf(row.id),
      ofPayment: new Map(
        payments.map(({ payment, rateCents, isLate }) => [
          payment.txid,
          { ...row, rateCents, isLate },
        ]),
      ),
    };
  }

  function rowOf(entry: PaymentEntry, paid: PaidOrder | undefined): AccountRow {
    const { height, blockHash } = entry;
    const block = height === null ? undefined : headers.bestAt(height);
    const isOnBest = block !== undefined && block.header.hash === blockHash;
    return {
      ...entry,
      height: isOnBest ? height : null,
      minedAt: isOnBest ? block.header.time * 1000 : null,
      order: paid?.ofPayment.get(entry.txid) ?? null,
      refundedSat: paid?.refundedTxid === entry.txid ? paid.refundedSat : 0,
    };
  }

  return {
    /** All payments of a filter, the newest first. Each page is a turn of the event loop. */
    async *pages(filter: AccountFilter, now: number): AsyncGenerator<readonly AccountRow[], void> {
      for await (const page of entries(filter)) {
        const orders = new Map<number, PaidOrder | undefined>();
        yield page.map((entry) => {
          const { addressId, orderId } = entry;
          if (orderId === null) return rowOf(entry, undefined);
          if (!orders.has(addressId)) orders.set(addressId, readOrder(addressId, now));
          return rowOf(entry, orders.get(addressId));
        });
      }
    },
    async sums(filter: AccountFilter): Promise<AccountSums> {
      let sums = noSums;
      for await (const page of entries(filter)) sums = addUp(sums, page);
      return sums;
    },
  };
}

interface PaidOrder {
  /** The payment whose row has the refunds of the order. */
  readonly refundedTxid: string | undefined;
  readonly refundedSat: number;
  readonly ofPayment: ReadonlyMap<string, AccountOrder>;
}
