// Orders in EUR on a real chain. Payments are exact, in parts, a little too low, too high and late.
// The chain replaces, double-spends and reorganises them. Paygate is killed between the steps.

import { expect } from 'vitest';
import { behindSeconds, type Order, type OrderShop, openOrderShop } from './orders.ts';
import { untilCheckedAgain } from './paygate.ts';
import { test } from './stage.ts';

/** At 50,000 EUR: 25,000 sat. */
const poster = { amount: '12.50', currency: 'EUR', reference: '1007', quote_seconds: 300 };
/** After a quote of 300 s and the two minutes for which it still holds. */
const untilLate = 421;

test('an order is paid exactly, with kill -9 between each two steps', async ({ stage }) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const order = await shop.create(poster);
  const { address, made } = order;
  expect(made).toMatchObject({
    ...{ status: 'open', version: 1, amount: '12.50', currency: 'EUR', amount_sat: 25_000 },
    ...{ missing_sat: 25_000, quote: { rate: '50000.00' }, payments: [] },
    uri: expect.stringMatching(new RegExp(`^bitcoin:${address}\\?amount=0.00025&`)),
  });
  await shop.killAndStart();
  expect(await order.get()).toEqual(made);

  const txid = await order.pay(25_000);
  const seen = { txid, value_sat: 25_000, rate: '50000.00', late: false };
  const enough = { received_sat: 25_000, missing_sat: 0, excess_sat: 0, uri: null };
  await order.becomes({ ...enough, status: 'processing', payments: [{ ...seen, status: 0 }] });
  await order.expectEvents('order.processing');
  await shop.killAndStart();
  await network.mine();
  await order.becomes({ ...enough, status: 'processing', payments: [{ ...seen, status: 1 }] });
  await shop.killAndStart();
  await network.mine();
  await order.becomes({ ...enough, status: 'paid', confirmed_sat: 25_000, late: false });
  await shop.killAndStart();
  await order.expectEvents('order.processing', 'order.paid');
  const steps = ['payment.seen', 'payment.mined', 'payment.confirmed'];
  expect(shop.webhooks.paymentEvents(txid)).toEqual(steps);

  // The next one is paid in an outage in which its quote ends and the price falls.
  const second = await shop.create(poster);
  await shop.killAndStart(async () => {
    await second.pay(25_000);
    await network.mine();
    shop.clock.advance(untilLate);
    shop.market.eur = 40_000;
  });
  await second.becomes({
    ...enough,
    status: 'processing',
    late: false,
    payments: [{ late: false }],
  });
  await shop.killAndStart(() => network.mine());
  await second.becomes({ ...enough, status: 'paid', late: false });
  await second.expectEvents('order.processing', 'order.paid');
  await shop.finish();
});

test('an order is paid in two parts over a new quote, with kill -9 between each two steps', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const order = await shop.create({ ...poster, amount: '20.00' });
  expect(order.made).toMatchObject({ amount_sat: 40_000, missing_sat: 40_000 });
  await shop.killAndStart();
  await order.pay(20_000);
  await order.becomes({ status: 'open', received_sat: 20_000, missing_sat: 20_000 });
  expect((await order.get()).uri).toContain(`bitcoin:${order.address}?amount=0.0002&`);
  await shop.killAndStart();

  await shop.passTime(untilLate);
  shop.market.eur = 40_000;
  await order.becomes({ status: 'open', quote: null, missing_sat: null, uri: null });
  await shop.killAndStart();
  // 10 EUR are paid; the other 10 EUR are 25,000 sat now.
  const requoted = { amount_sat: 50_000, missing_sat: 25_000, quote: { rate: '40000.00' } };
  expect(await order.post('quote')).toMatchObject(requoted);
  await shop.killAndStart();
  expect(await order.get()).toMatchObject({ ...requoted, address: order.address });

  await order.pay(25_000);
  const enough = { received_sat: 45_000, missing_sat: 0, excess_sat: 0, late: false };
  const payments = [{ rate: '40000.00' }, { rate: '50000.00' }];
  await order.becomes({ ...enough, status: 'processing', payments });
  await shop.killAndStart();
  await network.mine();
  await order.becomes({ ...enough, payments: [{ status: 1 }, { status: 1 }] });
  await shop.killAndStart();
  await network.mine();
  await order.becomes({ ...enough, status: 'paid', confirmed_sat: 45_000, payments });
  await shop.killAndStart();
  await order.expectEvents('order.updated', 'order.processing', 'order.paid');
  await shop.finish();
});

