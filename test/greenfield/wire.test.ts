// The acceptance cases of the Greenfield API that need no webhook: what plugins send,
// what they get, and what is refused. The titles begin with the number of the case.

import { afterEach, describe, expect, test } from 'vitest';
import { memberText, rounded } from '../../src/greenfield/invoice-input.ts';
import { closeApps, merchantKey } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const standardNames = [
  'canviewinvoices',
  'cancreateinvoice',
  'canviewstoresettings',
  'canmodifyinvoices',
  'webhooks.canmodifywebhooks',
];
const invoices = '/stores/{s}/invoices';
const day = 86_400;

const issuedIn = ({ app }: Awaited<ReturnType<typeof openGreenfield>>) =>
  app.withStore(async ({ database }) =>
    database.orm.$client
      .prepare("SELECT count(*) FROM addresses WHERE origin = 'issued'")
      .pluck()
      .get(),
  );

describe('server, key and store', () => {
  test('1: a wrong key is refused in JSON; the scheme has any case and any blanks', async () => {
    const { app, key, ask } = await openGreenfield();
    const wrong = await ask('GET', '/server/info', undefined, 'A'.repeat(43));
    expect(wrong).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect((await ask('GET', '/server/info', undefined, '')).status).toBe(401);
    for (const Authorization of [
      `Bearer ${key}`,
      `TOKEN  ${key}`,
      `token ${key.slice(4, 47)}`,
      `tOkEn ${key} `,
    ]) {
      expect((await app.ask('/api/v1/server/info', { headers: { Authorization } })).status).toBe(
        200,
      );
    }
    const Authorization = `Basic ${Buffer.from('a@b.c:x').toString('base64')}`;
    expect((await app.ask('/api/v1/stores', { headers: { Authorization } })).status).toBe(401);
    // The merchant key is for all stores.
    expect(await ask('GET', '/stores', undefined, app.apiKey)).toMatchObject({
      status: 403,
      body: { code: 'missing-permission', message: /key of one store/ },
    });
  });

  test('2: the server says that it can make orders, and a version that plugins take', async () => {
    const { app, ask } = await openGreenfield();
    const { body } = await ask('GET', '/server/info');
    const height = app.chain.tipHeight ?? body.syncStatus[0].chainHeight;
    expect(body).toEqual({
      version: expect.stringMatching(/^2\.\d+\.\d+$/),
      onion: null,
      supportedPaymentMethods: ['BTC-CHAIN'],
      fullySynched: true,
      syncStatus: [
        {
          ...{ paymentMethodId: 'BTC-CHAIN', available: true, chainHeight: height },
          syncHeight: height,
          nodeInformation: { headers: height, blocks: height, verificationProgress: 1 },
        },
      ],
    });
    expect((await app.ask('/api/v1/health', { headers: { Authorization: '' } })).body).toEqual({
      synchronized: true,
    });
  });

  test('3: a key lists exactly the names that its plugins compare', async () => {
    const { ask, storeId, key, addKey } = await openGreenfield();
    const named = (names: readonly string[]) =>
      names.map((each) => `btcpay.store.${each}:${storeId}`);
    expect((await ask('GET', '/api-keys/current')).body).toEqual({
      ...{ apiKey: key, label: 'paygate' },
      permissions: named(standardNames),
    });
    const shop = await addKey('prestashop');
    const { body } = await ask('GET', '/api-keys/current', undefined, shop);
    expect(body.permissions).toEqual(named([...standardNames, 'canmodifystoresettings']));
    const reader = await addKey('prestashop', 'read');
    expect((await ask('GET', '/api-keys/current', undefined, reader)).body.permissions).toEqual(
      named(['canviewinvoices', 'canviewstoresettings']),
    );
    expect((await ask('POST', invoices, { amount: 1, currency: 'EUR' }, reader)).status).toBe(403);
  });

  test('4: a key has one store, with a long random id', async () => {
    const greenfield = await openGreenfield();
    await greenfield.app.addStore({ name: 'Second', key: merchantKey(2), callbackUrl: '' });
    const { body } = await greenfield.ask('GET', '/stores');
    expect(body).toMatchObject([{ id: greenfield.storeId, name: 'Shop', archived: false }]);
    expect(greenfield.storeId).toMatch(/^[0-9a-z]{24}$/);
    expect((await greenfield.ask('GET', '/stores/{s}/')).body).toEqual(body[0]);
    const other = await greenfield.app.withStore(async ({ catalog }) => catalog.store(2).publicId);
    expect(other).not.toBe(greenfield.storeId);
    for (const path of [`/stores/${other}`, '/stores/1', `/stores/${other}/invoices`]) {
      expect(await greenfield.ask('GET', path)).toMatchObject({
        status: 403,
        body: { code: 'missing-permission', missingPermission: /^btcpay\.store\.can/ },
      });
    }
  });

  test('5: payment methods have the form that the key expects', async () => {
    const { app, ask, addKey } = await openGreenfield();
    const methods = '/stores/{s}/payment-methods';
    const shop = await addKey('prestashop');
    const method = { enabled: true, paymentMethodId: 'BTC-CHAIN' };
    expect((await ask('GET', `${methods}?onlyEnabled=true`)).body).toEqual([method]);
    expect((await ask('GET', methods, undefined, shop)).body).toEqual({
      BTC: { ...method, cryptoCode: 'BTC', data: {} },
    });
    expect((await ask('GET', `${methods}/OnChain`)).body).toEqual([
      { enabled: true, cryptoCode: 'BTC' },
    ]);
    expect((await ask('GET', `${methods}/LightningNetwork`)).body).toEqual([]);
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { walletId: null })),
    );
    expect((await ask('GET', methods)).body).toEqual([]);
    expect((await ask('GET', methods, undefined, shop)).body).toEqual({});
    expect((await ask('GET', `${methods}/OnChain`)).body).toEqual([]);
    expect(await ask('POST', invoices, { amount: 1, currency: 'EUR' })).toMatchObject({
      status: 400,
      body: { code: 'generic-error', message: /wallet/ },
    });
  });

  test('rates are those of asked pairs, or of all currencies with a price', async () => {
    const { app, ask } = await openGreenfield();
    const rates = '/stores/{s}/rates';
    expect((await ask('GET', `${rates}?currencyPair=BTC_EUR&currencyPair=BTC_USD`)).body).toEqual([
      { currencyPair: 'BTC_EUR', errors: [], rate: '50000.00' },
      { currencyPair: 'BTC_USD', errors: [], rate: '60000.00' },
    ]);
    for (const pair of ['BTC_XTS', 'EUR_BTC']) {
      expect((await ask('GET', `${rates}?currencyPair=${pair}`)).body).toEqual([
        { currencyPair: pair, errors: [expect.any(String)], rate: null },
      ]);
    }
    expect((await ask('GET', rates)).status).toBe(200);
    expect(await ask('GET', `${rates}/configuration/primary`)).toMatchObject({
      status: 404,
      body: { message: expect.any(String) },
    });
    app.market.rates = undefined;
    await app.world.advance(11 * 60_000);
    expect(await ask('POST', invoices, { amount: 1, currency: 'EUR' })).toMatchObject({
      status: 503,
      body: { message: /price/ },
    });
  });
});

