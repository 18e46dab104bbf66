// One log line for each step of a payment: seen, confirming, confirmed, gone. It names the
// address, the amount and the transaction, so that an operator finds an order's payment in the log.

import type { PaymentState } from '../domain/payment.ts';
import type { Store } from '../store/open-store.ts';
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
  events.on('paymentChanged', (paymentId, { before, after }, facts) => {
    // A payment that was settled when first seen is logged as confirmed.
    const step = after === 'settled' && before !== 'confirmed' ? 'confirmed' : after;
    if (step === 'settled' || step === before) return;
    const fields = { paymentId, ...facts };
    if (step !== 'dropped') log.info(messages[step], fields);
    else {
      const replacedBy = receipts.byId(paymentId)?.replacedBy;
      log.warn(messages.dropped, { ...fields, replacedBy });
    }
  });
}
