import { describe, expect, test } from 'vitest';
import {
  accept,
  cancel,
  checkNewQuote,
  decide,
  type OrderFacts,
  type OrderPayment,
  type OrderStatus,
  orderEventId,
  orderStateOf,
  type Standing,
} from '../../../src/domain/order/order.ts';
import type { Quote } from '../../../src/domain/order/quote.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../../src/lib/time-units.ts';
import {
  added,
  changed,
  eventOf,
  type OrderScene,
  orderFacts,
  orderStart,
  payment,
  quote,
  standingOf,
} from '../../support/orders.ts';

const soon = orderStart + 2 * minuteMs;
const over = orderStart + hourMs;

const scene = (
  payments: readonly OrderPayment[],
  order: Partial<OrderFacts> = {},
  now = soon,
): OrderScene => ({ order: { ...orderFacts, ...order }, quotes: [quote], payments, now });

const part = payment('part', 10_000);
const whole = payment('whole', 25_000);
const final = { state: 'confirmed', minedAt: soon } as const;
const lateAt = { firstSeenAt: over + hourMs, priceCents: 5_000_000 };

/** The five statuses: each one has received a part of the price, or all of it. */
const from: Record<OrderStatus, OrderScene> = {
  open: scene([part]),
  processing: scene([whole]),
  paid: scene([{ ...whole, ...final }]),
  expired: scene([part], { scannedAt: over }, over + 2 * hourMs),
  canceled: scene([part], { canceledAt: soon }),
};

const withOrder = (before: OrderScene, order: Partial<OrderFacts>): OrderScene => ({
  ...before,
  order: { ...before.order, ...order },
});
/** Is late in an order that has expired. */
const pay =
  (txid: string, valueSat: number, facts: Partial<OrderPayment> = {}) =>
  (before: OrderScene): OrderScene => {
    const isOver = before.now > over;
    return added(before, payment(txid, valueSat, { ...(isOver && lateAt), ...facts }));
  };
const allPayments =
  (facts: Partial<OrderPayment>) =>
  (before: OrderScene): OrderScene => ({
    ...before,
    payments: before.payments.map((each) => ({ ...each, ...facts })),
  });
const timeOver = (before: OrderScene): OrderScene =>
  withOrder({ ...before, now: over }, { scannedAt: over });
const dropped = { state: 'dropped', minedAt: null } as const;
const replacedBy =
  (valueSat: number, facts: Partial<OrderPayment> = {}) =>
  (before: OrderScene): OrderScene =>
    added(
      allPayments({ ...dropped, replacedBy: 'bump' })(before),
      payment('bump', valueSat, { firstSeenAt: before.now, ...facts }),
    );
const command =
  (
    run: (order: OrderFacts, now: ReturnType<typeof standingOf>, at: number) => object | undefined,
  ) =>
  (before: OrderScene): OrderScene =>
    withOrder(before, run(before.order, standingOf(before), before.now) ?? {});
const requote = (before: OrderScene): OrderScene => {
  checkNewQuote(before.order, standingOf(before), before.now);
  const expiresAt = before.now + 15 * minuteMs;
  const next: Quote = { rateCents: 4_000_000, amountSat: 31_250, createdAt: before.now, expiresAt };
  return { ...before, quotes: [...before.quotes, next] };
};
const confirmed = allPayments(final);
/** Without its quote in force. */
const lapsed = (before: OrderScene): OrderScene => ({ ...before, now: quote.expiresAt });
const unknown = { ...lateAt, priceCents: null };

/** A status and the event, `none` for neither, `409`, or `-` for what can not be. */
type Cell = `${OrderStatus} ${string}` | 'none' | '409' | '-';

interface Row {
  readonly fact: string;
  /** What is there before the fact, beside what the status has. */
  readonly given?: (before: OrderScene) => OrderScene;
  readonly happens: (before: OrderScene) => OrderScene;
  readonly cells: Record<OrderStatus, Cell>;
}

const cells = (
  open: Cell,
  processing: Cell,
  paid: Cell,
  expired: Cell,
  canceled: Cell,
): Row['cells'] => ({ open, processing, paid, expired, canceled });

const none = cells('none', 'none', 'none', 'none', 'none');

