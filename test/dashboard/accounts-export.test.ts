// Files for accounts in the dashboard: their links, their rows, and sums that the list shows too.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { refunds } from '../../src/store/schema/order-schema.ts';
import { payments } from '../../src/store/schema/schema.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard/payments';

type Values = Partial<typeof payments.$inferInsert>;

async function open(rows: readonly Values[]) {
  const app = await openApp();
  await untilReady(app);
  await app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency: 'EUR' })),
  );
  await insert(app, rows);
  return { app, visitor: await signedIn(app) };
}

/** Writes payments to the tables directly, because these tests only read them. */
const insert = (app: TestApp, rows: readonly Values[]): Promise<void> =>
  app.withStore(async ({ database, addresses }) => {
    await database.write((tx) => {
      for (const [index, values] of rows.entries()) {
        const { id: addressId } = addresses.issue(tx, app.world.now(), 1, 1);
        const txid = String(index).padStart(64, '0') as Txid;
        const usual = { state: 'settled' as const, valueSat: 1_000, changedAt: 0 };
        const priced = { currency: 'EUR', priceCents: 5_012_345, firstSeenAt: app.world.now() };
        database.orm
          .insert(payments)
          .values({ ...usual, ...priced, ...values, addressId, txid })
          .run();
      }
    });
  });

/** The cells of a file below its header, by column. */
function table(text: string): Readonly<Record<string, string>>[] {
  const [head = [], ...lines] = text
    .replace('\ufeff', '')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  return lines.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at] ?? ''])));
}

/** Adds decimal texts without floats, as cents or satoshis. */
const added = (texts: readonly string[]): bigint =>
  texts.reduce((sum, text) => sum + BigInt(text.replace('.', '') || 0), 0n);

const sumsOf = (text: string): string =>
  /class="sums">([^<]*)</.exec(text)?.[1]?.replaceAll(/\s+/g, ' ') ?? '';

/** The numbers that the list says: payments, hundredths of a euro, satoshis. */
function shownSums(text: string): readonly [number, bigint, bigint] {
  const [, count, euros = '', bitcoins = ''] =
    /^([\d,]+) payments? confirmed: ([\d.,]+) EUR · ([\d.]+) BTC/.exec(sumsOf(text)) ?? [];
  return [
    Number(count?.replace(',', '')),
    added([euros.replaceAll(',', '')]),
    added([bitcoins]),
  ] as const;
}

const mixed: readonly Values[] = [
  ...[1, 7, 333, 49_999, 50_000, 123_456_789].map((valueSat) => ({ valueSat })),
  ...[{ state: 'confirmed' as const, valueSat: 77 }],
  ...[{ state: 'confirming' as const }, { state: 'unconfirmed' as const }],
  ...[{ state: 'dropped' as const, valueSat: 900_000 }],
];

test('sums of the list are the sums of each file', async () => {
  const { visitor } = await open(mixed);
  for (const query of ['', '&store=1', '&state=confirmed', '&state=open', '&store=9']) {
    const get = async (format: string) => {
      const path = `${home}/export?format=${format}&currency=EUR${query}`;
      return table((await visitor.get(path)).text);
    };
    const own = (await get('paygate')).filter(({ status }) => status === 'confirmed');
    const sums = [
      own.length,
      added(own.map((row) => row.value_at_receipt ?? '')),
      added(own.map((row) => row.sat ?? '')),
    ] as const;
    const { text } = await visitor.get(`${home}?${query.slice(1)}`);
    if (sums[0] === 0) expect(sumsOf(text)).toBe('');
    else expect([query, ...shownSums(text)]).toEqual([query, ...sums]);
    const [koinly, cointracking, quickbooks] = [
      await get('koinly'),
      await get('cointracking'),
      await get('quickbooks'),
    ];
    expect(added(koinly.map((row) => row['Net Worth Amount'] ?? ''))).toBe(sums[1]);
    expect(added(koinly.map((row) => row['Received Amount'] ?? ''))).toBe(sums[2]);
    expect(added(cointracking.map((row) => row['Buy Amount'] ?? ''))).toBe(sums[2]);
    expect(added(quickbooks.map((row) => row.Amount ?? ''))).toBe(sums[1]);
    expect([koinly.length, cointracking.length, quickbooks.length]).toEqual(Array(3).fill(sums[0]));
  }
});

