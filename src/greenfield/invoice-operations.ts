// Invoices: orders, as plugins make, read and change them.

import { isDeepStrictEqual } from 'node:util';
import type { Context } from 'hono';
import * as z from 'zod';
import { type Operation, operation } from '../api/operation.ts';
import { newOrder, rateFor } from '../api/orders/new-order.ts';
import { decide } from '../api/orders/order-operations.ts';
import { BodyProblems } from '../domain/order/body-fields.ts';
import {
  type InvoiceReader,
  type InvoiceStatus,
  invoiceMethods,
  invoiceStatusOf,
  invoiceText,
  requestOf,
} from '../domain/order/invoice.ts';
import { newQuoteRefusal, type OrderStatus } from '../domain/order/order.ts';
import { idBytes, idOf, isId } from '../domain/order/order-id.ts';
import { PaygateError } from '../lib/errors.ts';
import { mergeLists, type ReadList } from '../lib/merged-lists.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Key } from '../store/access/api-keys.ts';
import { maxRowsRead } from '../store/db/searched-list.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import { clientAddressOf } from '../web/limits/request-origin.ts';
import { hasLightning, jsonText, type RouteOptions, storeOf } from './greenfield-routes.ts';
import {
  type AskedInvoice,
  askedInvoice,
  checkMetadata,
  invoiceBody,
  memberText,
} from './invoice-input.ts';

const ofStore = z.object({
  storeId: z.string().describe('Of the store, as the dashboard shows it'),
});
const ofInvoice = ofStore.extend({ invoiceId: z.string().describe('`ord_…`') });
const statuses = ['New', 'Processing', 'Settled', 'Expired', 'Invalid'] as const;
const texts = z.array(z.string()).optional();

