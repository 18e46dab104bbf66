// The pages of links as the server renders them, and the orders that strangers make by them.

import { afterEach, describe, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { translationOf } from '../../src/checkout/words/languages.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { scanGap, unpaidLimitOf } from '../../src/domain/store/allocation.ts';
import { closeApps, merchantKey } from '../support/app.ts';
import { cleanUp, look } from '../support/files.ts';
import { fixed, formIn, type LinkScene, openLink } from '../support/links.ts';
import { type Seen, visitorOf } from '../support/visitor.ts';

const german = translationOf('de').words.link;

afterEach(closeApps);
afterEach(cleanUp);

/** Without tags and entities, in single spaces. */
const textOf = ({ text }: Seen): string =>
  text
    .replace(/^[\s\S]*<body>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');

const linkGap = unpaidLimitOf(scanGap);

/** The tag of a field, by its name. */
const field = ({ text }: Seen, name: string): string =>
  new RegExp(`<input[^>]* name="${name}"[^>]*>`).exec(text)?.[0] ?? '';

const privateKey =
  'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi';

describe('a link with an amount', () => {
  test('shows shop, title, description, amount, and one button', async () => {
    const link = await openLink({ ...fixed, description: 'A2\nmatt' });
    const seen = await link.see();
    expect(seen.status).toBe(200);
    expect(seen.text).toContain('<h1><bdi>Poster</bdi></h1>');
    expect(seen.text).toContain('<bdi>A2\nmatt</bdi>');
    expect(textOf(seen)).toMatch(/^ Shop Poster €12\.50 A2 matt Pay with Bitcoin /);
    expect(seen.text).not.toContain('<script');
    expect(field(seen, 'amount') + field(seen, 'note')).toBe('');
  });

  test('makes an order on its own address for each of two customers, and both pay', async () => {
    const link = await openLink({ ...fixed, description: 'A2' });
    const first = await link.submit();
    const second = await link.submit();
    expect([first.status, second.status]).toEqual([303, 303]);
    const [other, order] = await link.orders();
    expect([first.to, second.to]).toEqual([`../o/${order?.id}`, `../o/${other?.id}`]);
    expect(order).toMatchObject({
      ...{ ...fixed, link_id: link.id, amount_sat: 25_000, status: 'open', language: 'en' },
      ...{ description: 'Poster\nA2', reference: null },
    });
    expect(other?.address).not.toBe(order?.address);
    for (const each of [order, other]) link.app.pay(each?.address ?? '', 25_000);
    link.app.chain.mine(2);
    await link.app.settle();
    expect((await link.orders()).map(({ status }) => status)).toEqual(['paid', 'paid']);
    const { body } = await link.app.get(`/links/${link.id}`);
    expect(body).toMatchObject({ order_count: 2, paid_count: 2 });
  });

  test('is not changed by an amount of the URL or of the form', async () => {
    const link = await openLink(fixed);
    expect(textOf(await link.see('?amount=1'))).toContain('€12.50');
    await link.submit({ amount: '1.00' }, '?amount=1');
    expect((await link.orders())[0]?.amount).toBe('12.50');
  });

  test('in satoshis needs no price', async () => {
    const link = await openLink({ amount_sat: 30_000 }, { config: { price: 'off' } });
    expect(textOf(await link.see())).toContain('30,000 sat');
    expect((await link.submit()).status).toBe(303);
    expect((await link.orders())[0]).toMatchObject({ amount_sat: 30_000, currency: null });
  });

  test('in satoshis has no discount of its store', async () => {
    const link = await openLink({ amount_sat: 30_000 });
    await link.app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { adjustBasisPoints: -500 })),
    );
    expect(textOf(await link.see())).toMatch(/^ Shop Poster 30,000 sat Pay with Bitcoin /);
    await link.submit();
    expect((await link.orders())[0]).toMatchObject({ amount_sat: 30_000, adjust_percent: 0 });
  });
});

