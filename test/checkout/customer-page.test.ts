// The customer's page of an order as the server renders it, without a browser.

import { afterEach, describe, expect, test } from 'vitest';
import { browserScript } from '../../scripts/bundling.mjs';
import { writeBands } from '../../src/domain/payment/confirmation-policy.ts';
import { quotes } from '../../src/store/schema/order-schema.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { hourMs, inSatoshis, openTill, quoteMs } from '../support/checkout.ts';
import { listenTo } from '../support/event-stream.ts';
import { cleanUp, look } from '../support/files.ts';
import { type Seen, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

interface Page {
  readonly app: TestApp;
  readonly path: string;
}

const see = ({ app, path }: Page): Promise<Seen> => visitorOf(app).get(path);
const renew = ({ app, path }: Page, headers = {}): Promise<Seen> =>
  visitorOf(app).post(`${path}/quote`, '', headers);

/** Without tags and entities, in single spaces. */
const textOf = ({ text }: Seen): string =>
  text
    .replace(/^[\s\S]*<body>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,])/g, '');

const qrCodes = ({ text }: Seen): number => text.split('<svg class="qr"').length - 1;
const button = 'Show the price of now';

describe('an open order', () => {
  test('shows price, amounts, address, codes, link, end of the price, texts', async () => {
    const till = await openTill();
    const seen = await see(till);
    const text = textOf(seen);
    expect(seen.status).toBe(200);
    expect(seen.text).toContain('<bdi>Shop</bdi>');
    expect(text).toContain('€12.50');
    expect(text).toContain('0.00025000 BTC');
    expect(text).toContain('25,000 sat');
    expect(text).toContain('Rate €50,000.00 for 1 BTC');
    expect(seen.text).toContain(`<code id="address">${till.address}</code>`);
    expect(seen.text).toMatch(/\.address ?\{[^}]*user-select: ?all/);
    expect(seen.text).toContain(
      `href="bitcoin:${till.address}?amount=0.00025&amp;label=Shop&amp;message=1007"`,
    );
    expect(qrCodes(seen)).toBe(2);
    expect(seen.text).toMatch(/<details[^>]*>\s*<summary>QR code of the address alone/);
    expect(text).toContain('The price holds until Nov 20, 2025, 15:01 UTC');
    expect(text).toContain('Received 0 sat');
    expect(text).not.toContain('Missing');
    expect(text).toContain('Description 2 posters');
    expect(text).toContain('Reference 1007');
    expect(text).toContain('Waiting for your payment Scan the code with your wallet');
    expect(seen.headers.get('Refresh')).toBe('20');
    expect(text).not.toContain('Back to');
    expect(seen.text).not.toContain('cart-7f');
  });

  test('in satoshis has no rate, no countdown, and the end of the order', async () => {
    const till = await openTill(inSatoshis);
    const seen = await see(till);
    expect(textOf(seen)).toContain('25,000 sat Waiting for your payment');
    expect(textOf(seen)).toContain('Pay until Nov 20, 2025, 15:46 UTC');
    expect(textOf(seen)).not.toContain('Rate');
    expect(seen.text).not.toContain('data-until=');
    expect(qrCodes(seen)).toBe(2);
  });

  test('without an end names no end', async () => {
    const till = await openTill({ ...inSatoshis, expires_in: 0 });
    expect(textOf(await see(till))).not.toContain(' until ');
  });

  test('that received too little shows what is missing, at the same address', async () => {
    const till = await openTill();
    await till.pay(10_000);
    const seen = await see(till);
    expect(textOf(seen)).toContain('10,000 sat arrived. Pay the missing 15,000 sat to the same');
    expect(seen.text).toContain(`bitcoin:${till.address}?amount=0.00015&amp;`);
    expect(textOf(seen)).toContain('Waiting for your payment Short by 15,000 sat');
    expect(textOf(seen)).toContain('State Seen');
  });

  test('escapes all texts of strangers', async () => {
    const till = await openTill({
      description: '<script>alert(1)</script>',
      reference: '"><img src=x>',
      return_url: 'https://shop.example/?"><b>',
    });
    await till.pay(25_000);
    const { text } = await see(till);
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).not.toMatch(/<script>|<img|<b>/);
  });
});

