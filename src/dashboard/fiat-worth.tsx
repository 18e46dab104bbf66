// The value of a payment when it was first seen, in the currency that its store had then.

import { worthOf } from '../domain/currency.ts';
import { receiptPriceMs } from '../store/records/receipt-prices.ts';
import type { PaymentEntry } from '../store/views/payment-view.ts';

type PricedPayment = Pick<PaymentEntry, 'valueSat' | 'currency' | 'priceCents' | 'firstSeenAt'>;

/** The value, for example `12.34`; undefined without a price. */
export const worthIn = ({ valueSat, currency, priceCents }: PricedPayment): string | undefined =>
  currency === null || priceCents === null ? undefined : worthOf(valueSat, priceCents, currency);

/** The price of one bitcoin, for example `61234.50`. */
export const priceText = (priceCents: number): string => (priceCents / 100).toFixed(2);

/**
 * The value with its currency, for example `12.34 EUR`, or a text that the price is missing.
 * Undefined for a payment of a store without a currency.
 */
export function worthText(row: PricedPayment, now: number): string | undefined {
  if (row.currency === null) return undefined;
  const worth = worthIn(row);
  if (worth !== undefined) return `${worth} ${row.currency}`;
  return now - row.firstSeenAt < receiptPriceMs
    ? `requesting its price in ${row.currency}`
    : `no price in ${row.currency} was available`;
}

export const Worth = ({ row, now }: { readonly row: PricedPayment; readonly now: number }) => {
  const text = worthText(row, now);
  return text === undefined ? null : (
    <>
      <br />
      <small>{text}</small>
    </>
  );
};
