// One log line for each step of a payment: seen, confirming, confirmed, gone. It names the
// address, the amount and the transaction, so that an operator finds an order's payment in the log.

import type { PaymentState } from '../domain/payment.ts';
import type { PaymentMove } from '../store/records/ledger.ts';
import type { Receipt } from '../store/views/receipts.ts';
import type { Logger } from '../world/world.ts';

/** A settled payment was confirmed before. */
const messages: Readonly<Record<Exclude<PaymentState, 'settled'>, string>> = {
  unconfirmed: 'payment seen',
  confirming: 'payment confirming',
  confirmed: 'payment confirmed',
  dropped: 'payment gone',
};

/** @param receiptOf the recorded payment; undefined for an address that was not issued */
export function logPayment(
  log: Logger,
  receiptOf: (paymentId: number) => Receipt | undefined,
  paymentId: number,
  { before, after }: PaymentMove,
): void {
  // A payment that was settled when first seen is logged as confirmed.
  const step = after === 'settled' && before !== 'confirmed' ? 'confirmed' : after;
  if (step === 'settled' || step === before) return;
  const receipt = receiptOf(paymentId);
  if (receipt === undefined) return;
  const { storeId, address, txid, valueSat, status, replacedBy } = receipt;
  const fields = { paymentId, storeId, address, valueSat, txid, status };
  if (step === 'dropped') log.warn(messages.dropped, { ...fields, replacedBy });
  else log.info(messages[step], fields);
}