/** The table of docs/orders.md. */
const table: readonly Row[] = [
  {
    fact: 'less than enough seen',
    happens: pay('more', 1_000),
    cells: cells('open updated', '-', '-', 'expired updated', 'canceled updated'),
  },
  {
    fact: 'enough seen',
    happens: pay('more', 15_000),
    cells: cells('processing processing', '-', '-', 'processing processing', 'canceled updated'),
  },
  {
    fact: 'enough final',
    happens: (before) =>
      confirmed(before.payments[0] === part ? pay('more', 15_000)(before) : before),
    cells: cells('paid paid', 'paid paid', 'none', 'paid paid', 'canceled updated'),
  },
  {
    fact: 'settled',
    happens: allPayments({ state: 'settled', minedAt: soon }),
    cells: cells('none', 'paid paid', 'none', 'none', 'none'),
  },
  {
    fact: 'more after that',
    happens: pay('more', 15_000),
    cells: cells('-', 'processing updated', 'paid updated', '-', 'canceled updated'),
  },
  {
    fact: 'replaced, still enough',
    happens: replacedBy(24_999),
    cells: cells('-', 'processing updated', '-', '-', 'canceled updated'),
  },
  {
    fact: 'replaced by a transaction that is final, still enough',
    happens: replacedBy(24_999, final),
    cells: cells('-', 'paid paid', 'paid updated', '-', 'canceled updated'),
  },
  {
    fact: 'replaced: too little now',
    happens: replacedBy(9_000),
    cells: cells(
      'open updated',
      'open reversed',
      'open reversed',
      'expired updated',
      'canceled updated',
    ),
  },
  {
    fact: 'double-spent or evicted',
    happens: allPayments(dropped),
    cells: cells(
      'open updated',
      'open reversed',
      'open reversed',
      'expired updated',
      'canceled updated',
    ),
  },
  {
    fact: "double-spent after the order's time",
    given: timeOver,
    happens: allPayments(dropped),
    cells: cells('-', 'expired reversed', 'expired reversed', 'expired updated', '-'),
  },
  {
    fact: 'block left, still seen',
    given: (before) => {
      const isPaid = standingOf(before).status === 'paid';
      return isPaid ? before : allPayments({ state: 'confirming', minedAt: soon })(before);
    },
    happens: allPayments({ state: 'unconfirmed', minedAt: null }),
    cells: { ...none, paid: 'processing reversed' },
  },
  {
    fact: 'mined, not final',
    happens: (before) =>
      before.payments[0]?.state === 'unconfirmed'
        ? allPayments({ state: 'confirming', minedAt: soon })(before)
        : before,
    cells: none,
  },
  {
    fact: 'price of a late payment is known now: enough',
    given: pay('late', 15_000, unknown),
    happens: (before) => changed(before, 'late', { priceCents: 5_000_000 }),
    cells: cells('processing processing', 'none', 'none', 'processing processing', 'none'),
  },
  {
    fact: 'price of a late payment is known now: too low',
    given: pay('late', 15_000, unknown),
    happens: (before) => changed(before, 'late', { priceCents: 4_900_000 }),
    cells: none,
  },
  {
    fact: "order's time over",
    happens: timeOver,
    cells: cells('expired expired', 'none', 'none', '-', 'none'),
  },
  {
    fact: "order's time over, but its address was not scanned since",
    happens: (before) => withOrder({ ...before, now: over }, { scannedAt: over - 1 }),
    cells: { ...none, expired: '-' },
  },
  { fact: 'quote over', happens: lapsed, cells: { ...none, expired: '-' } },
  {
    fact: 'new quote',
    given: (before) => (before.now === soon ? lapsed(before) : before),
    happens: requote,
    cells: cells('none', '409', '409', '409', '409'),
  },
  {
    fact: 'new quote while one is in force',
    happens: requote,
    cells: cells('409', '409', '409', '409', '409'),
  },
  {
    fact: 'cancel',
    happens: command(cancel),
    cells: cells('canceled canceled', '409', '409', 'canceled canceled', 'none'),
  },
  {
    fact: 'accept',
    happens: command(accept),
    cells: cells(
      'processing processing',
      '409',
      'none',
      'processing processing',
      'processing processing',
    ),
  },
  {
    fact: 'accept what is final',
    given: confirmed,
    happens: command(accept),
    cells: cells('paid paid', 'none', 'none', 'paid paid', 'paid paid'),
  },
  {
    fact: 'accept without money',
    given: allPayments(dropped),
    happens: command(accept),
    cells: cells('409', '409', '409', '409', '409'),
  },
];

