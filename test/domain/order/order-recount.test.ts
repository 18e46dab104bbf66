// Random facts in any order, each checked against the naive count.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  accept,
  cancel,
  checkNewQuote,
  decide,
  type OrderEventType,
  type OrderPayment,
  type OrderStatus,
} from '../../../src/domain/order/order.ts';
import {
  type FiatPrice,
  orderExpiryOf,
  quoteAt,
  type SatPrice,
} from '../../../src/domain/order/quote.ts';
import { PaygateError } from '../../../src/lib/errors.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/lib/time-units.ts';
import {
  type OrderScene,
  orderFacts,
  orderStart,
  payment,
  standingOf,
} from '../../support/orders.ts';
import { recount } from '../../support/recount.ts';

const rates = fc.integer({ min: 4_000_000, max: 6_000_000 });
const passing = fc.oneof(
  fc.integer({ min: 0, max: 3 * minuteMs }),
  fc.integer({ min: 0, max: 2 * hourMs }),
  fc.integer({ min: dayMs, max: 2 * dayMs }),
  fc.integer({ min: -hourMs, max: 0 }),
);
/** Which payment: its place, modulo their number. */
const which = fc.nat(20);
/** Hundredths of the price that one payment brings. */
const share = fc.constantFrom(1, 10, 33, 50, 99, 100, 120);

