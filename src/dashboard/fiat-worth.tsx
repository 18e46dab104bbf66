// What a payment was worth when it was first seen, in the currency that its store had then.

import { worthOf } from '../domain/currency.ts';
import { receiptPriceMs } from '../store/records/receipt-prices.ts';
import type { PaymentEntry } from '../store/views/payment-view.ts';

type PricedPayment = Pick<PaymentEntry, 'valueSat' | 'currency' | 'priceCents' | 'firstSeenAt'>;

/** Such as `12.34`; undefined without a price. */
export const worthIn = ({ valueSat, currency, priceCents }: PricedPayment): string | undefined =>
  currency === null || priceCents === null ? undefined : worthOf(valueSat, priceCents, currency);

/** Of one bitcoin, such as `61234.50`. */
export const priceText = (priceCents: number): string => (priceCents / 100).toFixed(2);

/** Such as `12.34 EUR`, or that there is no price; undefined for a payment of a store without a currency. */
export function worthText(row: PricedPayment, now: number): string | undefined {
  if (row.currency === null) return undefined;
  const worth = worthIn(row);
  if (worth !== undefined) return `${worth} ${row.currency}`;
  return now - row.firstSeenAt < receiptPriceMs
    ? `its price in ${row.currency} is asked for`
    : `no price in ${row.currency} could be had`;
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
