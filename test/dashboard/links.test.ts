// The pages of payment links: a new one, what it shows to copy and to print, and its changes.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openReady, type TestApp } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const list = '/dashboard/links';
const page = `${list}/1`;

/** All fields of the form; a browser sends the empty ones, too. */
const empty = {
  ...{ title: 'Poster', description: '', currency: '', amount: '', min: '', max: '' },
  ...{ suggested: '', note: 'no', 'most-orders': '' },
};

const linksOf = (app: TestApp) =>
  app.withStore(async ({ linkView }) =>
    linkView.list({ limit: 10 }).map((row) => linkView.json(row)),
  );

async function open(): Promise<{ readonly app: TestApp; readonly visitor: Visitor }> {
  const app = await openReady({ config: { publicUrl: 'https://pay.example.com' } });
  return { app, visitor: await signedIn(app) };
}

/** The languages in which a poster says how to pay. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/<p lang="([^"]+)" dir="auto">/g)].map(([, language = '']) => language);

const add = (visitor: Visitor, fields: object) =>
  visitor.submit(`${list}/new`, 'add', { store: '1', ...empty, ...fields });

test('a new link, with its URL, QR code, button and frame', async () => {
  const { app, visitor } = await open();
  expect((await visitor.get(list)).text).toContain('No links yet.');
  const added = await add(visitor, { amount: '25,00', currency: 'EUR', description: 'A2\nmatt' });
  expect([added.status, added.headers.get('location')]).toEqual([303, `${page}?done=link-added`]);
  const [link] = await linksOf(app);
  expect(link).toMatchObject({ title: 'Poster', amount: '25.00', description: 'A2\nmatt' });
  const { text } = await visitor.get(`${page}?done=link-added`);
  expect(text).toContain('Link added.');
  expect(text).toContain(`<code id="link-url" class="selectable">${link?.url}</code>`);
  expect(text).toContain(`<a href="${link?.url}">Open the page</a>`);
  expect(text).toContain('<a href="/dashboard/stores/1/general">general settings of the store</a>');
  // The button that ends it is no invitation.
  expect(text).toMatch(/class="other"[^>]*>Switch the link off/);
  expect(text).toContain(`aria-label="QR code of ${link?.url}"`);
  expect(text).toContain(`&lt;a href=&quot;${link?.url}&quot;&gt;Pay with Bitcoin&lt;/a&gt;`);
  expect(text).toContain(`&lt;iframe src=&quot;${link?.url}&quot;`);
  expect(text).toContain('No site may show the page in a frame yet.');
  const printed = (await visitor.get(`${page}/print`)).text;
  expect(printed).toContain(`aria-label="QR code of ${link?.url}"`);
  expect(printed).toContain('25.00 EUR');
  // The poster names the shop, not paygate, and says how to pay in three languages.
  expect(printed).toContain('<section class="poster"><h1>Shop</h1>');
  expect(printed).not.toContain('wordmark');
  expect(wordsOf(printed)).toEqual(['en', 'es', 'fr']);
  expect(printed).toContain('>pay.example.com/l/lnk_');
  for (const state of ['Seen', '1 of 2', 'Too little'])
    expect(printed).toContain(`<dt>${state}</dt>`);
  expect((await visitor.get(list)).text).toContain(`<a class="whole" href="${page}">Poster</a>`);
});

test('is changed, into satoshis as well, and switched off and on', async () => {
  const { app, visitor } = await open();
  await add(visitor, { currency: 'EUR', min: '5', suggested: '5 10,50', note: 'optional' });
  expect(await linksOf(app)).toMatchObject([{ min: '5.00', suggested: ['5.00', '10.50'] }]);
  await visitor.submit(page, 'change', { ...empty, title: 'Tips', amount: '5000' });
  const satoshis = {
    ...{ title: 'Tips', currency: null, amount: null, min: null, suggested: [] },
    ...{ amount_sat: 5_000, note: 'no', active: true },
  };
  expect(await linksOf(app)).toMatchObject([satoshis]);
  await visitor.submit(page, 'off', {});
  expect(await linksOf(app)).toMatchObject([{ ...satoshis, active: false }]);
  expect((await visitor.get(page)).text).toContain('Switch the link on');
  await visitor.submit(page, 'on', {});
  expect(await linksOf(app)).toMatchObject([satoshis]);
  const actions = await app.withStore(async ({ audit }) =>
    audit.list(10).flatMap(({ action }) => (action.startsWith('link.') ? action : [])),
  );
  expect(actions).toEqual(['link.change', 'link.change', 'link.change', 'link.add']);
});

test('asks for a mail address, or for none', async () => {
  const { app, visitor } = await open();
  const box = async () =>
    /<input[^>]* name="ask-email"[^>]*>/.exec((await visitor.get(page)).text)?.[0] ?? '';
  await add(visitor, { amount: '5000' });
  expect(await box()).not.toContain('checked');
  await visitor.submit(page, 'change', { ...empty, amount: '5000', 'ask-email': 'on' });
  expect(await linksOf(app)).toMatchObject([{ ask_email: true }]);
  expect(await box()).toContain('checked');
  await visitor.submit(page, 'change', { ...empty, amount: '5000' });
  expect(await linksOf(app)).toMatchObject([{ ask_email: false }]);
});

test('says why a link that is on makes no orders', async () => {
  const { app, visitor } = await open();
  await add(visitor, { amount: '5000' });
  expect((await visitor.get(page)).text).toContain('<dd>On</dd>');
  for (let count = 0; count < 15; count += 1) await app.newAddress();
  const { text } = await visitor.get(page);
  expect(text).toContain(
    'On, but it makes no orders now: too many addresses of its wallet are unpaid',
  );
  expect(text).toContain('<a href="/dashboard/addresses">');
  await visitor.submit(page, 'off', {});
  expect((await visitor.get(page)).text).toContain('<dd>Off</dd>');
});

test('what is wrong is said beside what was typed, and nothing is made', async () => {
  const { app, visitor } = await open();
  const refused = await add(visitor, { currency: 'EUR', amount: '1.234', 'most-orders': 'x' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('id="fault-amount"');
  expect(refused.text).toContain('an amount in EUR has at most 2 decimals');
  expect(refused.text).toContain('id="fault-most-orders"');
  expect(refused.text).toContain('value="1.234"');
  expect((await add(visitor, { amount: '25.00' })).status).toBe(400);
  const unclear = { currency: 'KWD', min: '1,000', max: '2,000', suggested: '1.000 3,000' };
  const doubtful = await add(visitor, unclear);
  expect(doubtful.status).toBe(400);
  expect(doubtful.text).toContain('has two meanings: write 1.000 or 1000.000');
  expect(doubtful.text).toContain('has two meanings: write 2.000 or 2000.000');
  expect(doubtful.text).toContain('has two meanings: write 3.000 or 3000.000');
  expect(await linksOf(app)).toEqual([]);
  expect((await visitor.get(`${list}/7`)).status).toBe(404);
});

test('the poster begins with the language of the store', async () => {
  const { app, visitor } = await open();
  await add(visitor, { amount: '5', currency: 'EUR' });
  const inLanguage = async (language: string) => {
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { language })),
    );
    return (await visitor.get(`${page}/print`)).text;
  };
  const german = await inLanguage('de');
  expect(wordsOf(german)).toEqual(['de', 'en', 'es']);
  expect(german).toContain('Scannen und mit Bitcoin bezahlen');
  expect(wordsOf(await inLanguage('es'))).toEqual(['es', 'en', 'fr']);
});

test.each([
  ['https://pay.example.com', false],
  ['http://192.168.1.5:8080', false],
  ['http://127.0.0.1:8080', true],
  ['http://localhost:8080', true],
  ['http://[::1]:8080', true],
  ['http://0.0.0.0:8080', true],
  ['http://[::]:8080', true],
])('links at %s can be opened by this machine alone: %s', async (publicUrl, isLocal) => {
  const app = await openReady({ config: { publicUrl } });
  const visitor = await signedIn(app);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { callbackUrl: '' })),
  );
  expect((await add(visitor, { amount: '5000' })).status).toBe(303);
  for (const path of [list, page, `${page}/print`, '/dashboard/stores/1/ready']) {
    const { text } = await visitor.get(path);
    expect([path, text.includes('data-local-only')]).toEqual([path, isLocal]);
    expect([path, text.includes('--domain')]).toEqual([path, isLocal]);
  }
});
