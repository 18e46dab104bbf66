// `paygate orders list|show|cancel|accept|forget`: orders as the API shows them. A change and its event
// commit together; a running paygate sends the event.

import { Command, InvalidArgumentError, Option } from 'commander';
import type { OrderStatus } from '../../domain/order/order.ts';
import { isId } from '../../domain/order/order-id.ts';
import { maxBlockAgeMs } from '../../domain/payment/clock-check.ts';
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
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { orderList, renderOrder } from './order-text.ts';

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
