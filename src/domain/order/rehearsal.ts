// A payment that a merchant rehearses on the customer's page. It is in no file, and has no address.

import { minorDigitsOf } from '../payment/money.ts';
import { adjusted, amountSatAt, type FiatPrice, minOrderSat, type SatPrice } from './quote.ts';

export const rehearsalSteps = ['waiting', 'seen', 'paid', 'receipt'] as const;
export type RehearsalStep = (typeof rehearsalSteps)[number];

/** The rate of a rehearsal without a price: one unit of any currency is 1,000 sat. */
export const madeUpRateCents = 10_000_000;
const priceInSat = 1_000;

/** Stands in place of a reference and an address. */
export const rehearsalMark = 'Rehearsal';

/**
 * One unit of the store's currency. Ten, a hundred or more of them where orders ask for no less:
 * one yen is dust.
 * @param rateCents the price of one bitcoin in hundredths of the currency
 */
export function rehearsedPrice(
  currency: string | null,
  adjustBasisPoints: number,
  rateCents: number,
): FiatPrice | SatPrice {
  if (currency === null) return { kind: 'sat', amountSat: priceInSat };
  const unit = 10n ** BigInt(minorDigitsOf(currency));
  const priceOf = (minor: bigint) =>
    adjusted<FiatPrice>({ kind: 'fiat', currency, minor }, adjustBasisPoints);
  let price = priceOf(unit);
  while (amountSatAt(price, rateCents) < minOrderSat) price = priceOf(price.minor * 10n);
  return price;
}
