// The value of a payment when it was first seen, in the currency that its store had then, and sums
// of such values.

import { minorText, worthOf } from '../../domain/payment/currency.ts';
import { formatDecimal } from '../../domain/text/format.ts';
import { receiptPriceMs } from '../../store/orders/receipt-prices.ts';
import type { PaymentEntry } from '../../store/payments/payment-view.ts';
import type { Received } from '../../store/payments/received-view.ts';
import { Amount, Money } from '../../web/values.tsx';

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
  if (worth !== undefined) return `${formatDecimal(worth)} ${row.currency}`;
  return now - row.firstSeenAt < receiptPriceMs
    ? `requesting its price in ${row.currency}`
    : `no price in ${row.currency} was available`;
}

/** The sums with their currencies, such as `1,234.50 EUR`. */
export const worthTexts = ({ worths }: Pick<Received, 'worths'>): string[] =>
  worths.map(({ minor, currency }) => `${formatDecimal(minorText(minor, currency))} ${currency}`);

/** The amount of a payment, with its worth first if its store has a currency. */
export const PaymentMoney = ({ row, now }: { row: PricedPayment; now: number }) => {
  const worth = worthIn(row);
  if (worth !== undefined) {
    return <Money sat={row.valueSat} worth={`${formatDecimal(worth)} ${row.currency}`} />;
  }
  return (
    <>
      <Amount sat={row.valueSat} />
      {row.currency === null ? null : <small class="below">{worthText(row, now)}</small>}
    </>
  );
};
