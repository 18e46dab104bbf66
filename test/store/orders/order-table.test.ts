// Every fact that an order can meet, from every status: the status that follows, its event and its
// sums. Ledger, orders and events are those of the file. The table is that of docs/orders.md.

import { afterEach, describe, expect, test } from 'vitest';
import type { OrderStatus } from '../../../src/domain/order/order.ts';
import type { OrderJson } from '../../../src/domain/order/order-json.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/lib/time-units.ts';
import { cleanUp } from '../../support/files.ts';
import { inEuros, type OrderScene, openOrder } from '../../support/order-scene.ts';

afterEach(cleanUp);

type Step = (scene: OrderScene) => Promise<unknown>;

interface Outcome {
  /** Leads from a new order to the status, and what else is there. */
  readonly given: readonly Step[];
  readonly fact: readonly Step[];
  /** Without `order.` */
  readonly events: readonly string[];
  readonly json: Partial<OrderJson>;
}

const pay =
  (valueSat: number): Step =>
  (scene) =>
    scene.pay(valueSat);
const mine =
  (blocks: number): Step =>
  (scene) =>
    scene.mine(blocks);
const replace =
  (valueSat: number): Step =>
  (scene) =>
    scene.replace(valueSat);
const pass =
  (ms: number): Step =>
  (scene) =>
    scene.pass(ms);
const bump =
  (valueSat: number): Step =>
  (scene) =>
    scene.bump(valueSat);
const evict: Step = (scene) => scene.evict();
const dropReplaced: Step = (scene) => scene.dropReplaced();
const cancel: Step = (scene) => scene.cancel();
const accept: Step = (scene) => scene.accept();
const leave: Step = (scene) => scene.reorganise(2, 'mempool');
const lose: Step = (scene) => scene.reorganise(2, 'drop');
const price =
  (cents: number): Step =>
  (scene) =>
    scene.price(cents);
const requote: Step = (scene) => scene.requote(6_250_000);
const demand =
  (count: number): Step =>
  (scene) =>
    scene.requireConfirmations(count);
const refused =
  (step: Step, text: string): Step =>
  async (scene) => {
    await expect(step(scene)).rejects.toThrow(text);
  };

/** How an order of 25,000 sat comes to a status. */
const reach: Readonly<Record<OrderStatus, readonly Step[]>> = {
  open: [],
  processing: [pay(25_000)],
  paid: [pay(25_000), mine(2)],
  expired: [pass(hourMs + 5 * minuteMs)],
  canceled: [cancel],
};

type Case = [OrderStatus, readonly Step[], readonly string[], Partial<OrderJson>];

/** @param cases with what is there beside the status */
function row(fact: string, given: readonly Step[], cases: readonly Case[]): [string, Outcome][] {
  return cases.map(([from, happens, events, json]) => [
    `${fact}, from ${from}: ${json.status ?? from}, ${events.join(', ') || 'no event'}`,
    { given: [...reach[from], ...given], fact: happens, events, json: { status: from, ...json } },
  ]);
}

const sums = (received_sat: number, confirmed_sat: number, rest: Partial<OrderJson> = {}) => ({
  received_sat,
  confirmed_sat,
  ...rest,
});