function cellOf(row: Row, status: OrderStatus): Cell {
  const { given = (scene: OrderScene) => scene, happens } = row;
  const before = given(from[status]);
  try {
    const after = happens(before);
    const event = eventOf(before, after);
    const { status: next } = standingOf(after);
    if (event === undefined) return next === standingOf(before).status ? 'none' : `${next} nothing`;
    return `${next} ${event.replace('order.', '')}`;
  } catch (error) {
    if (Object(error).code === 'conflict') return '409';
    throw error;
  }
}

test('the scenes have the status of their column', () => {
  for (const [status, before] of Object.entries(from)) {
    expect(standingOf(before).status).toBe(status);
  }
});

describe.each(table)('$fact', (row) => {
  const columns = Object.keys(from) as OrderStatus[];
  test.each(columns.filter((status) => row.cells[status] !== '-'))('from %s', (status) => {
    expect(cellOf(row, status)).toBe(row.cells[status]);
  });
});

describe('the sums', () => {
  test('of a new order', () => {
    const { order, quotes } = scene([]);
    expect(standingOf({ order, quotes, payments: [], now: soon })).toEqual({
      now: soon,
      status: 'open',
      isLate: false,
      amountSat: 25_000,
      receivedSat: 0,
      confirmedSat: 0,
      missingSat: 25_000,
      excessSat: 0,
      confirmedExcessSat: 0,
      quote,
      payments: [],
      fingerprint: '',
    });
    expect(decide({ status: 'open', fingerprint: '' }, standingOf(scene([])))).toBeUndefined();
  });

  test('of an order that is paid in two parts over two quotes', () => {
    const second = { ...quote, rateCents: 4_000_000, amountSat: 31_250 };
    const quotes = [quote, { ...second, createdAt: over, expiresAt: over + 15 * minuteMs }];
    const payments = [part, payment('rest', 18_749, { ...final, firstSeenAt: over })];
    const before = { ...scene(payments, { expiresAt: null }, over), quotes };
    // 10,000 sat at 50,000 are 5.00; the other 7.50 are 18,750 sat at 40,000.
    expect(standingOf({ ...before, payments: [part] })).toMatchObject({ missingSat: 18_750 });
    expect(standingOf(before)).toMatchObject({
      status: 'processing',
      isLate: false,
      amountSat: 31_250,
      receivedSat: 28_749,
      confirmedSat: 18_749,
      missingSat: 0,
      excessSat: 0,
      quote: quotes[1],
    });
  });

  test.each([
    [24_874, 'open', 126],
    [24_875, 'processing', 0],
  ])('%i of 25,000 sat with a tolerance of 0.5 %%: %s', (valueSat, status, missingSat) => {
    expect(standingOf(scene([payment('one', valueSat)]))).toMatchObject({ status, missingSat });
  });

  test('without a tolerance one satoshi is missing', () => {
    const before = scene([payment('one', 24_999)], { toleranceBasisPoints: 0 });
    expect(standingOf(before)).toMatchObject({ status: 'open', missingSat: 1 });
  });

  test('an excess is what came when the price was covered', () => {
    expect(standingOf(scene([payment('one', 26_000)])).excessSat).toBe(1_000);
    expect(standingOf(scene([payment('one', 24_999)])).excessSat).toBe(0);
    const second = { ...quote, rateCents: 3_000_000, createdAt: over, expiresAt: over + hourMs };
    const quotes = [quote, second];
    // A newer rate changes nothing: 1,666 sat more would be more than was overpaid.
    expect(standingOf({ ...scene([payment('one', 26_000)]), quotes }).excessSat).toBe(1_000);
    const again = payment('two', 25_000, { priceCents: 3_000_000, firstSeenAt: over + 2 * hourMs });
    const twice = scene([payment('one', 25_000), again]);
    expect(standingOf({ ...twice, quotes }).excessSat).toBe(25_000);
  });

  test('who paid what one of two quotes asked paid nothing too much', () => {
    const ended = quote.expiresAt;
    const at = { createdAt: ended, expiresAt: ended + 15 * minuteMs };
    const seenAt = { firstSeenAt: ended + minuteMs };
    const paying = (valueSat: number, rateCents: number) =>
      standingOf({
        ...scene([payment('one', valueSat, seenAt)]),
        quotes: [quote, { ...quote, ...at, rateCents }],
        now: ended + minuteMs,
      });
    // 12.50 are 25,000 sat at 50,000, 31,250 sat at 40,000, 20,834 sat at 60,000.
    expect(paying(31_250, 4_000_000)).toMatchObject({ status: 'processing', excessSat: 0 });
    expect(paying(31_251, 4_000_000)).toMatchObject({ status: 'processing', excessSat: 1 });
    expect(paying(25_000, 6_000_000)).toMatchObject({ status: 'processing', excessSat: 0 });
    expect(paying(25_001, 6_000_000)).toMatchObject({ excessSat: 1, confirmedExcessSat: 0 });
  });

  test('nothing is missing, and nothing asked for, without a quote in force', () => {
    const before = lapsed(scene([part], { expiresAt: null }));
    expect(standingOf(before)).toMatchObject({ missingSat: null, quote: null, amountSat: 25_000 });
    expect(standingOf(lapsed(scene([whole])))).toMatchObject({ missingSat: 0, quote: null });
    expect(standingOf(from.canceled)).toMatchObject({ missingSat: null, quote: null });
  });

  test('each payment has its rate', () => {
    const { payments } = standingOf(
      scene([part, payment('gone', 5, dropped), payment('late', 5, { ...lateAt, priceCents: 7 })]),
    );
    const partOf = (valueSat: number, rateCents: number, isLate: boolean, counts: boolean) => ({
      rateCents,
      isLate,
      parts: [{ valueSat, rateCents, lowestRateCents: rateCents, isLate, counts }],
      undecidedSat: 0,
    });
    expect(payments.map(({ payment: { txid }, ...rest }) => [txid, rest])).toEqual([
      ['part', partOf(10_000, 5_000_000, false, true)],
      ['gone', partOf(5, 5_000_000, false, false)],
      ['late', partOf(5, 7, true, true)],
    ]);
  });
});

