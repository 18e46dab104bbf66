// How many confirmations a recorded payment has at the present tip, and the status that counts.

import { depthOf } from '../../domain/payment.ts';
import type { Store } from '../open-store.ts';
import type { Receipt } from './receipts.ts';

type Placed = Pick<Receipt, 'height' | 'blockHash'>;

/**
 * None once its block has left our chain: what becomes of the payment is decided later.
 * @param isOut for who has asked `hasLeft` already
 */
export function confirmationsOf(
  store: Pick<Store, 'headers'>,
  payment: Placed,
  isOut = hasLeft(store, payment),
): number {
  const { height, blockHash } = payment;
  const tipHeight = store.headers.tipHeight();
  if (isOut || height === null || blockHash === null || tipHeight === undefined) return 0;
  return Math.max(0, depthOf(height, tipHeight));
}

/** Whether the block of a payment is not on the best chain any more; false for one in no block. */
export const hasLeft = (
  { headers }: Pick<Store, 'headers'>,
  { height, blockHash }: Placed,
): boolean =>
  height !== null && blockHash !== null && !headers.isOnBest({ height, hash: blockHash });

/**
 * The status of a payment that counts. What was dropped is worth nothing, nor is a block that has left our chain: no
 * callback tells a 2 of it either until it is decided what becomes of the payment.
 * @param isOut for who has asked `hasLeft` already
 */
export function statusOf(
  store: Pick<Store, 'headers'>,
  receipt: Receipt,
  isOut = hasLeft(store, receipt),
): 0 | 1 | 2 {
  const { state, status } = receipt;
  return isOut || state === 'dropped' || status === null || status === -1 ? 0 : status;
}