describe('a new invoice', () => {
  test('6: has what was sent, in types that clients declare', async () => {
    const { app, storeId, invoice, invoiceOf, ask } = await openGreenfield();
    const metadata = { orderId: '1007', posData: '{"a":1}', n: 42, t: true, none: null };
    const made = await invoice({ amount: '20.00', currency: 'EUR', metadata });
    const at = Math.floor(app.world.now() / 1000);
    const { baseUrl } = await app.withStore(async ({ orderView }) => orderView);
    expect(made).toEqual({
      ...{ id: expect.stringMatching(/^ord_/), storeId, amount: '20.00', paidAmount: '0.00' },
      ...{ currency: 'EUR', type: 'Standard', checkoutLink: `${baseUrl}/i/${made.id}` },
      ...{ createdTime: at, expirationTime: at + 3_600, status: 'New', additionalStatus: 'None' },
      ...{ monitoringExpiration: at + 3_600 + day, monitoringTime: at + 3_600 + day },
      ...{ availableStatusesForManualMarking: ['Invalid'], archived: false, metadata },
      checkout: {
        ...{ speedPolicy: 'MediumSpeed', paymentMethods: ['BTC-CHAIN'] },
        ...{ defaultPaymentMethod: null, expirationMinutes: 60, monitoringMinutes: 1440 },
        ...{ paymentTolerance: 0.5, redirectURL: null, redirectAutomatically: false },
        ...{ defaultLanguage: null, lazyPaymentMethods: false },
      },
      receipt: { enabled: true, showQR: true, showPayments: true },
    });
    expect(await invoiceOf(made.id)).toEqual(made);
    expect((await app.get(`/orders/${made.id}`)).body).toMatchObject({
      ...{ amount: '20.00', currency: 'EUR', reference: '1007', metadata: {} },
    });
    const { body } = await ask('GET', `${invoices}/${made.id}/payment-methods`);
    expect(body).toEqual([
      {
        ...{ activated: true, paymentMethodId: 'BTC-CHAIN', currency: 'BTC', rate: '50000.00' },
        destination: expect.stringMatching(/^bcrt1q/),
        paymentLink: expect.stringMatching(/^bitcoin:bcrt1q.*amount=0\.0004/),
        ...{ paymentMethodPaid: '0', totalPaid: '0', due: '0.0004', amount: '0.0004' },
        ...{ paymentMethodFee: '0', payments: [], additionalData: {} },
      },
    ]);
  });

  test('6: metadata is given back byte for byte, and only to a key', async () => {
    const { app, ask, invoice } = await openGreenfield();
    const text =
      '{ "orderId" : "1", "n":1.0, "big":12345678901234567890, "a":[ 1,{"b":"}\\"]"}], "10":1, "9":1, "s":"\\u00e9" }';
    const { status, body } = await ask(
      'POST',
      invoices,
      `{"AMOUNT":5, "Currency":"EUR","metadata": ${text} }`,
    );
    expect(status).toBe(200);
    const { port } = app;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/invoices/${body.id}`, {
      headers: { Authorization: `token ${(await ask('GET', '/api-keys/current')).body.apiKey}` },
    });
    expect(await answer.text()).toContain(`"metadata":${text}`);
    expect(JSON.stringify((await app.get(`/orders/${body.id}`)).body)).not.toContain('12345678901');
    expect((await invoice({ amount: '1', currency: 'EUR', metadata: null })).metadata).toEqual({});
    const large = { amount: '1', currency: 'EUR', metadata: { posData: 'x'.repeat(16_370) } };
    expect((await ask('POST', invoices, large)).status).toBe(200);
    large.metadata.posData += 'x';
    expect(await ask('POST', invoices, large)).toMatchObject({
      status: 422,
      body: [{ path: 'metadata', message: /16384/ }],
    });
    expect((await ask('POST', invoices, { ...large, metadata: [] })).body[0].path).toBe('metadata');
  });

  test('7: amounts are rounded to the currency, and answered rounded', async () => {
    const { invoice } = await openGreenfield();
    for (const [body, amount] of [
      ['{"amount":19.99,"currency":"eur"}', '19.99'],
      ['{"amount":"166.00000000","currency":" EUR "}', '166.00'],
      ['{"amount":"33.33333333","currency":"EUR"}', '33.33'],
      ['{"amount":1e1,"currency":"EUR"}', '10.00'],
      ['{"amount":"0.995","currency":"EUR"}', '1.00'],
    ] as const) {
      expect(await invoice(body)).toMatchObject({ amount, currency: 'EUR' });
    }
    expect(rounded('1.005', 2)).toBe(101n);
    expect(rounded('1.0049', 2)).toBe(100n);
    expect(rounded('-0.5', 0)).toBe(-1n);
    expect(rounded('2.5E-1', 2)).toBe(25n);
    for (const wrong of ['', 'abc', '1,5', '0x10', '1e', '.5', '1e999']) {
      expect(rounded(wrong, 2)).toBe(undefined);
    }
  });

  test('8: a price in bitcoin is one in satoshis', async () => {
    const { app, invoice } = await openGreenfield();
    for (const [currency, amount, amountSat, shown] of [
      ['BTC', '0.00025000', 25_000, '0.00025000'],
      ['SATS', '21000', 21_000, '21000'],
      ['sat', 21_000.4, 21_000, '21000'],
    ] as const) {
      const made = await invoice({ amount, currency });
      expect(made).toMatchObject({
        ...{ amount: shown, currency: currency === 'BTC' ? 'BTC' : 'SATS', status: 'New' },
      });
      expect((await app.get(`/orders/${made.id}`)).body.amount_sat).toBe(amountSat);
    }
  });

  test('9: an amount that is none is named, and uses no address', async () => {
    const greenfield = await openGreenfield();
    const before = await issuedIn(greenfield);
    for (const amount of [null, undefined, 0, '0.001', -1, 'abc', '1e40']) {
      const answer = await greenfield.ask('POST', invoices, { amount, currency: 'EUR' });
      expect(answer).toMatchObject({ status: 422, body: [{ path: 'amount' }] });
    }
    const small = await greenfield.ask('POST', invoices, { amount: 545, currency: 'SATS' });
    expect(small).toMatchObject({ status: 422, body: [{ path: 'amount', message: /546/ }] });
    for (const currency of ['XTS', 'EURO', '']) {
      expect(await greenfield.ask('POST', invoices, { amount: 1, currency })).toMatchObject({
        status: 400,
        body: { code: 'generic-error', message: /currency/ },
      });
    }
    expect(await greenfield.ask('POST', invoices, '{"amount"')).toMatchObject({ status: 400 });
    expect(await issuedIn(greenfield)).toBe(before);
  });

  test('10: placeholders of the return URL are replaced, and the text is answered as sent', async () => {
    const { app, invoice, invoiceOf } = await openGreenfield();
    const redirectURL = 'https://shop.example/back/{InvoiceId}?o={orderid}';
    const metadata = { orderId: '7 & 8' };
    for (const checkout of [{ redirectURL }, { redirectUrl: redirectURL }]) {
      const { id } = await invoice({ amount: '9', currency: 'EUR', metadata, checkout });
      expect((await app.get(`/orders/${id}`)).body.return_url).toBe(
        `https://shop.example/back/${id}?o=7%20%26%208`,
      );
      expect((await invoiceOf(id)).checkout.redirectURL).toBe(redirectURL);
      metadata.orderId += '!';
      if ('redirectURL' in checkout) metadata.orderId = '7 & 8';
    }
    const beside = {
      amount: '9',
      currency: 'EUR',
      orderId: 3,
      redirectUrl: 'https://shop.example/',
    };
    const made = await invoice(beside);
    expect(made).toMatchObject({
      metadata: { orderId: '3' },
      checkout: { redirectURL: 'https://shop.example/' },
    });
    const odd = await invoice({
      amount: '9',
      currency: 'EUR',
      checkout: { redirectURL: 'javascript:1' },
    });
    expect((await app.get(`/orders/${odd.id}`)).body.return_url).toBe(null);
  });

  test('11: on-chain names are taken, others are refused', async () => {
    const { ask } = await openGreenfield();
    const asked = async (...paymentMethods: string[]) =>
      ask('POST', invoices, { amount: 1, currency: 'EUR', checkout: { paymentMethods } });
    for (const names of [
      [],
      ['BTC_CHAIN'],
      ['BTC'],
      ['BTC-CHAIN'],
      ['BTC-OnChain'],
      ['BTC', 'BTC-LightningNetwork', 'BTC-LNURLPAY'],
    ]) {
      expect((await asked(...names)).status).toBe(200);
    }
    expect(await asked('BTC-LN')).toMatchObject({
      status: 400,
      body: { message: /payment method/ },
    });
    expect(await asked('BTC', 'XYZ-9')).toMatchObject({
      status: 422,
      body: [{ path: 'checkout.paymentMethods[1]' }],
    });
    const speed = { amount: 1, currency: 'EUR', checkout: { speedPolicy: 'Ludicrous' } };
    expect(await ask('POST', invoices, speed)).toMatchObject({
      status: 422,
      body: [{ path: 'checkout.speedPolicy' }],
    });
    const bounds = { expirationMinutes: 1, paymentTolerance: 11 };
    expect(
      (await ask('POST', invoices, { amount: 1, currency: 'EUR', checkout: bounds })).body,
    ).toMatchObject([{ path: 'checkout.paymentTolerance' }]);
    bounds.paymentTolerance = 10;
    const { body } = await ask('POST', invoices, { amount: 1, currency: 'EUR', checkout: bounds });
    expect(body.checkout).toMatchObject({ expirationMinutes: 5, paymentTolerance: 10 });
  });

  test('12: a tolerance of 0 is honoured', async () => {
    const { app, invoice, invoiceOf, addressOf } = await openGreenfield();
    const strict = await invoice({
      amount: '20',
      currency: 'EUR',
      checkout: { paymentTolerance: 0 },
    });
    const mild = await invoice({ amount: '20', currency: 'EUR' });
    for (const { id } of [strict, mild]) app.pay(await addressOf(id), 39_880);
    await app.settle();
    expect(await invoiceOf(strict.id)).toMatchObject({
      ...{ status: 'New', additionalStatus: 'PaidPartial', paidAmount: '19.94' },
      availableStatusesForManualMarking: ['Settled', 'Invalid'],
    });
    expect(await invoiceOf(mild.id)).toMatchObject({
      status: 'Processing',
      additionalStatus: 'None',
    });
  });

  test('of a sale that has one is the same, until something is paid', async () => {
    const { app, invoice, addressOf, addKey, ask } = await openGreenfield();
    const sale = { amount: '20', currency: 'EUR', metadata: { orderId: '5', click: 1 } };
    const first = await invoice(sale);
    const [second, third] = await Promise.all([
      invoice({ ...sale, metadata: { orderId: '5', click: 2 } }),
      invoice(sale),
    ]);
    // A second customer with the same number would see this one order as well.
    expect([second.id, third.id]).toEqual([first.id, first.id]);
    await app.world.advance(20 * 60_000);
    const late = await invoice({ ...sale, metadata: { orderId: '5', click: 3 } });
    expect(late).toMatchObject({ id: first.id, metadata: { click: 3 } });
    expect((await app.get(`/orders/${first.id}`)).body.quote).toMatchObject({
      created_at: Math.floor(app.world.now() / 1000),
    });
    const other = await invoice({ ...sale, amount: '21' });
    const dollars = await invoice({ ...sale, currency: 'USD' });
    const ofOtherKey = (await ask('POST', invoices, sale, await addKey())).body;
    const unnamed = [await invoice(), await invoice()];
    const ids = [first, other, dollars, ofOtherKey, ...unnamed].map(({ id }) => id);
    expect(new Set(ids).size).toBe(6);
    const inBitcoin = async (amount: string, currency: string) =>
      (await invoice({ ...sale, amount, currency })).id;
    expect(await inBitcoin('20000', 'SATS')).toBe(await inBitcoin('20000', 'sat'));
    expect(await inBitcoin('0.0002', 'BTC')).not.toBe(await inBitcoin('20000', 'SATS'));
    await app.world.advance(36 * 60_000);
    expect((await invoice({ ...sale, amount: '21' })).id).toBe(other.id);
    // Too little time is left to pay.
    const anew = (await invoice(sale)).id;
    expect(anew).not.toBe(first.id);
    expect((await invoice(sale)).id).toBe(anew);
    app.pay(await addressOf(anew), 1_000);
    await app.settle();
    expect((await invoice(sale)).id).not.toBe(anew);
  });
});