describe('an order that is priced in satoshis', () => {
  const sat = { price: { kind: 'sat', amountSat: 20_000 } } as const;
  const inSat = (payments: readonly OrderPayment[], order: Partial<OrderFacts> = {}, now = soon) =>
    standingOf({ ...scene(payments, { ...sat, ...order }, now), quotes: [] });

  test('needs no quote', () => {
    expect(inSat([part])).toMatchObject({
      status: 'open',
      amountSat: 20_000,
      missingSat: 10_000,
      quote: null,
    });
    expect(inSat([whole])).toMatchObject({ status: 'processing', missingSat: 0, excessSat: 5_000 });
  });

  test('asks for no more when it has ended', () => {
    expect(inSat([part], { scannedAt: over }, over)).toMatchObject({
      status: 'expired',
      missingSat: null,
    });
    expect(inSat([part], {}, over)).toMatchObject({ status: 'open', missingSat: null });
    expect(inSat([part], {}, orderStart - dayMs)).toMatchObject({ missingSat: 10_000 });
  });

  test('a payment after its time is late, and counts', () => {
    const late = payment('late', 20_000, { firstSeenAt: over + 121 * secondMs });
    expect(inSat([late])).toMatchObject({ status: 'processing', isLate: true });
    expect(inSat([late], { latePolicy: 'ask' })).toMatchObject({ status: 'open', isLate: false });
    expect(inSat([late], { expiresAt: null })).toMatchObject({ isLate: false });
    const near = payment('near', 20_000, { firstSeenAt: over + 120 * secondMs });
    expect(inSat([near])).toMatchObject({ status: 'processing', isLate: false });
  });

  test('its rate is fixed, so a payment may be mined much later', () => {
    const slow = payment('slow', 20_000, { ...final, minedAt: over + 9 * dayMs });
    expect(inSat([slow])).toMatchObject({ status: 'paid', isLate: false });
  });

  test('gets no quote', () => {
    const order = { ...orderFacts, ...sat };
    expect(() => checkNewQuote(order, inSat([]), soon)).toThrow('priced in satoshis');
  });
});

