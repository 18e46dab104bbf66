// `paygate orders list|show|cancel|accept|forget`: orders as the API shows them. A change and its event
// commit together; a running paygate sends the event.

import { Command, InvalidArgumentError, Option } from 'commander';
import type { OrderStatus } from '../../domain/order/order.ts';
import { isId } from '../../domain/order/order-id.ts';
import { type OrderJson, type PaymentLine, paymentLine } from '../../domain/order/order-json.ts';
import { formatStatus, orderWords } from '../../domain/order/state-words.ts';
import { maxBlockAgeMs } from '../../domain/payment/clock-check.ts';
import { formatAdjustment, formatTime } from '../../domain/text/format.ts';
import { PaygateError, throwInvalid } from '../../lib/errors.ts';
import { dayMs } from '../../lib/time-units.ts';
import type { Records } from '../../store/open-records.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import {
  type FileOptions,
  fileCommand,
  parseDuration,
  parseTime,
  print,
  printPage,
  recordChange,
  rowId,
  type TextList,
  table,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';

const statuses: readonly OrderStatus[] = ['open', 'processing', 'paid', 'expired', 'canceled'];

export function ordersCommand(): Command {
  return new Command('orders')
    .description('list, show, cancel, accept and forget orders')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(cancelCommand())
    .addCommand(acceptCommand())
    .addCommand(forgetCommand());
}

function orderId(text: string): string {
  if (isId('ord', text)) return text;
  throw new InvalidArgumentError('Give the id of an order, such as ord_3yQ8tZr6WmB1nK5vXc2dLp.');
}

/** @throws PaygateError not_found */
function orderOf({ orderView }: Records, publicId: string): OrderRow {
  const row = orderView.byPublicId(publicId);
  if (row === undefined) throw new PaygateError('not_found', `there is no order ${publicId}`);
  return row;
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly status?: OrderStatus;
  readonly reference?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly after?: string;
  readonly limit: number;
}

