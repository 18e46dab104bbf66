// The value of payments when they were first seen: requested from local price sources, stored, and
// shown. Neither payments nor callbacks wait for it.

import { afterEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { parsePriceSource } from '../../../src/price/sources.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../../support/app.ts';
import { runCli } from '../../support/cli.ts';
import { type Answer, type Receiver, startReceiver } from '../../support/receiver.ts';
import { signedIn, type Visitor } from '../../support/visitor.ts';

const sources: Receiver[] = [];
afterEach(async () => {
  await closeApps();
  for (const source of sources.splice(0)) await source.close();
});

const home = '/dashboard';
const minuteMs = 60_000;
const rates = { status: 200, body: JSON.stringify({ EUR: 50_000, JPY: '7500000.5' }) };

interface Shop {
  readonly app: TestApp;
  readonly visitor: Visitor;
}

/** A shop whose prices come from two local sources. */
async function openShop(
  currency: string | null,
  answer: () => Answer = () => rates,
  config: Partial<Config> = {},
): Promise<Shop> {
  for (let count = 0; count < 2; count += 1) sources.push(await startReceiver({ answer }));
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const app = await openApp({ config: { price: 'own', priceSource, ...config } });
  await app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency })),
  );
  await untilReady(app);
  return { app, visitor: await signedIn(app) };
}

async function pay({ app }: Shop, valueSat = 20_000): Promise<string> {
  const address = await app.newAddress();
  app.pay(address, valueSat);
  await app.settle();
  return address;
}

/** The stored price of each payment, newest first. */
const priced = ({ app }: Shop): Promise<(number | null)[]> =>
  app.withStore(async ({ paymentView: paymentDesk }) =>
    paymentDesk.list({ limit: 100 }).map(({ priceCents }) => priceCents),
  );

async function untilPriced(shop: Shop): Promise<void> {
  while ((await priced(shop)).includes(null)) await shop.app.world.turn();
}

const asked = (): number[] => sources.map(({ requests }) => requests.length);

test('P-172 a payment is shown with its value when first seen, in the list, on its page and in the CSV', async () => {
  const shop = await openShop('EUR');
  const { app, visitor } = shop;
  await pay(shop, 20_000);
  await untilPriced(shop);
  await pay(shop, 123_456);
  await untilPriced(shop);
  // The second payment arrives within a minute of the first.
  expect(asked()).toEqual([1, 1]);
  const { text } = await visitor.get(`${home}/payments`);
  expect(text).toContain('10.00 EUR');
  expect(text).toContain('61.73 EUR');
  const page = await visitor.get(`${home}/payments/1`);
  expect(page.text).toContain('10.00 EUR (1 BTC = 50000.00 EUR)');
  const table = (await visitor.get(`${home}/payments/export`)).text.split('\r\n');
  expect(table[0]).toMatch(/,replaced_by,currency,worth_when_seen,price_when_seen$/);
  expect(table[1]).toMatch(/,123456,.*,EUR,61\.73,50000\.00$/);
  expect(table[2]).toMatch(/,20000,.*,EUR,10\.00,50000\.00$/);
  const hosts = sources.map(({ origin }) => new URL(origin).host).sort();
  const accounts = (await visitor.get(`${home}/payments/export?format=paygate`)).text;
  expect(accounts.split(`,50000.00,10.00,${hosts.join(' ')},20000,`)).toHaveLength(2);
  // The stored value stays when the store's currency changes.
  await app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency: 'JPY' })),
  );
  await pay(shop, 1_000);
  await untilPriced(shop);
  const { text: later } = await visitor.get(`${home}/payments`);
  expect(later).toContain('10.00 EUR');
  expect(later).toContain('<span class="amount">75 JPY</span>');
});

test('without a currency no source is asked, and no price is shown', async () => {
  const shop = await openShop(null);
  await pay(shop);
  await shop.app.world.advance(3 * minuteMs);
  expect(asked()).toEqual([0, 0]);
  const { text } = await shop.visitor.get(`${home}/payments`);
  expect(text).not.toContain('price');
  expect((await shop.visitor.get(`${home}/payments/1`)).text).not.toContain(
    'Value when first seen',
  );
});

