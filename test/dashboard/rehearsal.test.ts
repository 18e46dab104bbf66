// A payment that the merchant rehearses: the pages of a customer in each step, what is sent, and
// that nothing else is left of it.

import { sql } from 'drizzle-orm';
import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test } from 'vitest';
import { testTxid } from '../../src/delivery/test-callback.ts';
import type { StoreChange } from '../../src/store/wallets/catalog.ts';
import { closeApps, type TestApp, type TestAppOptions } from '../support/app.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { headerOf, mailSettings, startMailServer } from '../support/mail-server.ts';
import { scrape } from '../support/metrics.ts';
import { openPriced } from '../support/priced.ts';
import { startReceiver } from '../support/receiver.ts';
import { signedIn, signedInViewer, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const path = '/dashboard/stores/1/rehearsal';
const english = { 'Accept-Language': 'en' };

/** A store with these settings, 50,000 EUR a bitcoin, and its merchant. */
async function open(change: StoreChange, config: TestAppOptions['config'] = {}) {
  const app = await openPriced({ config });
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, change)),
  );
  return { app, visitor: await signedIn(app) };
}

const cafe = { callbackUrl: '', currency: 'EUR', name: 'Café' };

async function simulate(visitor: Visitor, page = path) {
  await visitor.get(page, english);
  return visitor.post(page, `token=${visitor.formToken}&do=simulate`, english);
}

