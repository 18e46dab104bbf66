// The rule of docs/orders.md, "In time and late", as a table of cases. An order of 12.50 EUR is
// promised 25,000 sat for 15 minutes; then the price halves.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LatePolicy, OrderPayment } from '../../../src/domain/order/order.ts';
import { accept } from '../../../src/domain/order/order.ts';
import type { Quote } from '../../../src/domain/order/quote.ts';
import {
  graceMs,
  maxUnminedMs,
  partsOf,
  rateFor,
  type SeenFacts,
  windowsOf,
} from '../../../src/domain/payment/in-time.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../../src/lib/time-units.ts';
import { orderFacts, orderStart, payment, quote, standingOf } from '../../support/orders.ts';

const end = quote.expiresAt;
const half = 2_500_000;
const atHalf = { priceCents: half } as const;
const minute = (count: number): number => orderStart + count * minuteMs;
const mined = (at: number) => ({ state: 'confirmed', minedAt: at }) as const;
/** Found in a block that it was in already. */
const foundIn = (block: number) => ({ ...mined(block), firstBlockAt: block });
const gone = (replacedBy: string) => ({ state: 'dropped', replacedBy }) as const;

interface Case {
  readonly case: string;
  readonly payments: readonly OrderPayment[];
  /** When a caught-up server last had nothing more to say. */
  readonly scannedAt?: number;
  /** Status, late or not, and what counts nothing yet. */
  readonly worth: readonly [status: string, isLate: boolean, undecidedSat: number];
  readonly ask: Case['worth'];
}

const inTime = { worth: ['paid', false, 0], ask: ['paid', false, 0] } as const;
/** 25,000 sat at half of the price. */
const lateAtHalf = { worth: ['expired', true, 0], ask: ['expired', false, 25_000] } as const;
/** It counts nothing whatever its price is. */
const option = { worth: ['expired', true, 25_000], ask: ['expired', false, 25_000] } as const;

const whole = (facts: Partial<OrderPayment>) => [payment('whole', 25_000, facts)];
const later = minute(61);