describe('a link without an amount', () => {
  const open = { currency: 'EUR', min: '2', max: '500', suggested: ['5', '10'] };

  test('has a field for it with bounds, and the suggested amounts behind the main button', async () => {
    const link = await openLink(open);
    const seen = await link.see();
    expect(textOf(seen)).toMatch(
      /Amount in EUR From €2\.00 to €500\.00 Pay with Bitcoin Suggested amounts €5\.00 €10\.00/,
    );
    expect(field(seen, 'amount')).toContain('aria-describedby="amount-hint"');
    expect(seen.text).toContain('<button type="submit" name="amount" value="5.00">');
  });

  test.each([
    ['typed', 'key=k&amount=7%2C5', '7.50'],
    ['suggested', 'key=k&amount=&amount=5.00', '5.00'],
    ['suggested after it was typed', 'key=k&amount=7&amount=10.00', '10.00'],
  ])('takes the amount that was %s', async (_how, body, amount) => {
    const link = await openLink(open);
    expect((await link.send(body)).status).toBe(303);
    expect((await link.orders())[0]?.amount).toBe(amount);
  });

  test.each([
    ['', 'Type the amount that you want to pay.'],
    ['ten', 'Type the amount as a number, such as 12.50 .'],
    ['2.345', 'Type the amount as a number, such as 12.50 .'],
    ['1.99', 'At least €2.00'],
    ['501', 'At most €500.00'],
  ])('says at the field what is wrong with "%s", and keeps it', async (amount, text) => {
    const link = await openLink({ ...open, note: 'optional' });
    const seen = await link.submit({ amount, note: 'Table 4' });
    expect(seen.status).toBe(400);
    expect(textOf(seen)).toContain(text);
    const input = field(seen, 'amount');
    expect(input).toContain(`value="${amount}"`);
    expect(input).toContain('aria-invalid="true"');
    expect(input).toContain('aria-describedby="amount-error amount-hint"');
    expect(input).toContain('autofocus');
    expect(field(seen, 'note')).toContain('value="Table 4"');
    expect(field(seen, 'note')).not.toContain('aria-invalid');
    expect(await link.orders()).toEqual([]);
  });

  test.each([
    ['en', 'KWD', '1,000', 'such as 1.000 or 1000.000 .'],
    ['de', 'KWD', '1.000', 'zum Beispiel 1,000 oder 1000,000 .'],
    ['ar', 'KWD', '١,٠٠٠', '1.000 أو 1000.000'],
    ['fr', 'KWD', '1.000', '1,000 ou 1000,000'],
    ['de', 'EUR', '1.000', 'zum Beispiel 1,00 oder 1000,00 .'],
    ['de', 'JPY', '1.000', 'zum Beispiel 1 oder 1000 .'],
    ['de', 'EUR', '1.234,50', 'zum Beispiel 12,50 .'],
    ['fr', 'EUR', '1\u202f234,50', '12,50'],
    ['de', 'EUR', "1'234.50", 'zum Beispiel 12,50 .'],
    ['en', 'KWD', '1,23,456.500', 'such as 12.500 .'],
    ['ar', 'KWD', '١٬٢٣٤', '12.500'],
  ])('in %s and %s says what to type for "%s"', async (lang, currency, amount, text) => {
    const link = await openLink({ currency });
    const seen = await link.submit({ amount }, `?lang=${lang}`);
    expect([seen.status, await link.orders()]).toEqual([400, []]);
    expect(textOf(seen)).toContain(text);
    expect(seen.text).toContain(`value="${amount.replace("'", '&#39;')}"`);
  });

  test.each([
    ['en', '1.000', '1.000'],
    ['de', '1,000', '1.000'],
    ['ar', '١٫٥٠٠', '1.500'],
    ['en', '1234.5000', '1234.500'],
  ])('in %s takes %s dinars as %s', async (lang, amount, taken) => {
    const link = await openLink({ currency: 'KWD' });
    link.app.market.rates = { KWD: 18_500 };
    expect((await link.submit({ amount }, `?lang=${lang}`)).status).toBe(303);
    expect(await link.orders()).toMatchObject([{ amount: taken }]);
  });

  test('that is suggested can be pressed in every language', async () => {
    const link = await openLink({ currency: 'KWD', suggested: ['1', '2.5'] });
    link.app.market.rates = { KWD: 18_500 };
    for (const lang of ['en', 'de']) {
      const seen = await link.see(`?lang=${lang}`);
      const [, value = ''] = /name="amount" value="(1[.,]\d+)"/.exec(seen.text) ?? [];
      expect(value).toBe(lang === 'en' ? '1.000' : '1,000');
      expect((await link.submit({ amount: value }, `?lang=${lang}`)).status).toBe(303);
    }
    expect(await link.orders()).toMatchObject([{ amount: '1.000' }, { amount: '1.000' }]);
  });

  test('is filled in by ?amount= if that can be paid', async () => {
    const link = await openLink(open);
    expect(field(await link.see('?amount=7.5'), 'amount')).toContain('value="7.5"');
    expect(field(await link.see('?amount=7.5000'), 'amount')).toContain('value="7.5000"');
    for (const bad of ['1', '1.000', '1,000', '501.000', 'x', '%3Cb%3E', '']) {
      expect(field(await link.see(`?amount=${bad}`), 'amount')).toContain('value=""');
    }
  });

  test('has a point before decimals in ?amount=, in every language', async () => {
    const link = await openLink({ currency: 'KWD' });
    for (const [query, value] of [
      ['lang=en&amount=1.000', '1.000'],
      ['lang=de&amount=1.000', '1,000'],
      ['lang=de&amount=2.5', '2,5'],
      ['lang=en&amount=1,000', ''],
    ]) {
      expect(field(await link.see(`?${query}`), 'amount')).toContain(`value="${value}"`);
    }
    const euros = await openLink({ currency: 'EUR' });
    expect(field(await euros.see('?lang=de&amount=12.500'), 'amount')).toContain('value="12,50"');
  });

  test('says what is too small for a bitcoin payment at the price of now', async () => {
    const link = await openLink({ currency: 'EUR' });
    const seen = await link.submit({ amount: '0.01' });
    expect(seen.status).toBe(400);
    expect(textOf(seen)).toContain('too small for a bitcoin payment. Pay at least 546 sat');
    expect(field(seen, 'amount')).toContain('value="0.01"');
  });
});

