// The receipt page of one payment.

import { afterEach, describe, expect, test } from 'vitest';
import { ReceiptPage, type ShownReceipt } from '../../src/checkout/receipt-page.tsx';
import { translationOf } from '../../src/checkout/words/languages.ts';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { readerOf } from '../support/order-pages.ts';
import { pseudoLocale } from '../support/pseudo-locale.ts';
import { type Seen, visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const textOf = (page: string): string =>
  page
    .replace(/^[\s\S]*<body>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

interface Paid {
  readonly app: TestApp;
  readonly address: string;
  readonly txid: string;
  /** With more parameters. */
  see(query?: string, headers?: Record<string, string>): Promise<Seen>;
}

async function openPaid(): Promise<Paid> {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 250_000);
  await app.settle();
  const path = `/api/tx?txid=${txid}&addr=${address}`;
  return {
    ...{ app, address, txid },
    see: (query = '', headers = {}) => visitorOf(app).get(path + query, headers),
  };
}

test('it follows a payment until it is confirmed', async () => {
  const { app, address, txid, see } = await openPaid();
  const seen = await see();
  expect(textOf(seen.text)).toContain(
    'Shop 0.00250000 BTC Seen Your payment was seen. You need do',
  );
  expect(textOf(seen.text)).toContain(
    'Amount 0.00250000 BTC = 250,000 sat Confirmations 0 Seen Nov',
  );
  expect(textOf(seen.text)).toContain(`To address ${address} Transaction ${txid}`);
  expect(seen.headers.get('Refresh')).toBe('20');
  expect(seen.text).toContain('data-poll="20000"');
  app.chain.mine(1);
  await app.settle();
  expect(textOf((await see()).text)).toContain('Confirming Your payment is in a block.');
  app.chain.mine(1);
  await app.settle();
  const confirmed = await see();
  expect(textOf(confirmed.text)).toContain(
    'Confirmed Your payment is confirmed. This page is your',
  );
  expect(textOf(confirmed.text)).toContain('Confirmations 2');
  expect(confirmed.headers.get('Refresh')).toBeNull();
  expect(confirmed.text).not.toContain('data-poll=');
});

test('it names the contact of the shop', async () => {
  const { app, see } = await openPaid();
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { contact: 'https://shop.example/ask' })),
  );
  expect((await see()).text).toContain(
    '<dt>Contact of the shop</dt><dd><a href="https://shop.example/ask" target="_top">',
  );
});

test('no cache, search engine or frame may have it', async () => {
  const { see } = await openPaid();
  const { headers } = await see();
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('X-Robots-Tag')).toBe('noindex');
  expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
});

test('a page that finds no payment repeats nothing but what may name one', async () => {
  const { address, see, app } = await openPaid();
  const unknown = await visitorOf(app).get(`/api/tx?txid=${'0'.repeat(64)}&addr=${address}&q=x`);
  expect([unknown.status, unknown.headers.get('Refresh')]).toEqual([404, null]);
  expect(unknown.text).toContain(`href="?txid=${'0'.repeat(64)}&amp;addr=${address}&amp;lang=ar"`);
  const wif = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';
  for (const query of [`txid=${'0'.repeat(64)}&addr=${wif}`, `addr=&txid=${wif}`]) {
    const refused = await visitorOf(app).get(`/api/tx?${query}`);
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain(wif);
  }
  expect((await see(`&order=${'o'.repeat(33)}`)).text).not.toContain('ooo');
  expect((await see(`&order=${'o'.repeat(32)}`)).text).toContain(`order=${'o'.repeat(32)}`);
  expect((await see(`&q=${'x'.repeat(5_000)}`)).text.length).toBe((await see()).text.length);
});

test('one client gets 60 a minute, together with pages of orders', async () => {
  const till = await openTill();
  const txid = await till.pay(25_000);
  const visitor = visitorOf(till.app);
  const path = `/api/tx?txid=${txid}&addr=${till.address}`;
  for (let count = 0; count < 30; count += 1) {
    expect((await visitor.get(path)).status).toBe(200);
    expect((await visitor.get(till.path)).status).toBe(200);
  }
  const refused = await visitor.get(path);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1']);
  expect(refused.headers.get('Refresh')).toBe('20');
  expect(textOf(refused.text)).toContain('Too many requests came');
  expect(refused.text).not.toContain(till.address);
  await till.app.world.advance(1_000);
  expect((await visitor.get(path)).status).toBe(200);
});

