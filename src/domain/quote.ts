// A quote is a rate that is promised for some minutes. This file has the satoshis of an amount at a
// rate, and the rate at which a payment counts. A rate is a price of one bitcoin in hundredths of
// the currency. Times are epoch milliseconds.

import { maxMoneySat } from '../bitcoin/transaction.ts';
import { throwInvalid } from '../lib/errors.ts';
import { dayMs, minuteMs, secondMs } from '../lib/time-units.ts';
import { ceilDivide, satCentsOf } from './money.ts';

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

/** A time in which a payment is on time. */
export interface Window {
  readonly createdAt: number;
  /** Null for a window that never ends. */
  readonly expiresAt: number | null;
}

export interface Quote extends Window {
  readonly rateCents: number;
  readonly amountSat: number;
  readonly expiresAt: number;
}

/** When a payment was seen. */
export interface SeenFacts {
  /** When a server first reported it to us. */
  readonly firstSeenAt: number;
  /**
   * When watching was interrupted, if the first scan after the interruption found the payment. Null
   * for any other payment.
   */
  readonly interruptedAt: number | null;
  /** The time in the header of its block; null while it is unconfirmed. */
  readonly minedAt: number | null;
}

/** Prices of one bitcoin in the currency of the order, in hundredths; null while unknown. */
export interface PaymentPrices {
  /** When it was first seen. */
  readonly priceCents: number | null;
  /** When it was mined. Only a payment that counts as seen when it was mined needs this price. */
  readonly minedPriceCents: number | null;
}

export interface PaymentRate {
  /** Null while no price is known: until then the payment counts 0. */
  readonly rateCents: number | null;
  /** The lowest rate that was promised when it was seen: at most `rateCents`. */
  readonly lowestRateCents: number | null;
  readonly isLate: boolean;
}

/** A payment is on time until so long after the end of its window: it needs time to reach us. */
export const graceMs = 2 * minuteMs;

/**
 * A payment loses its quote if it is mined later than this after the quote's end. Without this
 * limit, an unconfirmed payment would be a free option on the price.
 */
export const maxUnminedMs = dayMs;

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
    throwInvalid(`the amount is ${amountSat} sat; an order has at least ${minOrderSat} sat`);
  }
  if (amountSat > maxMoneySat) throwInvalid('the amount is more than all bitcoins');
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

/**
 * The windows in which a payment was seen. Windows are in the order in which they were made, and
 * the first one begins with the order: no payment is older than its address.
 *
 * A payment that the first scan after an interruption found may have arrived at any time of it. The
 * time of a block is only asked if the payment is late without it, because miners set it freely.
 */
export function windowsOf<W extends Window>(windows: readonly W[], seen: SeenFacts): W[] {
  const { firstSeenAt, minedAt } = seen;
  const from = Math.min(firstSeenAt, seen.interruptedAt ?? firstSeenAt);
  const found = windowsAt(windows, from, firstSeenAt);
  if (found.length > 0 || minedAt === null || minedAt >= firstSeenAt) return found;
  return windowsAt(windows, minedAt, minedAt);
}

/** Those that are open at any time from `from` to `to`. */
function windowsAt<W extends Window>(windows: readonly W[], from: number, to: number): W[] {
  const start = windows[0]?.createdAt ?? 0;
  return windows.filter(
    ({ createdAt, expiresAt }) =>
      createdAt <= Math.max(to, start) && (expiresAt === null || from <= expiresAt + graceMs),
  );
}

/**
 * The rate at which a payment counts. On time: that of its quote, or the higher one of two quotes.
 * Late: the lower of the last quote's rate and the price when it was seen.
 * @param quotes of the order, in the order in which they were made; at least one
 */
export function rateFor(
  quotes: readonly Quote[],
  seen: SeenFacts,
  prices: PaymentPrices,
): PaymentRate {
  const { firstSeenAt, minedAt } = seen;
  const promised = windowsOf(quotes, seen);
  const isMinedLate = ({ expiresAt }: Quote): boolean =>
    minedAt !== null && minedAt > expiresAt + maxUnminedMs;
  const valid = promised.filter((quote) => !isMinedLate(quote));
  if (valid.length > 0) return onTimeAt(valid);
  if (promised.length === 0 || minedAt === null) {
    const seenAt = Math.min(firstSeenAt, minedAt ?? firstSeenAt);
    return lateAt(quotes, seenAt, prices.priceCents);
  }
  // It counts as seen when it was mined, which may be within a newer quote.
  const newer = windowsAt(quotes, minedAt, minedAt);
  return newer.length > 0 ? onTimeAt(newer) : lateAt(quotes, minedAt, prices.minedPriceCents);
}

const onTimeAt = (quotes: readonly Quote[]): PaymentRate => ({
  rateCents: Math.max(...quotes.map(({ rateCents }) => rateCents)),
  lowestRateCents: Math.min(...quotes.map(({ rateCents }) => rateCents)),
  isLate: false,
});

function lateAt(quotes: readonly Quote[], seenAt: number, priceCents: number | null): PaymentRate {
  const last = quotes.findLast(({ createdAt }) => createdAt <= seenAt);
  if (last === undefined) throw new Error('no quote is older than a late payment');
  const rateCents = priceCents === null ? null : Math.min(last.rateCents, priceCents);
  return { rateCents, lowestRateCents: rateCents, isLate: true };
}
