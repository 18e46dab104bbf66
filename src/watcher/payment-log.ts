// One log line for each step of a payment: seen, confirming, confirmed, gone. It names the
// address, the amount and the transaction, so that an operator finds an order's payment in the log.

import type { PaymentState } from '../domain/payment.ts';
import type { Store } from '../store/open-store.ts';
import type { PaymentMove } from '../store/store-events.ts';
import type { Receipts } from '../store/views/receipts.ts';
import type { Logger } from '../world/world.ts';

type PaymentSource = Pick<Store, 'events' | 'receipts'>;

/** A settled payment was confirmed before. */
const messages: Readonly<Record<Exclude<PaymentState, 'settled'>, string>> = {
  unconfirmed: 'payment seen',
  confirming: 'payment confirming',
  confirmed: 'payment confirmed',
  dropped: 'payment gone',
};

export function logPayments(log: Logger, { events, receipts }: PaymentSource): void {
  events.on('paymentChanged', (paymentId, move) => logMove(log, receipts, paymentId, move));
}

function logMove(
  log: Logger,
  receipts: Receipts,
  paymentId: number,
  { before, after }: PaymentMove,
): void {
  // A payment that was settled when first seen is logged as confirmed.
  const step = after === 'settled' && before !== 'confirmed' ? 'confirmed' : after;
  if (step === 'settled' || step === before) return;
  // An address that was not issued has no receipt.
  const receipt = receipts.byId(paymentId);
  if (receipt === undefined) return;
  const { storeId, address, txid, valueSat, status, replacedBy } = receipt;
  const fields = { paymentId, storeId, address, valueSat, txid, status };
  if (step === 'dropped') log.warn(messages.dropped, { ...fields, replacedBy });
  else log.info(messages[step], fields);
}
