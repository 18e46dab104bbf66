// The event of a changed payment, for shops that subscribe to payments.

import type { PaymentState } from './payment.ts';

export type PaymentEventType =
  | 'payment.seen'
  | 'payment.mined'
  | 'payment.confirmed'
  | 'payment.reversed';

const progress: Readonly<Record<PaymentState, number>> = {
  dropped: 0,
  unconfirmed: 1,
  confirming: 2,
  confirmed: 3,
  settled: 3,
};

const risen = [undefined, 'payment.seen', 'payment.mined', 'payment.confirmed'] as const;

/** @param before undefined for a new payment */
export function paymentEventOf(
  before: PaymentState | undefined,
  after: PaymentState,
): PaymentEventType | undefined {
  const [from, to] = [progress[before ?? 'dropped'], progress[after]];
  if (from === to) return undefined;
  return to < from ? 'payment.reversed' : risen[to];
}
