// What the customer's page shows of an order. `stage` says which of its texts the page has; it
// follows from the order's status, its payments, its quote and the time alone.

import { isLightningFirst } from '../domain/order/invoice.ts';
import {
  isPaidAgain,
  minSentSat,
  newQuoteRefusal,
  type OrderPayment,
  standing as standingOf,
} from '../domain/order/order.ts';
import { type OrderJson, orderJson, type ShownPayment } from '../domain/order/order-json.ts';
import { sumWithFees } from '../domain/order/refund.ts';
import { requiredConfirmationsInOrder } from '../domain/payment/confirmation-policy.ts';
import { sumSat } from '../domain/payment/money.ts';
import { paymentUri } from '../domain/payment/payment-uri.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { OrderRecord } from '../store/orders/order-view.ts';

/**
 * `payable`: an amount is promised. `lapsed`: the customer may ask for a new quote. `over`: the
 * time of the order is over, but no server was asked since whether a payment came in time.
 * `rest`: what is missing is less than wallets send, and no invoice asks for it.
 * `undecided`: money came that does not count yet, so the customer must not pay again.
 */
export type Stage =
  | 'payable'
  | 'lapsed'
  | 'over'
  | 'rest'
  | 'undecided'
  | 'processing'
  | 'paid'
  | 'expired'
  | 'canceled';

export interface ShownOrder {
  readonly order: OrderJson;
  readonly storeName: string;
  /** How the customer reaches the shop. */
  readonly contact: string | null;
  /** Name and address of the merchant; null without one. */
  readonly receiptAddress: string | null;
  readonly stage: Stage;
  /** The return URL, if the page leads there by itself because it was just paid; else null. */
  readonly leavesTo: string | null;
  /** Sum of the payments that came late and do not count, or whose worth is unknown. */
  readonly undecidedSat: number;
  /** What the customer received back. */
  readonly refundedSat: number;
  /** What was paid above the price, and is not paid back or to be; 0 for a donation. */
  readonly excessSat: number;
  /** Some of the excess came after the order was paid. */
  readonly isPaidAgain: boolean;
  /** A payment is gone, and none that replaced it came here. */
  readonly hasFallen: boolean;
  /** Which way to pay the page shows first. */
  readonly firstWay: 'chain' | 'lightning';
  /** The blocks of the payment that waits longest; null unless the order is processing. */
  readonly blocks: Blocks | null;
  /** Opens a wallet with the amount; null unless the order is payable. */
  readonly walletUri: string | null;
  /** When this was so, by our own clock, epoch milliseconds. */
  readonly shownAt: number;
  /** When the amount ends, epoch milliseconds; null if there is none, and if it never ends. */
  readonly validUntil: number | null;
  /** A quote ends then. */
  readonly isQuoted: boolean;
}

/** What a page needs of an order, which need not be in the file. */
export type ShownRecord = Omit<OrderRecord, 'row' | 'linkTitle'> & {
  readonly row: Pick<OrderRecord['row'], 'amountSat' | 'invoice'>;
};

