// The files of the lists: orders, callbacks, events and addresses as CSV, with their filters.

import { afterEach, expect, test } from 'vitest';
import { describe as describeCallback } from '../../src/cli/sales/callback-text.ts';
import { describe as describeEvent } from '../../src/cli/sales/event-text.ts';
import { byteOrderMark } from '../../src/lib/csv.ts';
import { closeApps, type TestApp } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const home = '/dashboard';

async function open(changes: object = {}) {
  const till = await openTill({ expires_in: 86_400, ...changes });
  const visitor = await signedIn(till.app);
  return { ...till, visitor, rowsOf: (path: string) => rowsOf(visitor, path) };
}

type Row = Readonly<Record<string, string>>;

/** The rows of a file without quoted cells, by the names of their columns. */
async function rowsOf(visitor: Visitor, path: string): Promise<Row[]> {
  const { status, headers, text } = await visitor.get(home + path);
  expect([path, status]).toEqual([path, 200]);
  expect(headers.get('Content-Type')).toBe('text/csv; charset=utf-8');
  const name = path.split('/')[1];
  expect(headers.get('Content-Disposition')).toBe(`attachment; filename="${name}.csv"`);
  const [head = '', ...lines] = text.replace(byteOrderMark, '').trimEnd().split('\r\n');
  const columns = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    expect(cells).toHaveLength(columns.length);
    return Object.fromEntries(columns.map((column, place) => [column, cells[place] ?? '']));
  });
}

const isoOf = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;

/** A value of the JSON as its cell: null is empty, and times are in UTC. */
const cellOf = (name: string, value: unknown): string =>
  value === null ? '' : name.endsWith('_at') ? isoOf(Number(value)) : String(value);

const cellsOf = (json: object): Row =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [name, cellOf(name, value)]));

test('orders have the values of their JSON', async () => {
  const { app, id, pay, mine, rowsOf } = await open({ description: '=1+1' });
  await pay(25_000);
  await mine(2);
  const plain = await app.order({ amount_sat: 30_000, reference: '@SUM(A1)' });
  const rows = await rowsOf('/orders/export');
  expect(rows.map((row) => row.id)).toEqual([plain.id, id]);
  const { body } = await app.get(`/orders/${id}`);
  expect(body.status).toBe('paid');
  for (const [name, cell] of Object.entries(rows[1] ?? {})) {
    const value = name === 'description' ? "'=1+1" : cellOf(name, body[name]);
    expect([name, cell]).toEqual([name, value]);
  }
  expect(rows[0]).toMatchObject({ amount: '', currency: '', amount_sat: '30000', late: 'false' });
  expect(rows[0]).toMatchObject({ reference: "'@SUM(A1)", paid_at: '', missing_sat: '30000' });
});

test('lists have semicolons on request, with decimal commas and no formula', async () => {
  const { app, id, visitor } = await open();
  await app.order({ amount_sat: 30_000, reference: 'a,=1', description: '1.5; 2' });
  const { headers, text } = await visitor.get(`${home}/orders/export?separator=semicolon`);
  expect(headers.get('Content-Disposition')).toBe('attachment; filename="orders.csv"');
  const [head = '', plain = '', paid = '', ...rest] = text.split('\r\n');
  expect(rest).toEqual(['']);
  const comma = (await visitor.get(`${home}/orders/export`)).text.split('\r\n');
  expect(head).toBe(comma[0]?.replaceAll(',', ';'));
  expect(plain).toContain(';a,\'=1;"1.5; 2";');
  expect(paid).toContain(`${id};1;;open;false;12,50;EUR;0;12,50;25000;`);
  for (const list of ['orders', 'callbacks', 'events', 'addresses']) {
    const [first = ''] = (
      await visitor.get(`${home}/${list}/export?separator=semicolon`)
    ).text.split('\r\n');
    expect([list, first]).toEqual([list, expect.stringMatching(/^id;[^,]*$/)]);
    const refused = await visitor.get(`${home}/${list}/export?separator=tab`);
    expect([list, refused.status]).toEqual([list, 400]);
    expect(refused.text).toContain('separator: one of comma, semicolon is expected.');
  }
});