const cases: readonly Case[] = [
  {
    case: 'seen live in the quote',
    payments: whole({ ...mined(minute(20)), firstSeenAt: minute(10) }),
    ...inTime,
  },
  {
    case: 'seen live at the end of the grace',
    payments: whole({ ...mined(minute(20)), firstSeenAt: end + graceMs }),
    ...inTime,
  },
  {
    case: 'seen live after the grace',
    payments: whole({ ...mined(minute(30)), ...atHalf, firstSeenAt: end + graceMs + 1 }),
    ...lateAtHalf,
  },
  {
    case: 'seen live after the grace, in a block whose time lies within it',
    payments: whole({ ...mined(end + secondMs), ...atHalf, firstSeenAt: end + 694 * secondMs }),
    ...lateAtHalf,
  },
  {
    case: 'found after a restart that began in the quote',
    payments: whole({ ...mined(later), ...atHalf, firstSeenAt: later, interruptedAt: minute(14) }),
    ...inTime,
  },
  {
    case: 'found after a kill whose last note lies within the grace',
    payments: whole({ ...mined(later), firstSeenAt: later, interruptedAt: end + graceMs }),
    ...inTime,
  },
  {
    case: 'found after a restart that began after the grace',
    payments: whole({
      ...mined(later),
      ...atHalf,
      firstSeenAt: end + 160 * secondMs,
      interruptedAt: end + 155 * secondMs,
    }),
    ...lateAtHalf,
  },
  {
    case: 'found after a sleep that began in the quote, in a block of that time',
    payments: whole({ ...foundIn(minute(40)), firstSeenAt: later, interruptedAt: minute(5) }),
    ...inTime,
  },
  {
    case: 'found after the clock jumped ahead by 20 hours',
    payments: whole({
      ...mined(minute(5) + 20 * hourMs),
      firstSeenAt: minute(5) + 20 * hourMs,
      interruptedAt: minute(5),
    }),
    ...inTime,
  },
  {
    case: 'found after the clock jumped back',
    payments: whole({
      ...mined(minute(5)),
      firstSeenAt: minute(-90),
      interruptedAt: minute(5),
    }),
    ...inTime,
  },
  {
    case: 'hidden, and found in a block whose time lies within the grace',
    payments: whole({ ...foundIn(end + graceMs), ...atHalf, firstSeenAt: minute(600) }),
    ...inTime,
  },
  {
    case: 'hidden, and found in a block whose time lies after the grace',
    payments: whole({ ...foundIn(end + graceMs + 1000), ...atHalf, firstSeenAt: minute(600) }),
    ...lateAtHalf,
  },
  {
    case: 'hidden, found in a block, and mined again later',
    payments: whole({ ...foundIn(minute(10)), minedAt: minute(700), firstSeenAt: minute(600) }),
    ...inTime,
  },
  {
    case: 'hidden, and shown late in a mempool',
    payments: whole({ ...mined(minute(600)), ...atHalf, firstSeenAt: minute(590) }),
    ...lateAtHalf,
  },
  {
    case: 'a placeholder in the quote, replaced by the whole price when that had fallen',
    payments: [
      payment('placeholder', 546, gone('whole')),
      payment('whole', 25_000, {
        ...mined(minute(80)),
        ...atHalf,
        firstSeenAt: minute(75),
      }),
    ],
    worth: ['expired', true, 0],
    ask: ['expired', false, 24_454],
  },
  {
    case: 'the whole price in the quote, replaced by the same later',
    payments: [
      payment('first', 25_000, gone('whole')),
      payment('whole', 25_000, { ...mined(minute(80)), ...atHalf, firstSeenAt: minute(75) }),
    ],
    ...inTime,
  },
  {
    case: 'the whole price in the quote, replaced by less later',
    payments: [
      payment('first', 25_000, gone('whole')),
      payment('whole', 24_900, { ...mined(minute(80)), ...atHalf, firstSeenAt: minute(75) }),
    ],
    ...inTime,
  },
  {
    case: 'the whole price in the quote, replaced by more later: an excess is not late',
    payments: [
      payment('first', 25_000, gone('whole')),
      payment('whole', 40_000, { ...mined(minute(80)), ...atHalf, firstSeenAt: minute(75) }),
    ],
    worth: ['paid', false, 0],
    ask: ['paid', false, 15_000],
  },
  {
    case: 'the whole price, replaced by dust, and that by the whole price',
    payments: [
      payment('first', 25_000, gone('dust')),
      payment('dust', 546, { ...gone('whole'), ...atHalf, firstSeenAt: minute(70) }),
      payment('whole', 25_000, { ...mined(minute(80)), ...atHalf, firstSeenAt: minute(75) }),
    ],
    worth: ['expired', true, 0],
    ask: ['expired', false, 24_454],
  },
  {
    case: 'two payments in the quote, replaced by one of their sum',
    payments: [
      payment('one', 10_000, gone('whole')),
      payment('other', 15_000, gone('whole')),
      payment('whole', 25_000, { ...mined(minute(80)), ...atHalf, firstSeenAt: minute(75) }),
    ],
    ...inTime,
  },
  {
    case: 'mined a day after it was seen',
    payments: whole({ ...mined(minute(10) + dayMs), firstSeenAt: minute(10) }),
    ...inTime,
  },
  {
    case: 'mined more than a day after it was seen',
    payments: whole({ ...mined(minute(10) + dayMs + 1000), firstSeenAt: minute(10) }),
    ...option,
  },
  {
    case: 'mined a day after its quote, and seen in the grace',
    payments: whole({ ...mined(end + dayMs), firstSeenAt: end + graceMs }),
    ...inTime,
  },
  {
    case: 'mined more than a day after its quote, and seen in the grace',
    payments: whole({ ...mined(end + dayMs + 1000), firstSeenAt: end + graceMs }),
    ...option,
  },
  {
    case: 'late at the old price, and mined five days later',
    payments: whole({ ...mined(minute(90) + 5 * dayMs), firstSeenAt: minute(90) }),
    ...option,
  },
  {
    case: 'late at the old price, and mined within a day',
    payments: whole({ ...mined(minute(90) + dayMs), firstSeenAt: minute(90) }),
    worth: ['paid', true, 0],
    ask: ['expired', false, 25_000],
  },
  {
    case: 'in no block a day after it was seen',
    payments: whole({ firstSeenAt: minute(10) }),
    scannedAt: minute(10) + dayMs + 1,
    ...option,
  },
  {
    case: 'in no block for a day, as far as a server was asked',
    payments: whole({ firstSeenAt: minute(10) }),
    scannedAt: minute(10) + dayMs,
    worth: ['processing', false, 0],
    ask: ['processing', false, 0],
  },
  {
    case: 'found unconfirmed after two days without a server',
    payments: whole({ firstSeenAt: minute(10) + 2 * dayMs, interruptedAt: minute(10) }),
    ...option,
  },
  {
    case: 'replaced within a day, and mined a day after the first was seen',
    payments: [
      payment('first', 25_000, { ...gone('whole'), firstSeenAt: minute(10) }),
      payment('whole', 25_000, {
        ...mined(minute(10) + dayMs + 1000),
        firstSeenAt: minute(9) + dayMs,
      }),
    ],
    ...option,
  },
  {
    case: 'more, late, to an order that was paid in time',
    payments: [
      payment('whole', 25_000, mined(minute(20))),
      payment('more', 5_000, { ...mined(minute(60)), ...atHalf, firstSeenAt: minute(55) }),
    ],
    worth: ['paid', false, 0],
    ask: ['paid', false, 5_000],
  },
  {
    case: 'the rest, late, of an order that was paid in part',
    payments: [
      payment('part', 15_000, mined(minute(20))),
      payment('rest', 20_000, { ...mined(minute(60)), ...atHalf, firstSeenAt: minute(55) }),
    ],
    worth: ['paid', true, 0],
    ask: ['expired', false, 20_000],
  },
];