function listCommand(): Command {
  return fileCommand('list', 'list orders, newest first')
    .option('--store <id>', 'only of this store', rowId)
    .addOption(new Option('--status <status>', 'only with this status').choices(statuses))
    .option('--reference <text>', "only with this reference, the shop's own number")
    .option('--created-after <time>', 'only created from this UTC time or age on', parseTime)
    .option('--created-before <time>', 'only created before this UTC time or age', parseTime)
    .option('--after <id>', 'only older than this order: the next page', orderId)
    .option('--limit <n>', 'maximum number of orders', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async (records) => {
        const { store: storeId, status, reference, after, limit } = given;
        const { createdAfter, createdBefore } = given;
        const beforeId = after === undefined ? undefined : orderOf(records, after).id;
        const filter = { storeId, status, reference, createdAfter, createdBefore, beforeId };
        const found = records.orderView.list({ ...filter, limit: limit + 1 });
        const now = world.now();
        const orders = found.map((row) => records.orderView.json(row, now));
        printPage(given, orders, orderList);
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show an order with its payments')
    .argument('<id>', 'of the order', orderId)
    .action((id: string, given: FileOptions) =>
      withStore(given, async (records) => {
        const order = records.orderView.json(orderOf(records, id), world.now());
        print(given, order, () => renderOrder(order));
      }),
    );
}

function cancelCommand(): Command {
  return fileCommand('cancel', 'cancel an order that is open or expired')
    .argument('<id>', 'of the order', orderId)
    .action((id: string, given: FileOptions) => change('cancel', 'canceled', id, given));
}

function acceptCommand(): Command {
  return fileCommand('accept', 'accept what an order has received as enough')
    .argument('<id>', 'of the order', orderId)
    .action((id: string, given: FileOptions) => change('accept', 'accepted', id, given));
}

/** Events hold the texts of orders, and are deleted after this time. */
const minForgetMs = 90 * dayMs;
/** Orders of one write. Between two of them a running paygate writes. */
const forgottenAtOnce = 1_000;

/** The latest time that has certainly passed: a clock that is ahead must not delete young texts. */
function passedBy({ network, headers }: Pick<Records, 'network' | 'headers'>, now: number): number {
  const newest = headers.tipTime();
  const hasSchedule = maxBlockAgeMs(network) !== undefined;
  return hasSchedule && newest !== undefined ? Math.min(now, newest * 1000) : now;
}

interface ForgetOptions extends FileOptions {
  readonly olderThan: number;
}

function forgetCommand(): Command {
  return fileCommand('forget', 'delete the texts of old orders; amounts and payments stay')
    .requiredOption(
      '--older-than <time>',
      'created longer ago than this, such as 365d',
      parseDuration,
    )
    .action((given: ForgetOptions) =>
      withStore(given, async (records) => {
        if (given.olderThan < minForgetMs) {
          throwInvalid('--older-than: at least 90d, because events hold the texts until then');
        }
        const before = passedBy(records, world.now()) - given.olderThan;
        let orders = 0;
        const last = records.orders.lastId();
        for (let after = 0; after < last; after += forgottenAtOnce) {
          orders += await records.database.write((tx) => {
            const to = after + forgottenAtOnce;
            const forgotten = records.orders.forget(tx, before, after, to);
            records.lightningInvoices.forget(tx, before, after, to);
            if (forgotten > 0) recordChange(records, tx, 'order.forget', { orders: forgotten });
            return forgotten;
          });
        }
        print(given, { orders }, () =>
          orders === 0
            ? 'No order has texts that old.'
            : `The texts of ${orders} orders are deleted.`,
        );
      }),
    );
}

/** Changes an order, with its event and an entry in the audit log, in one commit. */
const change = (
  action: 'cancel' | 'accept',
  done: string,
  id: string,
  given: FileOptions,
): Promise<void> =>
  withStore(given, async (records) => {
    const now = world.now();
    const isChanged = await records.database.write((tx) => {
      const before = orderOf(records, id);
      records.orders[action](tx, now, before.id);
      const isNew = orderOf(records, id).version > before.version;
      if (isNew) recordChange(records, tx, `order.${action}`, { order: id }, before.storeId);
      return isNew;
    });
    const order = records.orderView.json(orderOf(records, id), now);
    print(given, order, () =>
      isChanged
        ? `The order is ${done}. Its status is ${order.status}.`
        : `Nothing changed: the status of the order is already ${order.status}.`,
    );
  });

const timeOf = (unixSeconds: number): string => formatTime(unixSeconds * 1000);

const priceOf = ({ amount, currency }: OrderJson): string | undefined =>
  amount === null ? undefined : `${amount} ${currency}`;

const dueOf = ({ amount_due: due, currency, adjust_percent: percent }: OrderJson): string =>
  `${due} ${currency}, ${formatAdjustment(percent)}`;

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
    order.payments.length === 0
      ? []
      : ['', table([paymentHead, ...order.payments.map(paymentLine).map(lineOf)])];
  return [table([...moneyFacts(order), ...otherFacts(order)]), ...payments].join('\n');
}

type Fact = readonly [name: string, text: string];

function moneyFacts(order: OrderJson): Fact[] {
  const { missing_sat: missing, excess_sat: excess, quote, currency, amount_sat: amount } = order;
  return [
    ['status', statusOf(order)],
    ['price', [priceOf(order) ?? [], `${amount} sat`].flat().join(', ')],
    ...facts('due', order.adjust_percent === 0 ? null : order, dueOf),
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

const lineOf = (payment: PaymentLine): string[] => [
  timeOf(payment.first_seen_at),
  String(payment.value_sat),
  payment.rate ?? '-',
  paymentStatusText(payment),
  String(payment.confirmations),
  payment.txid,
];

function paymentStatusText({ status, gone, late, replaced_by: successor }: PaymentLine): string {
  const state = formatStatus(gone ? -1 : status);
  const replaced = successor === null ? [] : ['replaced by another transaction'];
  return [state, ...replaced, ...(late ? ['late'] : [])].join(', ');
}
