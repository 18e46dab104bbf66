// Notices: the content of a notification about an order, a delivery or an alarm. A notice has a
// title and lines for people, and data for machines. It holds no data of a customer beyond the
// reference of the order.

import { unixSeconds } from '../../lib/time-units.ts';
import { minSentSat, type OrderEventType, type OrderStatus } from '../order/order.ts';
import type { OrderJson } from '../order/order-json.ts';
import { exactBitcoin, formatMoney, parseMoney, sumSat } from '../payment/money.ts';
import { formatBitcoin, formatSat, plainText } from '../text/format.ts';
import type { Language } from '../text/language.ts';

/** What an operator or a store may subscribe to, with its label. */
export const noticeLabels = {
  'order.paid': 'Order paid',
  'order.late': 'Order paid late',
  'order.short': 'Order expired with too little money',
  'order.over': 'More money for a paid order',
  'order.reversed': 'Payment reversed',
  'order.refund': 'Refund to send: the customer gave an address',
  'delivery.failed': 'Delivery to the shop failed',
  findings: 'Alarms, when they begin and end',
  day: 'Evening mail: sales of the day, what to pay back, what is short',
} as const;

export type NoticeKind = keyof typeof noticeLabels;
/** Mails to the customer of an order (customer-notice.ts). No settings name them. */
export type CustomerNoticeType = 'customer.seen' | 'customer.paid';
export type NoticeType = NoticeKind | CustomerNoticeType | 'test';

export const isForCustomer = (type: NoticeType): type is CustomerNoticeType =>
  type.startsWith('customer.');

export const noticeKinds = Object.keys(noticeLabels) as readonly NoticeKind[];
/** The kinds of a target that chose none: a mail each evening is for those who ask for it. */
export const usualKinds = noticeKinds.filter((kind) => kind !== 'day');
/** Alarms concern the whole of paygate, so a store receives none. */
export const storeNoticeKinds = noticeKinds.filter((kind) => kind !== 'findings');

export interface Notice {
  readonly type: NoticeType;
  /** One row: the subject of a mail. */
  readonly title: string;
  readonly lines: readonly string[];
  /** The page about it, below the public URL. */
  readonly path: string;
  /** JSON values for machines. */
  readonly data: Readonly<Record<string, unknown>>;
  /** What a mail offers to decide, below its lines. */
  readonly decisions?: readonly Decision[];
  /** Only of a mail to a customer. */
  readonly customer?: CustomerFrame;
}

export interface CustomerFrame {
  readonly language: Language;
  /** `ord_…`: its address receives the mail, as long as it has one. */
  readonly orderId: string;
  /** The name of the sender. */
  readonly shop: string;
  readonly footer: string;
}

/** One thing to decide. Its link is made when the mail is sent. */
export interface Decision {
  /** One row. */
  readonly text: string;
  /** The page where it is decided, below the public URL. */
  readonly path: string;
  /** Set if a link alone may decide it: the order that is accepted, as it stands. */
  readonly accept?: { readonly order: string; readonly version: number };
}

const maxTitleLength = 150;
export const maxLineLength = 1_000;

/** Texts of strangers become one row each, without control characters. */
export const plainNotice = ({ title, lines, ...rest }: Notice): Notice => ({
  ...rest,
  title: plainText(title, maxTitleLength),
  lines: lines.map((line) => plainText(line, maxLineLength)),
});

export interface OrderChange {
  readonly type: OrderEventType;
  readonly was: OrderStatus;
  readonly order: OrderJson;
  readonly storeName: string;
  /** The title of the link that made it. */
  readonly linkTitle: string | null;
}

/** An order by its link and the shop's reference: its id says nothing to people. */
export function nameOf({ reference }: Pick<OrderJson, 'reference'>, linkTitle: string | null) {
  const own = reference === null ? [] : [`order ${reference}`];
  return [...(linkTitle === null ? [] : [linkTitle]), ...own].join(', ') || 'an order';
}

interface OrderTexts {
  readonly type: NoticeKind;
  readonly word: string;
  readonly fact: string;
  readonly advice?: string;
}

export function orderNotice(change: OrderChange): Notice | undefined {
  const { order, storeName, linkTitle } = change;
  const texts = orderTexts(change);
  if (texts === undefined) return undefined;
  const { type, word, fact, advice } = texts;
  const name = nameOf(order, linkTitle);
  const { excess_sat: excess } = order;
  return plainNotice({
    type,
    title: `${word}: ${dueOf(order)}, ${name} (${storeName})`,
    lines: [
      `Store ${storeName}, ${name}: ${fact}`,
      priceLine(order),
      receivedLine(order),
      ...(excess > 0 ? [`Paid too much: ${formatSat(excess)}`] : []),
      ...(advice === undefined ? [] : [advice]),
    ],
    path: `/dashboard/orders/${order.id}`,
    data: dataOf(order),
  });
}