const facts = { ...orderFacts, expiresAt: minute(60) };

describe.each(cases)('a payment that was $case', ({ payments, scannedAt, ...expected }) => {
  const sceneOf = (latePolicy: LatePolicy) => ({
    order: { ...facts, latePolicy, scannedAt: scannedAt ?? minute(60) },
    quotes: [quote],
    payments,
    now: orderStart + 9 * dayMs,
  });

  test.each(['worth', 'ask'] as const)('%s', (policy) => {
    const { status, isLate, payments: counted } = standingOf(sceneOf(policy));
    const undecidedSat = counted.reduce((sum, each) => sum + each.undecidedSat, 0);
    expect([status, isLate, undecidedSat]).toEqual(expected[policy]);
  });

  test('is taken as it is by who accepts the order', () => {
    const scene = sceneOf('ask');
    const before = standingOf(scene);
    if (before.status !== 'expired')
      return void expect(['paid', 'processing']).toContain(before.status);
    const order = { ...scene.order, ...accept(scene.order, before, scene.now) };
    const after = standingOf({ ...scene, order });
    expect(['paid', 'processing']).toContain(after.status);
    expect(after.payments.every(({ undecidedSat }) => undecidedSat === 0)).toBe(true);
  });
});

test('an order in satoshis makes no payment an option, and splits a late replacement', () => {
  const order = { ...facts, price: { kind: 'sat', amountSat: 25_000 } } as const;
  const standing = (payments: readonly OrderPayment[], latePolicy: LatePolicy) =>
    standingOf({ order: { ...order, latePolicy }, quotes: [], payments, now: minute(90) });
  expect(standing(whole(mined(minute(10) + 9 * dayMs)), 'ask')).toMatchObject({ status: 'paid' });
  const late = { ...mined(minute(80)), firstSeenAt: minute(75) };
  const bumped = [payment('first', 546, gone('whole')), payment('whole', 25_000, late)];
  expect(standing(bumped, 'worth')).toMatchObject({ status: 'paid', isLate: true });
  expect(standing(bumped, 'ask').payments[1]).toMatchObject({ undecidedSat: 24_454 });
});