describe('late money', () => {
  const late = payment('late', 25_000, lateAt);

  test('counts what it is worth', () => {
    const lower = { ...late, priceCents: 4_900_000 };
    expect(standingOf(scene([late]))).toMatchObject({ status: 'processing', isLate: true });
    expect(standingOf(scene([lower]))).toMatchObject({ status: 'open', isLate: true });
    // A higher price is not the merchant's loss, and not the customer's gain.
    const higher = payment('late', 24_000, { ...lateAt, priceCents: 9_000_000 });
    expect(standingOf(scene([higher])).status).toBe('open');
  });

  test('counts nothing under `ask` until it is accepted', () => {
    const before = scene([late], { latePolicy: 'ask', scannedAt: over }, over + 2 * hourMs);
    expect(standingOf(before)).toMatchObject({
      status: 'expired',
      isLate: false,
      receivedSat: 25_000,
      payments: [{ undecidedSat: 25_000 }],
    });
    const after = command(accept)(before);
    expect(standingOf(after)).toMatchObject({
      status: 'processing',
      isLate: true,
      missingSat: 0,
      payments: [{ undecidedSat: 0 }],
    });
  });
});

describe('an order that was accepted', () => {
  const accepted = command(accept)(from.expired);

  test('is measured in satoshis', () => {
    expect(accepted.order).toMatchObject({ acceptedSat: 10_000, acceptedAt: from.expired.now });
    const more = added(accepted, payment('more', 3_000, unknown));
    expect(standingOf(more)).toMatchObject({ excessSat: 3_000, missingSat: 0 });
  });

  const mined = { state: 'confirmed', minedAt: lateAt.firstSeenAt } as const;
  const paidTooMuch = payment('too much', 40_000, { ...lateAt, ...mined, priceCents: null });
  const inSat = { price: { kind: 'sat', amountSat: 25_000 } } as const;
  test.each([
    ['canceled', scene([payment('too much', 40_000, final)], { canceledAt: soon })],
    ['expired', scene([paidTooMuch], { scannedAt: over }, over + 2 * hourMs)],
    ['open', scene([paidTooMuch])],
    [
      'asked about',
      scene([paidTooMuch], { latePolicy: 'ask', scannedAt: over }, over + 2 * hourMs),
    ],
    ['canceled, in satoshis', scene([paidTooMuch], { ...inSat, canceledAt: soon })],
  ])('that was %s has what is above its price as an excess', (_what, before) => {
    const after = command(accept)(before);
    expect(after.order.acceptedSat).toBe(25_000);
    expect(standingOf(after)).toMatchObject({
      status: 'paid',
      receivedSat: 40_000,
      missingSat: 0,
      excessSat: 15_000,
      confirmedExcessSat: 15_000,
    });
  });

  test('is measured by the satoshis of its newest quote, if those are less', () => {
    const renewed = { ...quote, createdAt: over, rateCents: 10_000_000, amountSat: 12_500 };
    const canceled = scene([whole], { canceledAt: soon });
    const after = command(accept)({ ...canceled, quotes: [quote, renewed] });
    expect(standingOf(after)).toMatchObject({ amountSat: 12_500, excessSat: 12_500 });
    const dearer = { ...renewed, rateCents: 2_500_000, amountSat: 50_000 };
    const less = command(accept)({ ...canceled, quotes: [quote, dearer] });
    expect(less.order.acceptedSat).toBe(25_000);
    expect(standingOf(less)).toMatchObject({ status: 'processing', excessSat: 0, missingSat: 0 });
  });

  test('waits for confirmations', () => {
    expect(standingOf(accepted).status).toBe('processing');
    expect(standingOf(confirmed(accepted)).status).toBe('paid');
  });

  test('has no tolerance: less than was accepted is too little', () => {
    const after = replacedBy(9_999)(accepted);
    expect(standingOf(after).status).toBe('expired');
    expect(eventOf(accepted, after)).toBe('order.reversed');
  });

  test('gets no quote', () => {
    const fallen = allPayments(dropped)(
      withOrder(lapsed(from.open), { acceptedAt: soon, acceptedSat: 10_000 }),
    );
    expect(() => requote(fallen)).toThrow('was accepted');
    expect(standingOf(fallen)).toMatchObject({ status: 'open', missingSat: 10_000 });
  });

  test('may be canceled and accepted again, whatever the clock does', () => {
    const backwards = (before: OrderScene): OrderScene => ({ ...before, now: before.now - hourMs });
    const fallen = replacedBy(9_000)(accepted);
    const canceled = command(cancel)(backwards(fallen));
    expect(standingOf(canceled).status).toBe('canceled');
    const again = command(accept)(backwards(canceled));
    expect(standingOf(again).status).toBe('processing');
    expect(again.order.acceptedSat).toBe(9_000);
  });
});