test('orders are paid a little too low, too high, late and worth it, and late and accepted', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const short = await shop.create(poster);
  const high = await shop.create(poster);
  const worth = await shop.create({ ...poster, expires_in: 300 });
  const worthLess = await shop.create({ ...poster, expires_in: 300 });
  await short.pay(24_900); // 0.4 % less
  await high.pay(30_000);
  await short.becomes({ status: 'processing', missing_sat: 0, excess_sat: 0, uri: null });
  await high.becomes({ status: 'processing', missing_sat: 0, excess_sat: 5_000, uri: null });

  await shop.passTime(untilLate);
  for (const order of [worth, worthLess]) {
    await order.becomes({ status: 'expired', quote: null, missing_sat: null, uri: null });
  }
  shop.market.eur = 51_000;
  await worth.pay(25_000);
  // The lower one of the quote's rate and the price.
  const higher = { late: true, payments: [{ rate: '50000.00', late: true }] };
  await worth.becomes({ status: 'processing', ...higher });

  await shop.passTime(61);
  shop.market.eur = 40_000;
  await worthLess.pay(25_000);
  const lower = { late: true, received_sat: 25_000, payments: [{ rate: '40000.00', late: true }] };
  await worthLess.becomes({ status: 'expired', missing_sat: null, ...lower });
  await network.mine();
  await worthLess.becomes({ status: 'expired', ...lower, payments: [{ status: 1 }] });
  expect(await worthLess.post('accept')).toMatchObject({ status: 'processing', ...lower });

  await network.mine();
  await short.becomes({ status: 'paid', received_sat: 24_900, confirmed_sat: 24_900 });
  await high.becomes({ status: 'paid', excess_sat: 5_000, confirmed_sat: 30_000 });
  await worth.becomes({ status: 'paid', ...higher });
  await worthLess.becomes({ status: 'paid', accepted_at: expect.any(Number), ...lower });
  await short.expectEvents('order.processing', 'order.paid');
  await high.expectEvents('order.processing', 'order.paid');
  // What a late payment is worth is known after it is recorded.
  const late = ['order.expired', 'order.updated', 'order.processing', 'order.paid'];
  await worth.expectEvents(...late);
  await worthLess.expectEvents(...late);
  await shop.finish();
});

/** Passes the end of a quote, until paygate watches again: only then does an order expire. */
async function untilQuoteIsOver(shop: OrderShop): Promise<void> {
  const ending = await shop.create({ ...poster, expires_in: 300 });
  await shop.passTime(untilLate);
  await ending.becomes({ status: 'expired' });
  shop.market.eur = 40_000;
}

const isLate = async (order: Order, ...more: object[]): Promise<void> =>
  order.becomes({
    status: 'open',
    late: true,
    received_sat: 25_000,
    payments: [{ rate: '40000.00', late: true }, ...more],
  });

test('what is paid in a stop is late if its quote was over at the last look', async ({ stage }) => {
  const shop = await openOrderShop(stage);
  const order = await shop.create(poster);
  await untilQuoteIsOver(shop);
  await shop.stopAndStart(() => order.pay(25_000));
  await isLate(order);
  const early = await shop.create({ ...poster, amount: '10.00' });
  await shop.stopAndStart(async () => {
    await early.pay(25_000);
    shop.clock.advance(untilLate);
  });
  await early.becomes({ status: 'processing', late: false, payments: [{ rate: '40000.00' }] });
  await shop.finish();
});

