// The Lightning node of a store in the dashboard. It is checked before it is stored. Its orders are
// paid by it. No text has its credential.

import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { accountFormatNames } from '../../src/domain/payment/account-formats.ts';
import { closeApps } from '../support/app.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startLnd, startPhoenixd } from '../support/lightning-nodes.ts';
import { mailSettings, partsOf, startMailServer } from '../support/mail-server.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';
import { signedIn } from '../support/visitor.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);
afterEach(closeApps);

const page = '/dashboard/stores/1/wallet';
const eur = { amount: '12.50', currency: 'EUR' };
const start = { lnd: startLnd, phoenixd: startPhoenixd };

async function open(kind: keyof typeof start = 'lnd') {
  const world = createTestWorld();
  const node = await start[kind]({ now: () => world.now() });
  whenOver(() => node.stop());
  const app = await openPriced({
    world,
    config: { metricsListen: { host: '127.0.0.1', port: 0 } },
  });
  const visitor = await signedIn(app);
  const fields = (changes: Record<string, string> = {}) => ({
    'node-kind': kind,
    'node-url': node.url,
    'node-credential': node.credential,
    ...changes,
  });
  return { app, world, node, visitor, fields };
}

const stored = (app: PricedApp) =>
  app.withStore(async ({ state }) => state.lightningNode(1).read());

/** Waits until an order is as it should be, while the node is asked again. */
async function until(app: PricedApp, id: string, holds: (order: { status: string }) => boolean) {
  for (let turns = 0; turns < 100; turns += 1) {
    const { body } = await app.get(`/orders/${id}`);
    if (holds(body)) return body;
    await app.world.advance(250);
  }
  throw new Error('the order stays as it is');
}

describe.each(['lnd', 'phoenixd'] as const)('%s', (kind) => {
  test('is set, makes invoices, is paid, and is removed', async () => {
    const { app, node, visitor, fields } = await open(kind);
    expect((await visitor.get(page)).text).not.toContain('Remove the node');
    const saved = await visitor.submit(page, 'set-node', fields());
    expect([saved.status, saved.to]).toEqual([303, `${page}?done=saved`]);
    const shown = (await visitor.get(page)).text;
    expect(shown).toContain(`<code>${node.url}</code>`);
    const { id, lightning } = await app.order(eur);
    expect(lightning).toMatchObject({ amount_sat: 25_000 });
    node.pay(lightning.invoice);
    const paid = await until(app, id, ({ status }) => status === 'paid');
    expect(paid.payments).toMatchObject([{ kind: 'lightning', value_sat: 25_000 }]);
    expect((await visitor.submit(page, 'remove-node')).status).toBe(303);
    expect(await stored(app)).toBeUndefined();
    expect((await app.order(eur)).lightning).toBeNull();
    const { text: audit } = await visitor.get('/dashboard/settings/audit');
    expect(audit).toContain(`The store got the Lightning node ${node.url} (${kind})`);
    expect(audit).toContain('The Lightning node of the store was removed');
  });

  test('with a credential that may spend is refused, and nothing is stored', async () => {
    const { app, node, visitor, fields } = await open(kind);
    const spending = fields({ 'node-credential': node.spendingCredential });
    const refused = await visitor.submit(page, 'set-node', spending);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(kind === 'lnd' ? /lncli bakemacaroon/ : /limited-access/);
    expect(refused.text).not.toContain(node.spendingCredential);
    expect(await stored(app)).toBeUndefined();
  });
});

test('a node that is away, and a URL that is none, are refused at their field', async () => {
  const { app, node, visitor, fields } = await open();
  await node.stop();
  for (const changes of [{}, { 'node-url': 'nonsense' }, { 'node-credential': ' ' }]) {
    const refused = await visitor.submit(page, 'set-node', fields(changes));
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('aria-invalid="true"');
  }
  expect(await stored(app)).toBeUndefined();
});