describe('what an event shows of an order', () => {
  const stateOf = (shown: OrderScene, facts: Partial<Standing> = {}) =>
    orderStateOf(shown.order, { ...standingOf(shown), ...facts });
  const two = scene([part, whole]);

  test('is nothing while it is as it was made', () => {
    expect(stateOf(scene([]))).toBeNull();
    expect(stateOf(allPayments(dropped)(two))).toBeNull();
    expect(stateOf(from.open)).not.toBeNull();
    expect(stateOf(scene([], { acceptedAt: soon, acceptedSat: 10_000 }))).not.toBeNull();
    expect(stateOf(scene([], { canceledAt: soon }))).not.toBeNull();
  });

  test('is the same by the same facts, with or without payments that are gone', () => {
    expect(stateOf(scene([whole, part]))).toBe(stateOf(two));
    expect(stateOf(added(two, payment('gone', 9_000, dropped)))).toBe(stateOf(two));
    expect(stateOf({ ...two, now: soon + 1 })).toBe(stateOf(two));
  });

  test.each<Partial<Standing>>([
    { status: 'paid' },
    { isLate: true },
    { receivedSat: 1 },
    { confirmedSat: 1 },
    { excessSat: 1 },
    { payments: standingOf(scene([whole, payment('another', 10_000)])).payments },
  ])('is another one with %o', (facts) => {
    expect(stateOf(two, facts)).not.toBe(stateOf(two));
  });

  test('is another one since the order was accepted', () => {
    const accepted = withOrder(two, { acceptedAt: soon });
    expect(stateOf(accepted)).not.toBe(stateOf(two));
  });
});

describe('a payment below the minimum', () => {
  const minimum = { minimumSat: 600 };

  test('counts, and makes no event alone', () => {
    const before = scene([part], minimum);
    const after = added(before, payment('dust', 599));
    expect(eventOf(before, after)).toBeUndefined();
    expect(standingOf(after).receivedSat).toBe(10_599);
    expect(eventOf(after, changed(after, 'dust', dropped))).toBeUndefined();
    expect(eventOf(before, added(before, payment('least', 600)))).toBe('order.updated');
  });

  test('makes no event although it is late', () => {
    const before = scene([part], minimum);
    const after = added(before, payment('dust', 599, lateAt));
    expect(standingOf(after).isLate).toBe(true);
    expect(eventOf(before, after)).toBeUndefined();
  });

  test('makes the event of a status that it completes', () => {
    const before = scene([payment('most', 24_500)], minimum);
    expect(eventOf(before, added(before, payment('dust', 599)))).toBe('order.processing');
  });
});

describe('a replacement', () => {
  const lateBump = payment('bump', 25_000, { firstSeenAt: over, priceCents: null });
  const replaced = (txid: string, by: string): OrderPayment =>
    payment(txid, 25_000, { ...dropped, replacedBy: by });

  test('is seen when what it replaced was seen', () => {
    expect(standingOf(scene([replaced('whole', 'bump'), lateBump]))).toMatchObject({
      status: 'processing',
      isLate: false,
    });
    expect(standingOf(scene([lateBump]))).toMatchObject({ status: 'open', isLate: true });
  });

  test('of a replacement as well', () => {
    const middle = { ...replaced('middle', 'bump'), firstSeenAt: over - 1 };
    const payments = [lateBump, middle, replaced('whole', 'middle')];
    expect(standingOf(scene(payments)).isLate).toBe(false);
  });

  test('has the price of then if it is late, or its own where that is unknown', () => {
    const first = { ...replaced('whole', 'bump'), firstSeenAt: over - 1 };
    const rateOf = (first: OrderPayment, bump: OrderPayment) =>
      standingOf(scene([first, bump])).payments[1]?.rateCents;
    expect(rateOf({ ...first, priceCents: 3 }, { ...lateBump, priceCents: 4 })).toBe(3);
    expect(rateOf({ ...first, priceCents: null }, { ...lateBump, priceCents: 4 })).toBe(4);
  });

  test('in a circle ends', () => {
    const circle = [replaced('one', 'two'), replaced('two', 'one')];
    expect(standingOf(scene(circle))).toMatchObject({ status: 'open', receivedSat: 0 });
  });
});

