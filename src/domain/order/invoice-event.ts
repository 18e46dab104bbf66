// Changes of orders as webhooks of BTCPay Server (docs/decisions/060-webhooks-of-two-formats.md).
// Shops act on the name of an event, so the order of the events of an invoice is a promise.
// https://docs.btcpayserver.org/API/Greenfield/v1/#tag/Webhooks

import { isFinalState } from '../payment/payment.ts';
import {
  type InvoiceOrder,
  invoicePayment,
  metadataOf,
  methodOf,
  withMetadata,
} from './invoice.ts';
import type { OrderStatus, PaymentStanding, Standing } from './order.ts';
import { eventIdFor } from './order-id.ts';
import type { ShownPayment } from './order-json.ts';

export const invoiceEventTypes = [
  'InvoiceCreated',
  'InvoiceReceivedPayment',
  'InvoicePaymentSettled',
  'InvoiceProcessing',
  'InvoiceSettled',
  'InvoiceExpired',
  'InvoiceInvalid',
] as const;

export type InvoiceEventType = (typeof invoiceEventTypes)[number];

export interface InvoiceEvent {
  readonly type: InvoiceEventType;
  readonly fields: object;
  /** The payment that it is about: it is sent once for each. */
  readonly txid?: string;
}

interface ChangedInvoice {
  readonly was: OrderStatus;
  readonly order: Pick<InvoiceOrder, 'acceptedAt' | 'firstPaidAt' | 'address' | 'currency'>;
  readonly standing: Standing<ShownPayment>;
  /** A smaller payment makes no event. */
  readonly minimumSat: number | null;
}

/**
 * What a change of an order is to a shop, in the order in which it is sent. `InvoiceProcessing`
 * precedes `InvoiceSettled`, and all `InvoicePaymentSettled` come directly before that. An invoice
 * that was settled once has no event of a payment again, and never expires. A payment
 * has its event once its worth is known, because shops fail an order at one that is not enough.
 */
export function invoiceEventsOf({
  was,
  order,
  standing,
  minimumSat,
}: ChangedInvoice): readonly InvoiceEvent[] {
  const { status, payments, excessSat, receivedSat } = standing;
  const wasPaid = order.firstPaidAt !== null;
  const there = payments.filter(({ payment }) => payment.state !== 'dropped');
  const ofPayment = (type: InvoiceEventType, each: PaymentStanding<ShownPayment>) => ({
    type,
    txid: each.payment.txid,
    fields: {
      afterExpiration: status === 'expired',
      paymentMethodId: methodOf(each.payment),
      payment: invoicePayment(each.payment.preimage === null ? order.address : '', each),
    },
  });
  const isSilent = wasPaid || was === 'canceled' || status === 'canceled';
  const needsRate = order.currency !== null && order.acceptedAt === null;
  const seen = there.filter(({ payment, rateCents }) => {
    const isKnown = !needsRate || rateCents !== null;
    return !isSilent && isKnown && payment.valueSat >= (minimumSat ?? 0);
  });
  const ofReceived = seen.map((each) => ofPayment('InvoiceReceivedPayment', each));
  const overPaid = excessSat > 0;
  const invalid = (manuallyMarked: boolean): InvoiceEvent => ({
    type: 'InvoiceInvalid',
    fields: { manuallyMarked },
  });
  const processing: InvoiceEvent = { type: 'InvoiceProcessing', fields: { overPaid } };
  if (was === status) return was === 'paid' ? [] : ofReceived;
  switch (status) {
    case 'canceled':
      return [invalid(true)];
    case 'processing':
      return [...ofReceived, processing];
    case 'paid':
      return [
        ...ofReceived,
        ...(was === 'processing' ? [] : [processing]),
        ...there
          .filter(({ payment }) => isFinalState(payment.state))
          .map((each) => ofPayment('InvoicePaymentSettled', each)),
        { type: 'InvoiceSettled', fields: { manuallyMarked: order.acceptedAt !== null, overPaid } },
      ];
    default:
      if (wasPaid) return was === 'processing' || was === 'paid' ? [invalid(false)] : [];
      return status === 'open'
        ? ofReceived
        : [...ofReceived, { type: 'InvoiceExpired', fields: { partiallyPaid: receivedSat > 0 } }];
  }
}

/** What a delivery of an event is made of when it is sent. */
export interface InvoiceDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly attemptCount: number;
  /** The JSON that was stored with the event. */
  readonly content: string;
  readonly invoice: Parameters<typeof metadataOf>[0];
}

/** The body of one attempt. Its metadata is that of now, so that a forgotten order leaves none. */
export function invoiceDeliveryBody({
  webhookId,
  eventId,
  attemptCount,
  content,
  invoice,
}: InvoiceDelivery): string {
  const idOf = (attempt: number): string => eventIdFor([eventId, attempt]).slice('evt_'.length);
  const body = {
    deliveryId: idOf(attemptCount),
    webhookId,
    originalDeliveryId: idOf(0),
    isRedelivery: attemptCount > 0,
    ...(JSON.parse(content) as object),
  };
  return withMetadata(body, metadataOf(invoice));
}

/** The names that a webhook asks for, with commas between them; empty for all. */
export const isAskedFor = (events: string, type: InvoiceEventType): boolean =>
  events === '' || events.split(',').includes(type);