describe('an invoice', () => {
  test('13: its metadata is replaced whole, and it has a path without the store', async () => {
    const { app, ask, invoice, addKey } = await openGreenfield();
    const { id } = await invoice({ amount: '20', currency: 'EUR', metadata: { orderId: '1' } });
    const metadata = { medusa_payment_session_id: 'x', orderId: 1 };
    const changed = await ask('PUT', `${invoices}/${id}`, { metadata });
    expect(changed).toMatchObject({ status: 200, body: { id, metadata } });
    for (const path of [`${invoices}/${id}/`, `/invoices/${id}`, `/invoices/${id}/`]) {
      expect(await ask('GET', path)).toMatchObject({ status: 200, body: { metadata } });
    }
    await app.addStore({ name: 'Second', key: merchantKey(2), callbackUrl: '' });
    const foreign = await addKey('standard', 'payments', 2);
    for (const path of [
      `/invoices/${id}`,
      `${invoices}/${id}`,
      `/invoices/${id}/payment-methods`,
    ]) {
      const { status, body } = await ask('GET', path, undefined, foreign);
      expect([403, 404]).toContain(status);
      expect(Object.keys(body)).toContain('message');
    }
    expect((await ask('PUT', `/invoices/${id}`, { metadata: {} }, foreign)).status).toBe(404);
    expect(await ask('GET', '/invoices/ord_nope')).toMatchObject({
      status: 404,
      body: { code: 'invoice-not-found' },
    });
    expect((await ask('PUT', `${invoices}/${id}`, { metadata: 'x' })).status).toBe(422);
  });

  test('14: the list is the newest first, by order, status and time', async () => {
    const { app, ask, invoice } = await openGreenfield();
    const ids: string[] = [];
    for (const orderId of ['1007', '1007', '1008']) {
      ids.unshift(
        (await invoice({ amount: String(ids.length + 1), currency: 'EUR', metadata: { orderId } }))
          .id,
      );
      await app.world.advance(2_000);
    }
    const [third, second, first] = ids;
    const found = async (query: string) =>
      (await ask('GET', `${invoices}?${query}`)).body.map(({ id }: { id: string }) => id);
    expect(await found('')).toEqual(ids);
    expect(await found('orderId=1007')).toEqual([second, first]);
    expect(await found('orderId[]=1007')).toEqual([second, first]);
    expect(await found('orderId=1007&orderId=1008&take=2')).toEqual([third, second]);
    expect(await found('take=1&skip=1')).toEqual([second]);
    expect(await found('take=0')).toEqual([]);
    await ask('POST', `${invoices}/${second}/status`, { status: 'Invalid' });
    expect(await found('status=New')).toEqual([third, first]);
    expect(await found('status=invalid&status=Settled')).toEqual([second]);
    expect(await found('status=New&status=Invalid&take=2')).toEqual([third, second]);
    expect(await found('status=Odd')).toEqual([]);
    const made = Math.floor(app.world.now() / 1000) - 4;
    expect(await found(`startDate=${made}`)).toEqual([third, second]);
    expect(await found(`endDate=${made - 1}`)).toEqual([first]);
    expect(await found(`textSearch=${first?.slice(4)}`)).toEqual([first]);
    expect((await ask('DELETE', `${invoices}/${third}`, {})).body).toEqual({});
    expect(await found('')).toEqual([second, first]);
    expect(await found('includeArchived=true')).toEqual(ids);
    expect((await ask('POST', `${invoices}/${third}/unarchive`)).body).toMatchObject({
      archived: false,
    });
    expect(await found('')).toEqual(ids);
    // One that is further behind than what is read at once.
    for (let count = 0; count < 100; count += 1) {
      await invoice({ amount: '1', currency: 'EUR', metadata: { orderId: `9-${count}` } });
    }
    expect(await found('textSearch=100&take=2')).toEqual([third, second]);
    expect(await found('status=New&textSearch=100&take=1&skip=1')).toEqual([first]);
    expect(await found('take=101&skip=1')).toHaveLength(101);
    const { body } = await ask('GET', `${invoices}?take=1&includePaymentMethods=true`);
    expect(body[0].paymentMethods).toMatchObject([{ paymentMethodId: 'BTC-CHAIN' }]);
  });

  test('25: what cannot be marked, refunded or pulled is refused', async () => {
    const { app, ask, invoice, addressOf } = await openGreenfield();
    const open = await invoice();
    const mark = (id: string, status: string) =>
      ask('POST', `${invoices}/${id}/status`, { status });
    expect(await mark(open.id, 'Settled')).toMatchObject({
      status: 422,
      body: [{ path: 'status', message: /nothing/ }],
    });
    expect((await mark(open.id, 'Odd')).status).toBe(422);
    expect(await mark(open.id, 'Invalid')).toMatchObject({
      status: 200,
      body: {
        status: 'Invalid',
        additionalStatus: 'Marked',
        availableStatusesForManualMarking: [],
      },
    });
    const paid = await invoice();
    app.pay(await addressOf(paid.id), 40_000);
    await app.settle();
    expect((await mark(paid.id, 'Invalid')).status).toBe(422);
    const part = await invoice();
    app.pay(await addressOf(part.id), 10_000);
    await app.settle();
    expect((await mark(part.id, 'Settled')).body.status).toBe('Processing');
    app.chain.mine(2);
    await app.settle();
    expect((await ask('GET', `/invoices/${part.id}`)).body).toMatchObject({
      ...{ status: 'Settled', additionalStatus: 'Marked' },
    });
    for (const path of ['/stores/{s}/pull-payments', `${invoices}/${paid.id}/refund`]) {
      expect(await ask('POST', path, { name: 'x' })).toMatchObject({
        status: 403,
        body: { missingPermission: 'btcpay.store.cancreatenonapprovedpullpayments' },
      });
    }
  });

  test('that was forgotten still has what the Magento plugin asks for', async () => {
    const { app, ask, invoice } = await openGreenfield();
    const metadata =
      '{"orderId":"0001","magentoOrderId":"12","buyerEmail":"a@b.c","magentoStoreId":1.0}';
    const checkout = '{"redirectURL":"https://shop.example/x"}';
    const made = await invoice(
      `{"amount":1,"currency":"EUR","metadata":${metadata},"checkout":${checkout}}`,
    );
    await ask('POST', `${invoices}/${made.id}/status`, { status: 'Invalid' });
    const forget = () =>
      app.withStore(({ orders, database }) =>
        database.write((tx) => orders.forget(tx, app.world.now() + 1, 0, 100)),
      );
    expect(await forget()).toBe(1);
    expect(await forget()).toBe(0);
    const { body } = await ask('GET', `${invoices}?orderId=0001`);
    expect(body[0]).toMatchObject({ checkout: { redirectURL: null } });
    expect(body[0].metadata).toEqual({ orderId: '0001', magentoOrderId: '12', magentoStoreId: 1 });
  });

  test('of an order that was made otherwise has its pairs and its reference', async () => {
    const { app, invoiceOf } = await openGreenfield();
    const order = await app.order({ amount_sat: 1_000, reference: '9', metadata: { cart: 'a' } });
    expect(await invoiceOf(order.id)).toMatchObject({
      ...{ amount: '0.00001000', currency: 'BTC', metadata: { cart: 'a', orderId: '9' } },
    });
  });
});

