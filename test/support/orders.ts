// Facts of orders for tests: an order of 12.50 EUR at 50,000 EUR, which is 25,000 sat.

import {
  decide,
  type OrderEventType,
  type OrderFacts,
  type OrderPayment,
  type Standing,
  standing,
} from '../../src/domain/order/order.ts';
import type { FiatPrice, Quote } from '../../src/domain/order/quote.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';

export const orderStart = 1_763_650_000_000;
const price: FiatPrice = { kind: 'fiat', currency: 'EUR', minor: 1250n };

/** All that `standing` takes. */
export interface OrderScene {
  readonly order: OrderFacts;
  readonly quotes: readonly Quote[];
  readonly payments: readonly OrderPayment[];
  readonly now: number;
}

export const orderFacts: OrderFacts = {
  price,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  minimumSat: null,
  createdAt: orderStart,
  expiresAt: orderStart + hourMs,
  canceledAt: null,
  acceptedAt: null,
  acceptedSat: null,
  scannedAt: orderStart,
};

export const quote: Quote = {
  rateCents: 5_000_000,
  amountSat: 25_000,
  createdAt: orderStart,
  expiresAt: orderStart + 15 * minuteMs,
};

/** Unconfirmed, seen in the first minute. */
export const payment = (
  txid: string,
  valueSat: number,
  facts: Partial<OrderPayment> = {},
): OrderPayment => ({
  txid,
  valueSat,
  state: 'unconfirmed',
  replacedBy: null,
  firstSeenAt: orderStart + minuteMs,
  interruptedAt: null,
  firstBlockAt: null,
  minedAt: null,
  priceCents: 5_000_000,
  ...facts,
});

export const standingOf = ({ order, quotes, payments, now }: OrderScene): Standing =>
  standing(order, quotes, payments, now);

export const eventOf = (before: OrderScene, after: OrderScene): OrderEventType | undefined =>
  decide(standingOf(before), standingOf(after));

/** Changes one payment. */
export const changed = (
  scene: OrderScene,
  txid: string,
  facts: Partial<OrderPayment>,
): OrderScene => ({
  ...scene,
  payments: scene.payments.map((each) => (each.txid === txid ? { ...each, ...facts } : each)),
});

export const added = (scene: OrderScene, ...more: readonly OrderPayment[]): OrderScene => ({
  ...scene,
  payments: [...scene.payments, ...more],
});
