import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { hasFallen } from '../../src/checkout/shown-order.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { cleanUp } from '../support/files.ts';
import { inEuros, openOrder } from '../support/order-scene.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

type Counted = Parameters<typeof hasFallen>[0][number];

const reads = { count: 0 };

/** A payment that counts how often it is asked what replaced it. */
const payment = (txid: string, replacedBy?: string): Counted => ({
  payment: {
    txid: txid as Txid,
    state: replacedBy === undefined ? 'confirming' : 'dropped',
    get replacedBy() {
      reads.count += 1;
      return replacedBy ? (replacedBy as Txid) : null;
    },
  },
});

test.each<[boolean, string, Counted[]]>([
  [false, 'nothing is paid', []],
  [false, 'all are here', [payment('a'), payment('b')]],
  [true, 'one is gone', [payment('a'), payment('b', '')]],
  [
    false,
    'each is replaced by one that is here',
    [payment('a', 'c'), payment('b', 'a'), payment('c')],
  ],
  [false, 'two are replaced by one', [payment('a', 'c'), payment('b', 'c'), payment('c')]],
  [true, 'the last of a chain is gone', [payment('a', 'b'), payment('b', '')]],
  [true, 'a replacement pays elsewhere', [payment('a', 'x')]],
  [true, 'a second chain ends elsewhere', [payment('a', 'b'), payment('b'), payment('c', 'x')]],
  [true, 'they replace each other', [payment('a', 'b'), payment('b', 'a')]],
  [true, 'a chain leads into a circle', [payment('c', 'a'), payment('a', 'b'), payment('b', 'a')]],
])('money has fallen away: %s, if %s', (expected, _when, payments) => {
  expect(hasFallen(payments)).toBe(expected);
  expect(hasFallen(payments.toReversed())).toBe(expected);
});

test('a chain of replacements is followed once, in whichever order its payments come', () => {
  const length = 2_000;
  const chain = Array.from({ length }, (_, at) => payment(`${at}`, `${at + 1}`));
  const payments = [...chain, payment(`${length}`)];
  for (const each of [payments, payments.toReversed()]) {
    reads.count = 0;
    expect(hasFallen(each)).toBe(false);
    expect(reads.count).toBeLessThanOrEqual(length);
  }
});

test('an accepted order whose payment fell away within its quote shows the end of the order', async () => {
  const { pay, accept, evict, shown } = await openOrder(inEuros);
  expect(shown()).toMatchObject({ isQuoted: true, validUntil: now + 15 * minuteMs });
  await pay(10_000);
  await accept();
  await evict();
  expect(shown()).toMatchObject({
    ...{ stage: 'payable', hasFallen: true, isQuoted: false, validUntil: now + hourMs },
    order: { missing_sat: 10_000 },
  });
});
