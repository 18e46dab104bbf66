// The evening mail: what a day brought, and which orders wait for a decision of the merchant.

import { minSentSat } from '../order/order.ts';
import type { OrderJson } from '../order/order-json.ts';
import { minOrderSat } from '../order/quote.ts';
import { type AccountSums, sumsText, worthsText } from '../payment/account-row.ts';
import { formatCount, formatSat, plainText } from '../text/format.ts';
import { type Decision, dueOf, maxLineLength, type Notice, nameOf, plainNotice } from './notice.ts';

/** An order that changed lately. */
export interface ChangedOrder {
  readonly order: OrderJson;
  readonly storeName: string;
  readonly linkTitle: string | null;
  /** What is too much and not refunded. */
  readonly excessSat: number;
  /** A refund is prepared or sent. */
  readonly isRefunded: boolean;
}

export interface DaySummary {
  /** `2026-11-21` */
  readonly day: string;
  /** Null for the summary of all stores. */
  readonly storeName: string | null;
  readonly today: AccountSums;
  /** Payments of today without enough confirmations. */
  readonly unconfirmed: number;
  readonly yesterday: AccountSums;
  readonly orders: readonly ChangedOrder[];
}

/** How many orders a mail has of each kind; it counts the others. */
const maxDecisions = 50;

/** Undefined for a day that has nothing to say. */
export function dayNotice(summary: DaySummary): Notice | undefined {
  const { day, storeName, today, unconfirmed, yesterday, orders } = summary;
  const toPayBack = orders.filter(isOver);
  const short = orders.filter((each) => !isOver(each) && isShort(each));
  const [todayText, yesterdayText] = [sumsText(today), sumsText(yesterday)];
  const decisions = [
    ...toPayBack.slice(0, maxDecisions).map(toPayBackDecision),
    ...short.slice(0, maxDecisions).map(shortDecision),
  ];
  if (!todayText && !yesterdayText && unconfirmed + decisions.length === 0) return undefined;
  const rest = toPayBack.length + short.length - decisions.length;
  const counts = [
    todayText ? `${formatCount(today.count, 'payment')}, ${worthsText(today)}` : 'no payment',
    ...(toPayBack.length > 0 ? [`${toPayBack.length} to pay back`] : []),
    ...(short.length > 0 ? [`${short.length} short`] : []),
  ];
  return plainNotice({
    type: 'day',
    title: `Today: ${counts.join(', ')}${storeName === null ? '' : ` (${storeName})`}`,
    lines: [
      `${day}: ${todayText || 'no confirmed payment'}`,
      ...(unconfirmed > 0
        ? [`Of today, not confirmed yet: ${formatCount(unconfirmed, 'payment')}`]
        : []),
      ...(yesterdayText ? [`The whole of yesterday: ${yesterdayText}`] : []),
      ...(rest > 0
        ? [`${formatCount(rest, 'order')} more to decide are in the list of orders.`]
        : []),
    ],
    path: '/dashboard/orders',
    decisions,
    data: {
      day,
      payments: today.count,
      refunds: today.refundCount,
      received_sat: Number(today.valueSat),
      unconfirmed,
      to_pay_back: toPayBack.map(({ order, excessSat }) => ({
        id: order.id,
        excess_sat: excessSat,
      })),
      short: short.map(({ order }) => ({ id: order.id, received_sat: order.received_sat })),
    },
  });
}

/** No refund sends less than that. */
const isOver = ({ excessSat }: ChangedOrder): boolean => excessSat >= minOrderSat;

/** Money came that counts for nothing yet: the order has ended, or wallets do not send the rest. */
function isShort({ order, isRefunded }: ChangedOrder): boolean {
  const { status, received_sat: received, missing_sat: missing } = order;
  if (received === 0 || isRefunded) return false;
  const isRest = status === 'open' && missing !== null && missing > 0 && missing < minSentSat;
  return status === 'expired' || status === 'canceled' || isRest;
}

const decisionOf = (text: string, rest: Omit<Decision, 'text'>): Decision => ({
  text: plainText(text, maxLineLength),
  path: rest.path,
  ...(rest.accept && { accept: rest.accept }),
});

const placeOf = ({ order, linkTitle, storeName }: ChangedOrder): string =>
  `${dueOf(order)}, ${nameOf(order, linkTitle)} (${storeName})`;

const toPayBackDecision = (changed: ChangedOrder): Decision =>
  decisionOf(`To pay back: ${formatSat(changed.excessSat)} too much for ${placeOf(changed)}`, {
    path: `/dashboard/orders/${changed.order.id}/refund`,
  });

function shortDecision(changed: ChangedOrder): Decision {
  const { id, status, version, amount_sat: price, received_sat: received } = changed.order;
  const missing = price - received;
  const percent = ((100 * missing) / price).toFixed(1);
  const fact =
    missing > 0
      ? `Short by ${formatSat(missing)} (${percent} %)`
      : `${formatSat(received)} came after its end`;
  return decisionOf(`${fact}: ${status}, ${placeOf(changed)}. Accept what came as enough:`, {
    path: `/dashboard/orders/${id}`,
    accept: { order: id, version },
  });
}
