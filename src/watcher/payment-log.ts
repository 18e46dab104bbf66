// One log line for each step of a payment and of an order. It names the address and the amount, so
// that an operator finds an order's payment in the log. The id of an order is never logged whole,
// because it opens the order's page.

import type { PaymentState } from '../domain/payment/payment.ts';
import type { Records } from '../store/open-records.ts';
import type { Logger } from '../world/world.ts';

type PaymentSource = Pick<Records, 'events' | 'receipts'>;

/** A settled payment was confirmed before. */
const messages: Readonly<Record<Exclude<PaymentState, 'settled'>, string>> = {
  unconfirmed: 'payment seen',
  confirming: 'payment confirming',
  confirmed: 'payment confirmed',
  dropped: 'payment gone',
};

export function logPayments(log: Logger, records: PaymentSource): void {
  const { events, receipts } = records;
  logOrders(log, records);
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

/** `ord_` and four of its 22 characters. */
const shownIdLength = 8;

function logOrders(log: Logger, { events }: Pick<Records, 'events'>): void {
  events.on('orderChanged', (_orderId, facts) => {
    if (facts === undefined) return;
    const { type, publicId, ...fields } = facts;
    const order = `${publicId.slice(0, shownIdLength)}…`;
    const level = type === 'order.reversed' ? 'warn' : 'info';
    log[level](type.replace('.', ' '), { order, ...fields });
  });
}