describe('the note', () => {
  test('becomes the reference of the order', async () => {
    const link = await openLink({ ...fixed, note: 'required' });
    expect(textOf(await link.see())).toContain('Note for the shop');
    expect((await link.submit({ note: ' Table 4 ' })).status).toBe(303);
    expect((await link.orders())[0]?.reference).toBe('Table 4');
  });

  test('may be left out if it is optional, and is ignored if it is not asked for', async () => {
    const link = await openLink({ ...fixed, note: 'optional' });
    expect(textOf(await link.see())).toContain('Note for the shop (optional)');
    await link.submit();
    await link.change({ note: 'no' });
    await link.submit({ note: 'Table 4' });
    expect((await link.orders()).map(({ reference }) => reference)).toEqual([null, null]);
  });

  test.each([
    ['', 'Type a note: the shop asks for it.'],
    ['x'.repeat(201), 'The note may have 200 characters at most.'],
    ['a\u0007b', 'One line, such as your name or a number.'],
  ])('is refused at its field: %j', async (note, text) => {
    const link = await openLink({ ...fixed, note: 'required' });
    const seen = await link.submit({ note });
    expect(seen.status).toBe(400);
    expect(textOf(seen)).toContain(text);
    expect(field(seen, 'note')).toContain('aria-describedby="note-error note-hint"');
    expect(field(seen, 'note')).toContain('autofocus');
  });
});

