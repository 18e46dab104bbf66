// For what an order has a Lightning invoice.

import { expect, test } from 'vitest';
import {
  paidAtOf,
  shownInvoice,
  wantedInvoice,
} from '../../../src/domain/order/lightning-invoice.ts';
import { type OrderFacts, standing } from '../../../src/domain/order/order.ts';
import type { Quote } from '../../../src/domain/order/quote.ts';
import type { SeenPayment } from '../../../src/domain/payment/in-time.ts';

const now = 1_763_650_000_000;
const minute = 60_000;

/** 12.50 EUR at 50,000 EUR a bitcoin: 25,000 sat. */
const order: OrderFacts = {
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  ...{ toleranceBasisPoints: 0, latePolicy: 'worth', minimumSat: null, createdAt: now },
  ...{ expiresAt: now + 60 * minute, canceledAt: null, acceptedAt: null, acceptedSat: null },
  scannedAt: null,
};
const quote: Quote = {
  ...{ rateCents: 5_000_000, amountSat: 25_000, createdAt: now, expiresAt: now + 15 * minute },
};
const payment = (valueSat: number, firstSeenAt: number): SeenPayment => ({
  ...{ txid: 'aa', valueSat, firstSeenAt, state: 'unconfirmed', replacedBy: null },
  ...{ priceCents: null, interruptedAt: null, firstBlockAt: null, minedAt: null },
});

const wanted = (at: number, facts: Partial<OrderFacts> = {}, payments: SeenPayment[] = []) => {
  const changed = { ...order, ...facts };
  const quotes = changed.price.kind === 'sat' ? [] : [quote];
  return wantedInvoice(changed, standing(changed, quotes, payments, at));
};
const inSat = { price: { kind: 'sat', amountSat: 1_000 } } as const;

test('it is for what is missing, until the quote ends', () => {
  expect(wanted(now)).toEqual({ amountSat: 25_000, seconds: 900 });
  expect(wanted(now + 1)).toEqual({ amountSat: 25_000, seconds: 899 });
  const part = [payment(10_000, now)];
  expect(wanted(now, {}, part)).toEqual({ amountSat: 15_000, seconds: 900 });
});

test('there is none once too little time is left, the quote lapsed, or enough is seen', () => {
  expect(wanted(quote.expiresAt - 10_000)).toEqual({ amountSat: 25_000, seconds: 10 });
  expect(wanted(quote.expiresAt - 9_999)).toBeUndefined();
  expect(wanted(quote.expiresAt)).toBeUndefined();
  expect(wanted(now, {}, [payment(25_000, now)])).toBeUndefined();
});

test('there is none for an order that is canceled, or that expired', () => {
  expect(wanted(now, { canceledAt: now })).toBeUndefined();
  expect(wanted(now, { ...inSat, expiresAt: now + minute, scannedAt: now + minute })).toBe(
    undefined,
  );
});

test('there is none while received money is undecided, because it may be enough', () => {
  // Money in a price of then that is unknown yet.
  const late = quote.expiresAt + 5 * minute;
  const quotes = [quote, { ...quote, createdAt: late + minute, expiresAt: late + 9 * minute }];
  const at = late + minute;
  const facts = standing(order, quotes, [payment(10_000, late)], at);
  expect(facts.missingSat).toBe(25_000);
  expect(wantedInvoice(order, facts)).toBeUndefined();
});

test('a price in satoshis has one until the order ends, and none if it never ends', () => {
  expect(wanted(now, inSat)).toEqual({ amountSat: 1_000, seconds: 3_600 });
  expect(wanted(now, { ...inSat, expiresAt: null })).toBeUndefined();
});

test('an accepted order whose payment fell has one', () => {
  const accepted = { acceptedAt: now, acceptedSat: 20_000 };
  expect(wanted(now, accepted)).toEqual({ amountSat: 20_000, seconds: 900 });
});

test('one that is over, or for another amount, is not shown', () => {
  const open = { paymentHash: 'aa', invoice: 'lnbcrt1', amountSat: 5, expiresAt: now };
  expect(shownInvoice(open, { missingSat: 5, now: now - 1 })).toBe(open);
  expect(shownInvoice(open, { missingSat: 5, now })).toBeUndefined();
  expect(shownInvoice(open, { missingSat: 4, now: now - 1 })).toBeUndefined();
  expect(shownInvoice(open, { missingSat: null, now: now - 1 })).toBeUndefined();
  expect(shownInvoice(null, { missingSat: 5, now })).toBeUndefined();
});

test('an invoice is paid after it was made, and before its node reports it', () => {
  expect([paidAtOf(5, 4, 9), paidAtOf(5, 6, 9), paidAtOf(5, 10, 9)]).toEqual([5, 6, 9]);
});