const dataOf = (order: OrderJson) => ({
  store_id: order.store_id,
  order: {
    id: order.id,
    reference: order.reference,
    version: order.version,
    status: order.status,
    late: order.late,
    amount: order.amount,
    amount_due: order.amount_due,
    currency: order.currency,
    amount_sat: order.amount_sat,
    received_sat: order.received_sat,
    confirmed_sat: order.confirmed_sat,
    excess_sat: order.excess_sat,
  },
});

export interface AskedRefund extends Pick<OrderChange, 'order' | 'storeName' | 'linkTitle'> {
  readonly amountSat: number;
}

/** A customer typed the address of a refund. It is on its page alone: a mail can be changed. */
export function refundNotice({ order, storeName, linkTitle, amountSat }: AskedRefund): Notice {
  const name = nameOf(order, linkTitle);
  return plainNotice({
    type: 'order.refund',
    title: `Refund to send: ${formatSat(amountSat)}, ${name} (${storeName})`,
    lines: [
      `Store ${storeName}, ${name}: the customer gave an address for the refund that you offered.`,
      priceLine(order),
      'Send it from your own wallet. If the sum is large, ask the customer for their address, too.',
    ],
    path: `/dashboard/orders/${order.id}/refund`,
    data: dataOf(order),
  });
}

function orderTexts({ type, was, order }: OrderChange): OrderTexts | undefined {
  if (type === 'order.paid') return order.late ? paidLate(order) : paid(order);
  if (type === 'order.reversed') return reversed(was);
  const { status, excess_sat: excess, missing_sat: missing, received_sat: received } = order;
  if (type === 'order.updated' && status === was) {
    // Without a price yet, late money is no excess; in an order that is not late, it came after.
    const isLate = !order.late && order.payments.some(({ late, gone }) => late && !gone);
    const isCovered = status === 'paid' || status === 'processing';
    if (isCovered && (excess > 0 || isLate)) return paidAgain;
    if (status === 'open' && received > 0 && (missing ?? minSentSat) < minSentSat) return rest;
  }
  const isOver = order.status === 'expired' || order.status === 'canceled';
  const hasNews = type === 'order.expired' || type === 'order.updated';
  if (!isOver || !hasNews || order.received_sat === 0) return undefined;
  // Money that comes after the end of an order changes only its payments.
  return type === 'order.updated' ? changedLater(order) : short;
}

/** What came by Lightning, which no block confirms: nothing, all, or a part. */
export function lightningShareOf({ payments }: OrderJson) {
  const standing = payments.filter((each) => each.kind === 'lightning' || !each.gone);
  const sat = sumSat(standing.map(({ kind, value_sat }) => (kind === 'lightning' ? value_sat : 0)));
  const isAll = sat > 0 && standing.every(({ kind }) => kind === 'lightning');
  return { sat, isAll };
}

function howPaid(order: OrderJson): string {
  const { sat, isAll } = lightningShareOf(order);
  if (isAll) return 'paid by Lightning, which is final';
  return sat > 0 ? 'paid by Lightning in part, and confirmed' : 'paid, and confirmed';
}

function receivedLine(order: OrderJson): string {
  const { sat, isAll } = lightningShareOf(order);
  const received = formatSat(order.received_sat);
  if (isAll) return `Received by Lightning: ${received}`;
  const share = sat > 0 ? `, by Lightning: ${formatSat(sat)}` : '';
  return `Received: ${received}, confirmed: ${formatSat(order.confirmed_sat - sat)}${share}`;
}

const paid = (order: OrderJson): OrderTexts => ({
  type: 'order.paid',
  word: 'Paid',
  fact: `${howPaid(order)}.`,
});

const paidLate = (order: OrderJson): OrderTexts => ({
  type: 'order.late',
  word: 'Paid late',
  fact: `${howPaid(order)}, but some of the money came after its time.`,
  advice: 'See whether you still have what was ordered before you send it.',
});

const acceptOrReturn = 'Accept what came as enough, or send it back to the customer.';

const short: OrderTexts = {
  type: 'order.short',
  word: 'Too little',
  fact: 'the order is expired, and the money that counts is less than its price.',
  advice: acceptOrReturn,
};

const rest: OrderTexts = {
  type: 'order.short',
  word: 'A little short',
  fact: `less than ${minSentSat} sat is missing, which wallets do not send. The customer waits for you.`,
  advice: 'Accept what came as enough, or cancel the order.',
};

const paidAgain: OrderTexts = {
  type: 'order.over',
  word: 'Paid again',
  fact: 'more money came than its price.',
  advice: 'Pay the excess back to the customer, or come to terms with them.',
};

/** It may be the whole price, which counts nothing any more. */
const changedLater = ({ status }: OrderJson): OrderTexts => ({
  type: 'order.short',
  word: 'After its end',
  fact: `the order is ${status}, and its payments changed after that.`,
  advice: acceptOrReturn,
});