test('a member of JSON is found as it was written', () => {
  expect(
    memberText(
      '{"a":{"metadata":1},"b":"\\"metadata\\":{}","Metadata": {"x":[1,"}"]} }',
      'metadata',
    ),
  ).toBe('{"x":[1,"}"]}');
  expect(memberText('{"metadata":{"a":1},"meta\\u0064ata":{"b":2}}', 'metadata')).toBe('{"b":2}');
  expect(memberText('{"metadata":null}', 'metadata')).toBe(undefined);
  expect(memberText('{}', 'metadata')).toBe(undefined);
});

test('a change of an invoice by a key is noted, without its metadata', async () => {
  const { app, ask, invoice } = await openGreenfield();
  const { id } = await invoice();
  const at = `/invoices/${id}`;
  await ask('PUT', at, { metadata: { buyerEmail: 'a@shop.example' } });
  await ask('DELETE', at);
  await ask('DELETE', at);
  await ask('POST', `${at}/unarchive`);
  const noted = await app.withStore(async ({ audit }) => audit.list(10));
  const changes = noted.filter(({ action }) => action === 'order.change');
  expect(
    changes.map(({ keyId, storeId, detail }) => [keyId, storeId, JSON.parse(detail)]).reverse(),
  ).toEqual(
    ['metadata', 'archived', 'listed'].map((what) => [
      ...[expect.any(Number), 1, { order: id, what, client: '127.0.0.1' }],
    ]),
  );
  const visitor = await signedIn(app);
  const { text } = await visitor.get('/dashboard/settings/audit');
  for (const what of ['Metadata of the order', 'was archived', 'was listed again']) {
    expect(text).toContain(what);
  }
  expect(text).not.toContain('a@shop.example');
});
