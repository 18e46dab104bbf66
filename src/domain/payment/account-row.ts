// What the accounts of a shop have of a payment or of a refund, and sums of both. Only booked
// payments count: those that are confirmed. A refund counts when it is sent.

import { formatCount, formatDecimal } from '../text/format.ts';
import { minorText, minorWorthOf } from './currency.ts';
import { exactBitcoin } from './money.ts';
import { isFinalState, type PaymentState } from './payment.ts';

export interface AccountOrder {
  readonly publicId: string;
  readonly reference: string | null;
  readonly description: string | null;
  /** The title of the link that made it. */
  readonly linkTitle: string | null;
  /** Null for a price in satoshis. */
  readonly currency: string | null;
  readonly amountMinor: number | null;
  /** A discount below 0 or a surcharge of the price, in hundredths of a percent. */
  readonly adjustBasisPoints: number;
  /** The rate at which the payment counts; null for a price in satoshis, and while unknown. */
  readonly rateCents: number | null;
  readonly isLate: boolean;
}

export interface ValuedPayment {
  readonly state: PaymentState;
  /** Below 0 for a refund. */
  readonly valueSat: number;
  /** The currency of its order, else that of its store when it was first seen. */
  readonly currency: string | null;
  /** Price of one bitcoin when it was first seen, in hundredths; null without a price. */
  readonly priceCents: number | null;
}

/** Times are epoch milliseconds. */
export interface AccountRow extends ValuedPayment {
  /** When a payment was first seen, or a refund was sent. */
  readonly firstSeenAt: number;
  /** Hosts of the sources of that price, with spaces between; null if not stored. */
  readonly priceSources: string | null;
  readonly storeName: string | null;
  readonly address: string;
  /** Null for a refund that was noted without one. */
  readonly txid: string | null;
  /** Hex, of a paid Lightning invoice, whose payment hash is the `txid`; else null. */
  readonly preimage: string | null;
  /** The block that has it on the best chain, and the time that this block claims. */
  readonly height: number | null;
  readonly minedAt: number | null;
  readonly order: AccountOrder | null;
}

export const isRefund = ({ valueSat }: Pick<ValuedPayment, 'valueSat'>): boolean => valueSat < 0;

/** It is final, so it counts in sums and in the files of accounting programs. */
export const isBooked = ({ state }: Pick<ValuedPayment, 'state'>): boolean => isFinalState(state);

export interface AccountSums {
  /** Payments. */
  readonly count: number;
  readonly refundCount: number;
  /** Less the refunds. */
  readonly valueSat: bigint;
  /** By currency, in its minor units: the sum of the rounded worth of each row. */
  readonly worths: ReadonlyMap<string, bigint>;
  /** Rows that no worth is of. */
  readonly unpricedCount: number;
}

export const noSums: AccountSums = {
  count: 0,
  refundCount: 0,
  valueSat: 0n,
  worths: new Map(),
  unpricedCount: 0,
};

export function addUp(sums: AccountSums, payments: readonly ValuedPayment[]): AccountSums {
  const worths = new Map(sums.worths);
  let { count, refundCount, valueSat, unpricedCount } = sums;
  for (const payment of payments.filter(isBooked)) {
    const { currency, priceCents } = payment;
    if (isRefund(payment)) refundCount += 1;
    else count += 1;
    valueSat += BigInt(payment.valueSat);
    if (currency === null || priceCents === null) {
      unpricedCount += 1;
    } else {
      const minor = minorWorthOf(payment.valueSat, priceCents, currency);
      worths.set(currency, (worths.get(currency) ?? 0n) + minor);
    }
  }
  return { count, refundCount, valueSat, worths, unpricedCount };
}

/** The worths of sums, such as `318.40 EUR`; the bitcoins without any. */
export const worthsText = ({ worths, valueSat }: AccountSums): string =>
  [...worths]
    .map(([currency, minor]) => `${formatDecimal(minorText(minor, currency))} ${currency}`)
    .join(' · ') || `${exactBitcoin(valueSat)} BTC`;

/** `14 payments confirmed, less 1 refund: 318.40 EUR · 0.00500000 BTC`; empty without any. */
export function sumsText(sums: AccountSums): string {
  const { count, refundCount, valueSat, worths, unpricedCount } = sums;
  if (count + refundCount === 0) return '';
  const refunds = refundCount === 0 ? '' : `, less ${formatCount(refundCount, 'refund')}`;
  const bitcoins = worths.size === 0 ? '' : ` · ${exactBitcoin(valueSat)} BTC`;
  const without =
    worths.size === 0 || unpricedCount === 0 ? '' : `, ${unpricedCount} without value`;
  return `${formatCount(count, 'payment')} confirmed${refunds}: ${worthsText(sums)}${bitcoins}${without}`;
}