/** The text of a page, with one space between its parts. */
const textOf = (text: string): string =>
  text
    .replace(/^.*<\/head>/s, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

/** The metrics without bytes, processor time, and the sources of prices, which were asked. */
const countsOf = async (app: TestApp): Promise<string[]> =>
  (await scrape(app)).split('\n').filter((line) => /^paygate_(?!\w+_bytes|price_so)/.test(line));

/** The rows of each table but those of the visitor's own session. */
const rowsOf = (app: TestApp) =>
  app.withStore(async ({ database: { orm } }) => {
    const names = orm.all<{ name: string }>(
      sql.raw(`select name from sqlite_schema where type = 'table'
        and name not in ('sessions', 'order_texts')`),
    );
    return Object.fromEntries(
      names.map(({ name }) => [name, orm.all(sql.raw(`select * from "${name}"`)) as object[]]),
    );
  });

/** No code, no address, no link to a wallet, no stream, no form of a customer. */
function expectUnpayable(page: string): void {
  const text = page.slice(page.indexOf('<body>'));
  expect(text).not.toMatch(/class="qr"|bitcoin:|lightning:|bcrt1|data-live|\/o\/ord|id="claim"/);
  expect(text.match(/<form /g)?.length ?? 0).toBeLessThan(2);
  expect(text).toContain('No bitcoin is asked for, and no order is recorded.');
}

test('a rehearsal shows each page of the customer, and leaves an entry in the audit log alone', async () => {
  const { app, visitor } = await open(
    {
      ...cafe,
      ...{ contact: 'cafe@example.com', receiptAddress: '1 Main Street' },
      ...{ returnUrl: 'https://cafe.example/', autoReturn: true },
      embedOrigins: 'https://cafe.example',
    },
    { metricsListen: { host: '127.0.0.1', port: 0 } },
  );
  const before = await rowsOf(app);
  const counts = await countsOf(app);
  const waiting = await visitor.get(path, english);
  expectUnpayable(waiting.text);
  expect(waiting.headers.get('content-security-policy')).toMatch(
    /style-src 'sha256-.*frame-ancestors 'none'/,
  );
  expect(waiting.headers.get('cache-control')).toBe('no-store');
  expect(textOf(waiting.text)).toMatch(
    /Simulate the payment .*Café.* €1\.00 .*Waiting for your payment.*Rehearsal: no bitcoin is asked for 0\.00002000 BTC 2,000 sat/,
  );
  const seen = await simulate(visitor);
  expect(seen.status).toBe(200);
  expectUnpayable(seen.text);
  expect(textOf(seen.text)).toMatch(/the payment was seen.* Let a block confirm it .*Processing/);
  expect(textOf(seen.text)).toContain('0 of 2');
  expect(textOf(seen.text)).toMatch(/State Seen.*Transaction Rehearsal/);
  expect(seen.text).not.toMatch(/step=receipt|<a><bdi/);
  expect(seen.text).not.toContain('lang=de');
  const paid = await visitor.get(`${path}?step=paid`, english);
  expectUnpayable(paid.text);
  expect(textOf(paid.text)).toMatch(
    /Your customer can print this page.* Paid .* Receipt .*Amount 0\.00002000 BTC = 2,000 sat.*1 Main Street.*cafe@example\.com/,
  );
  expect(paid.text).toContain(`<a href="${path}?step=receipt"><bdi`);
  expect(paid.text).toContain('href="https://cafe.example/"');
  expect(paid.text).not.toContain('data-leave');
  const receipt = await visitor.get(`${path}?step=receipt`, english);
  expectUnpayable(receipt.text);
  expect(textOf(receipt.text)).toMatch(
    /€1\.00 .*Confirmed .*Confirmations 2 .* address Rehearsal .*Transaction Rehearsal/,
  );
  for (const step of ['seen', 'other']) {
    expect(textOf((await visitor.get(`${path}?step=${step}`, english)).text)).toContain(
      'Waiting for your payment',
    );
  }
  const { audit, ...rest } = await rowsOf(app);
  const { audit: auditBefore = [], ...restBefore } = before;
  expect(rest).toEqual(restBefore);
  expect(audit?.slice(auditBefore.length)).toEqual([
    expect.objectContaining({ action: 'store.rehearse', store_id: 1 }),
  ]);
  expect(await countsOf(app)).toEqual(counts);
});

/** A store that has a Callback URL, a webhook and a mail server, all of this test. */
async function openShop() {
  const hook = await startReceiver();
  const mail = await startMailServer();
  for (const each of [hook, mail]) whenOver(() => each.close());
  const shop = await open({ webhookUrl: `${hook.origin}/hook?secret=tulip`, currency: 'EUR' });
  const setMail = (mailPort: number | undefined) =>
    shop.app.withStore(({ state, database }) =>
      database.write((tx) => {
        state.mailServer.write(tx, mailPort === undefined ? undefined : mailSettings(mailPort));
        const target = state.notifyTarget(1);
        target.write(tx, { ...target.read(), recipients: ['shop@example.com'] });
      }),
    );
  return { ...shop, hook, mail, setMail };
}

test('a rehearsal sends a test mail, a test callback and a test event, and says what answered', async () => {
  const { app, visitor, hook, mail, setMail } = await openShop();
  await setMail(mail.port);
  app.receiver.script({ status: 200, body: 'ok' });
  const seen = textOf((await simulate(visitor)).text);
  expect(seen).toContain('Test to shop@example.com: accepted');
  expect(seen).toMatch(/Test callback to http:\S+cb\?\S+: answer 200, the shop accepted it/);
  expect(seen).toMatch(/Test event to http:\S+hook\?\S+: answer 200, delivered/);
  expect(seen).not.toMatch(/s3cr3t|tulip|No mail was sent/);
  expect(mail.mails.map((each) => [each.to, headerOf(each, 'subject')])).toEqual([
    [['shop@example.com'], 'Test of the notifications of paygate'],
  ]);
  expect(app.callbacks()).toEqual([
    { status: '0', addr: expect.stringMatching(/^bcrt1/), value: '2000', txid: testTxid },
  ]);
  const [event] = hook.requests;
  const { webhookSecret } = await app.withStore(async ({ catalog }) => catalog.store(1));
  const { body = '', headers = {} } = event ?? {};
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  expect(hook.requests).toHaveLength(1);
  expect(JSON.parse(body)).toMatchObject({ type: 'test' });
  expect(headers['webhook-signature']).toBe(
    new Webhook(webhookSecret).sign(String(headers['webhook-id']), at, body),
  );
  const audit = (await visitor.get('/dashboard/settings/audit')).text;
  expect(audit).toContain('A payment was rehearsed: it was simulated, and tests were sent');
  // The address of a test callback is of no wallet, and no test is a row.
  await app.settle();
  const rows = await rowsOf(app);
  for (const table of ['orders', 'payments', 'deliveries', 'notifications']) {
    expect([table, rows[table]]).toEqual([table, []]);
  }
});

test('a rehearsal says in words what failed', async () => {
  const { app, visitor, hook, mail, setMail } = await openShop();
  const { port } = mail;
  await setMail(port);
  await mail.close();
  app.receiver.script({ status: 500, body: '<b>broken</b>' });
  hook.script('reset');
  const { status, text } = await simulate(visitor);
  expect(status).toBe(200);
  expect(textOf(text)).toMatch(/Test to shop@example\.com: (?!accepted)/);
  expect(textOf(text)).toMatch(/Test callback to \S+: answer 500, (?!the shop accepted)/);
  expect(textOf(text)).toMatch(/Test event to \S+: no answer, (?!delivered)/);
  expect(text).not.toContain('<b>broken');
  // Recipients without a mail server receive nothing.
  await setMail(undefined);
  app.receiver.script({ status: 200, body: 'no' });
  const without = (await simulate(visitor)).text;
  expect(textOf(without)).toContain('No mail was sent: set it up');
  expect(without).toContain('href="/dashboard/settings/notifications"');
});

test('a store that is a wallet alone has no line about a shop, and one with a plugin says so', async () => {
  const { app, visitor } = await open(cafe);
  const seen = textOf((await simulate(visitor)).text);
  expect(seen).toContain('No mail was sent: set it up');
  expect(seen).not.toMatch(/callback|webhook|event|plugin|shop/i);
  expect(app.receiver.requests).toEqual([]);
  const hook = { url: 'https://shop.example/hook' };
  await visitor.submit('/dashboard/stores/1/plugin/medusa', 'add-webhook', hook);
  expect(textOf((await simulate(visitor)).text)).toContain(
    'The plugin of your shop receives no test: order something there.',
  );
  // Notifications by webhook need no mail server.
  await app.withStore(({ state, database }) =>
    database.write((tx) => {
      const target = state.notifyTarget(null);
      const own = { webhookUrl: `${app.receiver.origin}/n`, allowPrivateCallback: true };
      target.write(tx, { ...target.read(), ...own, allowHttpCallback: true });
    }),
  );
  expect(textOf((await simulate(visitor)).text)).toMatch(/Test to 127\.0\.0\.1:\d+: accepted/);
});

const everyWay = ['links', 'plugin', 'program'];

test.each(everyWay)(
  'is offered at the end of the setup by %s, and on the page of the store',
  async (way) => {
    const { visitor } = await open(way === 'links' ? cafe : { currency: 'EUR' });
    await visitor.submit('/dashboard/stores/1', 'set-way', { way });
    for (const page of ['', '/ready']) {
      const { text } = await visitor.get(`/dashboard/stores/1${page}`);
      expect([page, text]).toEqual([page, expect.stringContaining(`<a href="${path}">Rehearse`)]);
    }
  },
);

test.each([
  ['EUR', 50_000, '€1.00', '2,000 sat'],
  ['JPY', 10_000_000, '¥100', '1,000 sat'],
  ['KWD', 15_000, 'KWD 1.000', '6,667 sat'],
  ['IDR', 1_000_000_000, 'IDR 10,000.00', '1,000 sat'],
  [null, 0, '1,000 sat', '1,000 sat'],
] as const)(
  'asks for a small price in %s, at %i a bitcoin: %s',
  async (currency, rate, price, sat) => {
    const { app, visitor } = await open({ ...cafe, currency });
    if (currency !== null) app.market.rates = { [currency]: rate };
    const { text } = await visitor.get(path, english);
    expect(textOf(text)).toContain(` ${price} `);
    expect(textOf(text)).toContain(` ${sat} `);
    expect(textOf(text)).not.toContain('made up');
    for (const step of ['paid', 'receipt']) {
      const shown = textOf((await visitor.get(`${path}?step=${step}`, english)).text);
      expect([step, shown]).toEqual([step, expect.stringContaining(` ${sat} `)]);
    }
  },
);

test('shows the discount of the store, and its language or the one of the reader', async () => {
  const { app, visitor } = await open({ ...cafe, adjustBasisPoints: -500, language: 'ar' });
  const arabic = await visitor.get(path, english);
  expect(arabic.text).toMatch(/<html lang="ar" dir="rtl">/);
  expect(arabic.text).toMatch(/aria-label="Rehearsal" lang="en" dir="ltr"/);
  const { text } = await visitor.get(`${path}?lang=en&step=paid`);
  expect(textOf(text)).toMatch(/ €0\.95 €1\.00 · 5% discount /);
  expect(text).toContain('href="?step=paid&amp;lang=de"');
  expect(text).toContain(`href="${path}?lang=en&amp;step=receipt"`);
  expect((await simulate(visitor, `${path}?lang=de`)).text).toContain('<html lang="de"');
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { language: null })),
  );
  expect((await visitor.get(path, { 'Accept-Language': 'ja' })).text).toContain('<html lang="ja"');
});