test('orders are those of the filters of their list, whichever page is shown', async () => {
  const { app, id, address, visitor, rowsOf } = await open();
  for (let more = 0; more < 210; more += 1) await app.order({ amount_sat: 2_000 + more });
  const { text } = await visitor.get(`${home}/orders?state=open&before=100`);
  const [, link = ''] = /href="\/dashboard(\/orders\/export[^"]*)" download/.exec(text) ?? [];
  expect(link).toBe('/orders/export?state=open');
  expect(text).toContain(`href="${home}${link}&amp;separator=semicolon" download`);
  const ids = (await rowsOf(link)).map((row) => row.id);
  expect([ids.length, new Set(ids).size, ids.at(-1)]).toEqual([211, 211, id]);
  for (const query of [`q=${id}`, `q=${address}`, 'q=1007', 'q=1007&state=open&store=1']) {
    expect((await rowsOf(`/orders/export?${query}`)).map((row) => row.id)).toEqual([id]);
  }
  for (const query of ['q=nothing', `q=${id}&state=paid`, 'store=2', 'link=1']) {
    expect([query, await rowsOf(`/orders/export?${query}`)]).toEqual([query, []]);
  }
  for (const list of ['orders', 'callbacks', 'events', 'addresses']) {
    const refused = await visitor.get(`${home}/${list}/export?state=nonsense`);
    expect([list, refused.status]).toEqual([list, 400]);
  }
});