const step = fc.oneof(
  fc.record({
    kind: fc.constant('pay' as const),
    share,
    priceCents: fc.option(rates),
    sinceMs: fc.option(fc.integer({ min: -minuteMs, max: hourMs })),
    blockMs: fc.option(fc.integer({ min: -hourMs, max: 2 * dayMs })),
  }),
  fc.record({ kind: fc.constant('pay-missing' as const) }),
  fc.record({ kind: fc.constant('bump' as const), which, share, priceCents: fc.option(rates) }),
  fc.record({ kind: fc.constant('drop' as const), which }),
  fc.record({ kind: fc.constant('return' as const), which }),
  fc.record({
    kind: fc.constant('mine' as const),
    which,
    skewMs: fc.integer({ min: -2 * hourMs, max: hourMs }),
  }),
  fc.record({ kind: fc.constant('confirm' as const), which }),
  fc.record({ kind: fc.constant('settle' as const), which }),
  fc.record({ kind: fc.constant('leave-block' as const), which }),
  fc.record({ kind: fc.constant('price' as const), which, cents: rates }),
  fc.record({ kind: fc.constant('clock' as const), byMs: passing }),
  fc.record({ kind: fc.constant('scan' as const) }),
  fc.record({ kind: fc.constant('quote' as const), cents: rates }),
  fc.record({ kind: fc.constant('cancel' as const) }),
  fc.record({ kind: fc.constant('accept' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const prices: fc.Arbitrary<FiatPrice | SatPrice> = fc.oneof(
  fc.record({
    kind: fc.constant('fiat' as const),
    currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
    minor: fc.bigInt(1n, 10_000_000n),
  }),
  fc.record({ kind: fc.constant('sat' as const), amountSat: fc.integer({ min: 546, max: 1e8 }) }),
);

const scenes: fc.Arbitrary<OrderScene> = fc
  .record({
    price: prices,
    rateCents: rates,
    toleranceBasisPoints: fc.constantFrom(0, 50, 1_000),
    latePolicy: fc.constantFrom('worth' as const, 'ask' as const),
    minimumSat: fc.option(fc.integer({ min: 546, max: 100_000 })),
    expiresInSeconds: fc.constantFrom(0, 300, 3_600, 86_400),
  })
  .map(({ rateCents, expiresInSeconds, ...facts }) => {
    const expiresAt = orderExpiryOf(orderStart, expiresInSeconds);
    const { price } = facts;
    const quotes =
      price.kind === 'fiat' ? [quoteAt(price, rateCents, orderStart, 900, expiresAt)] : [];
    const order = { ...orderFacts, ...facts, expiresAt, scannedAt: null };
    return { order, quotes, payments: [], now: orderStart };
  });

/** The scene after a step; the same one if the step can not be. @throws PaygateError conflict */
function take(scene: OrderScene, step: Step): OrderScene {
  const { order, payments, quotes, now } = scene;
  const standing = standingOf(scene);
  const sat = (hundredths: number): number =>
    Math.ceil((standing.amountSat * hundredths) / 100) || 1;
  const add = (...more: OrderPayment[]): OrderScene => ({
    ...scene,
    payments: [...payments, ...more],
  });
  const chosen = 'which' in step ? payments[step.which % payments.length] : undefined;
  const change = (
    states: readonly OrderPayment['state'][],
    facts: Partial<OrderPayment>,
  ): OrderScene => {
    if (chosen === undefined || !states.includes(chosen.state)) return scene;
    const next = payments.map((each) => (each === chosen ? { ...each, ...facts } : each));
    return { ...scene, payments: next };
  };
  const txid = `tx${payments.length}`;
  switch (step.kind) {
    case 'pay': {
      const interruptedAt = step.sinceMs === null ? null : now - step.sinceMs;
      const facts = { firstSeenAt: now, priceCents: step.priceCents, interruptedAt };
      const firstBlockAt = step.blockMs === null ? null : now - step.blockMs;
      const mined = { state: 'confirming', firstBlockAt, minedAt: firstBlockAt } as const;
      const found = firstBlockAt === null ? facts : { ...facts, ...mined };
      return add(payment(txid, sat(step.share), found));
    }
    case 'pay-missing':
      if (!standing.missingSat) return scene;
      return add(payment(txid, standing.missingSat, { firstSeenAt: now, priceCents: null }));
    case 'bump': {
      const dropped = change(['unconfirmed'], { state: 'dropped', replacedBy: txid });
      if (dropped === scene) return scene;
      const facts = { firstSeenAt: now, priceCents: step.priceCents };
      return { ...dropped, payments: [...dropped.payments, payment(txid, sat(step.share), facts)] };
    }
    case 'drop':
      return change(['unconfirmed', 'confirming', 'confirmed'], {
        state: 'dropped',
        minedAt: null,
      });
    case 'return':
      return change(['dropped'], { state: 'unconfirmed', replacedBy: null });
    case 'mine':
      return change(['unconfirmed'], { state: 'confirming', minedAt: now + step.skewMs });
    case 'confirm':
      return change(['confirming'], { state: 'confirmed' });
    case 'settle':
      return change(['confirmed'], { state: 'settled' });
    case 'leave-block':
      return change(['confirming', 'confirmed'], { state: 'unconfirmed', minedAt: null });
    case 'price':
      return chosen?.priceCents === null
        ? change([chosen.state], { priceCents: step.cents })
        : scene;
    case 'clock':
      return { ...scene, now: now + step.byMs };
    case 'scan':
      return { ...scene, order: { ...order, scannedAt: Math.max(now, order.scannedAt ?? 0) } };
    case 'quote': {
      checkNewQuote(order, standing, now);
      if (order.price.kind === 'sat') throw new Error('a price in satoshis got a quote');
      const next = quoteAt(order.price, step.cents, now, 900, order.expiresAt);
      return { ...scene, quotes: [...quotes, next] };
    }
    case 'cancel':
      return { ...scene, order: { ...order, ...cancel(order, standing, now) } };
    case 'accept':
      return { ...scene, order: { ...order, ...accept(order, standing, now) } };
  }
}

const height: Record<OrderStatus, number> = {
  canceled: 0,
  expired: 0,
  open: 0,
  processing: 1,
  paid: 2,
};

/** Which commands each status may refuse, and which it must. */
const refusals: Partial<Record<Step['kind'], Record<'must' | 'may', readonly OrderStatus[]>>> = {
  cancel: { must: ['processing', 'paid'], may: [] },
  accept: { must: ['processing'], may: ['open', 'expired', 'canceled'] },
  quote: { must: ['processing', 'paid', 'expired', 'canceled'], may: ['open'] },
};

function checkStep(before: OrderScene, step: Step): OrderScene {
  const from = recount(before.order, before.quotes, before.payments, before.now);
  const rule = refusals[step.kind];
  let after: OrderScene;
  try {
    after = take(before, step);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code !== 'conflict') throw error;
    expect([...(rule?.must ?? []), ...(rule?.may ?? [])]).toContain(from.status);
    return before;
  }
  expect(rule?.must ?? []).not.toContain(from.status);
  const to = recount(after.order, after.quotes, after.payments, after.now);
  const standing = standingOf(after);
  expect(standing).toMatchObject({
    status: to.status,
    isLate: to.isLate,
    receivedSat: to.receivedSat,
    confirmedSat: to.confirmedSat,
    missingSat: to.missingSat,
    excessSat: to.excessSat,
    confirmedExcessSat: to.confirmedExcessSat,
    quote: to.quote,
  });
  const counted = standing.payments.filter((each) => each.payment.state !== 'dropped');
  const rates = counted.flatMap(({ payment: { txid }, parts }) =>
    parts.map(
      ({ valueSat, rateCents, isLate, counts }) =>
        `${txid} ${valueSat} ${rateCents ?? 0} ${isLate} ${counts}`,
    ),
  );
  expect(rates).toEqual(to.rates);
  if (to.status === 'paid') expect(to.isFinallyEnough).toBe(true);
  if (after.order.acceptedAt !== before.order.acceptedAt) {
    const { acceptedSat } = after.order;
    expect(acceptedSat).toBe(Math.min(from.receivedSat, standing.amountSat));
    expect(to.excessSat).toBe(from.receivedSat - (acceptedSat ?? 0));
  }
  checkEvent(decide(standingOf(before), standing), from, to);
  if (step.kind === 'pay-missing' && after !== before) checkPaidInFull(after, to.status);
  const isForGood = isSettled(before, from.status);
  if (isForGood) expect(to.status).toBe('paid');
  return after;
}

type Counted = ReturnType<typeof recount>;

function checkEvent(event: OrderEventType | undefined, from: Counted, to: Counted): void {
  const isChanged = from.status !== to.status || from.noted !== to.noted;
  expect(event !== undefined).toBe(isChanged);
  const isFall = height[to.status] < height[from.status];
  expect(event === 'order.reversed').toBe(isFall);
  expect(event === 'order.paid').toBe(to.status === 'paid' && from.status !== 'paid');
  const hasEnded = to.status !== from.status && !isFall;
  if (to.status === 'canceled') expect(event === 'order.canceled').toBe(hasEnded);
  if (to.status === 'expired') expect(event === 'order.expired').toBe(hasEnded);
}

/** Late money that the merchant is asked about is not enough, whatever it is. */
function checkPaidInFull({ order, now }: OrderScene, status: OrderStatus): void {
  const isLate = order.price.kind === 'sat' && order.expiresAt !== null && now >= order.expiresAt;
  if (!isLate) expect(['processing', 'paid']).toContain(status);
}

/** Whether settled payments alone make the order paid. */
function isSettled({ order, quotes, payments, now }: OrderScene, status: OrderStatus): boolean {
  if (status !== 'paid') return false;
  const settled = payments.filter(({ state }) => state === 'settled' || state === 'dropped');
  return recount(order, quotes, settled, now).status === 'paid';
}

test('an order stands at what a naive count says, after any facts in any order', () => {
  fc.assert(
    fc.property(scenes, fc.array(step, { maxLength: 40, size: 'max' }), (scene, steps) => {
      steps.reduce(checkStep, scene);
    }),
    { numRuns: 2_000 },
  );
}, 60_000);
