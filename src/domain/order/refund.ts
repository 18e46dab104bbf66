// What of an order's money a merchant may pay back, from a wallet of their own, because paygate has
// no keys. Only confirmed money counts: an unconfirmed payment can still be taken back. What was
// refunded before is deducted.

import { throwInvalid } from '../../lib/errors.ts';
import { sumSat } from '../payment/money.ts';
import type { Standing } from './order.ts';
import { type FiatPrice, minOrderSat, type SatPrice, satoshisOf } from './quote.ts';

/** `price`: the price of the order at the rate of today, at most all. */
export const refundChoices = ['excess', 'all', 'price'] as const;

export type RefundChoice = (typeof refundChoices)[number];

export interface RefundAmount {
  /** What the customer receives. */
  readonly amountSat: number;
  /** What the merchant deducts for the network fee. */
  readonly feeSat: number;
}

/** A refund as it is shown. Times are epoch milliseconds. */
export interface ShownRefund extends RefundAmount {
  /** Null while the customer is asked for it. */
  readonly address: string | null;
  readonly txid: string | null;
  readonly createdAt: number;
  /** When it was noted as sent. */
  readonly doneAt: number | null;
  /** A block of the best chain has its transaction. */
  readonly isMined: boolean;
}

export const refundStates = ['asked', 'prepared', 'sent', 'confirmed'] as const;

/** `asked`: the customer is asked for an address. `prepared`: the merchant may send it. */
export type RefundState = (typeof refundStates)[number];

export function refundStateOf({
  address,
  doneAt,
  isMined,
}: Pick<ShownRefund, 'address' | 'doneAt' | 'isMined'>): RefundState {
  if (doneAt !== null) return isMined ? 'confirmed' : 'sent';
  return address === null ? 'asked' : 'prepared';
}

/** What is left to refund, with the fee in it. */
export interface Refundable {
  readonly excessSat: number;
  readonly allSat: number;
}

type Sums = Pick<Standing, 'confirmedSat' | 'confirmedExcessSat'>;

/** What refunds take from an order: the fee, too. */
export const sumWithFees = (refunds: readonly RefundAmount[]): number =>
  sumSat(refunds.flatMap(({ amountSat, feeSat }) => [amountSat, feeSat]));

/**
 * @param refunds of the order so far, with those that are not sent yet
 * @returns undefined if the order offers no refund
 */
export function refundableOf(
  { confirmedSat, confirmedExcessSat }: Sums,
  refunds: readonly RefundAmount[],
): Refundable | undefined {
  const before = sumWithFees(refunds);
  const allSat = Math.max(0, confirmedSat - before);
  const excessSat = Math.max(0, confirmedExcessSat - before);
  return allSat < minOrderSat ? undefined : { excessSat, allSat };
}

/**
 * What is left for a refund that was prepared at a time. Since the order was paid or accepted, its
 * price is no longer refunded: the excess alone is left for a refund from before that.
 * @param left without this refund
 */
export function leftFor(
  left: Refundable | undefined,
  preparedAt: number,
  { acceptedAt, paidAt }: { readonly acceptedAt: number | null; readonly paidAt: number | null },
): Refundable | undefined {
  const isTakenSince =
    (acceptedAt !== null && acceptedAt >= preparedAt) || (paidAt !== null && paidAt > preparedAt);
  return left && isTakenSince ? { excessSat: left.excessSat, allSat: left.excessSat } : left;
}

/**
 * Whether the money of a prepared refund is still there to be refunded. A reorganisation may have
 * taken it back, or it pays the order since.
 * @param left for this refund
 */
export function isStillCovered(
  left: Refundable | undefined,
  { choice, amountSat, feeSat }: RefundAmount & { readonly choice: RefundChoice },
): boolean {
  if (left === undefined) return false;
  return amountSat + feeSat <= (choice === 'excess' ? left.excessSat : left.allSat);
}

/**
 * @param rateCents the price of one bitcoin now; null for a choice that needs none
 * @throws PaygateError invalid if nothing is left that can be sent
 */
export function refundAmountOf(
  { excessSat, allSat }: Refundable,
  choice: RefundChoice,
  price: FiatPrice | SatPrice,
  rateCents: number | null,
  feeSat: number,
): RefundAmount {
  const chosen =
    choice === 'excess' ? excessSat : choice === 'all' ? allSat : satoshisOf(price, rateCents);
  const amountSat = Math.min(chosen, allSat) - feeSat;
  if (amountSat >= minOrderSat) return { amountSat, feeSat };
  throwInvalid(
    `after the fee, the refund has ${Math.max(0, amountSat)} sat; it needs at least ${minOrderSat} sat`,
  );
}