test('a placeholder leaves its time to as many satoshis as it had', async ({ stage }) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const order = await shop.create(poster);
  const placeholder = await order.pay(600);
  await order.becomes({ received_sat: 600, late: false });
  await untilQuoteIsOver(shop);
  const { address } = order;
  const whole = await network.replace(placeholder, { address, valueSat: 25_000 });
  // 600 sat at 50,000 and 24,400 at 40,000 are 10.06 EUR.
  await expect
    .poll(() => order.get(), untilCheckedAgain)
    .toMatchObject({
      ...{ status: 'open', late: true, received_sat: 25_000 },
      payments: [
        { txid: whole, rate: '40240.00', late: true },
        { txid: placeholder, gone: true, replaced_by: whole },
      ],
    });
  await network.mine(2);
  await order.becomes({ status: 'open', confirmed_sat: 25_000, late: true });
  await shop.finish();
});

test('the time of a block makes no payment earlier that was seen live', async ({ stage }) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  await shop.passTime(behindSeconds);
  const order = await shop.create(poster);
  await untilQuoteIsOver(shop);
  await order.pay(25_000);
  await isLate(order);
  const [hash = ''] = await network.mine(2);
  const { time } = await network.rpc('getblockheader', hash);
  expect(time).toBeLessThan(order.made.quote?.expires_at ?? 0);
  await isLate(order);
  await order.becomes({ status: 'open', confirmed_sat: 25_000 });
  await shop.finish();
});

test('payments to orders are reorganised, replaced and double-spent', async ({ stage }) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const reorganised = await shop.create(poster);
  await reorganised.pay(25_000);
  await reorganised.becomes({ status: 'processing' });
  await network.mine(2);
  await reorganised.becomes({ status: 'paid' });
  await reorganised.expectEvents('order.processing', 'order.paid');
  await network.reorganise(2, 'left out');
  await reorganised.becomes({ status: 'processing', confirmed_sat: 0, paid_at: null });
  await network.mine(2);
  await reorganised.becomes({ status: 'paid', confirmed_sat: 25_000 });
  const again = ['order.reversed', 'order.paid'];
  await reorganised.expectEvents('order.processing', 'order.paid', ...again);

  const bumped = await shop.create(poster);
  const stolen = await shop.create(poster);
  const original = await bumped.pay(25_000);
  const doomed = await stolen.pay(25_000);
  await bumped.becomes({ status: 'processing' });
  await stolen.becomes({ status: 'processing' });
  const replacement = await network.bumpFee(original);
  await network.doubleSpend(doomed);
  const isGone = { txid: original, gone: true, replaced_by: replacement };
  const payments = [{ txid: replacement, gone: false }, isGone];
  await expect
    .poll(() => bumped.get(), untilCheckedAgain)
    .toMatchObject({ status: 'processing', received_sat: 25_000, payments });
  await expect
    .poll(() => stolen.get(), untilCheckedAgain)
    .toMatchObject({
      ...{ status: 'open', received_sat: 0, missing_sat: 25_000 },
      payments: [{ txid: doomed, gone: true, replaced_by: null }],
    });
  await stolen.expectEvents('order.processing', 'order.reversed');
  await network.mine(2);
  await bumped.becomes({ status: 'paid', received_sat: 25_000, excess_sat: 0 });
  // The replacement may be seen before the original is known to be gone, or in the same commit.
  const updates = (await bumped.eventTypes()).filter((type) => type === 'order.updated');
  expect([1, 2]).toContain(updates.length);
  await bumped.expectEvents('order.processing', ...updates, 'order.paid');
  await shop.finish('reorganised');
});

test('the webhook is down for events of three orders, and paygate is killed meanwhile', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await openOrderShop(stage);
  const { webhooks } = shop;
  const orders = [await shop.create(poster), await shop.create(poster), await shop.create(poster)];
  webhooks.isDown = true;
  for (const order of orders) await order.pay(25_000);
  for (const order of orders) {
    await order.becomes({ status: 'processing' });
    await expect.poll(() => webhooks.failedOf(order.id)).toEqual(['order.processing']);
  }
  await shop.killAndStart(async () => {
    webhooks.isDown = false;
  });
  for (const order of orders) await order.expectEvents('order.processing');
  await network.mine(2);
  for (const order of orders) {
    await order.becomes({ status: 'paid' });
    await order.expectEvents('order.processing', 'order.paid');
  }
  await shop.finish();
});
