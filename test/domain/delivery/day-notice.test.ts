// The evening mail as a notice: what it counts, what it offers to decide, and when it says nothing.

import { describe, expect, test } from 'vitest';
import {
  type ChangedOrder,
  type DaySummary,
  dayNotice,
} from '../../../src/domain/delivery/day-notice.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';
import { addUp, noSums } from '../../../src/domain/payment/account-row.ts';

const payment = (valueSat: number, currency: string | null = 'EUR') => ({
  ...{ state: 'confirmed' as const, valueSat, currency },
  priceCents: currency === null ? null : 5_000_000,
});

const quiet: DaySummary = {
  ...{ day: '2026-11-21', storeName: 'Café', unconfirmed: 0 },
  ...{ today: noSums, yesterday: noSums, orders: [] },
};

interface Changes extends Partial<Omit<ChangedOrder, 'order'>> {
  readonly order?: Partial<OrderJson>;
}

const changed = ({ order, ...rest }: Changes = {}): ChangedOrder => ({
  ...{ storeName: 'Café', linkTitle: null, excessSat: 0, isRefunded: false, ...rest },
  order: {
    ...{ id: 'ord_1', store_id: 1, status: 'expired', version: 4, reference: '7' },
    ...{ amount: '10.50', amount_due: '10.00', currency: 'EUR', amount_sat: 20_000 },
    ...{ received_sat: 19_000, missing_sat: null, ...order },
  } as OrderJson,
});

const noticeOf = (summary: Partial<DaySummary>) => dayNotice({ ...quiet, ...summary });
const decided = (...orders: ChangedOrder[]) => noticeOf({ orders })?.decisions ?? [];

test('a day without payments and without anything to decide has no mail', () => {
  expect(noticeOf({})).toBeUndefined();
  expect(noticeOf({ orders: [changed({ order: { status: 'paid' } })] })).toBeUndefined();
  expect(noticeOf({ unconfirmed: 1 })?.lines).toEqual([
    '2026-11-21: no confirmed payment',
    'Of today, not confirmed yet: 1 payment',
  ]);
});

test('sums have each currency, refunds, and the day before as a whole', () => {
  const today = addUp(noSums, [payment(20_000), payment(1_000, 'USD'), payment(-2_000)]);
  const yesterday = addUp(noSums, [payment(5_000, null)]);
  expect(noticeOf({ today, yesterday })).toMatchObject({
    type: 'day',
    title: 'Today: 2 payments, 9.00 EUR · 0.50 USD (Café)',
    lines: [
      '2026-11-21: 2 payments confirmed, less 1 refund: 9.00 EUR · 0.50 USD · 0.00019000 BTC',
      'The whole of yesterday: 1 payment confirmed: 0.00005000 BTC',
    ],
    data: { payments: 2, refunds: 1, received_sat: 19_000 },
  });
  const only = noticeOf({ yesterday, storeName: null });
  expect([only?.title, only?.lines]).toEqual([
    'Today: no payment',
    [
      '2026-11-21: no confirmed payment',
      'The whole of yesterday: 1 payment confirmed: 0.00005000 BTC',
    ],
  ]);
});

describe('a decision', () => {
  test('for too little says how much is missing, and has a link that accepts', () => {
    expect(decided(changed({ linkTitle: 'Counter' }))).toEqual([
      {
        text: 'Short by 1,000 sat (5.0 %): expired, 10.00 EUR, Counter, order 7 (Café). Accept what came as enough:',
        path: '/dashboard/orders/ord_1',
        accept: { order: 'ord_1', version: 4 },
      },
    ]);
  });

  test('for too much leads to the refund, without a link that acts', () => {
    const order = { status: 'paid' as const, reference: null, amount_due: null, currency: null };
    expect(decided(changed({ excessSat: 600, order }))).toEqual([
      {
        text: 'To pay back: 600 sat too much for 0.00020000 BTC, an order (Café)',
        path: '/dashboard/orders/ord_1/refund',
      },
    ]);
    // An order that has ended, too, is decided once.
    expect(decided(changed({ excessSat: 600 })).map(({ accept }) => accept)).toEqual([undefined]);
  });

  test.each([
    ['an expired order', { status: 'expired' as const }, 1],
    ['a canceled order', { status: 'canceled' as const }, 1],
    ['nothing that came', { received_sat: 0 }, 0],
    ['a paid order', { status: 'paid' as const }, 0],
    ['an order that is being paid', { status: 'open' as const, missing_sat: 1_000 }, 0],
    ['a rest that no wallet sends', { status: 'open' as const, missing_sat: 999 }, 1],
    ['a whole price that waits for blocks', { status: 'open' as const, missing_sat: 0 }, 0],
    ['an order without a price', { status: 'open' as const, missing_sat: null }, 0],
  ])('%s', (_name, order, count) => {
    expect(decided(changed({ order }))).toHaveLength(count);
  });

  test('is asked for what a refund can send: no less than nodes relay', () => {
    const paid = { status: 'paid' as const };
    expect(decided(changed({ excessSat: 545, order: paid }))).toEqual([]);
    expect(decided(changed({ excessSat: 546, order: paid }))).toHaveLength(1);
    const over = decided(changed({ excessSat: 545, order: { received_sat: 20_545 } }));
    expect(over.map(({ text }) => text)).toEqual([expect.stringContaining('came after its end')]);
  });

  test('is not asked for once a refund is prepared', () => {
    expect(decided(changed({ isRefunded: true }))).toEqual([]);
  });

  test('for the whole price after the end of an order says that', () => {
    const [decision] = decided(changed({ order: { received_sat: 20_000 } }));
    expect(decision?.text).toMatch(/^20,000 sat came after its end: expired, 10\.00 EUR, order 7/);
  });

  test('is offered for 50 orders of a kind, and the others are counted', () => {
    const short = Array.from({ length: 52 }, () => changed());
    const over = Array.from({ length: 51 }, () => changed({ excessSat: 546 }));
    const notice = noticeOf({ orders: [...short, ...over] });
    expect(notice?.title).toBe('Today: no payment, 51 to pay back, 52 short (Café)');
    expect(notice?.decisions).toHaveLength(100);
    expect(notice?.lines).toContain('3 orders more to decide are in the list of orders.');
  });

  test('has texts of strangers in one row', () => {
    const hostile = changed({
      linkTitle: 'A\r\nBcc: x@evil.example',
      order: { reference: '\u202e\n7' },
    });
    expect(decided(hostile)[0]?.text).toContain('A Bcc: x@evil.example, order 7 (Café)');
  });
});
