// The types of events, and their body as it is stored, signed and sent.

import type { OrderEventType } from '../order/order.ts';
import type { PaymentEventType } from '../payment/payment-event.ts';
import type { WebhookEvents } from '../store/store-settings.ts';

export const eventTypes: readonly (OrderEventType | PaymentEventType)[] = [
  'order.processing',
  'order.paid',
  'order.expired',
  'order.canceled',
  'order.reversed',
  'order.updated',
  'payment.seen',
  'payment.mined',
  'payment.confirmed',
  'payment.reversed',
];

export interface WebhookTerms {
  readonly webhookUrl: string | null;
  readonly webhookEvents: WebhookEvents;
  readonly callbacksStopped: boolean;
}

export const isSubscribed = (
  { webhookUrl, webhookEvents, callbacksStopped }: WebhookTerms,
  kind: 'order' | 'payment',
): boolean => webhookUrl !== null && !callbacksStopped && webhookEvents.split(',').includes(kind);

/** `2025-11-20T14:53:32Z` */
const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

/** @param now epoch milliseconds */
export const eventBody = (type: string, now: number, data: unknown): string =>
  JSON.stringify({ type, timestamp: timestamp(now), data });