test('more payments than a page counts are added up when asked', async () => {
  const rows = Array.from({ length: 230 }, (_, index) => ({ valueSat: 1_000 + 37 * index }));
  const { visitor } = await open(rows);
  const first = (await visitor.get(`${home}?store=1`)).text;
  expect(sumsOf(first)).toBe('');
  expect(first).toContain('href="/dashboard/payments?store=1&amp;sums=1">Add up</a>');
  const own = table((await visitor.get(`${home}/export?format=paygate&store=1`)).text);
  expect(shownSums((await visitor.get(`${home}?store=1&sums=1`)).text)).toEqual([
    ...[230, added(own.map((row) => row.value_at_receipt ?? ''))],
    added(own.map((row) => row.sat ?? '')),
  ]);
});

test('payments without a value are counted beside the sums', async () => {
  const { visitor } = await open([{}, { priceCents: null }, { currency: null, priceCents: null }]);
  const { text } = await visitor.get(home);
  expect(sumsOf(text)).toBe('3 payments confirmed: 0.50 EUR · 0.00003000 BTC, 2 without value');
  const rows = table((await visitor.get(`${home}/export?format=quickbooks`)).text);
  expect(rows.map(({ Amount }) => Amount)).toEqual(['0.50']);
});

test('each file is linked with the filters of the list', async () => {
  const { visitor } = await open(mixed);
  const { text } = await visitor.get(`${home}?store=1&state=confirmed&before=5&done=x`);
  const links = [...text.matchAll(/href="(\/dashboard\/payments\/export[^"]*)" download/g)].map(
    ([, link = '']) => link.replaceAll('&amp;', '&'),
  );
  const filter = 'store=1&state=confirmed';
  expect(links).toEqual([
    `${home}/export?${filter}&format=paygate`,
    `${home}/export?${filter}&format=paygate&separator=semicolon`,
    `${home}/export?${filter}&format=koinly`,
    `${home}/export?${filter}&format=cointracking`,
    `${home}/export?${filter}&format=quickbooks&currency=EUR`,
    `${home}/export?${filter}`,
    `${home}/export?${filter}&separator=semicolon`,
  ]);
  for (const link of links) {
    const { status, headers } = await visitor.get(link);
    expect([link, status, headers.get('Content-Type')]).toEqual([
      ...[link, 200, 'text/csv; charset=utf-8'],
    ]);
    const [, format] = /format=(\w+)/.exec(link) ?? [];
    expect(headers.get('Content-Disposition')).toBe(
      `attachment; filename="payments${!format || format === 'paygate' ? '' : `-${format}`}.csv"`,
    );
  }
});