describe('S-122 a private key', () => {
  test.each(['amount', 'note'])('in %s is refused, and neither shown nor stored', async (name) => {
    const link = await openLink({ currency: 'EUR', note: 'optional' });
    const seen = await link.submit({ amount: '5', note: 'Table 4', [name]: privateKey });
    expect(seen.status).toBe(400);
    expect(textOf(seen)).toContain('Never type them into a page');
    expect(seen.text).not.toContain('xprv');
    expect(field(seen, name)).toContain('value=""');
    expect(JSON.stringify(link.app.world.logs)).not.toContain('xprv');
  });

  test('in the query is refused, and no link of the page repeats it', async () => {
    const link = await openLink({ currency: 'EUR' });
    for (const path of [link.path, '/l/lnk_3yQ8tZr6WmB1nK5vXc2dLq']) {
      const seen = await visitorOf(link.app).get(`${path}?amount=${privateKey}`);
      expect(seen.status).toBe(400);
      expect(textOf(seen)).toContain('Never type them into a page');
      expect(seen.text).not.toContain('xprv');
    }
  });
});

describe('a link that makes no order now', () => {
  const shows = async (seen: Promise<Seen>, status: number, title: string): Promise<void> => {
    const page = await seen;
    expect(page.status).toBe(status);
    expect(page.text).toContain(`<h1>${title}</h1>`);
    expect(page.text).not.toContain('<form');
    expect(page.headers.get('Retry-After')).toBe(status === 503 ? '60' : null);
  };

  test('because it is switched off, is closed', async () => {
    const link = await openLink(fixed);
    const body = `key=${formIn((await link.see()).text).key}`;
    await link.change({ active: false });
    await shows(link.see(), 410, 'This link is closed');
    await shows(link.send(body), 410, 'This link is closed');
  });

  test('because its amount is too small for a payment, is closed', async () => {
    const link = await openLink({ currency: 'EUR', amount: '0.01' });
    await shows(link.submit(), 400, 'This link is closed');
  });

  test('names the contact of the shop', async () => {
    const link = await openLink(fixed);
    await link.app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { contact: '+49 30 12345' })),
    );
    await link.change({ active: false });
    const { text } = await link.see('?lang=de');
    expect(text).toContain('Kontakt zum Shop: <a href="tel:+493012345" target="_top">');
  });

  test('because all its orders are paid, is closed', async () => {
    const link = await openLink({ ...fixed, most_orders: 1 });
    await link.submit();
    link.app.pay((await link.orders())[0]?.address ?? '', 25_000);
    link.app.chain.mine(2);
    await link.app.settle();
    await shows(link.see(), 410, 'This link is closed');
  });

  test('because many addresses are unpaid, sends the customer to the shop', async () => {
    const link = await openLink(fixed);
    for (let count = 0; count < linkGap; count += 1) await link.app.newAddress();
    await shows(link.see(), 503, 'Please ask the shop');
    await shows(link.send('key=k'), 503, 'Please ask the shop');
    expect(await link.orders()).toEqual([]);
    // The own orders of the shop go on.
    expect((await link.app.post('/orders', { amount_sat: 10_000 })).status).toBe(200);
  });

  test('makes orders again once the merchant raises the gap limit of the wallet', async () => {
    const link = await openLink(fixed, { config: { walletGap: 2 * scanGap } });
    for (let count = 0; count < linkGap; count += 1) await link.app.newAddress();
    expect((await link.submit()).status).toBe(303);
    for (let count = 1; count < scanGap; count += 1) await link.app.newAddress();
    await shows(link.see(), 503, 'Please ask the shop');
  });

  test('S-123 counts unpaid addresses from a payment in a block on: others can be taken back', async () => {
    const link = await openLink(fixed);
    for (let count = 0; count < linkGap - 2; count += 1) await link.app.newAddress();
    await link.submit();
    link.app.pay((await link.orders())[0]?.address ?? '', 25_000);
    await link.app.settle();
    for (let count = 0; count < 2; count += 1) expect((await link.submit()).status).toBe(303);
    await shows(link.see(), 503, 'Please ask the shop');
    await shows(link.send('key=k'), 503, 'Please ask the shop');
    link.app.chain.mine(1);
    await link.app.settle();
    expect((await link.submit()).status).toBe(303);
  });

  test('counts no address from before an address that was used before paygate', async () => {
    const link = await openLink(fixed, {
      before(chain) {
        for (const index of [19, 38]) {
          const address = deriveAddress(merchantKey(), 0, index)?.address ?? '';
          chain.pay([{ address, valueSat: 1_000 }]);
        }
        chain.mine();
      },
    });
    expect((await link.submit()).status).toBe(303);
  });

  test('because there is no price, leads back to its form', async () => {
    const link = await openLink(fixed);
    link.app.market.rates = undefined;
    const seen = await link.submit();
    expect(seen.status).toBe(503);
    expect(seen.headers.get('Retry-After')).toBe('60');
    expect(textOf(seen)).toContain('Do not pay before');
    expect(seen.text).toContain(`href="${link.id}"`);
  });

  test('because it is unknown, is a page as that of an unknown order', async () => {
    const link = await openLink(fixed);
    const visitor = visitorOf(link.app);
    const order = await visitor.get('/o/ord_3yQ8tZr6WmB1nK5vXc2dLq');
    for (const path of ['/l/lnk_3yQ8tZr6WmB1nK5vXc2dLq', '/l/x', '/l/ord_3yQ8tZr6WmB1nK5vXc2dLq']) {
      const seen = await visitor.get(path);
      expect(seen.status).toBe(404);
      expect(textOf(seen)).toContain('Nothing is known under this link.');
      expect(textOf(order)).toContain('Nothing is known under this link.');
      expect(seen.headers.get('X-Robots-Tag')).toBe('noindex');
      expect((await visitor.post(path, '')).status).toBe(404);
    }
  });
});

