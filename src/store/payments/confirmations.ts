// How many confirmations a recorded payment has at the present tip, and the status that counts.

import { depthOf } from '../../domain/payment/payment.ts';
import type { Headers } from '../chain/headers.ts';
import type { Receipt } from './receipts.ts';

type Placed = Pick<Receipt, 'height' | 'blockHash'>;

/**
 * None once its block has left our chain: what becomes of the payment is decided later.
 * @param isOut for who has asked `hasLeft` already
 */
export function confirmationsOf(
  records: { readonly headers: Headers },
  payment: Placed,
  isOut = hasLeft(records, payment),
): number {
  const { height, blockHash } = payment;
  const tipHeight = records.headers.tipHeight();
  if (isOut || height === null || blockHash === null || tipHeight === undefined) return 0;
  return Math.max(0, depthOf(height, tipHeight));
}

export const hasLeft = (
  { headers }: { readonly headers: Headers },
  { height, blockHash }: Placed,
): boolean =>
  height !== null && blockHash !== null && !headers.isOnBest({ height, hash: blockHash });

/**
 * The effective status of a payment: 0 if it was dropped, or if its block left our chain. No
 * callback sends a 2 for it either, until the ledger has decided.
 * @param isOut the result of `hasLeft`, if known
 */
export function statusOf(
  records: { readonly headers: Headers },
  receipt: Receipt,
  isOut = hasLeft(records, receipt),
): 0 | 1 | 2 {
  const { state, status } = receipt;
  return isOut || state === 'dropped' || status === null || status === -1 ? 0 : status;
}