test('a month is one click, and names its file; refunds are in its sums', async () => {
  const at = Date.parse('2025-10-31T23:59:59.999Z');
  const { app, visitor } = await open([{}, { firstSeenAt: at }]);
  const init = { method: 'POST', body: JSON.stringify({ amount_sat: 5_000 }) };
  const { id } = (await app.ask('/api/v3/orders', init)).body;
  const refund = { address: 'bcrt1q', choice: 'all', feeSat: 0, txid: 'ab' } as const;
  const sent = { amountSat: 400, currency: 'EUR', priceCents: 5_000_000, createdAt: at };
  await app.withStore(({ database, orderView }) =>
    database.write(() => {
      const orderId = orderView.byPublicId(id)?.id ?? 0;
      database.orm
        .insert(refunds)
        .values({ ...refund, ...sent, orderId, doneAt: at })
        .run();
    }),
  );
  const { text } = await visitor.get(`${home}?store=1&sums=1&before=9`);
  const spans = [...text.matchAll(/href="([^"]*)">(This month|Last month|This year)</g)].map(
    ([, link = '', name]) => [name, link.replaceAll('&amp;', '&')],
  );
  expect(spans).toEqual([
    ['This month', `${home}?store=1&from=2025-11-01&to=2025-11-30`],
    ['Last month', `${home}?store=1&from=2025-10-01&to=2025-10-31`],
    ['This year', `${home}?store=1&from=2025-01-01&to=2025-12-31`],
  ]);
  const month = 'from=2025-10-01&to=2025-10-31';
  const file = await visitor.get(`${home}/export?format=paygate&${month}`);
  expect(file.headers.get('Content-Disposition')).toContain('filename="payments-2025-10.csv"');
  const rows = table(file.text);
  expect(rows.map(({ type, sat, value_at_receipt: worth }) => [type, sat, worth])).toEqual([
    ['payment', '1000', '0.50'],
    ['refund', '-400', '-0.20'],
  ]);
  const net = '1 payment confirmed, less 1 refund: 0.30 EUR · 0.00000600 BTC';
  expect(sumsOf((await visitor.get(`${home}?${month}`)).text)).toBe(net);
  expect(sumsOf((await visitor.get(`${home}?${month}&state=open`)).text)).toBe('');
});

test('the file without a format has the columns that it always had', async () => {
  const { visitor } = await open([{}]);
  const [head] = (await visitor.get(`${home}/export`)).text.split('\r\n');
  expect(head).toBe(
    'id,first_seen,store,address,txid,satoshi,state,confirmations,height,replaced_by,currency,' +
      'worth_when_seen,price_when_seen',
  );
});

test('both files of paygate have decimal commas between semicolons', async () => {
  const { visitor } = await open([{}]);
  const rowOf = async (query: string) =>
    (await visitor.get(`${home}/export?${query}`)).text.split('\r\n');
  const [head, row] = await rowOf('format=paygate&separator=semicolon');
  expect(head).toMatch(/^time_utc;type;store;order;/);
  expect(row).toContain(';confirmed;EUR;;;;;;50123,45;0,50;;1000;0,00001000;');
  const [listHead, listRow] = await rowOf('separator=semicolon');
  expect(listHead).toMatch(/^id;first_seen;store;/);
  expect(listRow).toMatch(/;EUR;0,50;50123,45$/);
  expect(await rowOf('separator=comma')).toEqual(await rowOf(''));
});

test('a search finds its payment in each file, and a senseless one finds none', async () => {
  const { visitor } = await open([{}, {}]);
  const count = async (search: string) =>
    table((await visitor.get(`${home}/export?format=paygate&q=${search}`)).text).length;
  expect(await count('1'.padStart(64, '0'))).toBe(1);
  expect(await count('f'.repeat(64))).toBe(0);
  expect(await count('nonsense')).toBe(0);
});

test('an unknown format or currency is refused, and so is a choice of currencies', async () => {
  const { app, visitor } = await open([{}]);
  const status = async (query: string) => (await visitor.get(`${home}/export?${query}`)).status;
  expect(await status('format=datev')).toBe(400);
  expect(await status('format=quickbooks&currency=XXXX')).toBe(400);
  expect(await status('format=quickbooks')).toBe(200);
  const commasOnly = await visitor.get(`${home}/export?format=quickbooks&separator=semicolon`);
  expect(commasOnly.status).toBe(400);
  expect(commasOnly.text).toContain('QuickBooks reads files with commas only');
  const unknown = await visitor.get(`${home}/export?format=paygate&separator=tab`);
  expect(unknown.status).toBe(400);
  expect(unknown.text).toContain('separator: one of comma, semicolon is expected.');
  await app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, { currency: null })),
  );
  const refused = await visitor.get(`${home}/export?format=quickbooks`);
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('the chosen stores have none');
});