const exportPaths = [
  'payments/export',
  ...accountFormatNames.map((name) => `payments/export?format=${name}&currency=EUR`),
  ...['orders', 'orders/labels', 'callbacks', 'events', 'addresses'].map((of) => `${of}/export`),
].map((path) => `/dashboard/${path}`);

/** As it is stored, as it is sent, and as other programs write it. */
const formsOf = (credential: string, kind: 'lnd' | 'phoenixd'): string[] => {
  const bytes = kind === 'lnd' ? Buffer.from(credential, 'hex') : Buffer.from(`:${credential}`);
  const encoded = [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')];
  return [credential, credential.toUpperCase(), ...encoded];
};

/** The tables of a file with a row that has a text. */
function tablesWith(path: string, text: string): string[] {
  const file = new Database(path, { readonly: true });
  const names = file
    .prepare("select name from sqlite_schema where type = 'table' and sql not like '%virtual%'")
    .pluck()
    .all();
  const found = names.map(String).filter((name) =>
    file
      .prepare(`select * from "${name}"`)
      .raw()
      .all()
      .some((row) => String(row).includes(text)),
  );
  file.close();
  return found;
}

test.each(['lnd', 'phoenixd'] as const)(
  'the credential of %s is in no log, answer, page, export, error, metric, mail or other row',
  async (kind) => {
    const { app, node, visitor, fields, world } = await open(kind);
    const mail = await startMailServer();
    whenOver(() => mail.close());
    await app.withStore(({ state, database }) =>
      database.write((tx) => {
        state.mailServer.write(tx, mailSettings(mail.port));
        state.notifyTarget(null).write(tx, { ...noTarget, recipients: ['owner@shop.example'] });
      }),
    );
    await visitor.submit(page, 'set-node', fields());
    const { id, lightning } = await app.order(eur);
    node.pay(lightning.invoice);
    await until(app, id, ({ status }) => status === 'paid');
    // A proxy that shows the request in its error.
    node.fault = ({ headers }) => {
      const shown = headers['grpc-metadata-macaroon'] ?? headers.authorization;
      return { status: 502, body: `Bad gateway for ${shown}` };
    };
    await app.order(eur);
    const repeated = await visitor.submit(page, 'set-node', fields());
    const mailTexts = () => mail.mails.flatMap((each) => [each.raw, ...partsOf(each)]);
    const isMailed = () => mailTexts().join().includes('its Lightning node');
    for (let minute = 0; minute < 30 && !isMailed(); minute += 1) {
      await world.advance(60_000);
      await app.settle();
    }
    expect(isMailed()).toBe(true);
    const pages = [page, '/dashboard/settings/audit', `/dashboard/orders/${id}`, '/dashboard'];
    const shown = await Promise.all([...pages, ...exportPaths].map((each) => visitor.get(each)));
    expect(shown.map(({ status }) => status)).toEqual(shown.map(() => 200));
    const metrics = await fetch(`http://127.0.0.1:${app.metricsPort}/metrics`);
    await node.stop();
    const refused = await visitor.submit(page, 'set-node', fields());
    const answers = [`/orders/${id}`, '/orders', '/events'];
    const texts = [
      repeated.text,
      refused.text,
      JSON.stringify(world.logs),
      JSON.stringify(app.running.health()),
      await metrics.text(),
      ...shown.map(({ text }) => text),
      ...mailTexts(),
      ...(await Promise.all(
        answers.map(async (path) => JSON.stringify((await app.get(path)).body)),
      )),
      await (await fetch(`http://127.0.0.1:${app.port}/o/${id}`)).text(),
    ];
    for (const text of texts) {
      for (const form of formsOf(node.credential, kind)) expect(text).not.toContain(form);
    }
    const all = texts.join('\n');
    for (const proof of [
      'a Lightning node is down',
      'the node answered 502: Bad gateway for',
      '{result="settled"} 1',
    ]) {
      expect(all).toContain(proof);
    }
    // The search would find it: it is in the database, once.
    await app.stop();
    expect(tablesWith(app.path, node.credential)).toEqual(['settings']);
  },
);

test('its payments are Lightning on the pages of the order, the payment, the refund and in CSV', async () => {
  const { app, node, visitor, fields } = await open();
  await visitor.submit(page, 'set-node', fields());
  const { id, lightning, address } = await app.order(eur);
  const order = `/dashboard/orders/${id}`;
  expect((await visitor.get(order)).text).toContain(`href="lightning:${lightning.invoice}"`);
  node.pay(lightning.invoice);
  await until(app, id, ({ status }) => status === 'paid');
  const { text: paid } = await visitor.get(order);
  expect(paid).toContain('<span>Payment of 25,000 sat by Lightning</span>');
  expect(paid).not.toContain('in block');
  expect(paid).not.toContain('lightning:lnbc');
  const { text: payment } = await visitor.get('/dashboard/payments/1');
  expect(payment).toContain('Payment hash');
  expect(payment).toContain(node.invoices.at(-1)?.preimage);
  for (const wrong of ['<dt>Confirmations', '>Not in a block yet', '<h2>Deliveries']) {
    expect(payment).not.toContain(wrong);
  }
  expect((await visitor.get(`${order}/refund`)).text).toContain('an invoice of theirs');
  const rows = (await visitor.get('/dashboard/payments/export?format=paygate')).text.split('\n');
  expect(rows[1]).toContain(',lightning,');
  expect(rows[1]).not.toContain(address);
});

test('pages, file and search speak of a Lightning payment, not of blocks', async () => {
  const { app, node, visitor, fields } = await open('lnd');
  await visitor.submit(page, 'set-node', fields());
  const { id, lightning, address } = await app.order(eur);
  node.pay(lightning.invoice);
  const { payments } = (await until(app, id, ({ status }) => status === 'paid')) as unknown as {
    readonly payments: readonly [{ readonly payment_hash: string; readonly preimage: string }];
  };
  const [{ payment_hash: hash, preimage }] = payments;
  const list = await visitor.get('/dashboard/payments');
  expect(list.text).toContain('>Lightning</');
  expect(list.text).not.toContain(address.slice(-4));
  const one = await visitor.get('/dashboard/payments/1');
  expect(one.text).toMatch(/<title>12.50 EUR paid by Lightning/);
  expect(one.text).toContain(hash);
  expect(one.text).toContain(preimage);
  expect(one.text).not.toContain('<dt>Address</dt>');
  expect(one.text).not.toContain('<dt>Confirmations</dt>');
  const file = await visitor.get('/dashboard/payments/export');
  expect(file.text).toContain(`,${hash},25000,settled,,,,EUR,`);
  const order = await visitor.get(`/dashboard/orders/${id}`);
  for (const { text } of [list, one, order]) expect(text).not.toContain('pill good">Confirmed');
  expect(order.text).toContain('Paid: enough is final');
  for (const text of [hash, hash.slice(0, 11), preimage]) {
    expect((await visitor.get(`/dashboard/payments?q=${text}`)).text).toContain('/payments/1"');
    expect((await visitor.get(`/dashboard/orders?q=${text}`)).text).toContain(id);
  }
  const other = `ab${preimage.slice(2)}`;
  expect((await visitor.get(`/dashboard/payments?q=${other}`)).text).not.toContain('/payments/1"');
});

test('a stop of paygate waits for no invoice of a node that does not answer', async () => {
  const { app, node, visitor, fields, world } = await open('lnd');
  await visitor.submit(page, 'set-node', fields());
  node.fault = () => 'hang';
  const before = node.requests.length;
  const made = app.order(eur);
  const isAsked = () => node.requests.slice(before).some(({ method }) => method === 'POST');
  await world.until(isAsked, 'the node to be asked for an invoice');
  await world.advance(2_000);
  expect((await made).lightning).toBeNull();
  // The clock of the test stands, so that no deadline ends the request.
  await app.stop();
  expect(JSON.stringify(world.logs)).not.toContain('an order has no Lightning invoice');
});