export function shownOrder(record: ShownRecord, now: number): ShownOrder {
  const { details, facts } = record;
  const standing = standingOf(facts, record.quotes, record.payments, now);
  const { status, missingSat, quote, payments } = standing;
  const { address, storeName, reference } = details;
  // After it was accepted, an order counts in satoshis, and its quotes do not matter.
  const isAccepted = facts.acceptedSat !== null;
  const undecidedSat = sumSat(payments.map((each) => each.undecidedSat));
  const promised = isAccepted ? null : quote;
  const isPriced = status === 'open' && missingSat !== null;
  const mayBeQuoted = newQuoteRefusal(facts, standing, now) === undefined;
  const order = orderJson(details, standing, '');
  const isSmall = standing.receivedSat > 0 && missingSat !== null && missingSat < minSentSat;
  const isRest = isSmall && order.lightning === null;
  const openStage = isPriced ? (isRest ? 'rest' : 'payable') : mayBeQuoted ? 'lapsed' : 'over';
  const isUnpaid = status === 'open' || status === 'expired';
  const ownStage = status === 'open' ? openStage : status;
  const stage = isUnpaid && undecidedSat > 0 ? 'undecided' : ownStage;
  const isPayable = stage === 'payable';
  const { refunds } = details;
  const sent = refunds.filter(({ doneAt }) => doneAt !== null);
  return {
    order,
    storeName,
    contact: record.contact,
    receiptAddress: record.receiptAddress,
    stage,
    leavesTo: leavesTo(record, stage, now),
    undecidedSat,
    refundedSat: sumSat(sent.map(({ amountSat }) => amountSat)),
    excessSat: record.isDonation ? 0 : Math.max(0, standing.excessSat - sumWithFees(refunds)),
    isPaidAgain: isPaidAgain(facts, record.quotes, standing),
    hasFallen: hasFallen(payments),
    firstWay: isSmall || isLightningFirst(record.row) ? 'lightning' : 'chain',
    blocks: stage === 'processing' ? slowestBlocks(record) : null,
    walletUri:
      isPayable && missingSat !== null
        ? paymentUri(address, {
            amountSat: missingSat,
            label: storeName,
            message: reference ?? undefined,
          })
        : null,
    shownAt: now,
    validUntil: isPriced ? (promised ?? facts).expiresAt : null,
    isQuoted: isPayable && promised !== null,
  };
}

/** How many blocks a payment is in, and how many it must be in. */
export interface Blocks {
  readonly have: number;
  readonly need: number;
}

/** The blocks of a payment that is not final. */
export function blocksOf({ policy, row }: ShownRecord, payment: ShownPayment): Blocks {
  const need = requiredConfirmationsInOrder(policy, payment.valueSat, row.amountSat);
  return { have: Math.min(payment.confirmations, need), need };
}

function slowestBlocks(record: ShownRecord): Blocks | null {
  const waiting = record.payments.filter(
    ({ state }) => state === 'unconfirmed' || state === 'confirming',
  );
  const all = waiting.map((payment) => blocksOf(record, payment));
  return all.sort((one, other) => other.need - other.have - (one.need - one.have))[0] ?? null;
}

/** A receipt that is opened later stays. */
const leavingMs = minuteMs;

function leavesTo(
  { autoReturn, details, payments }: ShownRecord,
  stage: Stage,
  now: number,
): string | null {
  const { returnUrl, paidAt } = details;
  const seenAt = Math.max(...payments.map(({ firstSeenAt }) => firstSeenAt));
  const since = stage === 'paid' ? paidAt : stage === 'processing' ? seenAt : null;
  const isFresh = since !== null && now - since < leavingMs;
  // A header has the letters of ASCII alone.
  return autoReturn && returnUrl !== null && isFresh ? (URL.parse(returnUrl)?.href ?? null) : null;
}

type Counted = {
  readonly payment: Pick<OrderPayment, 'txid' | 'state' | 'replacedBy'>;
};

const isGone = ({ payment }: Counted): boolean => payment.state === 'dropped';

/**
 * Whether a payment is gone for good as far as we know: no replacement of it is here. Follows each
 * replacement once, because a chain of them can be long.
 */
export function hasFallen(payments: readonly Counted[]): boolean {
  const byTxid = new Map(payments.map((each) => [each.payment.txid, each]));
  const replaced = new Set<Counted>();
  return payments.some((first) => {
    const passed = new Set<Counted>();
    let last: Counted | undefined = first;
    while (last !== undefined && isGone(last) && !passed.has(last) && !replaced.has(last)) {
      passed.add(last);
      last = byTxid.get(last.payment.replacedBy ?? '');
    }
    if (last === undefined || passed.has(last)) return true;
    for (const each of passed) replaced.add(each);
    return false;
  });
}
