// Polls paygate for unconfirmed payments that are dropped. No callback reports a replaced or
// double-spent payment of status 0, so a shop that shows status 0 must poll.

import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../world/world.ts';
import type { PaygateClient } from './paygate-client.ts';
import type { Orders, ShopOrder } from './shop-orders.ts';

/** Newest orders that one round polls for. */
const askedOrders = 20;

export interface DroppedPaymentsOptions {
  readonly orders: Orders;
  /** @throws PaygateError unavailable while paygate is starting */
  readonly paygate: () => PaygateClient;
  /** Called when the page of an order changes. */
  readonly onChange: () => void;
  readonly log: Pick<Logger, 'warn'>;
}

/** @returns runs one round, unless the previous one is unfinished */
export function lookForGone({
  orders,
  paygate,
  onChange,
  log,
}: DroppedPaymentsOptions): () => void {
  let isLooking = false;

  async function look(): Promise<void> {
    for (const order of orders.newest(askedOrders)) {
      if (openPayments(order).length === 0) continue;
      const gone = await paygate().droppedTxids(order.address);
      if (note(order, gone)) onChange();
    }
  }

  return () => {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch((error) => log.warn('the shop could not ask paygate', { reason: reasonOf(error) }))
      .finally(() => {
        isLooking = false;
      });
  };
}

const openPayments = ({ payments }: ShopOrder) =>
  [...payments.values()].filter(({ status }) => status === 0);

/** @returns whether a payment changed */
function note(order: ShopOrder, gone: ReadonlySet<string>): boolean {
  const changed = openPayments(order).filter((each) => each.isDropped !== gone.has(each.txid));
  for (const each of changed)
    order.payments.set(each.txid, { ...each, isDropped: !each.isDropped });
  return changed.length > 0;
}