test('its language is that of the link or of the browser, and its links keep the payment', async () => {
  const { txid, address, see } = await openPaid();
  const inGerman = await see('&lang=de');
  expect(inGerman.text).toContain('<html lang="de" dir="ltr">');
  expect(textOf(inGerman.text)).toContain('Ihre Zahlung wurde erkannt.');
  expect(inGerman.text).toContain(`href="?txid=${txid}&amp;addr=${address}&amp;lang=ar"`);
  const inArabic = await see('', { 'Accept-Language': 'ar-EG, en;q=0.5' });
  expect(inArabic.text).toContain('<html lang="ar" dir="rtl">');
  const refused = await visitorOf({ port: (await openPaid()).app.port }).get('/api/tx?lang=de');
  expect([refused.status, textOf(refused.text)]).toEqual([
    400,
    expect.stringContaining('Dieser Link nennt keine Zahlung'),
  ]);
});

describe('S-117 it leads to the order', () => {
  test('if the link names the order, as the page of the order does', async () => {
    const till = await openTill();
    const txid = await till.pay(25_000);
    const visitor = visitorOf(till.app);
    const page = await visitor.get(`${till.path}?lang=de`);
    const [, link = ''] = /href="\.\.(\/api\/tx\?[^"]*)"/.exec(page.text) ?? [];
    const receipt = await visitor.get(link.replaceAll('&amp;', '&'));
    expect(textOf(receipt.text)).toContain(txid);
    expect(receipt.text).toContain(`href="../o/${till.id}?lang=de"`);
    expect((await visitor.get(`${till.path}?lang=de`)).status).toBe(200);
  });

  test('not for a client that knows address and transaction only, or another order', async () => {
    const till = await openTill();
    const txid = await till.pay(25_000);
    const other = await till.app.order({ amount_sat: 10_000 });
    const visitor = visitorOf(till.app);
    for (const query of ['', `&order=${other.id}`, '&order=ord_', '&order=1007']) {
      const { status, text } = await visitor.get(
        `/api/tx?txid=${txid}&addr=${till.address}${query}`,
      );
      expect([status, text.includes(till.id)]).toEqual([200, false]);
      expect(text).not.toMatch(/1007<|posters|\/o\/ord/);
    }
  });
});

const receipt: ShownReceipt['receipt'] = {
  ...({ id: 1, addressId: 1, valueSat: 25_000, vout: null, height: null } as object),
  ...{ txid: 'f0'.repeat(32), address: 'bcrt1q022amqf3jv7mg744rcjmst222dfazqvmurt943' },
  ...{ currency: 'EUR', priceCents: 5_000_000, firstSeenAt: Date.UTC(2025, 10, 20, 15, 1) },
} as ShownReceipt['receipt'];

const render = async (changes: Partial<ShownReceipt>, translation = translationOf('en')) => {
  const shown = { receipt, confirmations: 0, owner: undefined, order: undefined, state: 'seen' };
  const reading = readerOf(translation);
  return String(await ReceiptPage({ shown: { ...shown, ...changes } as ShownReceipt, reading }));
};

test('it shows what the payment was worth, first', async () => {
  const text = textOf(await render({}));
  expect(text).toContain('Payment €12.50 Seen');
  expect(text).toContain('Rate €50,000.00 for 1 BTC');
});

test('a payment that is gone is said to be gone', async () => {
  const text = textOf(await render({ state: 'gone' }));
  expect(text).toContain(
    'Gone Your payment fell away: the shop did not receive it. Look into your',
  );
});

test.each(['seen', 'confirming', 'confirmed', 'gone'] as const)(
  '%s: it has no text of its own beside the words',
  async (state) => {
    const page = (await render({ state }, pseudoLocale))
      .replace(/^[\s\S]*<body>/, '')
      .replaceAll(/<(bdi|time|code)\b[^>]*>[^<]*(<code>[^<]*<\/code>)?<\/\1>/g, '')
      .replaceAll(/<(a|span)[^>]*class="language"[^>]*>[^<]*<\/\1>/g, '');
    const texts = page.split(/<[^>]*>/).map((text) => text.replaceAll(/\[[^\]]*\]/g, '').trim());
    expect(texts.filter((text) => /\p{L}/u.test(text))).toEqual([]);
  },
);