describe('limits and origin', () => {
  test('each client makes five orders a minute, and still sees pages', async () => {
    const link = await openLink({ currency: 'EUR' });
    const payer = link.browser();
    for (let count = 5; count < 10; count += 1) {
      expect((await payer.submit({ amount: String(count) })).status).toBe(303);
    }
    const refused = await payer.submit({ amount: '10' });
    expect(refused.status).toBe(429);
    expect(textOf(refused)).toContain('Too many requests came from your network.');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await link.see()).status).toBe(200);
    expect(await link.orders()).toMatchObject([{ amount: '9.00' }]);
  });

  test('a page links to other languages with the amount alone, if it is short', async () => {
    const link = await openLink({ currency: 'EUR' });
    const query = `?amount=12.50&utm_source=${'x'.repeat(4_000)}&__proto__=1&addr=${'y'.repeat(101)}`;
    const { text } = await link.see(query);
    expect(text).toContain('<a href="?amount=12.50&amp;lang=de" lang="de"');
    expect(text).not.toContain('xxx');
    expect(text).not.toContain('yyy');
    expect(text.length).toBeLessThan((await link.see()).text.length + 500);
    expect((await link.see(`?amount=${'1'.repeat(32)}`)).text).toContain(
      `${'1'.repeat(32)}&amp;lang`,
    );
    expect((await link.see(`?amount=${'1'.repeat(33)}`)).text).not.toContain('111');
  });

  test('the page that asks to wait has no links to other languages, and nothing of the query', async () => {
    const link = await openLink({ currency: 'EUR' });
    await link.submit({ amount: '5' });
    const [order] = await link.orders();
    for (let count = 0; count < 60; count += 1) await link.see();
    for (const path of [link.path, `/o/${order?.id}`, '/l/x', '/o/x']) {
      const refused = await visitorOf(link.app).get(`${path}?amount=7&lang=de`);
      expect(refused.status).toBe(429);
      expect(textOf(refused)).toContain('Bitte warten');
      expect(refused.text).not.toContain('hreflang');
      expect(refused.text).not.toContain('amount=7');
      const long = `${path}?lang=de&amount=7&txid=${'e'.repeat(64)}&q=${'x'.repeat(7_500)}`;
      expect((await visitorOf(link.app).get(long)).text).toBe(refused.text);
    }
  });

  test('S-84 a subscriber of IPv6 has one limit, with any number of /64 prefixes', async () => {
    const link = await openLink(fixed, {
      config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] },
    });
    const orderFrom = async (client: string): Promise<number> => {
      const headers = { 'X-Forwarded-For': client };
      return (await link.send('key=k', headers)).status;
    };
    const statuses: number[] = [];
    for (let index = 0; index < 6; index += 1)
      statuses.push(await orderFrom(`2001:db8:1:${index}::1`));
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
    expect(await orderFrom('2001:db8:2:1::1')).toBe(303);
    for (let index = 0; index < 60; index += 1) {
      await link.see('', { 'X-Forwarded-For': `2001:db8:3:${index.toString(16)}::1` });
    }
    const see = async (client: string) =>
      (await link.see('', { 'X-Forwarded-For': client })).status;
    expect([await see('2001:db8:3:ff::1'), await see('2001:db8:4:1::1')]).toEqual([429, 200]);
  });

  test('pages of links and orders share sixty requests a minute', async () => {
    const link = await openLink(fixed);
    const visitor = visitorOf(link.app);
    for (let count = 0; count < 30; count += 1) {
      await link.see();
      await visitor.get('/o/x');
    }
    expect((await link.see()).status).toBe(429);
  });

  test('the page that asks to wait is shown in a frame, and in the language of the store', async () => {
    const link = await openLink(fixed);
    await link.submit();
    const [order] = await link.orders();
    const embedOrigins = 'https://shop.example';
    await link.app.withStore(({ catalog, database }) =>
      database.write((tx) => void catalog.changeStore(tx, 1, { embedOrigins, language: 'de' })),
    );
    for (let count = 0; count < 60; count += 1) await link.see();
    const ofOrder = await visitorOf(link.app).get(`/o/${order?.id}`);
    const ofLink = [await link.see(), await link.send('key=k')];
    for (const seen of ofLink) expect(textOf(seen)).toContain('Bitte warten');
    for (const seen of [ofOrder, ...ofLink]) {
      expect(seen.status).toBe(429);
      const policy = seen.headers.get('Content-Security-Policy');
      expect(policy).toContain(`frame-ancestors ${embedOrigins}`);
    }
  });

  test('S-121 only our own page orders', async () => {
    const link = await openLink(fixed);
    for (const headers of [
      { Origin: 'https://shop.example' },
      { Origin: 'null' },
      { Origin: '' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      expect((await link.send('key=k', headers)).status).toBe(403);
    }
    expect(await link.orders()).toEqual([]);
  });

  test('a body of more than 16 KiB is refused', async () => {
    const link = await openLink(fixed);
    expect((await link.send(`key=${'k'.repeat(17_000)}`)).status).toBe(413);
  });

  test('the headers are those of an order, with the frames that the store allows', async () => {
    const link = await openLink(fixed);
    const policy = async () => (await link.see()).headers.get('Content-Security-Policy');
    expect(await policy()).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; script-src 'self' 'sha256-[\w+/=]+'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    await link.app.withStore(({ database, catalog }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { embedOrigins: 'https://a.example' })),
    );
    expect(await policy()).toMatch(/; frame-ancestors https:\/\/a\.example$/);
    const { headers } = await link.see();
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('X-Robots-Tag')).toBe('noindex');
    expect(headers.get('Referrer-Policy')).toBe('same-origin');
    expect((await link.see()).headers.getSetCookie()).toEqual([]);
  });

  test('a GET leaves the database as it is, and the log names no link', async () => {
    const link = await openLink(fixed);
    const reader = look(link.app.path, { readonly: true });
    const rows = () =>
      ['links', 'orders', 'addresses', 'idempotency_keys'].map((table) =>
        reader.prepare(`SELECT * FROM ${table}`).all(),
      );
    const before = rows();
    await link.see('?amount=3');
    expect(rows()).toEqual(before);
    link.app.market.rates = undefined;
    expect((await link.submit({ amount: '5' })).status).toBe(503);
    link.app.market.rates = { EUR: 50_000 };
    await link.app.world.advance(60_000);
    expect((await link.submit({ amount: '5' })).status).toBe(303);
    expect(JSON.stringify(link.app.world.logs)).not.toContain(link.id);
  });
});

