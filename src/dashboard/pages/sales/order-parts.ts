// What the pages of orders share: the order of the path, its paths, and its price as text.

import type { Standing } from '../../../domain/order/order.ts';
import { type OrderJson, orderJson, type ShownPayment } from '../../../domain/order/order-json.ts';
import { dueText } from '../../../domain/order/quote.ts';
import { formatMoney } from '../../../domain/payment/money.ts';
import { formatAdjustment, formatDecimal, formatSat } from '../../../domain/text/format.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { OrderRecord, OrderRow } from '../../../store/orders/order-view.ts';
import type { PaymentEntry } from '../../../store/payments/payment-view.ts';
import { base, type PageRequest } from '../../page.ts';

export const ordersPath = `${base}/orders`;

/** @param rest `/refund`, `?done=saved` */
export const orderPath = (publicId: string, rest = ''): string =>
  `${ordersPath}/${publicId}${rest}`;

/** How many payments and events the page of an order shows, the newest first. */
export const maxRows = 50;

/** The order in the path. @throws PaygateError not_found */
export function orderIn({ context, parts }: PageRequest): OrderRow {
  const row = parts.records.orderView.byPublicId(context.req.param('id') ?? '');
  if (row === undefined) throw new PaygateError('not_found', 'There is no such order.');
  return row;
}

export interface OrderProps {
  readonly request: PageRequest;
  readonly record: OrderRecord;
  readonly standing: Standing<ShownPayment>;
  readonly order: OrderJson;
  /** The newest payments to its address. */
  readonly entries: readonly PaymentEntry[];
}

/** @throws PaygateError not_found */
export function readOrder(request: PageRequest): OrderProps {
  const { orderView, addressView, paymentView } = request.parts.records;
  const record = orderView.record(orderIn(request));
  const standing = orderView.standing(record, request.now);
  const order = orderJson(record.details, standing, orderView.baseUrl);
  const { scripthash } = addressView.address(record.row.addressId);
  const entries = paymentView.list({ scripthash, limit: maxRows });
  return { request, record, standing, order, entries };
}

type Priced = Pick<OrderRow, 'currency' | 'amountMinor' | 'amountSat' | 'adjustBasisPoints'>;

/** The price in its currency, such as `1,250.00 EUR`; undefined for a price in satoshis. */
export const priceText = ({ currency, amountMinor }: Priced): string | undefined =>
  currency === null || amountMinor === null
    ? undefined
    : `${formatDecimal(formatMoney(BigInt(amountMinor), currency))} ${currency}`;

/** `5 % discount: 9.50 EUR`; undefined without a discount or surcharge. */
export function adjustmentText(row: Priced): string | undefined {
  const { adjustBasisPoints, currency } = row;
  const due = dueText(row);
  if (adjustBasisPoints === 0 || due === null) return undefined;
  return `${formatAdjustment(adjustBasisPoints / 100)}: ${formatDecimal(due)} ${currency}`;
}

export const priceOrSat = (row: Priced): string => priceText(row) ?? formatSat(row.amountSat);