describe('the rate of satoshis', () => {
  const start = 1_000 * minuteMs;
  const at = (count: number): number => start + count * minuteMs;
  const quoteFrom = (from: number, rateCents: number): Quote => ({
    rateCents,
    amountSat: 1,
    createdAt: at(from),
    expiresAt: at(from + 15),
  });
  const first = quoteFrom(0, 500);
  /** Begins within the grace of the first one. */
  const second = quoteFrom(16, 400);
  const third = quoteFrom(60, 600);

  const rate = (
    seen: Partial<SeenFacts> & Pick<SeenFacts, 'firstSeenAt'>,
    priceCents: number | null = null,
    unminedAt: number = seen.firstSeenAt,
    quotes: readonly Quote[] = [first, second, third],
  ): string => {
    const all = { interruptedAt: null, firstBlockAt: null, minedAt: null, ...seen };
    const found = rateFor(quotes, all, { priceCents, unminedAt });
    return `${found.isLate ? 'late' : 'in time'}, ${found.rateCents}, ${found.lowestRateCents}`;
  };

  test.each([
    ['when it begins', 0, 'in time, 500, 500'],
    ['before it begins: the clock was set back', -90, 'in time, 500, 500'],
    ['at its end', 15, 'in time, 500, 500'],
    ['in the grace of one quote and in the next one', 16.5, 'in time, 500, 400'],
    ['behind the grace of the first', 17.001, 'in time, 400, 400'],
    ['at the end of the grace', 33, 'in time, 400, 400'],
    ['in the last one', 60, 'in time, 600, 600'],
  ])('seen %s', (_when, count, expected) => {
    expect(rate({ firstSeenAt: at(count) })).toBe(expected);
  });

  test('seen in a quote that was made after the clock was set back', () => {
    const quotes = [first, quoteFrom(-60, 900)];
    expect(rate({ firstSeenAt: at(-50) }, null, 0, quotes)).toBe('in time, 900, 500');
    expect(rate({ firstSeenAt: at(-40) }, null, 0, quotes)).toBe('in time, 500, 500');
  });

  test.each([
    ['three hours before the quote', -180, 'in time, 500, 500'],
    ['more than three hours before it', -180.001, 'late, 450, 450'],
  ])('mined %s, which a clock that was ahead had made', (_what, block, expected) => {
    const seen = { firstSeenAt: at(-200), minedAt: at(block) };
    expect(rate(seen, 450, at(block))).toBe(expected);
    expect(rate({ ...seen, firstSeenAt: at(-180) }, 450, at(block))).toBe('in time, 500, 500');
    // The clock that saw the payment may be behind: its block decides.
    expect(rate({ ...seen, minedAt: null }, 450, at(-200))).toBe('in time, 500, 500');
    const putRight = [first, quoteFrom(-210, 900)];
    expect(rate({ ...seen, minedAt: at(-190) }, 450, at(-190), putRight)).toBe('in time, 900, 900');
  });

  test('a quote that is made after a payment was seen gives it no rate', () => {
    // The first quote is of a clock that was a year ahead, or a bit ahead: a later one is right.
    const ahead = quoteFrom(525_600, 500);
    const later = quoteFrom(600, 900);
    const seen = { firstSeenAt: at(10), minedAt: at(20) };
    expect(rate(seen, 450, at(20), [ahead, later])).toBe('late, 450, 450');
    expect(rate({ firstSeenAt: at(-80) }, null, at(-80), [first, quoteFrom(-60, 900)])).toBe(
      'in time, 500, 500',
    );
  });

  test('seen by a clock that was days behind, it waits from its order on', () => {
    const seen = { firstSeenAt: at(-2_880), minedAt: at(30) };
    expect(rate(seen, 450, at(30))).toBe('in time, 500, 500');
    expect(rate(seen, 450, at(1_440))).toBe('in time, 500, 500');
    expect(rate(seen, 450, at(1_456))).toBe('late, null, null');
  });

  test.each([
    ['lower price', 399, 'late, 399, 399'],
    ['higher price', 900, 'late, 400, 400'],
    ['unknown price', null, 'late, null, null'],
  ])('late at a %s', (_what, priceCents, expected) => {
    // A later quote does not change it.
    expect(rate({ firstSeenAt: at(34) }, priceCents)).toBe(expected);
  });

  test('late after the last quote', () => {
    expect(rate({ firstSeenAt: at(100) }, 650)).toBe('late, 600, 600');
  });

  describe('found in a block', () => {
    test.each([
      ['within a quote', 10, 'in time, 500, 500'],
      ['outside of all', 50, 'late, 400, 400'],
      ['before the order', -20, 'in time, 500, 500'],
      ['within the first, when the third was in force', 10, 'in time, 500, 500'],
    ])('whose time is %s', (_what, block, expected) => {
      expect(rate({ firstSeenAt: at(62), firstBlockAt: at(block) }, 450)).toBe(expected);
    });

    test('whose time is in the future: the first look counts', () => {
      expect(rate({ firstSeenAt: at(15), firstBlockAt: at(40) })).toBe('in time, 500, 500');
    });
  });

  describe('found by the first look after an interruption', () => {
    test.each([
      ['in which the quote ended', 10, 40, 'in time, 500, 400'],
      ['in which its grace ended', 16.9, 40, 'in time, 500, 400'],
      ['that began later', 34, 50, 'late, 100, 100'],
      ['in which only the second quote ended', 18, 50, 'in time, 400, 400'],
      ['in which two quotes ended: the higher rate', 10, 70, 'in time, 600, 400'],
      ['that the clock was set back in', 20, 5, 'in time, 500, 500'],
    ])('%s', (_what, from, to, expected) => {
      const seen = { interruptedAt: at(from), firstSeenAt: at(to) };
      expect(rate(seen, 100)).toBe(expected);
    });

    test('in a block: no quote that began after it', () => {
      const seen = { interruptedAt: at(10), firstSeenAt: at(70), firstBlockAt: at(50) };
      expect(rate(seen)).toBe('in time, 500, 400');
    });
  });

  test('the later one of two quotes may still hold', () => {
    const limit = first.expiresAt + maxUnminedMs;
    expect(rate({ firstSeenAt: at(16.5) }, 1, limit)).toBe('in time, 500, 400');
    expect(rate({ firstSeenAt: at(16.5) }, 1, limit + 1)).toBe('in time, 400, 400');
  });

  test('a window without an end holds every payment', () => {
    const window = { createdAt: start, expiresAt: null };
    const firstSeenAt = start + 900 * dayMs;
    const seen = { firstSeenAt, interruptedAt: null, firstBlockAt: null, minedAt: null };
    expect(windowsOf([window], seen)).toEqual([window]);
  });
});