test('labels for a wallet are those of the filters of the list', async () => {
  const { app, id, address, visitor } = await open();
  const plain = await app.order({ amount_sat: 30_000, reference: '1008' });
  await app.post(`/orders/${plain.id}/cancel`);
  const page = (await visitor.get(`${home}/orders?state=open&before=9`)).text;
  expect(page).not.toContain('/labels/export');
  const { text } = await visitor.get(`${home}/orders?state=open`);
  const [, link = ''] = /href="([^"]*\/labels\/export[^"]*)" download/.exec(text) ?? [];
  expect(link).toBe(`${home}/orders/labels/export?state=open`);
  const file = await visitor.get(link);
  expect(file.headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
  expect(file.headers.get('Content-Disposition')).toBe('attachment; filename="labels.jsonl"');
  expect(file.headers.get('X-Content-Type-Options')).toBe('nosniff');
  const line = { type: 'addr', ref: address, label: `Order 1007 ${id}` };
  expect(file.text).toBe(`${JSON.stringify(line)}\n`);
  const all = (await visitor.get(`${home}/orders/labels/export`)).text.trimEnd().split('\n');
  expect(all.map((each) => JSON.parse(each).ref)).toEqual([plain.address, address]);
  expect((await visitor.get(`${home}/orders/labels/export?state=nonsense`)).status).toBe(400);
});

/** Two payments: of an order with a webhook that fails, and of an address without an order. */
async function openDelivered() {
  const opened = await open();
  const { app, pay } = opened;
  app.receiver.script({ status: 500 });
  const webhookUrl = `${app.receiver.origin}/hook`;
  await app.withStore(({ database, catalog }) =>
    database.write((tx) =>
      catalog.changeStore(tx, 1, { webhookUrl, webhookEvents: 'order,payment' }),
    ),
  );
  const txid = await pay(25_000);
  const plainAddress = await app.newAddress();
  const plainTxid = app.pay(plainAddress, 5_000);
  await app.settle();
  return { ...opened, txid, plainAddress, plainTxid };
}

/** The rows that the command line shows as JSON. */
const listedIn = (app: TestApp) =>
  app.withStore(async ({ outbox, webhooks }) => ({
    callbacks: outbox.list({ limit: 100 }).map(describeCallback),
    events: webhooks.list({ limit: 100 }).map(describeEvent),
  }));

test('callbacks and events have the values of their JSON, and the filters of their lists', async () => {
  const { app, rowsOf, visitor } = await openDelivered();
  const { callbacks, events } = await listedIn(app);
  expect(callbacks.length).toBeGreaterThan(0);
  expect(events.length).toBeGreaterThan(1);
  expect(await rowsOf('/callbacks/export')).toEqual(callbacks.map(cellsOf));
  expect(await rowsOf('/events/export')).toEqual(events.map(cellsOf));
  const owed = events.filter(({ state }) => state === 'owed').map(({ id }) => id);
  const rows = await rowsOf('/events/export?state=owed&store=1');
  expect(rows.map((row) => row.id)).toEqual(owed);
  expect(await rowsOf('/callbacks/export?store=2')).toEqual([]);
  for (const list of ['callbacks', 'events']) {
    const { text } = await visitor.get(`${home}/${list}?store=1`);
    expect(text).toContain(`href="${home}/${list}/export?store=1" download`);
  }
});

test('callbacks are found by address, transaction and number', async () => {
  const { app, visitor, rowsOf, txid, address, plainAddress, plainTxid } = await openDelivered();
  const { callbacks } = await listedIn(app);
  const idsOf = (chosen: (row: (typeof callbacks)[number]) => boolean) =>
    callbacks.filter(chosen).map(({ id }) => String(id));
  const found = async (query: string): Promise<string[]> => {
    const { text } = await visitor.get(`${home}/callbacks?${query}`);
    const shown = [...text.matchAll(/href="\/dashboard\/callbacks\/(\d+)"/g)].map(([, id]) => id);
    const ids = (await rowsOf(`/callbacks/export?${query}`)).map((row) => row.id ?? '');
    expect([query, shown]).toEqual([query, ids]);
    return ids;
  };
  const ofPlain = idsOf(({ addr }) => addr === plainAddress);
  expect(ofPlain).toHaveLength(1);
  expect(await found(`q=${plainAddress}`)).toEqual(ofPlain);
  expect(await found(`q=${plainTxid.toUpperCase()}&state=delivered&store=1`)).toEqual(ofPlain);
  expect(await found(`q=${ofPlain[0]}`)).toEqual(ofPlain);
  expect(await found(`q=${address}`)).toEqual(idsOf(({ addr }) => addr === address));
  expect(await found(`q=${txid}`)).toEqual(idsOf((row) => row.txid === txid));
  expect(await found(`q=${plainTxid}&state=owed`)).toEqual([]);
  for (const none of ['0'.repeat(64), 'nothing', '999'])
    expect(await found(`q=${none}`)).toEqual([]);
});

test('events are found by order, reference, address, transaction and event', async () => {
  const { app, visitor, rowsOf, id, txid, address, plainAddress } = await openDelivered();
  const all = (await listedIn(app)).events.map((event) => event.id);
  const ofOrder = await app.withStore(async ({ orderView, webhooks }) =>
    webhooks
      .list({ limit: 100, orderId: orderView.byPublicId(id)?.id })
      .map(({ publicId }) => publicId),
  );
  expect(ofOrder.length).toBeGreaterThan(0);
  expect(all.length).toBeGreaterThan(ofOrder.length);
  const found = async (query: string): Promise<string[]> =>
    (await rowsOf(`/events/export?${query}`)).map((row) => row.id ?? '');
  for (const text of [id, '1007', address, txid, txid.toUpperCase()]) {
    expect([text, await found(`q=${text}`)]).toEqual([text, ofOrder]);
    expect(await found(`q=${text}&store=2`)).toEqual([]);
    const list = await visitor.get(`${home}/events?q=${text}`);
    expect(list.text.match(/href="\/dashboard\/events\/\d+"/g)).toHaveLength(ofOrder.length);
    expect(list.text).toContain(`type="search" name="q" value="${text}"`);
  }
  for (const event of all) expect(await found(`q=${event}`)).toEqual([event]);
  for (const none of [plainAddress, '0'.repeat(64), 'nothing', 'evt_nothing']) {
    expect([none, await found(`q=${none}`)]).toEqual([none, []]);
  }
});

test('addresses name their order, and are paid or unpaid', async () => {
  const { app, id, address, pay, rowsOf } = await open();
  await pay(25_000);
  const unpaid = await app.newAddress();
  const rows = await rowsOf('/addresses/export');
  expect(rows.map((row) => row.address)).toEqual([unpaid, address]);
  expect(rows[1]).toMatchObject({ order_id: id, paid: 'true', store_id: '1', wallet_id: '1' });
  expect(rows[0]).toMatchObject({ order_id: '', paid: 'false' });
  expect(rows[0]?.issued_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const found = async (query: string) =>
    (await rowsOf(`/addresses/export?${query}`)).map((row) => row.address);
  expect(await found('state=unpaid')).toEqual([unpaid]);
  expect(await found(`q=${address}`)).toEqual([address]);
  expect(await found('q=nothing')).toEqual([]);
});
