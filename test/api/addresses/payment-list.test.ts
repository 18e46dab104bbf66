// `v2/payments`, fiat values of a history, and the balance of a wallet in today's fields.

import { afterEach, describe, expect, test } from 'vitest';
import { closeApps, merchantKey } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import { openPriced, type PricedApp } from '../../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

const dayMs = 86_400_000;

const setCurrency = (app: PricedApp, currency: string) =>
  app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency })),
  );

/** Pays to a new address and confirms it. Returns the transaction. */
async function paid(app: PricedApp, valueSat: number, query = ''): Promise<string> {
  const address = (await app.ask(`/api/new_address${query}`)).body.address;
  const txid = app.pay(address, valueSat);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  return txid;
}

const listed = async (app: PricedApp, query = '') => {
  const { status, body } = await app.ask(`/api/v2/payments${query}`);
  expect([query, status]).toEqual([query, 200]);
  return body.data;
};

const valuesIn = async (app: PricedApp, query = '') =>
  (await listed(app, query)).map(({ value }: { value: number }) => value);

const second = {
  ...{ name: 'Zweiter', key: merchantKey(2), startIndex: 0 },
  callbackUrl: 'https://second.example/paid',
};

/** A request with a key of the second store. */
async function keyOfSecond(app: PricedApp) {
  const secret = app.world.randomBytes(32);
  const key = await app.withStore(({ keys, database }) =>
    database.write((tx) => keys.add(tx, app.world.now(), { storeId: 2, scope: 'read', secret })),
  );
  return { headers: { Authorization: `Bearer ${key}` } };
}

