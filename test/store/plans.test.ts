// No statement of the store walks a table that grows. SQLite explains each that the modules of
// src/store prepare, with every set of filters of the lists, on a file with rows in it. The plans
// depend on no rows, because paygate never runs ANALYZE.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableName, is, sql } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, expect, test } from 'vitest';
import type { BlockHash, Scripthash, Txid } from '../../src/bitcoin/ids.ts';
import { parseLinkInput } from '../../src/domain/order/link-input.ts';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import { issuingRate } from '../../src/store/resume/issuing-rate.ts';
import { highestVersion, newestEvent } from '../../src/store/resume/order-progress.ts';
import * as adminTables from '../../src/store/schema/admin-schema.ts';
import * as deliveryTables from '../../src/store/schema/delivery-schema.ts';
import * as notificationTables from '../../src/store/schema/notification-schema.ts';
import * as orderTables from '../../src/store/schema/order-schema.ts';
import * as tables from '../../src/store/schema/schema.ts';
import { combinations } from '../support/combinations.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';
import { plansOf, preparedBy } from '../support/plans.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

/** Tables whose rows do not come with payments, orders or requests. */
const small = new Set([
  ...['settings', 'wallets', 'stores', 'webhooks', 'api_keys', 'servers', 'tills'],
  ...['admin', 'passkeys', 'recovery_codes', 'sessions', 'admin_links'],
]);
const growingTables = [tables, orderTables, deliveryTables, notificationTables, adminTables]
  .flatMap((schema) => Object.entries(schema))
  .flatMap(([name, each]) => (is(each, SQLiteTable) ? [{ name, table: getTableName(each) }] : []))
  .filter(({ table }) => !small.has(table));
const growing = growingTables.map(({ table }) => table);

/** Partial indexes with few rows, however many the table has. */
const smallIndexes = new Set([
  // What is not sent yet, or under way.
  ...['deliveries_owed', 'deliveries_sendable', 'deliveries_of_address', 'deliveries_leased'],
  'notifications_due',
  // What was refused for days; maintenance deletes old ones.
  ...['deliveries_exhausted', 'deliveries_given_up', 'notifications_failed'],
  // What waits for blocks, for a price or for its end.
  ...['payments_in_block', 'payments_unsettled', 'payments_unpriced', 'orders_expiring'],
  ...['payments_reversed', 'payments_fallen'],
  ...['addresses_foreign', 'links_active'],
  // What a node reported wrongly.
  'lightning_invoices_fault',
]);

/** Columns with so few values that rows with one of them are many. */
const commonColumns = new Set([
  ...['store_id', 'wallet_id', 'link_id', 'key_id', 'branch', 'origin'],
  ...['state', 'status', 'type', 'currency', 'channel', 'on_best'],
]);

