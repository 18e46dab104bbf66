// Orders as text for a terminal, from the JSON of the API.

import type { OrderJson, PaymentJson } from '../../domain/order/order-json.ts';
import { formatStatus, orderWords } from '../../domain/order/state-words.ts';
import { formatTime } from '../../domain/text/format.ts';
import { type TextList, table } from '../command.ts';

const timeOf = (unixSeconds: number): string => formatTime(unixSeconds * 1000);

const priceOf = ({ amount, currency }: OrderJson): string | undefined =>
  amount === null ? undefined : `${amount} ${currency}`;

const statusOf = ({ status, late }: OrderJson): string =>
  `${orderWords[status].text}${late ? ', late' : ''}`;

export const orderList: TextList<OrderJson> = {
  none: 'No order matches.',
  columns: {
    id: (order) => order.id,
    created: (order) => timeOf(order.created_at),
    store: (order) => order.store_id,
    status: statusOf,
    price: (order) => priceOf(order) ?? '-',
    sat: (order) => order.amount_sat,
    'received sat': (order) => order.received_sat,
    reference: (order) => order.reference,
  },
  next: ({ id }) => `--after ${id}`,
};

export function renderOrder(order: OrderJson): string {
  const payments =
    order.payments.length === 0 ? [] : ['', table([paymentHead, ...order.payments.map(lineOf)])];
  return [table([...moneyFacts(order), ...otherFacts(order)]), ...payments].join('\n');
}

type Fact = readonly [name: string, text: string];

function moneyFacts(order: OrderJson): Fact[] {
  const { missing_sat: missing, excess_sat: excess, quote, currency, amount_sat: amount } = order;
  return [
    ['status', statusOf(order)],
    ['price', [priceOf(order) ?? [], `${amount} sat`].flat().join(', ')],
    ['received', `${order.received_sat} sat, ${order.confirmed_sat} sat confirmed`],
    ...facts('missing', missing === 0 ? null : missing, (sat) => `${sat} sat`),
    ...facts('excess', excess === 0 ? null : excess, (sat) => `${sat} sat`),
    ...facts(
      'quote',
      quote,
      ({ rate, expires_at: end }) => `${rate} ${currency} a bitcoin until ${timeOf(end)}`,
    ),
  ];
}

function otherFacts(order: OrderJson): Fact[] {
  const { metadata, expires_at: expiresAt } = order;
  const pairs = Object.entries(metadata).map(([name, value]) => `${name}=${value}`);
  return [
    ['address', order.address],
    ...facts('URI', order.uri),
    ['page', order.page_url],
    ['store', String(order.store_id)],
    ...facts('link', order.link_id),
    ...facts('reference', order.reference),
    ...facts('description', order.description),
    ...facts('metadata', pairs.length === 0 ? null : pairs.join(', ')),
    ...facts('return URL', order.return_url),
    ...facts('language', order.language),
    ['created', timeOf(order.created_at)],
    ['expires', expiresAt === null ? 'never' : timeOf(expiresAt)],
    ...facts('paid', order.paid_at, timeOf),
    ...facts('canceled', order.canceled_at, timeOf),
    ...facts('accepted', order.accepted_at, timeOf),
    ['version', String(order.version)],
  ];
}

/** One fact, or none for null. */
const facts = <T>(name: string, value: T | null, text: (value: T) => string = String): Fact[] =>
  value === null ? [] : [[name, text(value)]];

const paymentHead = ['first seen', 'sat', 'rate', 'status', 'confirmations', 'txid'];

const lineOf = (payment: PaymentJson): string[] => [
  timeOf(payment.first_seen_at),
  String(payment.value_sat),
  payment.rate ?? '-',
  paymentStatusText(payment),
  String(payment.confirmations),
  payment.txid,
];

function paymentStatusText({ status, gone, late, replaced_by: successor }: PaymentJson): string {
  const state = formatStatus(gone ? -1 : status);
  const replaced = successor === null ? [] : ['replaced by another transaction'];
  return [state, ...replaced, ...(late ? ['late'] : [])].join(', ');
}