const reversed = (was: OrderStatus): OrderTexts => ({
  type: 'order.reversed',
  word: 'Reversed',
  fact: `it was ${was}, and a payment is no longer in the chain or was replaced.`,
  advice: 'Send nothing for this order until it is paid again.',
});

/** What is due: the price less its discount. */
export const dueOf = ({ amount_due: due, currency, amount_sat }: OrderJson): string =>
  due === null || currency === null ? `${formatBitcoin(amount_sat)} BTC` : `${due} ${currency}`;

function priceLine(order: OrderJson): string {
  const { adjust_percent, amount, currency, amount_sat } = order;
  const price = adjust_percent === 0 ? '' : `${amount} ${currency}, due: `;
  return `Price: ${price}${dueOf(order)}${currency === null ? '' : ` (${formatSat(amount_sat)})`}`;
}

/** How many notices one mail has; it counts the others. */
const maxSummed = 500;

/** One notice for several of the same kind, each about an order. */
export function summedNotice(notices: readonly [Notice, ...Notice[]]): Notice {
  const [first] = notices;
  if (notices.length === 1 || first.type === 'test' || isForCustomer(first.type)) return first;
  const rest = notices.length - maxSummed;
  const sums = sumsOf(notices.map(({ data }) => data.order as OrderJson));
  return plainNotice({
    type: first.type,
    title: `${noticeLabels[first.type]}: ${notices.length} orders, ${sums}`,
    lines: [
      ...notices.slice(0, maxSummed).flatMap(({ title, lines }) => [title, ...lines]),
      ...(rest > 0 ? [`and ${rest} more`] : []),
    ],
    path: '/dashboard/orders',
    data: {},
  });
}

type Due = Pick<OrderJson, 'amount_due' | 'currency' | 'amount_sat'>;

/** What is due for orders, by currency. */
function sumsOf(orders: readonly Due[]): string {
  const sums = new Map<string | null, bigint>();
  for (const { amount_due: due, currency, amount_sat: sat } of orders) {
    const minor = due === null || currency === null ? BigInt(sat) : parseMoney(due, currency);
    sums.set(currency, (sums.get(currency) ?? 0n) + minor);
  }
  return [...sums]
    .map(([currency, minor]) =>
      currency === null
        ? `${exactBitcoin(minor)} BTC`
        : `${formatMoney(minor, currency)} ${currency}`,
    )
    .join(', ');
}

export interface FailedDelivery {
  readonly storeId: number;
  readonly storeName: string;
  readonly noun: 'callback' | 'webhook';
  readonly eventId: string;
  /** Why the last attempt failed, without secrets. */
  readonly reason: string | null;
}

export function deliveryNotice(failed: FailedDelivery): Notice {
  const { storeId, storeName, noun, eventId, reason } = failed;
  const list = noun === 'callback' ? 'callbacks' : 'events';
  return plainNotice({
    type: 'delivery.failed',
    title: `Failed: a ${noun} to the shop (${storeName})`,
    lines: [
      `Store ${storeName}: a ${noun} failed for the last time and is no longer retried.`,
      `Reason: ${reason ?? 'unknown'}`,
      'Repair the shop, then resend what failed. More failures of today are not reported.',
    ],
    path: `/dashboard/${list}?state=exhausted&store=${storeId}`,
    data: { store_id: storeId, kind: noun, event_id: eventId, reason },
  });
}

export interface NoticedFinding {
  readonly code: string;
  readonly subject: string | null;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** @param began and ended: one of them is not empty */
export function findingsNotice(
  began: readonly NoticedFinding[],
  ended: readonly NoticedFinding[],
): Notice {
  return plainNotice({
    type: 'findings',
    title: findingsTitle(began, ended),
    lines: [
      ...began.map(({ text }) => `Began: ${text}`),
      ...ended.map(({ text }) => `Ended: ${text}`),
    ],
    path: '/dashboard',
    data: { began: began.map(findingJson), ended: ended.map(findingJson) },
  });
}

function findingsTitle(began: readonly NoticedFinding[], ended: readonly NoticedFinding[]): string {
  const [first] = began;
  if (first === undefined) {
    return ended.length === 1 ? `Ended: ${ended[0]?.text}` : `${ended.length} alarms ended`;
  }
  return began.length === 1 ? `Alarm: ${first.text}` : `${began.length} alarms`;
}

const findingJson = ({ code, subject, text, since }: NoticedFinding) => ({
  code,
  subject,
  text: plainText(text, maxLineLength),
  since: unixSeconds(since),
});

export const testNotice = (): Notice => ({
  type: 'test',
  title: 'Test of the notifications of paygate',
  lines: ['This is a test. If you read it, notifications reach you.'],
  path: '/dashboard',
  data: {},
});