/** Statements that read or sort many rows of a growing table, and why they may. */
const allowed: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^insert into "(stores|wallets|links|orders)"/,
    'reads children after a deferred violation only',
  ],
  [/^select distinct \+"currency" from "payments" where currency is not null/, 'unpriced ones'],
  [/^select webhooks\.id, webhooks\.url, \(select count/, 'webhooks, which are few'],
  [/^update "orders" set "version" = /, 'once, in a restored copy'],
  [/^select max\("version"\) from "orders"/, 'once, in a restored copy'],
  [/min\("issued_at"\) from "addresses" where \(\+/, 'once, in a copy: addresses of a month'],
  [/^select "state", count\(\*\) from "payments" group by/, 'once, at a start with metrics'],
  [/^update "orders" set "reference" = /, '`orders forget`: so many ids'],
  [/^update "lightning_invoices" set "invoice" = /, '`orders forget`: so many ids'],
  [/^delete from "(attempts|deliveries)"/, 'maintenance: the oldest rows, so many at once'],
  [/^update "deliveries" .*\(select delivery_id from attempts where channel/s, 'doubtful answers'],
  [/^delete from "(notifications|typed_emails)"/, 'maintenance: rows that are too old'],
  [/from "headers" where "headers"\."on_best" = 1 order by/, 'only the first row is read'],
  [/^update "headers" set "on_best" = /, 'blocks above a fork'],
  [/^select "order_id" from "deliveries" where .*"created_at" > /, 'events of two days at most'],
  [/max\(d\.id\)/, 'SQLite reads the last row of the channel'],
  [/count\(\*\) from "addresses" where "addresses"\."issued_at" > /, 'addresses of some days'],
  [/count\(\*\) from "payments" where .*"state" in \('unc/, 'payments of the last blocks'],
  [/distinct "transactions"\."txid" from "transactions"/, 'unconfirmed payments'],
  [/"first_seen_at" < \?\s+and "payments"\."state" in \('confirmed'/, 'payments of a month'],
  [/"origin" = 'skipped'\s+and "addresses"\."store_id" is null/, 'skipped by a restore'],
  [/a\.origin = 'skipped' and a\.store_id is null/, 'skipped by a restore'],
  [/"wallets"\."scanned_at" is not null/, 'addresses ahead of each wallet'],
  [/"derivation_index" >= \+\? and .*"derivation_index" < /, 'a span of indexes'],
  [
    /max\("(derivation_index|issued_at)"\) from "addresses" where/,
    'SQLite reads the last row of the index',
  ],
  [/"origin" in \('ahead', 'foreign'\)/, 'indexes that were left out'],
  [/a\.origin = 'foreign'\)/, 'indexes that were left out, and those ahead of a wallet'],
  [/derivation_index < \(select next_index/, 'the last paid address, or orders of strangers'],
  [/from "notifications" where \(?"notifications"\."state" = '(owed|failed)'/, 'unsent ones'],
  [/distinct "addresses"\."scripthash" from "payments"/, 'payments of the last blocks'],
  [/from "orders" o where o\.store_id|"orders" o\s+where .* limit \+\?\)\) from/s, 'so many'],
  [/^delete from "audit" where "audit"\."key_id"/, 'entries of one key, which are 10,000 at most'],
  [
    /from "deliveries" inner join "payments" .*"(txid|scripthash)" = /,
    'callbacks of an address, so many',
  ],
  [/"deliveries"\."order_id" in \(select/, 'events of a transaction or of 200 orders'],
  [/from "refunds" inner join .*"done_at" >= /, 'refunds of a span, which are typed by hand'],
  [/^update "lightning_invoices" .*store_id/s, 'once, when the node of a store changes'],
  [/from lightning_invoices i cross join/, 'open orders, when the node of their store is back'],
  [/order by "?stores"?\."?id"? <= /, 'sorts the stores'],
];

/** Rows of each table that a real shop makes, also of those that the flows below do not fill. */
async function seeded(): Promise<Shop> {
  const shop = await openShop({ webhookUrl: 'https://shop.example/hook', currency: 'EUR' });
  const [issued, plain] = [await shop.issue(), await shop.issue()];
  await shop.write((tx) =>
    shop.orders.create(tx, now, {
      ...{ publicId: idOf('ord', new Uint8Array(idBytes)), storeId: 1, addressId: issued.id },
      price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
      ...{ rateCents: 5_000_000, toleranceBasisPoints: 50, latePolicy: 'worth' },
      ...{ quoteSeconds: 900, expiresAt: now + 3_600_000, reference: '1007', description: null },
      ...{ metadata: {}, returnUrl: null, language: null },
    }),
  );
  for (const { address } of [issued, plain]) shop.chain.pay([{ address, valueSat: 25_000 }]);
  await shop.observe(issued);
  await shop.observe(plain);
  await shop.mine(3);
  await shop.observe(issued);
  await shop.observe(plain);
  await shop.mine();
  return shop;
}

const hash = 'f'.repeat(64);
const txids = [undefined, hash as Txid];
const scripthashes = [undefined, hash as Scripthash];
const place = { limit: [10], beforeId: [undefined, 1] };
const span = { since: [undefined, now - 1], until: [undefined, now + 1] };

/** Reads every list by every set of its filters. */
function readLists(shop: Shop): void {
  const { orderView, paymentView, eventView, outbox, addressView, linkView, audit } = shop;
  const storeId = [undefined, 1];
  for (const query of combinations({
    ...{ storeId, ...place, status: [undefined, 'open', 'paid'], reference: [undefined, '1007'] },
    ...{ linkId: [undefined, 1], createdAfter: [undefined, 1], createdBefore: [undefined, now] },
  })) {
    orderView.list(query as Parameters<typeof orderView.list>[0]);
  }
  for (const query of combinations({
    ...{ storeId: [undefined, 1, null], ...place, ...span, txid: txids, scripthash: scripthashes },
    states: [undefined, ['unconfirmed', 'confirming'], ['settled'], ['dropped']],
    reversedSince: [undefined, 1],
  })) {
    paymentView.page(query as Parameters<typeof paymentView.page>[0]);
  }
  const { ids } = shop.saleSearch.payments('25000 sat');
  paymentView.page({ ids, limit: 10 });
  for (const text of ['1007', '12.50', 'ord_', 'ab', 'bcrt1q…abcd', hash]) {
    shop.saleSearch.orders(text, {}, { beforeId: undefined, limit: 10 });
    shop.saleSearch.payments(text);
  }
  const types = [undefined, 'order.paid', 'payment.seen'];
  for (const query of combinations({
    ...{ storeId, ...place, ...span, txid: txids, type: types, orderId: [undefined, 1] },
    state: [undefined, 'unsent', 'owed', 'delivered', 'superseded', 'exhausted'],
    ...{ publicId: [undefined, 'evt_1'], reference: [undefined, '1007'] },
  })) {
    eventView.page(query as Parameters<typeof eventView.page>[0]);
  }
  for (const query of combinations({ storeId, type: types, afterId: [undefined, 1], limit: [9] })) {
    eventView.after(query as Parameters<typeof eventView.after>[0]);
  }
  for (const query of combinations({
    ...{ storeId, ...place, ...span, txid: txids, scripthash: scripthashes, id: [undefined, 1] },
    state: [undefined, 'owed', 'held', 'delivered', 'superseded', 'exhausted'],
    doubted: [undefined, true],
  })) {
    outbox.page(query as Parameters<typeof outbox.page>[0]);
  }
  for (const query of combinations({
    ...{ storeId: [undefined, 1, null], ...place, scripthash: scripthashes },
    paid: [undefined, true, false],
  })) {
    addressView.list(query as Parameters<typeof addressView.list>[0]);
  }
  for (const query of combinations({ storeId, ...place })) linkView.list(query);
  for (const beforeId of place.beforeId) audit.list(9, beforeId);
}

/** Calls what prepares a statement for each call. */
async function callTheRest(shop: Shop): Promise<void> {
  const { receivedView, refunds, receiptPrices, webhooks, outbox, keys, audit, linkView } = shop;
  // The worth of one that leaves 64 bits is a statement of its own.
  shop.database.orm.run(sql`update payments set value_sat = 2100000000000000,
    currency = 'EUR', price_cents = 1000000000 where id = 1`);
  receivedView.received({ since: 0, until: now + 1, currencies: ['EUR'] });
  receivedView.unconfirmed();
  receivedView.currencies(0);
  receivedView.payment(1);
  linkView.activeCurrencies();
  refunds.of(1);
  refunds.pendingOf(1);
  refunds.sentSince(0);
  refunds.othersOf(hash as Txid, { id: 1, address: '' });
  receiptPrices.waiting(0);
  for (const attempts of [webhooks.attempts, outbox.attempts]) attempts(1);
  shop.eventView.byPublicId('evt_1');
  shop.paymentView.callbacksOf(1);
  shop.addressView.foreignUses();
  shop.catalog.wallets();
  keys.list(now);
  newestEvent(shop);
  highestVersion(shop);
  issuingRate(shop, 1, now);
  await shop.write((tx) => {
    const price = { currency: 'EUR', priceCents: 1, sources: [] };
    receiptPrices.put(tx, now, 0, price, 1);
    const choice = 'all';
    const refund = { orderId: 1, address: 'x', choice, amountSat: 546, feeSat: 0 } as const;
    refunds.prepare(tx, now, refund);
    refunds.discard(tx, 1);
    refunds.prepare(tx, now, { ...refund, address: null });
    refunds.address(tx, 1, 'x');
    refunds.finish(tx, now, 1, { txid: hash, currency: 'EUR', priceCents: 1 });
    const { lightningInvoices } = shop;
    const paid = { paymentHash: hash, invoice: 'lnbcrt1', amountSat: 1, expiresAt: now };
    lightningInvoices.add(tx, now, 1, paid);
    lightningInvoices.open(1);
    lightningInvoices.orderOf(paid.paymentHash);
    lightningInvoices.end(tx, now, 1);
    lightningInvoices.toEnsure(1, now);
    lightningInvoices.setNode(tx, now, 1, {
      ...{ kind: 'lnd', url: 'x', credential: 'x', publicKey: 'x', certificate: null },
    });
    const paidHash = { paymentHash: hash, preimage: hash, valueSat: 1, settledAt: now };
    const settled = [{ ...paidHash, externalId: 'x' }];
    lightningInvoices.record(tx, now, 1, { settled, cursor: '1' });
    lightningInvoices.faults(0);
    refunds.mined(tx, 1, hash as Txid, { height: 1, hash: hash as BlockHash });
    outbox.resendFailed(tx, now, 1, 0);
    outbox.resendDoubtful(tx, now, 1, 0);
    webhooks.resendFailed(tx, now, 1);
    outbox.resend(tx, now, outbox.list({ limit: 1 })[0]?.id ?? 0);
    audit.noteChange(tx, now, 'command', 'password.set');
    shop.addresses.requireScan(tx);
    shop.addresses.finishScan(tx, now, 1, 5);
    const link = { ...parseLinkInput({ title: 'Tips' }), publicId: 'lnk_1', storeId: 1 };
    shop.links.change(tx, shop.links.create(tx, now, link).id, link);
    const { tills, typedEmails } = shop;
    typedEmails.note(tx, now, 'network', 1);
    typedEmails.countOf(now, 'network', 0, 0);
    typedEmails.tidy(tx, now);
    const { id } = tills.add(tx, now, { storeId: 1, name: 'Bar', seenUpTo: null });
    tills.change(tx, id, { name: 'Counter', seenUpTo: 5 });
    tills.setCode(tx, now, id, 'code');
    tills.byCode(now, 'code');
    tills.pair(tx, now, id, 'token');
    const [till] = [...tills.list(), tills.byToken('token'), tills.byId(id)];
    tills.seen(tx, now, till?.id ?? 0);
    tills.salesSince(id, 0);
    tills.remove(tx, now, id);
  });
}

/** Places of src/store that prepare a statement, as `path:line`. */
function placesThatPrepare(): string[] {
  const paths = readdirSync('src/store', { recursive: true, encoding: 'utf8' });
  return paths
    .filter((path) => /^(?!schema\/).*\.ts$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(join('src/store', path), 'utf8');
      const lines = namesGrowing(text) ? text.split('\n') : [];
      return lines.flatMap((line, at) =>
        isPlace(line.trim(), lines[at - 1]?.trim() ?? '') ? [`${path}:${at + 1}`] : [],
      );
    });
}

/** Modules of other tables alone may walk them. */
const namesGrowing = (text: string): boolean =>
  growingTables.some(
    ({ name, table }) =>
      new RegExp(
        `^import \\{[^}]*\\b${name}\\b[^}]*\\} from '[./a-z]*/[a-z]*-?schema\\.ts'`,
        'm',
      ).test(text) || new RegExp(`\\b(from|join|into|update) ${table}\\b`).test(text),
  );

/** A statement is made by `prepared`, or by a call without values of one that is not prepared. */
const isPlace = (line: string, before: string): boolean =>
  /\bprepared\(\(|\borm\.(all|get|run|values)\b/.test(line) ||
  (/\.(all|get|run)\(\)/.test(line) &&
    !/\b(statements(\.\w+)+|choices|newestQuote|list|waiting)\.(all|get|run)\(\)/.test(
      line.startsWith('.') ? before + line : line,
    ));

/** What a plan shows of a walk. */
type Walk = readonly [text: string, ...steps: string[]];

test('no statement of the store walks or sorts a table that grows', async () => {
  let shop: Shop | undefined;
  const prepared = await preparedBy(async () => {
    shop = await seeded();
    readLists(shop);
    await callTheRest(shop);
  });
  const path = shop?.path ?? '';
  const found = prepared.filter(({ text }) => /^\s*(select|update|delete|insert|with)/i.test(text));
  expect(found.length).toBeGreaterThan(250);
  const walks = found.flatMap(({ text }): Walk[] => {
    const steps = walksOf(path, text);
    return steps.length === 0 ? [] : [[text, ...steps]];
  });
  const isAllowed = ([text]: Walk) => allowed.some(([pattern]) => pattern.test(text));
  expect(walks.filter((each) => !isAllowed(each))).toEqual([]);
  // No entry outlives its statement.
  const unused = allowed.filter(([pattern]) => !walks.some(([text]) => pattern.test(text)));
  expect(unused).toEqual([]);
  // Nothing is prepared that the flows above do not reach.
  const stacks = prepared.map(({ stack }) => stack).join('\n');
  const isReached = (place: string) => stacks.includes(`/src/store/${place}:`);
  expect(placesThatPrepare().filter((place) => !isReached(place))).toEqual([]);
});

/** The steps of a plan that read many rows of a growing table, or sort some. */
function walksOf(path: string, text: string): string[] {
  const [steps = []] = plansOf(path, [text]);
  const isSorted = steps.some((step) => step.includes('TEMP B-TREE'));
  const isPage = !isSorted && /\blimit (\+?\?|\d+)( offset \?)?\)*$/i.test(text);
  const isWhole = !/\bwhere\b/i.test(text);
  const isOfGrowing = growing.some((name) => new RegExp(`\\b${name}\\b`).test(text));
  return steps.filter((step) => {
    if (step.includes('TEMP B-TREE')) return isOfGrowing;
    const { verb, alias, index, columns } = partsOf(step);
    if (verb === '' || tableOf(text, alias) === undefined || smallIndexes.has(index)) return false;
    if (verb === 'SCAN') return !(isPage && isWhole);
    // A minimum or maximum: of the key or of an index, SQLite reads one row.
    if (columns.length === 0) return index === '' && !/\b(min|max)\("?id"?\)/.test(text);
    return !isPage && columns.every(isCommon);
  });
}

/** A range, or a column with few values; a row is found by any other. */
const isCommon = (column: string): boolean =>
  !column.endsWith('=?') || commonColumns.has(column.slice(0, -2));

function partsOf(step: string) {
  const [, verb = '', alias = '', index = '', columns = ''] =
    /^(SCAN|SEARCH) (\w+)(?: EXISTS)?(?: USING (?:COVERING )?INDEX (\w+)| USING INTEGER PRIMARY KEY)?(?: \(([^)]*)\))?/.exec(
      step,
    ) ?? [];
  return { verb, alias, index, columns: columns === '' ? [] : columns.split(' AND ') };
}

/** The growing table that an alias stands for. */
const tableOf = (text: string, alias: string): string | undefined =>
  growing.find(
    (name) => name === alias || new RegExp(`\\b${name}"? (?:as )?"?${alias}"?\\b`, 'i').test(text),
  );

test('a walk and a sort are noticed', async () => {
  const { path } = await openShop();
  const walks = (text: string) => walksOf(path, text).length;
  for (const [text, count] of [
    ['select * from payments where cycle > ?', 1],
    ['select * from payments where cycle > ? limit ?', 1],
    ['select 1 from "orders" "o" where o.quote_seconds = 1', 1],
    ['select * from payments order by id desc', 1],
    ['select * from payments p order by p.cycle limit ?', 2],
    ['select * from payments where address_id = ? order by cycle limit ?', 1],
    ['select * from deliveries where created_at > ? order by id desc limit ?', 2],
    ['select count(*) from addresses', 1],
    ['select count(*) from orders where store_id = ?', 1],
    ["select count(*) from orders where store_id = ? and status = 'paid'", 1],
    ['select * from orders where id > ?', 1],
    ['update orders set version = 1', 1],
    ['select max(version) from orders', 1],
    ['select max(id) from orders', 0],
    ['delete from deliveries where created_at < ?', 1],
    ["select * from deliveries where channel = 'callback'", 1],
    ['select * from payments order by id desc limit ?', 0],
    ['select * from orders where store_id = ? and status = ? order by created_at limit ?', 0],
    ["select id from orders where status = 'open'", 0],
    ['select * from payments where address_id = ?', 0],
    ['select * from orders where id = ?', 0],
    ['select * from stores where name = ? order by name', 0],
  ] as const) {
    expect([text, walks(text)]).toEqual([text, count]);
  }
});

test('paygate never runs ANALYZE, which would change the plans', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join('src', path), 'utf8'));
  expect(
    files.filter((text) => /['"`]\s*(analyze|optimize)\b|pragma optimize/i.test(text)),
  ).toEqual([]);
});
