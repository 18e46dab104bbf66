// Orders with a discount or a surcharge, by API, dashboard, link, till and plugin. What is due,
// what people see, late money, a refund and the file for accounts agree.

import { afterEach, describe, expect, test } from 'vitest';
import { languages } from '../../src/domain/text/language.ts';
import { closeApps, type TestApp } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { openLink } from '../support/links.ts';
import { openPriced } from '../support/priced.ts';
import { openTill } from '../support/tills.ts';
import { signedIn, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const euro = { amount: '10.00', currency: 'EUR' };

/** The setting of the store, in hundredths of a percent. */
const adjust = (app: TestApp, adjustBasisPoints: number): Promise<void> =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => void catalog.changeStore(tx, 1, { adjustBasisPoints })),
  );

/** An app whose store gives 5 % off. */
async function openShop() {
  const app = await openPriced();
  await adjust(app, -500);
  return app;
}

/** The text of a page, without elements and isolates. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/[\u2066-\u2069]/g, '')
    .replaceAll(/\s+/g, ' ');

describe('an order of 10.00 EUR less 5 %', () => {
  test('is paid with the worth of 9.50', async () => {
    const app = await openShop();
    const order = await app.order(euro);
    expect(order).toMatchObject({
      ...{ amount: '10.00', currency: 'EUR', adjust_percent: -5, amount_due: '9.50' },
      ...{ amount_sat: 19_000, missing_sat: 19_000, quote: { amount_sat: 19_000 } },
    });
    app.pay(order.address, 19_000);
    app.chain.mine(2);
    await app.settle();
    expect((await app.get(`/orders/${order.id}`)).body).toMatchObject({
      ...{ status: 'paid', excess_sat: 0, received_sat: 19_000, amount: '10.00' },
    });
  });

  test('lacks what 9.50 lacks, and has too much above it', async () => {
    const app = await openShop();
    const short = await app.order({ ...euro, tolerance_percent: 0 });
    app.pay(short.address, 18_999);
    const over = await app.order(euro);
    app.pay(over.address, 20_000);
    await app.settle();
    const orders = [short, over].map(async ({ id }) => (await app.get(`/orders/${id}`)).body);
    expect(await Promise.all(orders)).toMatchObject([
      { status: 'open', missing_sat: 1 },
      { status: 'processing', excess_sat: 1_000 },
    ]);
  });

  test('is worth 9.50 at the rate of a new quote, and late money counts against that', async () => {
    const app = await openShop();
    const order = await app.order({ ...euro, expires_in: 7_200, tolerance_percent: 0 });
    await app.world.advance(901_000);
    app.market.rates = { EUR: 40_000 };
    const { body } = await app.post(`/orders/${order.id}/quote`);
    expect(body).toMatchObject({ amount_sat: 23_750, amount_due: '9.50', amount: '10.00' });
    // After the order has ended, its payment counts at the rate of its time.
    await app.world.advance(3_600_000);
    await app.settle();
    app.pay(order.address, 23_750);
    await app.settle();
    app.chain.mine(2);
    await app.settle();
    expect((await app.get(`/orders/${order.id}`)).body).toMatchObject({
      ...{ status: 'paid', late: true, excess_sat: 0 },
    });
  });

  test('may have its own percentage, and a price in satoshis has none', async () => {
    const app = await openShop();
    expect(await app.order({ ...euro, adjust_percent: 0 })).toMatchObject({
      ...{ adjust_percent: 0, amount_due: '10.00', amount_sat: 20_000 },
    });
    expect(await app.order({ ...euro, adjust_percent: 2.5 })).toMatchObject({
      ...{ adjust_percent: 2.5, amount_due: '10.25', amount_sat: 20_500 },
    });
    expect(await app.order({ amount_sat: 20_000 })).toMatchObject({
      ...{ adjust_percent: 0, amount_due: null, amount_sat: 20_000 },
    });
    const refused = await app.post('/orders', { amount_sat: 20_000, adjust_percent: -5 });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'adjust_percent: a price in satoshis has no discount and no surcharge',
    ]);
    // Too small to send: what is due counts.
    const small = await app.post('/orders', { amount: '0.28', currency: 'EUR' });
    expect([small.status, small.body.message]).toEqual([400, expect.stringContaining('532 sat')]);
  });

  test('stays as it was made when the setting changes', async () => {
    const app = await openShop();
    const order = await app.order(euro);
    await adjust(app, 0);
    expect((await app.get(`/orders/${order.id}`)).body).toEqual(order);
    expect(await app.order(euro)).toMatchObject({ amount_sat: 20_000 });
  });

  test.each([
    ['JPY', 8_000_000, '1000', '950', 11_875],
    ['KWD', 15_000, '10.000', '9.500', 63_334],
  ])('in %s', async (currency, rate, amount, due, sat) => {
    const app = await openShop();
    app.market.rates = { [currency]: rate };
    expect(await app.order({ amount, currency })).toMatchObject({
      ...{ amount, amount_due: due, amount_sat: sat },
    });
  });

  test('is shown with its discount or surcharge in each language', async () => {
    const app = await openShop();
    const order = await app.order(euro);
    const dearer = await app.order({ ...euro, adjust_percent: 7.25 });
    const plain = await app.order({ ...euro, adjust_percent: 0 });
    const shown: Record<string, readonly (string | undefined)[]> = {};
    for (const language of Object.keys(languages)) {
      const lineOf = async ({ id }: { id: string }) => {
        const { text } = await visitorOf(app).get(`/o/${id}?lang=${language}`);
        const [, line] = /<p class="adjustment">(.*?)<\/p>/s.exec(text) ?? [];
        return line && textOf(line).trim();
      };
      expect(await lineOf(plain)).toBeUndefined();
      shown[language] = [await lineOf(order), await lineOf(dearer)];
    }
    expect(shown).toMatchInlineSnapshot(`
      {
        "ar": [
          "10.00 € · خصم 5%",
          "10.00 € · رسوم إضافية 7.25%",
        ],
        "cs": [
          "10,00 € · Sleva 5 %",
          "10,00 € · Přirážka 7,25 %",
        ],
        "de": [
          "10,00 € · 5 % Rabatt",
          "10,00 € · 7,25 % Aufschlag",
        ],
        "en": [
          "€10.00 · 5% discount",
          "€10.00 · 7.25% surcharge",
        ],
        "es": [
          "10,00 € · Descuento del 5 %",
          "10,00 € · Recargo del 7,25 %",
        ],
        "fr": [
          "10,00 € · Remise de 5 %",
          "10,00 € · Supplément de 7,25 %",
        ],
        "it": [
          "10,00 € · Sconto del 5%",
          "10,00 € · Maggiorazione del 7,25%",
        ],
        "ja": [
          "€10.00 · 5% 割引",
          "€10.00 · 7.25% の追加料金",
        ],
        "nl": [
          "€ 10,00 · 5% korting",
          "€ 10,00 · 7,25% toeslag",
        ],
        "pl": [
          "10,00 € · Rabat 5%",
          "10,00 € · Dopłata 7,25%",
        ],
        "pt-BR": [
          "€ 10,00 · Desconto de 5%",
          "€ 10,00 · Acréscimo de 7,25%",
        ],
      }
    `);
    const { text } = await visitorOf(app).get(`/o/${order.id}?lang=en`);
    expect(textOf(/<p class="price">.*?<\/p>/s.exec(text)?.[0] ?? '')).toContain('9.50');
  });

  test('is shown to the merchant, refunded at what was due, and in the file for accounts', async () => {
    const app = await openShop();
    const visitor = await signedIn(app);
    const made = await visitor.submit('/dashboard/orders/new', 'take', {
      ...{ store: '1', currency: 'EUR', amount: '10.00' },
    });
    const page = made.to ?? '';
    expect(textOf((await visitor.get(page)).text)).toContain(
      '10.00 EUR, 5 % discount: 9.50 EUR = 19,000 sat',
    );
    const [order] = (await app.get('/orders')).body.data;
    app.pay(order.address, 19_000);
    app.chain.mine(2);
    await app.settle();
    app.market.rates = { EUR: 50_000 };
    const refund = textOf((await visitor.get(`${page}/refund`)).text);
    expect(refund).toContain('All that is confirmed: 19,000 sat');
    const file = await visitor.get('/dashboard/payments/export?format=paygate');
    const [head = '', row = ''] = file.text.split('\r\n').map((line) => line.split(','));
    const cell = (name: string) => row[head.indexOf(name)];
    expect(['price', 'adjust_percent', 'amount_due', 'value_at_locked_rate'].map(cell)).toEqual([
      ...['10.00', '-5', '9.50', '9.50'],
    ]);
  });
});

describe('a link', () => {
  test('has the discount of its store or its own, and shows it before an order is made', async () => {
    const link = await openLink(euro);
    await adjust(link.app, -500);
    const lines = async () => textOf((await link.see('?lang=en')).text);
    expect(await lines()).toContain('€9.50 €10.00 · 5% discount');
    await link.submit();
    await link.change({ adjust_percent: 10 });
    expect(await lines()).toContain('€11.00 €10.00 · 10% surcharge');
    await link.submit();
    await link.change({ adjust_percent: 0 });
    expect(await lines()).not.toMatch(/discount|surcharge/);
    await link.submit();
    expect(
      (await link.orders()).map(({ amount_sat, amount_due }) => [amount_sat, amount_due]),
    ).toEqual([
      [20_000, '10.00'],
      [22_000, '11.00'],
      [19_000, '9.50'],
    ]);
  });

  test('whose payer enters the amount takes the discount off what is entered', async () => {
    const link = await openLink({ currency: 'EUR', adjust_percent: -20 });
    expect(textOf((await link.see('?lang=en')).text)).toContain('20% discount');
    await link.submit({ amount: '10' });
    expect(await link.orders()).toMatchObject([
      { amount: '10.00', adjust_percent: -20, amount_due: '8.00', amount_sat: 16_000 },
    ]);
  });

  test('in satoshis has none, whatever the store has', async () => {
    const link = await openLink({ amount_sat: 20_000 });
    await adjust(link.app, -500);
    expect((await link.see('?lang=en')).text).not.toContain('discount');
    await link.submit();
    expect(await link.orders()).toMatchObject([{ adjust_percent: 0, amount_sat: 20_000 }]);
  });

  test('changes the order of a browser when the discount has changed', async () => {
    const link = await openLink(euro);
    const payer = link.browser();
    await payer.submit();
    await link.change({ adjust_percent: -5 });
    await payer.submit();
    await payer.submit();
    expect(await link.orders()).toMatchObject([{ amount_due: '9.50', amount_sat: 19_000 }]);
  });

  test('is changed by its form in the dashboard', async () => {
    const link = await openLink(euro);
    const visitor = await signedIn(link.app);
    const page = '/dashboard/links/1';
    const fields = { title: 'Poster', currency: 'EUR', amount: '10.00', note: 'no' };
    await visitor.submit(page, 'change', { ...fields, 'adjust-percent': '-2,5' });
    const { body } = await link.app.get(`/links/${link.id}`);
    expect(body).toMatchObject({ adjust_percent: -2.5 });
    expect((await visitor.get(page)).text).toContain('value="-2.5"');
    const refused = await visitor.submit(page, 'change', { ...fields, 'adjust-percent': '21' });
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('from -20 to 20'),
    ]);
  });
});

test('a till tells the customer what is due, and adds that up', async () => {
  const scene = await openTill();
  await adjust(scene.app, -500);
  const sale = await scene.sell('10.00');
  const text = textOf((await scene.device.get(sale)).text);
  expect(text).toContain('€9.50 €10.00 · 5% discount');
  const [order] = await scene.orders();
  scene.app.pay(order?.address ?? '', 19_000);
  await scene.app.settle();
  const sales = textOf((await scene.device.get('/till/sales')).text);
  expect(sales.match(/€9\.50/g)).toHaveLength(2);
  expect(sales).not.toContain('10.00');
});

test('BTCPay plugins see their own price, and what is due for it in bitcoin', async () => {
  const { app, ask } = await openGreenfield();
  await adjust(app, -500);
  const invoices = '/stores/{s}/invoices';
  const { body } = await ask('POST', invoices, '{"amount":"10.00","currency":"EUR"}');
  expect(body).toMatchObject({ amount: '10.00', currency: 'EUR' });
  const methods = await ask('GET', `${invoices}/${body.id}/payment-methods`);
  expect(methods.body).toMatchObject([{ amount: '0.00019', due: '0.00019', rate: '50000.00' }]);
});

test('a store is set by its page', async () => {
  const app = await openPriced();
  const visitor = await signedIn(app);
  const page = '/dashboard/stores/1/general';
  const { text } = await visitor.get(page);
  expect(text).toContain('Discount or surcharge (percent)');
  const values = [...text.matchAll(/<input[^>]* name="([\w-]+)"[^>]*? value="([^"]*)"/g)];
  const fields = Object.fromEntries(values.map(([, name = '', value = '']) => [name, value]));
  const own = { ...fields, 'adjust-percent': '−5' };
  const saved = await visitor.submit(page, 'change', own);
  expect([saved.status, saved.text]).toEqual([303, '']);
  expect(await app.order(euro)).toMatchObject({ adjust_percent: -5 });
});

test('commands set a discount, show it, and refuse one that is out of bounds', async () => {
  const link = await openLink(euro);
  const run = (...args: string[]) => runCli([...args, '--db', link.app.path]);
  const percent = ['--adjust-percent'];
  expect((await run('store', 'set', '1', ...percent, '-5')).code).toBe(0);
  expect((await run('store', 'show', '1')).stdout).toContain('tolerance 0.5 %, discount 5 %');
  const shown = JSON.parse((await run('store', 'show', '1', '--json')).stdout);
  expect(shown).toMatchObject({ adjust_percent: -5 });
  const set = await run('links', 'set', link.id, ...percent, '2.5');
  expect(set.stdout).toMatch(/\nsurcharge +2\.5 %\n/);
  const off = await run('links', 'set', link.id, '--no-adjust-percent', '--json');
  expect(JSON.parse(off.stdout)).toMatchObject({ adjust_percent: null });
  for (const command of [
    ['store', 'set', '1'],
    ['links', 'set', link.id],
  ]) {
    const refused = await run(...command, ...percent, '-20.01');
    expect([command, refused.code]).toEqual([command, 2]);
    expect(refused.stderr).toContain('a number from -20 to 20 with at most 2 decimals is expected');
  }
});