describe('v2/payments', () => {
  test('lists what is confirmed, the newest first, with its store', async () => {
    const app = await openPriced();
    const txid = await paid(app, 25_000);
    const at = Math.floor(app.world.now() / 1000);
    await paid(app, 30_000);
    app.pay(await app.newAddress(), 35_000);
    await app.settle();
    const data = await listed(app);
    expect(data.map(({ value }: { value: number }) => value)).toEqual([30_000, 25_000]);
    expect(data[1]).toEqual({
      txid,
      addr: expect.stringMatching(/^bcrt1q/),
      ...{ status: 2, value: 25_000, confirmations: 4, crypto: 'BTC', store_name: 'Shop' },
      time: expect.toSatisfy((time: number) => time <= at && time > at - 60),
    });
    expect(await valuesIn(app, '?limit=1')).toEqual([30_000]);
    expect(await valuesIn(app, '?crypto=btc')).toEqual([30_000, 25_000]);
    expect(await valuesIn(app, '?crypto=USDT')).toEqual([]);
  });

  test('by a time frame, whose end counts', async () => {
    const app = await openPriced();
    await paid(app, 25_000);
    const seenAt = app.world.now();
    const minuteMs = 60_000;
    for (const [timeframe, days] of Object.entries({ '1W': 7, '2W': 14, '1M': 30, '3M': 90 })) {
      const inAge = async (ageMs: number) => {
        app.world.jumpWallClock(seenAt + ageMs - app.world.now());
        return valuesIn(app, `?timeframe=${timeframe}`);
      };
      const found = [await inAge(days * dayMs - minuteMs), await inAge(days * dayMs + minuteMs)];
      expect([timeframe, found]).toEqual([timeframe, [[25_000], []]]);
    }
  });

  test('by a part of the name of a store, and only of the stores of the key', async () => {
    const app = await openPriced();
    await app.addStore(second);
    await paid(app, 30_000, `?match_account=${merchantKey().account}`);
    await app.world.advance(60_000);
    await paid(app, 25_000, '?match_callback=second');
    expect(await valuesIn(app, '?store_name=WEIT')).toEqual([25_000]);
    expect(await valuesIn(app, '?store_name=sh')).toEqual([30_000]);
    expect(await valuesIn(app, '?store_name=e')).toEqual([25_000]);
    expect(await valuesIn(app, '?store_name=')).toEqual([25_000, 30_000]);
    expect(await valuesIn(app, '?store_name=&limit=1')).toEqual([25_000]);
    expect(await valuesIn(app, '?store_name=none')).toEqual([]);
    const own = await keyOfSecond(app);
    for (const query of ['', '?store_name=']) {
      const { body } = await app.ask(`/api/v2/payments${query}`, own);
      expect(body.data.map(({ value }: { value: number }) => value)).toEqual([25_000]);
    }
  });

  test('with the worth that was noted, in the currency that is asked for', async () => {
    const app = await openPriced();
    await setCurrency(app, 'EUR');
    await paid(app, 25_000);
    app.market.rates = { EUR: 90_000 };
    await app.world.advance(61_000);
    const fiatIn = async (currency: string) =>
      (await listed(app, `?currency=${currency}`)).map(
        ({ fiat_value }: { fiat_value: number | null }) => fiat_value,
      );
    expect(await fiatIn('eur')).toEqual([12.5]);
    expect(await fiatIn('USD')).toEqual([null]);
    expect((await listed(app))[0]).not.toHaveProperty('fiat_value');
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=201', 'limit'],
    ['?timeframe=4M', 'one of 1W, 2W, 1M, 3M'],
    ['?currency=EURO', 'three letters'],
  ])('refuses %s', async (query, message) => {
    const app = await openPriced();
    const { status, body } = await app.ask(`/api/v2/payments${query}`);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

test('P-33 a history has the worth of then, for what is confirmed', async () => {
  const app = await openPriced();
  await setCurrency(app, 'EUR');
  const txid = await paid(app, 25_000);
  const account = merchantKey().account;
  const history = async (query: string) =>
    (await app.ask(`/api/searchhistory?addr=${account}${query}`)).body.history;
  expect(await history('&fiat_currency=EUR')).toMatchObject([{ txid, fiat_value: 12.5 }]);
  expect(await history('&fiat_currency=USD')).toMatchObject([{ txid, fiat_value: null }]);
  expect((await history(''))[0]).not.toHaveProperty('fiat_value');
  const body = JSON.stringify({ addr: account, fiat_currency: 'eur' });
  const posted = await app.ask('/api/searchhistory', { method: 'POST', body });
  expect(posted.body.history).toMatchObject([{ fiat_value: 12.5 }]);
  const wrong = await app.ask(`/api/searchhistory?addr=${account}&fiat_currency=x`);
  expect(wrong.status).toBe(400);
});

describe('the balance of a wallet', () => {
  test('P-46 has the fields of Blockonomics beside ours, also in the list', async () => {
    const app = await openPriced();
    await paid(app, 25_000);
    app.pay(await app.newAddress(), 6_000);
    await app.settle();
    const balance = {
      ...{ confirmed: 25_000, unconfirmed: 6_000 },
      ...{ confirmed_sats: 25_000, unconfirmed_sats: 6_000, total_addresses: 2 },
      ...{ confirmed_fiat: 15, unconfirmed_fiat: 3.6, fiat_currency: 'USD' },
    };
    const one = await app.ask('/api/v2/wallets/1?balance=true');
    expect(one.body.data.balance).toEqual(balance);
    const all = await app.ask('/api/v2/wallets?balance=true');
    expect(all.body).toEqual({ data: [one.body.data] });
    await setCurrency(app, 'EUR');
    const euros = { confirmed_fiat: 12.5, unconfirmed_fiat: 3, fiat_currency: 'EUR' };
    const { body } = await app.ask('/api/v2/wallets/1?balance=true');
    expect(body.data.balance).toEqual({ ...balance, ...euros });
  });

  test('is in the currency of its own store', async () => {
    const app = await openPriced();
    const callbackUrl = 'https://second.example/paid';
    const second = { name: 'Second', key: merchantKey(2), startIndex: 0, callbackUrl };
    await app.addStore(second);
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 2, { currency: 'EUR' })),
    );
    const { body } = await app.ask('/api/v2/wallets?balance=true');
    const currencies = body.data.map(
      ({ balance }: { balance: { fiat_currency: string } }) => balance.fiat_currency,
    );
    expect(currencies).toEqual(['USD', 'EUR']);
  });

  test('is complete without a price, and without prices', async () => {
    const none = { confirmed_fiat: null, unconfirmed_fiat: null, fiat_currency: 'USD' };
    const app = await openPriced();
    app.market.rates = undefined;
    const answer = await app.ask('/api/v2/wallets/1?balance=true');
    expect(answer.body.data.balance).toMatchObject({ confirmed_sats: 0, ...none });
    const off = await openPriced({ config: { price: 'off' } });
    const bare = await off.ask('/api/v2/wallets/1?balance=true');
    expect(bare.body.data.balance).toMatchObject({ total_addresses: 0, ...none });
  });
});

test('no key adds, changes or removes a wallet: the answer says where it is done', async () => {
  const app = await openPriced();
  for (const [method, path] of [
    ['POST', '/api/v2/wallets'],
    ['POST', '/api/v2/wallets/1'],
    ['DELETE', '/api/v2/wallets/1'],
  ] as const) {
    const { status, body } = await app.ask(path, { method });
    expect([path, status, body.message]).toEqual([
      path,
      403,
      expect.stringMatching(/in the dashboard alone: open Stores.*paygate store wallet/),
    ]);
  }
  expect((await app.ask('/api/v2/wallets', { method: 'PUT' })).status).toBe(405);
});

test('a history has no worth that another store noted for the same transaction', async () => {
  const app = await openPriced();
  await setCurrency(app, 'EUR');
  await app.addStore(second);
  const theirs = await app.newAddress(`?match_account=${merchantKey().account}`);
  const own = await app.newAddress('?match_callback=second');
  app.chain.pay([
    { address: theirs, valueSat: 25_000 },
    { address: own, valueSat: 30_000 },
  ]);
  app.chain.mine(2);
  await app.settle();
  const historyBy = async (init?: object) =>
    (await app.ask(`/api/searchhistory?addr=${own}&fiat_currency=EUR`, init)).body.history;
  expect(await historyBy()).toMatchObject([{ fiat_value: 15 }]);
  expect(await historyBy(await keyOfSecond(app))).toMatchObject([{ fiat_value: null }]);
});
