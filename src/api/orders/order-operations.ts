// Orders for shops (docs/orders.md): make, read, list, and what may be done to them. An order is
// made on the address that is issued for it, in the same write (new-order.ts).

import { isDeepStrictEqual } from 'node:util';
import type { Context } from 'hono';
import * as z from 'zod';
import { isId } from '../../domain/order/order-id.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { Tx } from '../../store/db/writer.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import { clientAddressOf } from '../../web/limits/request-origin.ts';
import type { ApiOptions } from '../api-parts.ts';
import { idempotencyHeaders, idempotencyKeyOf } from '../idempotency-key.ts';
import { type ListPlace, listed, listQuery } from '../listed.ts';
import { type Operation, operation } from '../operation.ts';
import { unixTimeText } from '../shared-schemas.ts';
import { linkOf } from './link-operations.ts';
import { type NewOrderOptions, newOrder, rateFor } from './new-order.ts';
import {
  newOrderBody,
  newOrderExample,
  orderAnswer,
  orderPage,
  orderQuery,
} from './order-schemas.ts';

export type OrderOptions = NewOrderOptions & Pick<ApiOptions, 'proxies' | 'checkIssuing'>;

export const orderOperations = (options: OrderOptions): Operation[] => [
  createOrder(options),
  listOrders(options),
  getOrder(options),
  quoteOrder(options),
  cancelOrder(options),
  acceptOrder(options),
];

function shown({ records, now }: OrderOptions, row: OrderRow) {
  const { payments, refunds, ...order } = records.orderView.json(row, now());
  return { ...order, payments: [...payments], refunds: [...refunds] };
}

const createOrder = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'createOrder',
    methods: ['POST'],
    path: '/v3/orders',
    summary: 'A new order with an address of its own',
    issues: true,
    conflict: 'The gap limit is reached, or the Idempotency-Key had another body',
    codes: [1001, 1008, 1032],
    limit: 'newAddress',
    headers: idempotencyHeaders('the same order, as it is then,'),
    body: newOrderBody,
    example: newOrderExample,
    answer: orderAnswer,
    async run({ body, key, context }) {
      const idempotencyKey = idempotencyKeyOf(context);
      const target = { id: body.store_id ?? undefined };
      return shown(options, await newOrder(options, { key, target, idempotencyKey }, body));
    },
  });

const listOrders = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'listOrders',
    methods: ['GET'],
    path: '/v3/orders',
    summary: 'Orders, the newest first',
    query: z.object({
      ...listQuery('order'),
      ...orderQuery,
      reference: z.string().optional().describe('Exactly this one'),
      link_id: z.string().optional().describe('Only those that this link made'),
      created_after: unixTimeText.optional().describe('Unix seconds, inclusive'),
      created_before: unixTimeText.optional().describe('Unix seconds, exclusive'),
    }),
    answer: orderPage,
    run({ query, key }) {
      const { orderView } = options.records;
      const { after } = query;
      const filter = {
        status: query.status,
        reference: query.reference,
        linkId:
          query.link_id === undefined ? undefined : linkOf(options.records, key, query.link_id).id,
        createdAfter: query.created_after && query.created_after * 1000,
        createdBefore: query.created_before && query.created_before * 1000,
        beforeId: after === undefined ? undefined : orderOf(options, key, after).id,
        limit: query.limit,
      };
      const read = (place: ListPlace) => orderView.list({ ...filter, ...place });
      const { data, has_more } = listed(options.records, key, query, read);
      return { data: data.map((row) => shown(options, row)), has_more };
    },
  });

const params = z.object({ id: z.string().describe('`ord_…`') });

/** @throws PaygateError not_found, also for an order of another key's store */
function orderOf({ records }: OrderOptions, key: Key, publicId: string): OrderRow {
  const row = isId('ord', publicId) ? records.orderView.byPublicId(publicId) : undefined;
  if (row !== undefined && (key.storeId === null || key.storeId === row.storeId)) return row;
  throw new PaygateError('not_found', 'There is no such order');
}

const getOrder = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'getOrder',
    methods: ['GET'],
    path: '/v3/orders/{id}',
    summary: 'One order',
    params,
    answer: orderAnswer,
    run: ({ params, key }) => shown(options, orderOf(options, key, params.id)),
  });

/** Changes an order, and returns it as it is after the commit. */
async function change(
  options: OrderOptions,
  row: OrderRow,
  apply: (tx: Tx, now: number, orderId: number) => void,
) {
  const { records, now, checkIssuing, ensureInvoice } = options;
  checkIssuing();
  await records.database.write((tx) => apply(tx, now(), row.id), 'awaited');
  await ensureInvoice(row);
  return shown(options, records.orderView.byId(row.id));
}

const quoteOrder = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'quoteOrder',
    methods: ['POST'],
    path: '/v3/orders/{id}/quote',
    summary: 'A new quote for an open order whose quote is over',
    issues: true,
    conflict: 'A quote is in force, or the order needs none',
    limit: 'newAddress',
    params,
    answer: orderAnswer,
    async run({ params, key }) {
      const row = orderOf(options, key, params.id);
      // An order in satoshis is refused in the write.
      const rateCents = row.currency === null ? 0 : await rateFor(options, row.currency);
      return change(options, row, (tx, now, orderId) =>
        options.records.orders.quote(tx, now, orderId, rateCents),
      );
    },
  });

/** Cancels or accepts an order, and notes it in the audit log. */
export const decide = (
  options: OrderOptions,
  row: OrderRow,
  { key, context }: { readonly key: Key; readonly context: Context },
  command: 'cancel' | 'accept',
) =>
  change(options, row, (tx, now, orderId) => {
    const { records, proxies } = options;
    const before = records.orderView.byPublicId(row.publicId);
    records.orders[command](tx, now, orderId);
    // An order that stands so already is not changed.
    if (isDeepStrictEqual(before, records.orderView.byPublicId(row.publicId))) return;
    const detail = { order: row.publicId, client: clientAddressOf(context, proxies) };
    const entry = { keyId: key.id, storeId: row.storeId, detail };
    records.audit.note(tx, now, { ...entry, action: `order.${command}` });
  });

const cancelOrder = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'cancelOrder',
    methods: ['POST'],
    path: '/v3/orders/{id}/cancel',
    summary: 'Ends an order that is open or expired',
    conflict: 'Enough was paid',
    limit: 'write',
    params,
    answer: orderAnswer,
    run: ({ params, key, context }) =>
      decide(options, orderOf(options, key, params.id), { key, context }, 'cancel'),
  });

const acceptOrder = (options: OrderOptions): Operation =>
  operation({
    tag: 'Orders',
    name: 'acceptOrder',
    methods: ['POST'],
    path: '/v3/orders/{id}/accept',
    summary: 'Takes what was received as enough; paid still waits for confirmations',
    conflict: 'Nothing was received, or enough was',
    limit: 'write',
    params,
    answer: orderAnswer,
    run: ({ params, key, context }) =>
      decide(options, orderOf(options, key, params.id), { key, context }, 'accept'),
  });