const facts: [string, Outcome][] = [
  ...row(
    'less than enough is seen',
    [],
    [
      ['open', [pay(10_000)], ['updated'], sums(10_000, 0, { missing_sat: 15_000, late: false })],
      ['expired', [pay(10_000)], ['updated'], sums(10_000, 0, { missing_sat: null, late: true })],
      ['canceled', [pay(10_000)], ['updated'], sums(10_000, 0, { missing_sat: null, late: false })],
    ],
  ),
  ...row(
    'enough is seen',
    [],
    [
      ['open', [pay(25_000)], ['processing'], { status: 'processing', ...sums(25_000, 0) }],
      ['open', [pay(24_875)], ['processing'], { status: 'processing', missing_sat: 0 }],
      ['open', [pay(24_874)], ['updated'], { missing_sat: 126 }],
      ['expired', [pay(25_000)], ['processing'], { status: 'processing', late: true }],
      ['canceled', [pay(25_000)], ['updated'], sums(25_000, 0)],
    ],
  ),
  ...row(
    'enough is final',
    [],
    [
      ['open', [pay(25_000), mine(2)], ['processing', 'paid'], { status: 'paid' }],
      ['processing', [mine(2)], ['paid'], { status: 'paid', ...sums(25_000, 25_000) }],
      ['expired', [pay(25_000), mine(2)], ['processing', 'paid'], { status: 'paid', late: true }],
      ['canceled', [pay(25_000), mine(2)], ['updated'], sums(25_000, 25_000, { paid_at: null })],
    ],
  ),
  ...row(
    'more comes after that',
    [],
    [
      ['processing', [pay(5_000)], ['updated'], sums(30_000, 0, { excess_sat: 5_000 })],
      ['paid', [pay(5_000)], ['updated'], sums(30_000, 25_000, { excess_sat: 5_000 })],
      ['canceled', [pay(25_000), pay(5_000)], ['updated', 'updated'], { excess_sat: 5_000 }],
    ],
  ),
  ...row(
    'a payment is replaced, still as good',
    [pay(10_000)],
    [
      ['open', [replace(11_000)], ['updated'], sums(11_000, 0, { missing_sat: 14_000 })],
      ['processing', [replace(11_000)], ['updated'], sums(36_000, 0, { excess_sat: 11_000 })],
      ['paid', [replace(11_000)], ['updated'], sums(36_000, 25_000)],
      ['expired', [replace(11_000)], ['updated'], sums(11_000, 0, { late: true })],
      ['canceled', [replace(11_000)], ['updated'], sums(11_000, 0)],
    ],
  ),
  ...row(
    'a payment is replaced by one that is too little',
    [],
    [['processing', [replace(9_000)], ['reversed'], { status: 'open', missing_sat: 16_000 }]],
  ),
  ...row(
    'a payment is replaced, and not known to be gone yet',
    [pay(10_000)],
    [
      ['open', [bump(15_000)], ['updated'], sums(15_000, 0, { missing_sat: 10_000 })],
      ['open', [bump(15_000), dropReplaced], ['updated'], sums(15_000, 0)],
      ['open', [bump(25_000), dropReplaced], ['processing'], { status: 'processing' }],
      ['processing', [bump(15_000), dropReplaced], ['updated'], sums(40_000, 0)],
      ['paid', [bump(15_000), mine(2), dropReplaced], ['updated'], sums(40_000, 40_000)],
      ['expired', [bump(15_000), dropReplaced], ['updated'], { status: 'expired', late: true }],
    ],
  ),
  ...row(
    'a payment is double-spent',
    [],
    [
      ['processing', [replace(0)], ['reversed'], { status: 'open', ...sums(0, 0) }],
      ['open', [pay(10_000), replace(0)], ['updated', 'updated'], { missing_sat: 25_000 }],
      ['expired', [pay(10_000), replace(0)], ['updated', 'updated'], { late: false }],
      ['canceled', [pay(10_000), replace(0)], ['updated', 'updated'], sums(0, 0)],
    ],
  ),
  ...row(
    'a payment is evicted',
    [],
    [
      ['processing', [evict], ['reversed'], { status: 'open', missing_sat: 25_000 }],
      ['open', [pay(10_000), evict], ['updated', 'updated'], { missing_sat: 25_000 }],
      ['expired', [pay(25_000), evict], ['processing', 'reversed'], { late: false }],
    ],
  ),
  ...row(
    'a payment is double-spent in another branch',
    [],
    [
      ['paid', [lose], ['reversed'], { status: 'open', ...sums(0, 0), paid_at: null }],
      ['paid', [pass(2 * hourMs), lose], ['reversed'], { status: 'open', missing_sat: null }],
      [
        'paid',
        [pass(2 * hourMs), lose, pass(0)],
        ['reversed', 'expired'],
        { status: 'expired', missing_sat: null },
      ],
    ],
  ),
  ...row(
    'the block leaves the chain, and the payment is still seen',
    [],
    [
      ['open', [pay(10_000), mine(1), leave], ['updated'], sums(10_000, 0)],
      ['processing', [mine(1), leave], [], sums(25_000, 0)],
      ['paid', [leave], ['reversed'], { status: 'processing', ...sums(25_000, 0), paid_at: null }],
      ['expired', [pay(10_000), mine(1), leave], ['updated'], sums(10_000, 0)],
      ['canceled', [pay(10_000), mine(1), leave], ['updated'], sums(10_000, 0)],
    ],
  ),
  ...row(
    'the payment is mined, not final',
    [pay(10_000)],
    [
      ['open', [mine(1)], [], sums(10_000, 0)],
      ['processing', [mine(1)], [], sums(35_000, 0)],
      ['expired', [mine(1)], [], sums(10_000, 0)],
      ['canceled', [mine(1)], [], sums(10_000, 0)],
    ],
  ),
  ...row(
    'the payment is mined again',
    [],
    [
      ['paid', [leave, mine(1)], ['reversed'], { status: 'processing' }],
      ['paid', [leave, mine(2)], ['reversed', 'paid'], { status: 'paid' }],
    ],
  ),
  ...row(
    "the order's time is over",
    [],
    [
      ['open', [pass(hourMs)], ['expired'], { status: 'expired', missing_sat: null, uri: null }],
      ['processing', [pass(2 * hourMs)], [], sums(25_000, 0)],
      ['paid', [pass(2 * hourMs)], [], sums(25_000, 25_000)],
      ['canceled', [pass(2 * hourMs)], [], {}],
    ],
  ),
  ...row(
    'a new quote, priced in satoshis',
    [],
    [['open', [refused(requote, 'needs no quote')], [], { missing_sat: 25_000 }]],
  ),
  ...row(
    'cancel',
    [],
    [
      ['open', [cancel], ['canceled'], { status: 'canceled', missing_sat: null, uri: null }],
      ['processing', [refused(cancel, 'processing')], [], {}],
      ['paid', [refused(cancel, 'paid')], [], {}],
      ['expired', [cancel], ['canceled'], { status: 'canceled' }],
      ['canceled', [cancel], [], {}],
    ],
  ),
  ...row(
    'accept',
    [],
    [
      ['open', [refused(accept, 'nothing')], [], {}],
      ['open', [pay(9_000), accept], ['updated', 'processing'], { status: 'processing' }],
      ['open', [pay(9_000), mine(2), accept], ['updated', 'paid'], { status: 'paid' }],
      ['processing', [refused(accept, 'processing')], [], {}],
      ['paid', [accept], [], { accepted_at: null }],
      ['expired', [pay(9_000), accept], ['updated', 'processing'], { status: 'processing' }],
      ['expired', [pay(9_000), mine(2), accept], ['updated', 'paid'], { status: 'paid' }],
      ['canceled', [pay(9_000), accept], ['updated', 'processing'], { status: 'processing' }],
      ['canceled', [pay(9_000), mine(2), accept], ['updated', 'paid'], { status: 'paid' }],
      ['canceled', [refused(accept, 'nothing')], [], {}],
    ],
  ),
  ...row(
    'what was accepted falls below that, and is accepted again',
    [],
    [
      [
        'open',
        [pay(9_000), mine(1), pay(1_000), accept, evict],
        ['updated', 'updated', 'processing', 'reversed'],
        { missing_sat: 1_000 },
      ],
      [
        'canceled',
        [pay(9_000), mine(1), pay(1_000), accept, evict, accept],
        ['updated', 'updated', 'processing', 'reversed', 'processing'],
        { status: 'processing', missing_sat: 0 },
      ],
    ],
  ),
  ...row(
    'the store requires more confirmations',
    [],
    [
      ['processing', [mine(1), demand(3), mine(1)], [], sums(25_000, 0)],
      ['processing', [mine(1), demand(3), mine(2)], ['paid'], { status: 'paid' }],
      ['paid', [demand(6)], [], sums(25_000, 25_000)],
      ['paid', [mine(145), demand(200)], [], sums(25_000, 25_000)],
    ],
  ),
];