test('the time at which an order expires is the end of its time, and a scan since', () => {
  const at = (now: number, scannedAt: number | null) =>
    standingOf(scene([], { scannedAt }, now)).status;
  expect(at(over, over)).toBe('expired');
  // The clock was set back since.
  expect(at(over - 1, over)).toBe('expired');
  expect(at(over + dayMs, over - 1)).toBe('open');
  expect(at(over + dayMs, null)).toBe('open');
  expect(standingOf(scene([], { expiresAt: null, scannedAt: over }, over)).status).toBe('open');
});

test('an order whose time is over gets no quote, although it may still be open', () => {
  const before = scene([], { scannedAt: null }, over);
  expect(standingOf(before)).toMatchObject({ status: 'open', quote: null });
  expect(() => requote(before)).toThrow('time is over');
});

test('an order gets a quote although the clock was set back', () => {
  const before = { ...scene([]), now: orderStart - hourMs };
  expect(standingOf(before).quote).toEqual(quote);
  const later: Quote = { ...quote, createdAt: over, expiresAt: over + hourMs };
  const ahead = { ...before, quotes: [quote, later] };
  expect(standingOf(ahead).quote).toBeNull();
  expect(standingOf(requote(ahead)).quote).toMatchObject({ createdAt: before.now });
});

test('a quote of a clock that was hours ahead is not in force once that is right', () => {
  const before = { ...scene([]), now: orderStart - 3 * hourMs };
  expect(standingOf(before)).toMatchObject({ quote, missingSat: 25_000 });
  const right = { ...before, now: before.now - 1 };
  expect(standingOf(right)).toMatchObject({ status: 'open', quote: null, missingSat: null });
  expect(standingOf(requote(right)).quote).toMatchObject({ createdAt: right.now });
});

test('an event has its id by order, version and facts', () => {
  const before = standingOf(from.open);
  const after = standingOf(from.processing);
  const id = orderEventId('ord_1', 2, 'order.processing', before, after);
  expect(id).toBe(orderEventId('ord_1', 2, 'order.processing', before, { ...after }));
  const others = [
    orderEventId('ord_2', 2, 'order.processing', before, after),
    orderEventId('ord_1', 3, 'order.processing', before, after),
    orderEventId('ord_1', 2, 'order.updated', before, after),
    orderEventId('ord_1', 2, 'order.processing', standingOf(from.expired), after),
    orderEventId('ord_1', 2, 'order.processing', before, standingOf(from.paid)),
    orderEventId('ord_1', 2, 'order.processing', before, { ...after, receivedSat: 1 }),
    orderEventId('ord_1', 2, 'order.processing', before, { ...after, confirmedSat: 1 }),
    orderEventId('ord_1', 2, 'order.processing', before, { ...after, fingerprint: '' }),
  ];
  expect(new Set([id, ...others]).size).toBe(9);
});

test('the order of payments makes no event', () => {
  const before = scene([part, whole]);
  expect(eventOf(before, scene([whole, part]))).toBeUndefined();
});

test('sums are exact beyond what a double holds', () => {
  const dear = { kind: 'fiat', currency: 'EUR', minor: 999_999_999_999_999n } as const;
  const rateCents = 999_999_999_999;
  const quotes = [{ ...quote, rateCents, amountSat: 100_000_000_001 }];
  const toPay = (valueSat: number): OrderScene => ({
    ...scene([payment('one', valueSat)], { price: dear, toleranceBasisPoints: 0 }),
    quotes,
  });
  // 999,999,999,999,999 × 10^8 / 999,999,999,999 is 100,000,000,000.0999…
  expect(standingOf(toPay(100_000_000_000))).toMatchObject({ status: 'open', missingSat: 1 });
  expect(standingOf(toPay(100_000_000_001))).toMatchObject({ status: 'processing' });
});

test('a sum of invented payments is at most all bitcoins', () => {
  const all = 2_100_000_000_000_000;
  const huge = ['one', 'two', 'three', 'four', 'five'].map((txid) => ({
    ...payment(txid, all),
    state: 'settled' as const,
  }));
  const { receivedSat, confirmedSat, excessSat, confirmedExcessSat } = standingOf(scene(huge));
  expect([receivedSat, confirmedSat, excessSat, confirmedExcessSat]).toEqual([all, all, all, all]);
});

test('an order in a currency has a quote', () => {
  expect(() => standingOf({ ...scene([]), quotes: [] })).toThrow('has a quote');
});