describe('the parts of payments', () => {
  const promises = { unit: 'sat', window: { createdAt: 0, expiresAt: null } } as const;

  test('sum up to their values, whatever replaces what', () => {
    const payments = fc
      .array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(9), fc.boolean()), { maxLength: 9 })
      .map((list) =>
        list.map(([valueSat, by, isGone], at) =>
          payment(`tx${at}`, valueSat, isGone ? gone(`tx${by}`) : { firstSeenAt: by }),
        ),
      );
    fc.assert(
      fc.property(payments, (list) => {
        const sums = partsOf(promises, list, null).map((parts) =>
          parts.reduce((sum, { valueSat }) => sum + valueSat, 0),
        );
        expect(sums).toEqual(list.map(({ valueSat }) => valueSat));
      }),
    );
  });

  test('of a long chain of replacements are found in one pass', () => {
    let reads = 0;
    const counted = (value: OrderPayment): OrderPayment => ({
      ...value,
      get valueSat() {
        reads += 1;
        return value.valueSat;
      },
    });
    const chainOf = (length: number) =>
      Array.from({ length }, (_, at) => {
        const isLast = at === length - 1;
        return counted(payment(`tx${at}`, 1_000 + at, isLast ? {} : gone(`tx${at + 1}`)));
      });
    const readsOf = (length: number): number => {
      const chain = chainOf(length);
      reads = 0;
      expect(partsOf(promises, chain, null).at(-1)).toHaveLength(length);
      return reads;
    };
    expect(readsOf(2_000)).toBeLessThan(5 * readsOf(500));
  });
});