describe('a form that is sent twice', () => {
  const sendTwice = (link: LinkScene, one: string, other: string): Promise<Seen[]> =>
    Promise.all([link.send(one), link.send(other)]);

  test('makes one order', async () => {
    const link = await openLink({ ...fixed, note: 'optional' });
    const [one, other] = await sendTwice(link, 'key=k&note=4', 'key=k&note=4');
    expect(one?.to).toMatch(/^\.\.\/o\/ord_/);
    expect(other?.to).toBe(one?.to);
    expect((await link.send('key=k&note=4')).to).toBe(one?.to);
    expect((await link.orders()).length).toBe(1);
  });

  test('changes its order with another amount or note; another key, or none, makes one', async () => {
    const link = await openLink({ currency: 'EUR', note: 'optional' });
    const bodies = ['key=k&amount=5', 'key=k&amount=6', 'key=k&amount=6&note=4'];
    const all = new Set<string | undefined>();
    for (const body of bodies) all.add((await link.send(body)).to);
    expect(all.size).toBe(1);
    expect(await link.orders()).toMatchObject([{ amount: '6.00', reference: '4' }]);
    for (const body of ['key=l&amount=6', 'amount=6']) all.add((await link.send(body)).to);
    expect(all.size).toBe(3);
  });

  test('makes a new order once the first one is paid', async () => {
    const link = await openLink(fixed);
    const first = await link.send('key=k');
    link.app.pay((await link.orders())[0]?.address ?? '', 25_000);
    await link.app.settle();
    const second = await link.send('key=k');
    expect(second.status).toBe(303);
    expect(second.to).not.toBe(first.to);
  });

  test('gives its order a new quote once it needs one', async () => {
    const link = await openLink(fixed);
    const first = await link.send('key=k');
    await link.app.world.advance(20 * 60_000);
    expect((await link.send('key=k')).to).toBe(first.to);
    const [order] = await link.orders();
    expect(order).toMatchObject({ status: 'open', quote: { amount_sat: 25_000 } });
  });

  test('has a key of its own on each page, and none of a shop', async () => {
    const link = await openLink(fixed);
    const keys = [(await link.see()).text, (await link.see()).text].map((text) => formIn(text).key);
    expect(keys[0]).not.toBe(keys[1]);
    await link.send('key=1007');
    const order = await link.app.post('/orders', fixed, { 'Idempotency-Key': '1007' });
    expect(order.status).toBe(200);
    expect(order.body.link_id).toBe(null);
  });
});

describe('the language', () => {
  test('is that of the query, the store, the browser; the order keeps it', async () => {
    const link = await openLink({ currency: 'EUR' });
    expect(textOf(await link.see('', { 'Accept-Language': 'de' }))).toContain(
      german.amountIn('EUR'),
    );
    const wrong = await link.submit({ amount: 'x' }, '?lang=de&amount=5');
    expect(textOf(wrong)).toContain(german.wrongAmount('12,50').split('.')[0]);
    expect(formIn(wrong.text).action).toBe(`${link.id}?lang=de`);
    const sent = await link.submit({ amount: '5,50' }, '?lang=de');
    const [order] = await link.orders();
    expect(sent.to).toBe(`../o/${order?.id}?lang=de`);
    expect(order).toMatchObject({ language: 'de', amount: '5.50' });
    await link.app.withStore(({ database, catalog }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { language: 'ar' })),
    );
    expect((await link.see()).text).toContain('<html lang="ar" dir="rtl">');
    await link.change({ active: false });
    expect((await link.see()).text).toContain('<html lang="ar" dir="rtl">');
  });
});
