// What a customer paid above the price: the satoshis that came when the price was covered already.
// Each payment covers the price at the lowest rate that it was promised. A customer who paid what
// one of two quotes asked has paid nothing too much. A refund of the excess takes nothing from the
// price.

import { boundedSat, ceilDivide } from '../payment/money.ts';

export interface CoveringPayment {
  readonly valueSat: number;
  /** What one satoshi covers of the price; null while that is unknown. */
  readonly rate: number | null;
}

/** @param payments that count, in the order in which they came */
export function excessSatOf(amount: bigint, payments: readonly CoveringPayment[]): number {
  let missing = amount;
  let excess = 0n;
  for (const { valueSat, rate } of payments) {
    if (rate === null) continue;
    const value = BigInt(valueSat);
    const needed = missing > 0n ? ceilDivide(missing, BigInt(rate)) : 0n;
    missing -= (needed < value ? needed : value) * BigInt(rate);
    if (needed < value) excess += value - needed;
  }
  return boundedSat(excess);
}