test.each([
  ['is down', undefined, {}],
  ['has no such currency', { USD: 60_000 }, {}],
  ['is off', { EUR: 50_000 }, { price: 'off' as const }],
])(
  'takes a rate that it calls made up while the source of prices %s',
  async (_name, rates, config) => {
    const { app, visitor } = await open(cafe, config);
    app.market.rates = rates;
    await app.world.advance(120_000);
    const { status, text } = await visitor.get(path, english);
    expect(status).toBe(200);
    expect(textOf(text)).toContain(
      'There is no price of a bitcoin now: the rate of this page is made',
    );
    expect(textOf(text)).toContain(' 1,000 sat ');
  },
);

test('is for the owner alone, by a form of its own page, and for a store in use', async () => {
  const { app, visitor } = await open({ currency: 'EUR' });
  const viewer = await signedInViewer(app);
  expect((await viewer.get(path)).status).toBe(403);
  await viewer.get('/dashboard/settings/account');
  const ofViewer = await viewer.post(path, `token=${viewer.formToken}&do=simulate`);
  expect(ofViewer.status).toBe(403);
  await visitor.get(path);
  const body = `token=${visitor.formToken}&do=simulate`;
  const foreign = await visitor.post(path, body, { Origin: 'https://evil.example' });
  expect(foreign.status).toBe(403);
  expect((await visitor.post(path, 'do=simulate')).status).toBe(403);
  const other = await visitor.post(path, body.replace('simulate', 'pay'));
  expect([other.status, textOf(other.text)]).toEqual([
    400,
    expect.stringContaining('Unknown form.'),
  ]);
  expect((await visitor.get('/dashboard/stores/9/rehearsal')).status).toBe(404);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => catalog.archiveStore(tx, app.world.now(), 1, false)),
  );
  expect((await visitor.get(path)).status).toBe(409);
  await visitor.get('/dashboard/settings/account');
  expect((await visitor.post(path, `token=${visitor.formToken}&do=simulate`)).status).toBe(409);
  expect(app.receiver.requests).toEqual([]);
});