describe('a lapsed quote', () => {
  test('shows no code, no amount in bitcoin, no address, but a button', async () => {
    const till = await openTill();
    await till.app.world.advance(quoteMs);
    const seen = await see(till);
    expect(qrCodes(seen)).toBe(0);
    expect(seen.text).not.toContain('bitcoin:');
    expect(seen.text).not.toContain(till.address);
    expect(textOf(seen)).not.toMatch(/BTC|25,000/);
    expect(textOf(seen)).toContain('€12.50');
    expect(textOf(seen)).toContain('The price is no longer valid');
    expect(textOf(seen)).toContain('If you have paid already, you need do nothing');
    expect(textOf(seen)).toContain(button);
  });

  test('becomes a new one by the button, at the price of now', async () => {
    const till = await openTill();
    await till.app.world.advance(quoteMs);
    const answer = await renew(till);
    expect([answer.status, answer.to]).toEqual([303, `../${till.id}`]);
    const seen = await see(till);
    expect(textOf(seen)).toContain('0.00020000 BTC');
    expect(textOf(seen)).toContain('Rate €62,500.00 for 1 BTC');
    expect(textOf(seen)).toContain('The price holds until Nov 20, 2025, 15:16 UTC');
  });

  test('stays lapsed when there is no fresh price, with a way back', async () => {
    const till = await openTill();
    till.app.market.rates = undefined;
    await till.app.world.advance(quoteMs);
    const answer = await renew(till);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(answer.headers.get('Refresh')).toBeNull();
    expect(textOf(answer)).toContain('No price right now');
    expect(answer.text).toContain(`href="../${till.id}"`);
    expect(textOf(await see(till))).toContain(button);
  });

  test('stays lapsed where prices are off', async () => {
    const app = await openReady({ config: { price: 'off' } });
    const { publicId } = await makeOrder(app, await app.newAddress());
    await app.world.advance(quoteMs);
    expect((await renew({ app, path: `/o/${publicId}` })).status).toBe(503);
  });

  test('S-94 is renewed by the page until the order has had 500, and by a key after that', async () => {
    const till = await openTill({ expires_in: 0 });
    const { app, id } = till;
    const createdAt = app.world.now();
    const count = () =>
      app.withStore(async ({ orderView }) => {
        const row = orderView.byPublicId(id);
        if (row === undefined) throw new Error('no order');
        return { orderId: row.id, quotes: orderView.record(row).quotes.length };
      });
    const { orderId } = await count();
    await app.withStore(({ database }) =>
      database.write(() => {
        const lapsed = { orderId, rateCents: 5_000_000, amountSat: 25_000, createdAt };
        const rows = Array.from({ length: 498 }, () => ({
          ...lapsed,
          expiresAt: createdAt + quoteMs,
        }));
        database.orm.insert(quotes).values(rows).run();
      }),
    );
    await app.world.advance(quoteMs);
    expect((await renew(till)).status).toBe(303);
    expect((await count()).quotes).toBe(500);
    await app.world.advance(quoteMs);
    const refused = await renew(till);
    expect(refused.status).toBe(409);
    expect(textOf(refused)).toContain('Do not pay: ask the shop.');
    expect(refused.text).toContain(`href="../${id}"`);
    expect((await count()).quotes).toBe(500);
    expect((await app.ask(`/api/v3/orders/${id}/quote`, { method: 'POST' })).status).toBe(200);
    expect((await count()).quotes).toBe(501);
    expect(textOf(await see(till))).toContain('0.00020000 BTC');
  });

  test('S-119 is renewed by our own page only', async () => {
    const till = await openTill();
    await till.app.world.advance(quoteMs);
    for (const headers of [
      { Origin: 'https://elsewhere.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      const answer = await renew(till, headers);
      expect([headers, answer.status]).toEqual([headers, 403]);
      expect(answer.headers.get('Content-Type')).toContain('text/html');
    }
    expect(textOf(await see(till))).toContain(button);
  });

  test('is renewed behind a proxy by the URL that the operator set', async () => {
    const till = await openTill({}, { publicUrl: 'https://pay.example.com' });
    await till.app.world.advance(quoteMs);
    expect((await renew(till, { Origin: 'https://pay.example.com' })).status).toBe(303);
    expect(textOf(await see(till))).toContain('Rate €62,500.00');
  });

  test('is renewed once by two clicks; a quote in force stays', async () => {
    const till = await openTill();
    expect((await renew(till)).status).toBe(303);
    expect(textOf(await see(till))).toContain('Rate €50,000.00');
    await till.app.world.advance(quoteMs);
    const both = await Promise.all([renew(till), renew(till)]);
    expect(both.map(({ status }) => status)).toEqual([303, 303]);
    const quotes = look(till.app.path).prepare('SELECT count(*) FROM quotes').pluck().get();
    expect(quotes).toBe(2);
  });
});

describe('an order that waits no more', () => {
  test('processing: the customer need do nothing; a way back to the shop', async () => {
    const till = await openTill();
    await till.pay(25_000);
    const seen = await see(till);
    expect(qrCodes(seen)).toBe(0);
    expect(textOf(seen)).toContain('Processing Your payment arrived. You need do nothing more');
    expect(seen.text).toContain('href="https://shop.example/thanks/1007"');
    expect(textOf(seen)).toContain('Back to Shop');
    expect(seen.headers.get('Refresh')).toBe('20');
    expect(textOf(seen)).not.toContain('Missing');
  });

  test('paid: the receipt has amounts, rate, times and transactions', async () => {
    const till = await openTill();
    const txid = await till.pay(26_000);
    await till.mine(2);
    const seen = await see(till);
    const text = textOf(seen);
    expect(text).toContain('Paid Over by 1,000 sat Thank you.');
    expect(text).toContain('You paid 1,000 sat too much: ask the shop about it.');
    expect(text).toContain('Amount 0.00025000 BTC = 25,000 sat Price €12.50');
    expect(text).toContain('Received 26,000 sat Over by 1,000 sat');
    expect(text).toContain('Amount 0.00026000 BTC = 26,000 sat Rate €50,000.00 for 1 BTC');
    expect(text).toContain('State Confirmed Seen Nov 20, 2025, 14:46 UTC');
    expect(text).toContain(`Transaction ${txid}`);
    expect(text).toContain('Paid Nov 20, 2025, 14:46 UTC');
    expect(seen.text).toMatch(/@media print/);
    expect(seen.headers.get('Refresh')).toBeNull();
  });

  test('whose time is over, but no server was asked since: no payment, no new quote', async () => {
    const till = await openTill();
    till.app.server.inject({ kind: 'refuse' });
    till.app.server.disconnectAll();
    await till.app.world.advance(hourMs + 10_000);
    const seen = await see(till);
    expect(textOf(seen)).toContain('Expired The time to pay is over. Do not pay any more. If you');
    expect(textOf(seen)).not.toMatch(/BTC|Show the price/);
    expect((await renew(till)).status).toBe(303);
    expect((await see(till)).text).toBe(seen.text);
  });

  test('expired: do not pay any more', async () => {
    const till = await openTill();
    await till.app.world.advance(hourMs + 1_000);
    await till.app.settle();
    const seen = await see(till);
    expect(textOf(seen)).toContain(
      'Expired Do not pay any more. If you have paid already, you need do nothing: it is found by itself.',
    );
    expect(qrCodes(seen)).toBe(0);
    expect(textOf(seen)).not.toContain('BTC');
    expect(seen.headers.get('Refresh')).toBeNull();
  });

  test('canceled: do not pay', async () => {
    const till = await openTill();
    expect((await till.app.post(`/orders/${till.id}/cancel`)).status).toBe(200);
    const seen = await see(till);
    expect(textOf(seen)).toContain('Canceled The shop canceled this order. Do not pay.');
    expect(qrCodes(seen)).toBe(0);
    expect((await renew(till)).status).toBe(303);
  });
});

test('S-150 the headers keep it out of caches, frames and search engines, and load nothing else', async () => {
  const till = await openTill();
  const { headers } = await see(till);
  expect(headers.get('Content-Security-Policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; script-src 'self' 'sha256-[\w+/=]+'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
  expect(headers.get('X-Robots-Tag')).toBe('noindex');
  expect(headers.get('Referrer-Policy')).toBe('same-origin');
  expect(headers.getSetCookie()).toEqual([]);
  expect((await renew(till)).headers.getSetCookie()).toEqual([]);
});

test('only frames of the origins that the store names may show order and receipt', async () => {
  const till = await openTill();
  const txid = await till.pay(25_000);
  await till.app.withStore(({ database, catalog }) =>
    database.write((tx) =>
      catalog.changeStore(tx, 1, { embedOrigins: 'https://a.example https://b.example:8443' }),
    ),
  );
  for (const path of [till.path, `/api/tx?txid=${txid}&addr=${till.address}`]) {
    const { headers } = await visitorOf(till.app).get(path);
    expect(headers.get('Content-Security-Policy')).toMatch(
      /; frame-ancestors https:\/\/a\.example https:\/\/b\.example:8443$/,
    );
    expect(headers.get('X-Frame-Options')).toBe(null);
  }
});

test.each([
  '/o/ord_3yQ8tZr6WmB1nK5vXc2dLq',
  '/o/ord_short',
  '/o/%3Cscript%3E',
  '/o/ord_3yQ8tZr6WmB1nK5vXc2dLq/live',
])('%s is a page that says that there is no such order', async (path) => {
  const till = await openTill();
  const seen = await visitorOf(till.app).get(path);
  expect(seen.status).toBe(404);
  expect(textOf(seen)).toContain('No such order');
  expect(seen.headers.get('X-Robots-Tag')).toBe('noindex');
  expect(seen.text).not.toContain('dLq');
});

test('a GET leaves the database as it is, at any stage', async () => {
  const till = await openTill();
  const reader = look(till.app.path, { readonly: true });
  const rows = () =>
    ['orders', 'quotes', 'deliveries', 'addresses'].map((table) =>
      reader.prepare(`SELECT * FROM ${table}`).all(),
    );
  const before = rows();
  await see(till);
  await see(till);
  await till.app.world.advance(quoteMs);
  await see(till);
  expect((await visitorOf(till.app).get(`${till.path}/quote`)).status).toBe(404);
  expect(rows()).toEqual(before);
});

test('one client gets 60 pages a minute', async () => {
  const till = await openTill();
  for (let count = 0; count < 60; count += 1) expect((await see(till)).status).toBe(200);
  const refused = await see(till);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(textOf(refused)).toContain('Please wait');
  // Without a reload, a tab that was refused once would stay so. That of a form has no URL.
  expect(refused.headers.get('Refresh')).toBe('20');
  const form = await renew(till);
  expect([form.status, form.headers.get('Refresh')]).toEqual([429, null]);
  await till.app.world.advance(60_000);
  expect((await see(till)).status).toBe(200);
});

test('the script is smaller than 4 KB, and may be cached without a time limit', async () => {
  const till = await openTill();
  const [, name = ''] = /src="(assets\/[\w.-]+\.js)"/.exec((await see(till)).text) ?? [];
  const { headers } = await visitorOf(till.app).get(`/o/${name}`, { 'Accept-Encoding': 'gzip' });
  expect(headers.get('Content-Type')).toContain('text/javascript');
  expect(headers.get('Cache-Control')).toContain('immutable');
  expect(Number(headers.get('Content-Length'))).toBeGreaterThan(0);
  const script = await browserScript('src/web/browser/page-refresh.client.js');
  expect(script).toContain('X-Paygate-Live');
  expect(Buffer.byteLength(script)).toBeLessThan(4096);
});

describe('an order whose payment waits', () => {
  const ticks = ({ text }: Seen): string[] =>
    [...text.matchAll(/class="tick (\w+)/g)].map(([, tone]) => tone ?? '');
  const waits = async (till: Page): Promise<string> => {
    const seen = await see(till);
    expect(ticks(seen)).toEqual(['waiting']);
    // The page itself says what the customer would ask.
    expect(textOf(seen)).not.toContain('I have paid');
    return /It is in .*? more\./.exec(textOf(seen))?.[0] ?? '';
  };

  test('says how far it is and how long it takes, and follows each block', async () => {
    const till = await openTill();
    expect(ticks(await see(till))).toEqual([]);
    await till.pay(25_000);
    expect(await waits(till)).toBe('It is in 0 of 2 blocks: about 20 minutes more.');
    const { heard, close } = await listenTo(till.app, `${till.path}/live`);
    await till.mine(1);
    await till.app.world.until(() => heard.text.includes('changed'), 'the block');
    await close();
    expect(await waits(till)).toBe('It is in 1 of 2 blocks: about 10 minutes more.');
    await till.mine(1);
    const paid = await see(till);
    expect([ticks(paid), textOf(paid).includes('It is in')]).toEqual([['good'], false]);
  });

  test('in two parts is as far as the later one', async () => {
    const till = await openTill(inSatoshis);
    await till.pay(10_000);
    await till.mine(1);
    await till.pay(15_000);
    expect(await waits(till)).toBe('It is in 0 of 2 blocks: about 20 minutes more.');
    await till.mine(1);
    expect(await waits(till)).toBe('It is in 1 of 2 blocks: about 10 minutes more.');
  });

  test('waits for as many blocks as its amount requires', async () => {
    const till = await openTill(inSatoshis);
    await till.app.withStore(({ catalog, database }) =>
      database.write((tx) => {
        catalog.changeStore(tx, 1, {
          confirmationBands: writeBands([{ aboveSat: 20_000, confirmations: 6 }]),
        });
      }),
    );
    await till.pay(25_000);
    expect(await waits(till)).toBe('It is in 0 of 6 blocks: about 60 minutes more.');
  });
});

test('S-120 no log line contains the id of an order', async () => {
  const till = await openTill();
  await till.pay(25_000);
  await see(till);
  const broken = look(till.app.path);
  broken.exec('ALTER TABLE quotes RENAME TO missing');
  const seen = await see(till);
  expect(seen.status).toBe(500);
  expect(textOf(seen)).toContain('If this stays, tell the shop.');
  broken.exec('ALTER TABLE missing RENAME TO quotes');
  expect(till.app.world.logs.some(({ message }) => message.includes("order's page"))).toBe(true);
  expect(JSON.stringify(till.app.world.logs)).not.toContain(till.id);
});
