// A quote is a rate that is promised for some minutes. This file has the satoshis of an amount at a
// rate. A rate is a price of one bitcoin in hundredths of the currency. Times are epoch
// milliseconds.

import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { throwInvalid } from '../../lib/errors.ts';
import { secondMs } from '../../lib/time-units.ts';
import type { Window } from '../payment/in-time.ts';
import { ceilDivide, satCentsOf } from '../payment/money.ts';

/** A price in a currency, in its minor units. */
export interface FiatPrice {
  readonly kind: 'fiat';
  /** ISO 4217. */
  readonly currency: string;
  readonly minor: bigint;
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

/** The satoshis of an amount at a rate, rounded up once. */
export const amountSatAt = ({ minor, currency }: FiatPrice, rateCents: number): bigint =>
  ceilDivide(satCentsOf(minor, currency), BigInt(rateCents));

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
