// Makes an order of a shop, on the address that is issued for it in the same write. The API makes
// orders by it, and the dashboard, in which a merchant takes a payment. All that can be refused is
// refused before an address is issued.

import { idBytes, idOf } from '../../domain/order/order-id.ts';
import { type OrderBody, parseOrderInput } from '../../domain/order/order-input.ts';
import { checkOrderSat, satoshisOf } from '../../domain/order/quote.ts';
import type { StoreQuery } from '../../domain/store/store-choice.ts';
import { errorAt } from '../../lib/errors.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import type { InvoiceTexts } from '../../store/orders/orders.ts';
import { answeredBefore } from '../addresses/address-requests.ts';
import type { ApiOptions, Issued } from '../api-parts.ts';
import { placeOf } from '../chosen-store.ts';
import { bodyHashOf } from '../idempotency-key.ts';

export type NewOrderOptions = Pick<
  ApiOptions,
  'records' | 'now' | 'prices' | 'randomBytes' | 'issue' | 'ensureInvoice'
>;

export interface OrderRequest {
  readonly key: Pick<Key, 'id' | 'storeId' | 'scope'>;
  readonly target: StoreQuery;
  /** Requests of a store with the same key and the same body get the same order. */
  readonly idempotencyKey: string | undefined;
  /** `ord_…`, of random bits, if the request needs to know it before. */
  readonly publicId?: string;
  readonly invoice?: InvoiceTexts;
  readonly tillId?: number | undefined;
}

/** @throws PaygateError; BodyProblems with each problem of the body */
export async function newOrder(
  options: NewOrderOptions,
  request: OrderRequest,
  body: OrderBody,
): Promise<OrderRow> {
  const { records, now, randomBytes } = options;
  const { key, idempotencyKey } = request;
  const { storeId } = placeOf(records, request);
  const bodyHash = bodyHashOf(body);
  // Asked before the price is, so that a repetition needs none.
  const before = answeredBefore(records, now(), storeId, { idempotencyKey, order: { bodyHash } });
  if (before !== undefined) return orderIn(before);
  const row = records.catalog.store(storeId);
  const input = parseOrderInput(body, { ...row, expiresInSeconds: row.orderSeconds }, row);
  const { price } = input;
  const rateCents = price.kind === 'sat' ? null : await rateFor(options, price.currency);
  checkOrderSat(satoshisOf(price, rateCents));
  const issued = await options.issue({
    key,
    idempotencyKey,
    target: { id: storeId },
    reset: false,
    order: {
      publicId: request.publicId ?? idOf('ord', randomBytes(idBytes)),
      invoice: request.invoice,
      tillId: request.tillId,
      input: { ...input, returnUrl: input.returnUrl ?? row.returnUrl },
      rateCents,
      latePolicy: row.latePolicy,
      bodyHash,
    },
  });
  const order = orderIn(issued);
  await options.ensureInvoice(order);
  return order;
}

function orderIn({ address, order }: Issued): OrderRow {
  if (order === undefined) throw new Error(`address ${address.id} has no order`);
  return order;
}

/**
 * The price of one bitcoin now, in hundredths of the currency.
 * @throws PaygateError unavailable without a price of the last minute; invalid without any
 */
export async function rateFor(
  { prices }: Pick<NewOrderOptions, 'prices'>,
  currency: string,
): Promise<number> {
  if (prices === undefined) {
    throw errorAt(
      'invalid',
      'currency',
      'prices are switched off here, so a price must be in satoshis (amount_sat); ' +
        'paygate serve has prices with --price on',
    );
  }
  const rateCents = await prices.rateCents(currency);
  if (rateCents !== null) return rateCents;
  throw errorAt(
    'invalid',
    'currency',
    `no source has a price in ${currency}; use another, or amount_sat`,
  );
}

/** The operator is bound to no store, and has no API key. */
const operator = { id: 0, storeId: null, scope: 'payments' } as const;

export interface TakenPayment {
  readonly storeId: number;
  /** The same one with the same body has the same order. */
  readonly idempotencyKey: string;
  readonly body: OrderBody;
  /** The till at which it is made. */
  readonly tillId?: number;
}

/** Returns what makes the orders of the dashboard, by the rules of the API. */
export const createPaymentTaker =
  (options: NewOrderOptions) =>
  ({ storeId, body, ...request }: TakenPayment): Promise<OrderRow> =>
    newOrder(options, { key: operator, target: { id: storeId }, ...request }, body);