export const invoiceAnswer = z
  .looseObject({
    id: z.string(),
    storeId: z.string(),
    amount: z.string(),
    currency: z.string(),
    checkoutLink: z.string(),
    createdTime: z.int(),
    expirationTime: z.int(),
    status: z.enum(statuses),
    additionalStatus: z.enum(['None', 'PaidPartial', 'PaidOver', 'PaidLate', 'Marked']),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Invoice' });

const methodAnswer = z
  .looseObject({ paymentMethodId: z.string(), destination: z.string(), due: z.string() })
  .meta({ id: 'InvoicePaymentMethod' });

type Asked = { readonly key: Key; readonly context: Context };

/** @throws PaygateError not_found, forbidden for an order of another store */
function invoiceOf({ records }: RouteOptions, { key, context }: Asked): OrderRow {
  const id = context.req.param('invoiceId') ?? '';
  const row = isId('ord', id) ? records.orderView.byPublicId(id) : undefined;
  if (row?.storeId === key.storeId) return row as OrderRow;
  throw new PaygateError('not_found', 'There is no such invoice in this store');
}

function shown(options: RouteOptions, key: Key, row: OrderRow, hasMethods = false): string {
  const { records, now } = options;
  const record = records.orderView.record(row);
  const standing = records.orderView.standing(record, now());
  const reader: InvoiceReader = {
    storeId: storeOf(options, key).publicId,
    isPrestaShop: key.plugin === 'prestashop',
    baseUrl: records.orderView.baseUrl,
  };
  const order = { ...row, ...record.details };
  const methods = () => invoiceMethods(order, { ...record, ...standing }, reader, false);
  return invoiceText(order, standing, reader, hasMethods ? { paymentMethods: methods() } : {});
}

/** The answer to a change: the invoice as it is after it. */
const answerOf = (options: RouteOptions, key: Key, { publicId }: OrderRow): Response =>
  jsonText(shown(options, key, options.records.orderView.byPublicId(publicId) as OrderRow));

/** Longer than a customer takes to pay after a second click. */
const minLeftMs = 5 * minuteMs;

/** Without the reference, which `paygate orders forget` deletes. */
const saleOf = ({ id }: Key, { body, request }: AskedInvoice): string =>
  [id, body.amount ?? body.amount_sat, body.currency ?? request.unit].join(' ');

/**
 * An order of the same key for the same sale, to which nothing was ever paid. Some plugins ask for
 * a new invoice at each click, which would use up addresses.
 */
function sameSale(options: RouteOptions, key: Key, asked: AskedInvoice) {
  const { records, now } = options;
  const { reference } = asked.body;
  if (!reference) return undefined;
  const { id: storeId } = storeOf(options, key);
  return records.orderView.list({ storeId, status: 'open', reference, limit: 20 }).find((row) => {
    const { facts, payments } = records.orderView.record(row);
    const isLasting = facts.expiresAt === null || facts.expiresAt > now() + minLeftMs;
    return requestOf(row).sale === saleOf(key, asked) && payments.length === 0 && isLasting;
  });
}

/** Answers an earlier order anew: with the metadata of now, and a quote if none is in force. */
async function renew(options: RouteOptions, row: OrderRow, asked: AskedInvoice, invoice: string) {
  const { records, now, checkIssuing, ensureInvoice } = options;
  checkIssuing();
  const rateCents = row.currency === null ? 0 : await rateFor(options, row.currency);
  await records.database.write((tx) => {
    const record = records.orderView.record(row);
    records.orders.changeInvoice(tx, row.id, {
      invoice,
      invoiceMetadata: asked.metadata,
      returnUrl: asked.body.return_url ?? storeReturnUrl(options, row),
    });
    const standing = records.orderView.standing(record, now());
    if (newQuoteRefusal(record.facts, standing, now()) !== undefined) return;
    records.orders.quote(tx, now(), row.id, rateCents);
  }, 'awaited');
  await ensureInvoice(row);
  return row;
}

const storeReturnUrl = ({ records }: RouteOptions, { storeId }: OrderRow): string | null =>
  records.catalog.store(storeId).returnUrl;

function createInvoice(options: RouteOptions) {
  /** Requests for one sale, so that two clicks at the same time have one order. */
  const underWay = new Map<string, Promise<unknown>>();

  async function make(key: Key, read: (publicId: string) => AskedInvoice): Promise<OrderRow> {
    const publicId = idOf('ord', options.randomBytes(idBytes));
    const asked = read(publicId);
    const invoice = JSON.stringify({ ...asked.request, sale: saleOf(key, asked) });
    const before = sameSale(options, key, asked);
    if (before !== undefined) return renew(options, before, read(before.publicId), invoice);
    const texts = { invoice, invoiceMetadata: asked.metadata };
    const request = { key, target: {}, idempotencyKey: undefined, publicId, invoice: texts };
    return newOrder(options, request, asked.body).catch(renamed);
  }

  return operation({
    tag: 'Invoices',
    name: 'createInvoice',
    methods: ['POST'],
    path: '/v1/stores/{storeId}/invoices',
    summary: 'A new invoice; the same sale of the same key has one, while nothing is paid',
    issues: true,
    limit: 'newAddress',
    permission: 'cancreateinvoice',
    params: ofStore,
    body: invoiceBody,
    answer: invoiceAnswer,
    async run({ body, key, context }) {
      const { currency, ...flags } = storeOf(options, key);
      const sent = await context.req.text();
      const has = hasLightning(options, flags.id);
      const read = (publicId: string) =>
        askedInvoice(body, { publicId, sent, currency, flags, hasLightning: has });
      const sale = `${key.id} ${read('').body.reference ?? idOf('ord', options.randomBytes(idBytes))}`;
      const made = (underWay.get(sale) ?? Promise.resolve())
        .catch(() => undefined)
        .then(() => make(key, read));
      underWay.set(sale, made);
      try {
        return answerOf(options, key, await made);
      } finally {
        if (underWay.get(sale) === made) underWay.delete(sale);
      }
    },
  });
}

const fields: Readonly<Record<string, string>> = {
  amount_sat: 'amount',
  expires_in: 'checkout.expirationMinutes',
  tolerance_percent: 'checkout.paymentTolerance',
};

/** The problems of an order, by the names that the request has. */
function renamed(error: unknown): never {
  if (!(error instanceof BodyProblems)) throw error;
  throw new BodyProblems(error.problems.map(([name, text]) => [fields[name] ?? name, text]));
}

/** The orders that can have a status. */
const orderStatuses: Readonly<Record<InvoiceStatus, readonly OrderStatus[]>> = {
  New: ['open'],
  Processing: ['processing'],
  Settled: ['paid'],
  Expired: ['expired'],
  Invalid: ['canceled', 'open', 'expired'],
};

const maxListed = 250;
/** So many orders are read at once, until enough fit. */
const readAtOnce = 100;
const listQuery = z.object({
  orderId: texts.describe('Of the metadata; each is found'),
  'orderId[]': texts,
  status: texts,
  textSearch: texts,
  startDate: texts.describe('Unix seconds, inclusive'),
  endDate: texts.describe('Unix seconds, inclusive'),
  take: texts.describe(`At most ${maxListed}`),
  skip: texts,
  includeArchived: texts,
  includePaymentMethods: texts,
});

/** Reads orders, newest first, until as many fit as are asked for. */
function listed(options: RouteOptions, asked: Asked, query: z.infer<typeof listQuery>): string[] {
  const { records } = options;
  const number = (given: readonly string[] | undefined, missing: number): number => {
    const value = Number(given?.[0] ?? missing);
    return Number.isSafeInteger(value) && value >= 0 ? value : missing;
  };
  const wanted = new Set(query.status?.map((each) => each.toLowerCase()));
  const found = new Set(
    statuses
      .filter((each) => wanted.has(each.toLowerCase()))
      .flatMap((each) => orderStatuses[each]),
  );
  const references = [...(query.orderId ?? []), ...(query['orderId[]'] ?? [])];
  const search = query.textSearch?.[0]?.toLowerCase() ?? '';
  const fits = (row: OrderRow): boolean => {
    const status = invoiceStatusOf(row.firstPaidAt, row.status).toLowerCase();
    if (wanted.size > 0 && !wanted.has(status)) return false;
    if (requestOf(row).archived && !isTrue(asked, 'includeArchived')) return false;
    return `${row.publicId} ${row.reference ?? ''}`.toLowerCase().includes(search);
  };
  const filter = {
    storeId: storeOf(options, asked.key).id,
    createdAfter: number(query.startDate, 0) * 1000,
    createdBefore: (number(query.endDate, maxSeconds) + 1) * 1000,
  };
  const lists = (references.length > 0 ? [...new Set(references)] : [undefined]).flatMap(
    (reference) =>
      (wanted.size > 0 ? [...found] : [undefined]).map((status) => ({ reference, status })),
  );
  const take = Math.min(number(query.take, maxListed), maxListed);
  const skip = number(query.skip, 0);
  const chosen: OrderRow[] = [];
  let beforeId: number | undefined;
  for (let read = 0; read < maxRowsRead && chosen.length < skip + take; read += readAtOnce) {
    const rows = mergeLists(
      lists.map(
        (each): ReadList<OrderRow> =>
          (last, limit) => {
            const place = { beforeId: last?.id ?? beforeId, limit };
            return records.orderView.list({ ...filter, ...each, ...place });
          },
      ),
      (one, other) => other.createdAt - one.createdAt || other.id - one.id,
      readAtOnce,
    );
    chosen.push(...rows.filter(fits));
    if (rows.length < readAtOnce) break;
    beforeId = rows.at(-1)?.id;
  }
  const hasMethods = isTrue(asked, 'includePaymentMethods');
  return chosen.slice(skip, skip + take).map((row) => shown(options, asked.key, row, hasMethods));
}

/** Before the year 10000. */
const maxSeconds = 253_402_300_799;

/** I5: accepts or cancels. @throws BodyProblems if that cannot be done now */
async function mark(options: RouteOptions, asked: Asked, status: 'Settled' | 'Invalid') {
  const row = invoiceOf(options, asked);
  try {
    await decide(options, row, asked, status === 'Settled' ? 'accept' : 'cancel');
  } catch (error) {
    const isRefused = error instanceof PaygateError && error.code === 'conflict';
    throw isRefused ? new BodyProblems([['status', error.message]]) : error;
  }
  return answerOf(options, asked.key, row);
}

type InvoiceChange = Parameters<RouteOptions['records']['orders']['changeInvoice']>[2];

/**
 * Replaces what only this API shows, and notes it, unless the invoice stands so already.
 * @param what a word for the audit log
 */
async function change(
  options: RouteOptions,
  asked: Asked,
  what: 'metadata' | 'archived' | 'listed',
  next: (row: OrderRow) => InvoiceChange,
): Promise<OrderRow> {
  const { records, now, proxies } = options;
  const row = invoiceOf(options, asked);
  const client = clientAddressOf(asked.context, proxies);
  await records.database.write((tx) => {
    const before = invoiceOf(options, asked);
    records.orders.changeInvoice(tx, row.id, next(before));
    if (isDeepStrictEqual(before, invoiceOf(options, asked))) return;
    const detail = { order: row.publicId, what, client };
    const entry = { keyId: asked.key.id, storeId: row.storeId, action: 'order.change' } as const;
    records.audit.note(tx, now(), { ...entry, detail });
  }, 'awaited');
  return row;
}

const archived = (row: OrderRow, is: true | undefined): InvoiceChange => ({
  // A field without a value is not in the JSON.
  invoice: JSON.stringify({ ...requestOf(row), archived: is }),
});

const at = '/v1/stores/{storeId}/invoices/{invoiceId}';
const one = {
  tag: 'Invoices',
  permission: 'canviewinvoices',
  params: ofInvoice,
  answer: invoiceAnswer,
} as const;

const isTrue = ({ context }: Asked, name: string, missing = 'false'): boolean =>
  (context.req.query(name) ?? missing).toLowerCase() === 'true';

const reads = (options: RouteOptions) => [
  operation({
    ...one,
    name: 'listInvoices',
    methods: ['GET'],
    path: '/v1/stores/{storeId}/invoices',
    summary: 'Invoices, the newest first',
    params: ofStore,
    query: listQuery,
    answer: z.array(invoiceAnswer),
    run: (asked) => jsonText(`[${listed(options, asked, asked.query).join()}]`),
  }),
  operation({
    ...one,
    name: 'getInvoice',
    methods: ['GET'],
    path: at,
    summary: 'One invoice',
    run(asked) {
      const row = invoiceOf(options, asked);
      return jsonText(shown(options, asked.key, row, isTrue(asked, 'includePaymentMethods')));
    },
  }),
  operation({
    ...one,
    name: 'getInvoicePaymentMethods',
    methods: ['GET'],
    path: `${at}/payment-methods`,
    summary: 'What was received of an invoice, and what is due',
    answer: z.array(methodAnswer),
    run(asked) {
      const { orderView } = options.records;
      const record = orderView.record(invoiceOf(options, asked));
      const standing = { ...record, ...orderView.standing(record, options.now()) };
      const reader = { isPrestaShop: asked.key.plugin === 'prestashop' };
      const isAll = !isTrue(asked, 'onlyAccountedPayments', 'true');
      return invoiceMethods({ ...record.row, ...record.details }, standing, reader, isAll);
    },
  }),
];

const changes = (options: RouteOptions) => {
  const writes = { ...one, permission: 'canmodifyinvoices', limit: 'write' } as const;
  return [
    operation({
      ...writes,
      name: 'markInvoice',
      methods: ['POST'],
      path: `${at}/status`,
      summary: 'Takes what was received as enough (Settled), or ends an unpaid invoice (Invalid)',
      body: z.object({ status: z.enum(['Settled', 'Invalid']) }),
      run: ({ body, ...asked }) => mark(options, asked, body.status),
    }),
    operation({
      ...writes,
      name: 'changeInvoice',
      methods: ['PUT'],
      path: at,
      summary: 'Replaces the metadata',
      body: z.object({ metadata: z.record(z.string(), z.unknown()) }),
      async run(asked) {
        const text = memberText(await asked.context.req.text(), 'metadata') ?? '{}';
        checkMetadata(text);
        const row = await change(options, asked, 'metadata', () => ({ invoiceMetadata: text }));
        return answerOf(options, asked.key, row);
      },
    }),
    operation({
      ...writes,
      name: 'archiveInvoice',
      methods: ['DELETE'],
      path: at,
      summary: 'Leaves an invoice out of lists; nothing else changes',
      answer: z.object({}),
      async run(asked) {
        await change(options, asked, 'archived', (row) => archived(row, true));
        return {};
      },
    }),
    operation({
      ...writes,
      name: 'unarchiveInvoice',
      methods: ['POST'],
      path: `${at}/unarchive`,
      summary: 'Lists an archived invoice again',
      async run(asked) {
        const row = await change(options, asked, 'listed', (before) => archived(before, undefined));
        return answerOf(options, asked.key, row);
      },
    }),
  ];
};

/** What a wallet without keys cannot do. */
const refusals = ['/v1/stores/{storeId}/pull-payments', `${at}/refund`].map((path) =>
  operation({
    ...one,
    path,
    methods: ['POST'],
    permission: 'cancreatenonapprovedpullpayments',
    params: path.startsWith(at) ? ofInvoice : ofStore,
    summary: 'Refused: paygate holds no key to send with',
    run() {
      throw new PaygateError(
        'forbidden',
        'paygate holds no key and sends no money: refund from your own wallet',
      );
    },
  }),
);

export const invoiceOperations = (options: RouteOptions): Operation[] => [
  createInvoice(options),
  ...reads(options),
  ...changes(options),
  ...refusals,
];
