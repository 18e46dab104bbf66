// A quote is a rate that is promised for some minutes. This file has the satoshis of an amount at a
// rate. A rate is a price of one bitcoin in hundredths of the currency. Times are epoch
// milliseconds.

import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { throwInvalid } from '../../lib/errors.ts';
import { secondMs } from '../../lib/time-units.ts';
import type { Window } from '../payment/in-time.ts';
import { ceilDivide, formatMoney, satCentsOf } from '../payment/money.ts';

/** A price in a currency, in its minor units. */
export interface FiatPrice {
  readonly kind: 'fiat';
  /** ISO 4217. */
  readonly currency: string;
  readonly minor: bigint;
  /** A discount below 0 or a surcharge, in hundredths of a percent; missing for none. */
  readonly adjustBasisPoints?: number;
}

export interface SatPrice {
  readonly kind: 'sat';
  readonly amountSat: number;
}

export interface Quote extends Window {
  readonly rateCents: number;
  readonly amountSat: number;
  readonly expiresAt: number;
}

/**
 * Quotes of an order that customers make. No quote is ever deleted, because a payment that is found
 * later may count at it.
 */
export const maxQuotes = 500;

/** Outputs below it are dust: nodes do not relay them. */
export const minOrderSat = 546;

/** One, in hundredths of a percent. */
export const basisPoints = 10_000;

/** A price with a discount or surcharge. A price in satoshis never has one. */
export const adjusted = <P extends FiatPrice | SatPrice>(price: P, adjustBasisPoints: number): P =>
  price.kind === 'sat' || adjustBasisPoints === 0 ? price : { ...price, adjustBasisPoints };

/** How rows store a price: without a currency it is one in satoshis. */
export interface StoredPrice {
  readonly currency: string | null;
  /** In minor units of the currency. */
  readonly amountMinor: number | null;
  readonly adjustBasisPoints: number;
}

/** Undefined for a price in satoshis. */
export const storedPriceOf = (row: StoredPrice): FiatPrice | undefined => {
  const { currency, amountMinor, adjustBasisPoints } = row;
  if (currency === null || amountMinor === null) return undefined;
  return adjusted({ kind: 'fiat', currency, minor: BigInt(amountMinor) }, adjustBasisPoints);
};

/**
 * What is due for a price, in satoshi-cents: less its discount, or with its surcharge. Exact, since
 * a minor unit is a whole number of 10,000 satoshi-cents.
 */
export const dueSatCents = ({ minor, currency, adjustBasisPoints = 0 }: FiatPrice): bigint =>
  (satCentsOf(minor, currency) * BigInt(basisPoints + adjustBasisPoints)) / BigInt(basisPoints);

/** What is due in minor units, rounded up, for people to read. */
export const dueMinorOf = (price: FiatPrice): bigint =>
  ceilDivide(dueSatCents(price), satCentsOf(1n, price.currency));

/** What is due of a price in a currency, to its last decimal, rounded up. */
export function dueText(row: StoredPrice): string | null {
  const price = storedPriceOf(row);
  return price === undefined ? null : formatMoney(dueMinorOf(price), price.currency);
}

/** What is due in minor units of the currency, or in satoshis. */
export function dueAmountOf(price: FiatPrice | SatPrice, adjustBasisPoints: number): number {
  const due = adjusted(price, adjustBasisPoints);
  return due.kind === 'sat' ? due.amountSat : Number(dueMinorOf(due));
}

/** The satoshis that are due for a price at a rate, rounded up once. */
export const amountSatAt = (price: FiatPrice, rateCents: number): bigint =>
  ceilDivide(dueSatCents(price), BigInt(rateCents));

/**
 * The satoshis of any price.
 * @param rateCents the price of one bitcoin; null for a price in satoshis
 */
export function satoshisOf(price: FiatPrice | SatPrice, rateCents: number | null): number {
  if (price.kind === 'sat') return price.amountSat;
  if (rateCents === null) throw new Error('a price in a currency needs a rate');
  return Number(amountSatAt(price, rateCents));
}

/** @throws PaygateError invalid for less than dust, and for more than all bitcoins */
export function checkOrderSat(amountSat: number): void {
  if (amountSat < minOrderSat) {
    throwInvalid(
      `the amount is ${amountSat} sat; an order has at least ${minOrderSat} sat`,
      'amount',
    );
  }
  if (amountSat > maxMoneySat) throwInvalid('the amount is more than all bitcoins', 'amount');
}

/** @param expiresInSeconds 0 for never */
export const orderExpiryOf = (now: number, expiresInSeconds: number): number | null =>
  expiresInSeconds === 0 ? null : now + expiresInSeconds * secondMs;

/**
 * A quote from now on, which ends with its order at the latest. The caller checks the amount of the
 * first quote of an order with `checkOrderSat`. Later quotes may be below dust.
 * @param orderExpiresAt null for an order that never ends
 * @throws PaygateError invalid for more than all bitcoins
 */
export function quoteAt(
  price: FiatPrice,
  rateCents: number,
  now: number,
  quoteSeconds: number,
  orderExpiresAt: number | null,
): Quote {
  const amountSat = amountSatAt(price, rateCents);
  if (amountSat > BigInt(maxMoneySat)) throwInvalid('the amount is more than all bitcoins');
  const endsAt = now + quoteSeconds * secondMs;
  return {
    rateCents,
    amountSat: Number(amountSat),
    createdAt: now,
    expiresAt: Math.min(endsAt, orderExpiresAt ?? endsAt),
  };
}

/** @param start when the order was made; a clock may show less than that */
export const isInForce = ({ createdAt, expiresAt }: Window, now: number, start: number): boolean =>
  createdAt <= Math.max(now, start) && (expiresAt === null || now < expiresAt);