describe('sources that give no price', () => {
  test('delay neither payment nor callback', async () => {
    const shop = await openShop('EUR', () => 'hang');
    const address = await pay(shop);
    shop.app.chain.mine(2);
    await shop.app.settle();
    expect(shop.app.statuses(address)).toEqual(['0', '2']);
    await shop.app.world.until(() => asked().every((count) => count > 0), 'the question');
    expect(await priced(shop)).toEqual([null]);
    const { text } = await shop.visitor.get(`${home}/payments`);
    expect(text).toContain('requesting its price in EUR');
  });

  test('are asked again, at most once a minute, for ten minutes', async () => {
    let answer: Answer = { status: 500 };
    const shop = await openShop('EUR', () => answer);
    await pay(shop);
    await shop.app.world.until(() => asked().every((count) => count === 1), 'the question');
    await shop.app.world.advance(5 * minuteMs);
    expect(await priced(shop)).toEqual([null]);
    for (const count of asked()) expect(count).toBeLessThanOrEqual(6);
    answer = rates;
    await shop.app.world.advance(2 * minuteMs);
    await untilPriced(shop);
    expect(await priced(shop)).toEqual([5_000_000]);
  });

  test('leave the payment without a price after that, visibly and for good', async () => {
    let answer: Answer = { status: 500 };
    const shop = await openShop('EUR', () => answer);
    await pay(shop);
    await shop.app.world.advance(10 * minuteMs);
    answer = rates;
    await shop.app.world.advance(5 * minuteMs);
    await pay(shop);
    while ((await priced(shop))[0] === null) await shop.app.world.turn();
    expect(await priced(shop)).toEqual([5_000_000, null]);
    const no = 'no price in EUR was available';
    expect((await shop.visitor.get(`${home}/payments`)).text).toContain(no);
    expect((await shop.visitor.get(`${home}/payments/1`)).text).toContain(no);
    const table = (await shop.visitor.get(`${home}/payments/export`)).text.split('\r\n');
    expect(table[2]).toMatch(/,20000,.*,EUR,,$/);
  });

  test('payments do not wait for prices that are switched off', async () => {
    const shop = await openShop('EUR', () => rates, { price: 'off' });
    const address = await pay(shop);
    expect(shop.app.statuses(address)).toEqual(['0']);
    expect(asked()).toEqual([0, 0]);
  });
});

describe('a restart between a payment and its price', () => {
  async function restarted(downMs: number): Promise<Shop> {
    let answer: Answer = { status: 500 };
    const shop = await openShop('EUR', () => answer);
    await pay(shop);
    await shop.app.world.until(() => asked().every((count) => count === 1), 'the question');
    await shop.app.stop();
    answer = rates;
    await shop.app.world.advance(downMs);
    await shop.app.start();
    await untilReady(shop.app);
    await shop.app.world.advance(minuteMs);
    return shop;
  }

  test('keeps the request within ten minutes', async () => {
    const shop = await restarted(5 * minuteMs);
    await untilPriced(shop);
    expect(await priced(shop)).toEqual([5_000_000]);
  });

  test('assigns no price of a later time', async () => {
    const shop = await restarted(10 * minuteMs);
    await pay(shop);
    while ((await priced(shop))[0] === null) await shop.app.world.turn();
    expect(await priced(shop)).toEqual([5_000_000, null]);
  });
});

test('the currency is set and removed by command and in the dashboard', async () => {
  const { app, visitor } = await openShop(null);
  const set = async (...options: string[]): Promise<unknown> => {
    const { stdout } = await runCli([
      ...['store', 'set', '1', '--db', app.path, '--json', ...options],
    ]);
    return (JSON.parse(stdout) as { currency: unknown }).currency;
  };
  expect(await set('--currency', 'eur')).toBe('EUR');
  expect(await set('--name', 'Another')).toBe('EUR');
  expect(await set('--no-currency')).toBeNull();
  const fields = {
    name: 'Shop',
    'callback-url': `${app.receiver.origin}/cb`,
    confirmations: '2',
    'allow-private': 'on',
    'allow-http': 'on',
  };
  const submit = (currency: string) =>
    visitor.submit(`${home}/stores/1/general`, 'change', { ...fields, currency });
  const refused = await submit('=EU');
  expect([refused.status, refused.text.includes('ISO 4217')]).toEqual([400, true]);
  const current = () => app.withStore(async ({ catalog }) => catalog.store(1).currency);
  expect((await submit('chf')).status).toBe(303);
  expect(await current()).toBe('CHF');
  expect((await submit('')).status).toBe(303);
  expect(await current()).toBeNull();
});