async function expectOutcome(scene: OrderScene, { given, fact, events, json }: Outcome) {
  for (const step of given) await step(scene);
  scene.newEvents();
  for (const step of fact) await step(scene);
  expect(scene.newEvents()).toEqual(events.map((each) => `order.${each}`));
  expect(scene.json()).toMatchObject(json);
}

describe('an order of 25,000 sat', () => {
  test.each(facts)('%s', async (_title, outcome) => {
    await expectOutcome(await openOrder(), outcome);
  });
});

const late = pass(20 * minuteMs);
const inFiat: [string, Outcome][] = [
  ...row(
    'the quote is over',
    [],
    [['open', [late], [], { missing_sat: null, uri: null, quote: null, amount_sat: 25_000 }]],
  ),
  ...row(
    'a new quote',
    [late],
    [
      ['open', [requote], [], { missing_sat: 20_000, amount_sat: 20_000 }],
      ['open', [requote, refused(requote, 'in force')], [], { missing_sat: 20_000 }],
      [
        'open',
        [pay(12_500), price(5_000_000), pass(1), requote],
        ['updated'],
        { missing_sat: 10_000 },
      ],
      ['processing', [refused(requote, 'processing')], [], {}],
      ['paid', [refused(requote, 'paid')], [], {}],
      ['expired', [refused(requote, 'expired')], [], {}],
      ['canceled', [refused(requote, 'canceled')], [], {}],
    ],
  ),
  ...row(
    'the price of a late payment becomes known',
    [late, pay(25_000)],
    [
      ['open', [price(6_000_000)], ['processing'], { status: 'processing', late: true }],
      ['open', [mine(2), price(6_000_000)], ['paid'], { status: 'paid', late: true }],
      ['open', [price(4_000_000)], [], { late: true, missing_sat: null }],
      ['processing', [price(5_000_000)], [], { excess_sat: 25_000 }],
      ['paid', [price(5_000_000)], [], { excess_sat: 25_000 }],
      ['expired', [price(6_000_000)], ['processing'], { status: 'processing', late: true }],
      ['expired', [price(4_000_000)], [], { late: true }],
      ['canceled', [price(5_000_000)], [], { excess_sat: 0 }],
    ],
  ),
  ...row(
    'a late payment that is worth less is accepted',
    [late, pay(25_000)],
    [
      ['open', [price(4_000_000), accept], ['processing'], { status: 'processing' }],
      ['expired', [price(4_000_000), mine(2), accept], ['paid'], { status: 'paid' }],
    ],
  ),
  ...row(
    'a payment of no known price is accepted',
    [late, pay(25_000)],
    [
      ['open', [accept], ['processing'], { status: 'processing', excess_sat: 0 }],
      ['expired', [mine(2), accept], ['paid'], { status: 'paid' }],
      ['canceled', [mine(2), accept], ['paid'], { status: 'paid' }],
    ],
  ),
  ...row(
    'a payment is mined more than a day after its quote',
    [pass(dayMs + hourMs)],
    [
      ['processing', [mine(1)], ['reversed'], { status: 'open', late: true, missing_sat: null }],
      ['processing', [mine(1), pass(0)], ['reversed', 'expired'], { status: 'expired' }],
      ['processing', [mine(2), accept], ['reversed', 'paid'], { status: 'paid' }],
      ['processing', [mine(1), pass(0), accept], ['reversed', 'expired', 'processing'], {}],
      ['processing', [mine(1), cancel], ['reversed', 'canceled'], { status: 'canceled' }],
      ['processing', [mine(1), cancel, accept], ['reversed', 'canceled', 'processing'], {}],
    ],
  ),
];

describe('an order of 12.50 EUR at 50,000 EUR', () => {
  test.each(inFiat)('%s', async (_title, outcome) => {
    await expectOutcome(await openOrder(inEuros), outcome);
  });
});

test('a payment below the minimum counts, and makes no event alone', async () => {
  const scene = await openOrder({}, { minimumSat: 10_000 });
  await scene.pay(9_000);
  expect(scene.newEvents()).toEqual([]);
  expect(scene.json()).toMatchObject({ status: 'open', received_sat: 9_000, version: 1 });
  await scene.pay(16_000);
  expect(scene.newEvents()).toEqual(['order.processing']);
});

test('late money counts nothing for a store that is asked, until it is accepted', async () => {
  const scene = await openOrder({ latePolicy: 'ask' });
  await scene.pass(hourMs + 5 * minuteMs);
  await scene.pay(25_000);
  expect(scene.json()).toMatchObject({ status: 'expired', late: false, received_sat: 25_000 });
  await scene.accept();
  expect(scene.newEvents()).toEqual(['order.expired', 'order.updated', 'order.processing']);
});
