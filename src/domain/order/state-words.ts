// The words for states that people read: one vocabulary for the dashboard, the command line and the
// sandbox. JSON, CSV and metrics keep their own values. Other texts of the dashboard stand in their
// pages: docs/decisions/050.

import type { PaymentState } from '../payment/payment.ts';
import type { OrderStatus } from './order.ts';

export interface StateWord {
  readonly text: string;
  readonly tone: 'neutral' | 'waiting' | 'good' | 'bad';
}

const seen: StateWord = { text: 'Seen', tone: 'waiting' };
const confirming: StateWord = { text: 'Confirming', tone: 'waiting' };
const confirmed: StateWord = { text: 'Confirmed', tone: 'good' };
const gone: StateWord = { text: 'Gone', tone: 'bad' };

/** A settled payment is a confirmed one: only its page distinguishes them. */
export const paymentWords: Readonly<Record<PaymentState, StateWord>> = {
  unconfirmed: seen,
  confirming,
  confirmed,
  settled: confirmed,
  dropped: gone,
};

/** The word for the number of a payment’s status: 0, 1, 2 or -1. */
export const statusWord = (status: -1 | 0 | 1 | 2): StateWord =>
  status === -1 ? gone : ([seen, confirming, confirmed] as const)[status];

/** The same with its number, for readers of the API: `Confirmed (2)`. */
export const formatStatus = (status: -1 | 0 | 1 | 2): string =>
  `${statusWord(status).text} (${status})`;

/** States of a callback or an event; `unsent` events are for no webhook. */
export type DeliveryState = 'owed' | 'held' | 'delivered' | 'superseded' | 'exhausted' | 'unsent';

export const deliveryWords: Readonly<Record<DeliveryState, StateWord>> = {
  owed: { text: 'Waiting', tone: 'waiting' },
  held: { text: 'Held', tone: 'neutral' },
  delivered: { text: 'Delivered', tone: 'good' },
  superseded: { text: 'Replaced', tone: 'neutral' },
  exhausted: { text: 'Failed', tone: 'bad' },
  unsent: { text: 'Not sent', tone: 'neutral' },
};

export const orderWords: Readonly<Record<OrderStatus, StateWord>> = {
  open: { text: 'Open', tone: 'neutral' },
  processing: { text: 'Processing', tone: 'waiting' },
  paid: { text: 'Paid', tone: 'good' },
  expired: { text: 'Expired', tone: 'bad' },
  canceled: { text: 'Canceled', tone: 'bad' },
};
