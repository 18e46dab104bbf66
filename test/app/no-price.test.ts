// A currency without a price is a finding: orders in it are refused. It begins with a refused
// order, or before one for the currency of a store or a link. It ends with the next price. The
// sources are real servers whose answers the test sets.

import { afterEach, describe, expect, test } from 'vitest';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { parseLinkInput } from '../../src/domain/order/link-input.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, type TestApp } from '../support/app.ts';
import { whenOver } from '../support/files.ts';
import { mailSettings, partsOf, startMailServer } from '../support/mail-server.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';

afterEach(closeApps);

const warnings = ({ running }: TestApp): readonly string[] => running.health().warnings;
const priceWarnings = (app: TestApp): string[] =>
  warnings(app).filter((text) => text.startsWith('there is no price'));
const eur = { amount: '10.00', currency: 'EUR' };

const until = (app: TestApp, count: number) =>
  app.world.until(() => priceWarnings(app).length === count, `${count} warnings of prices`);

async function pass(app: TestApp, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
}

async function setCurrency(app: TestApp, currency: string | null): Promise<void> {
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency })),
  );
}

const orderStatus = async (app: PricedApp, body: object) =>
  (await app.post('/orders', body)).status;

describe('a refused order', () => {
  test('is a finding with the reason of each source, until there is a price again', async () => {
    const app = await openPriced();
    expect(warnings(app)).toEqual([]);
    app.market.rates = undefined;
    expect(await orderStatus(app, eur)).toBe(503);
    const host = '127\\.0\\.0\\.1:\\d+: it answered 500';
    expect(priceWarnings(app)).toEqual([
      expect.stringMatching(
        `^there is no price in EUR, so orders in EUR are refused: ${host}; ${host}; start serve with another source`,
      ),
    ]);
    expect(app.running.health().status).toBe('degraded');
    await pass(app, 30);
    expect(priceWarnings(app)).toHaveLength(1);
    app.market.rates = { EUR: 50_000 };
    await pass(app, 2);
    await until(app, 0);
    expect(app.running.health().status).toBe('ok');
    expect(await orderStatus(app, eur)).toBe(200);
  });

  test('counts for each currency', async () => {
    const app = await openPriced();
    app.market.rates = undefined;
    for (const currency of ['EUR', 'USD', 'EUR']) await orderStatus(app, { ...eur, currency });
    expect(priceWarnings(app).map((text) => text.slice(21, 24))).toEqual(['EUR', 'USD']);
    app.market.rates = { USD: 60_000 };
    await pass(app, 2);
    await until(app, 0);
  });

  test('in a currency that no source has is the mistake of the shop', async () => {
    const app = await openPriced();
    expect(await orderStatus(app, { ...eur, currency: 'XAF' })).toBe(400);
    expect(warnings(app)).toEqual([]);
  });
});

describe('a request for a price, which needs no key', () => {
  test('is a finding if too few sources answer at all', async () => {
    const app = await openPriced();
    app.market.rates = undefined;
    expect((await app.ask('/api/price?currency=USD')).status).toBe(503);
    expect(priceWarnings(app)).toHaveLength(1);
  });

  test('is none if the sources disagree, or do not have the currency', async () => {
    const app = await openPriced();
    let factor = 1;
    app.market.rates = {
      get USD() {
        factor = 3 - factor;
        return 50_000 * factor;
      },
    };
    expect((await app.ask('/api/price?currency=USD')).status).toBe(503);
    expect((await app.ask('/api/price?currency=XAF')).body).toEqual({ price: null });
    expect(warnings(app)).toEqual([]);
  });
});

describe('before any order', () => {
  test('the currency of a store is watched', async () => {
    const app = await openPriced();
    await setCurrency(app, 'EUR');
    app.market.rates = undefined;
    await pass(app, 10);
    await until(app, 1);
    app.market.rates = { EUR: 50_000 };
    await pass(app, 2);
    await until(app, 0);
    // The sources are there, but none has the currency any more.
    app.market.rates = { USD: 60_000 };
    await pass(app, 10);
    await until(app, 1);
    expect(priceWarnings(app)[0]).toContain('too few sources have it');
    await pass(app, 10);
    expect(priceWarnings(app)).toHaveLength(1);
    await setCurrency(app, null);
    expect(priceWarnings(app)).toEqual([]);
  });

  test('the currency of an active link is watched', async () => {
    const app = await openPriced();
    const { id } = (await app.post('/links', { title: 'Mug', currency: 'EUR', amount: '5' })).body;
    app.market.rates = undefined;
    await pass(app, 10);
    await until(app, 1);
    await app.post(`/links/${id}`, { active: false });
    // The refusal of the link still counts, as that of an order.
    app.market.rates = { EUR: 50_000 };
    await pass(app, 2);
    await until(app, 0);
    app.market.rates = undefined;
    await pass(app, 20);
    expect(priceWarnings(app)).toEqual([]);
  });

  test('a link in a currency makes no order with --price off', async () => {
    const app = await openPriced({ config: { price: 'off' } });
    await setCurrency(app, 'USD');
    await app.post('/links', { title: 'Tip' });
    expect(warnings(app)).toEqual([]);
    await app.withStore(({ database, catalog, links }) =>
      database.write((tx) => {
        const input = parseLinkInput({ title: 'Mug', currency: 'EUR', amount: '5' });
        links.create(tx, 1, {
          ...input,
          publicId: 'lnk_mug',
          storeId: catalog.stores()[0]?.id ?? 0,
        });
      }),
    );
    expect(priceWarnings(app)).toEqual([
      expect.stringMatching(
        /^there is no price in EUR, .*: prices are switched off \(--price off\)/,
      ),
    ]);
  });

  test('nothing is requested without a currency', async () => {
    const app = await openPriced();
    app.market.rates = undefined;
    await app.post('/links', { title: 'Tip' });
    await pass(app, 25);
    expect(warnings(app)).toEqual([]);
  });
});

test('a currency without a price is announced by mail, and its end too', async () => {
  const mail = await startMailServer();
  whenOver(() => mail.close());
  const app = await openPriced({ config: { publicUrl: 'https://pay.shop.example' } });
  await app.withStore(({ state, database }) =>
    database.write((tx) => {
      state.mailServer.write(tx, mailSettings(mail.port));
      state.notifyTarget(null).write(tx, { ...noTarget, recipients: ['owner@shop.example'] });
    }),
  );
  await setCurrency(app, 'EUR');
  app.market.rates = undefined;
  await pass(app, 20);
  await app.world.until(() => mail.mails.length === 1, 'the mail');
  const [text = ''] = partsOf(mail.mails[0] as never);
  expect(text).toContain('there is no price in EUR, so orders in EUR are refused');
  app.market.rates = { EUR: 50_000 };
  await pass(app, 30);
  await app.world.until(() => mail.mails.length === 2, 'the mail of its end');
  expect(partsOf(mail.mails[1] as never)[0]).toContain('there is no price in EUR');
});
