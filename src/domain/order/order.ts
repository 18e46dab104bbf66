// An order: a price, one address, and the payments to it. Its status is a function of facts and the
// time, never a history. `standing` computes it, `decide` names the event of a change, and the
// commands say what may be changed. docs/orders.md has the table.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { PaygateError } from '../../lib/errors.ts';
import {
  maxAheadMs,
  type PaymentPart,
  partsOf,
  type SeenPayment,
  type Window,
} from '../payment/in-time.ts';
import { boundedSat, ceilDivide } from '../payment/money.ts';
import { isFinalState } from '../payment/payment.ts';
import { eventIdFor } from './order-id.ts';
import {
  basisPoints,
  dueSatCents,
  type FiatPrice,
  isInForce,
  type Quote,
  type SatPrice,
} from './quote.ts';

export type OrderStatus = 'open' | 'processing' | 'paid' | 'expired' | 'canceled';

/** What a late payment counts: what it is worth, or nothing until the merchant accepts it. */
export type LatePolicy = 'worth' | 'ask';

/** Times are epoch milliseconds. */
export interface OrderFacts {
  readonly price: FiatPrice | SatPrice;
  /** By how many hundredths of a percent of the price the payments may fall short. */
  readonly toleranceBasisPoints: number;
  readonly latePolicy: LatePolicy;
  /** The store's minimum: smaller payments count, but no event is made for them alone. */
  readonly minimumSat: number | null;
  readonly createdAt: number;
  /** Null for never. */
  readonly expiresAt: number | null;
  readonly canceledAt: number | null;
  readonly acceptedAt: number | null;
  /** What is enough since the order was accepted, in satoshis: at most its price. */
  readonly acceptedSat: number | null;
  /** When a server that had caught up last reported the history of its address. */
  readonly scannedAt: number | null;
}

export type OrderPayment = SeenPayment;

export interface CountedPart extends PaymentPart {
  /** It is not gone, and not late money that waits for the merchant. */
  readonly counts: boolean;
}

export interface PaymentStanding<P extends OrderPayment = OrderPayment> {
  readonly payment: P;
  /** What was seen at one time; the sum is the payment's value. */
  readonly parts: readonly CountedPart[];
  /**
   * The mean rate of what counts, in hundredths, rounded down. Null if nothing of it has a rate,
   * and for a price in satoshis.
   */
  readonly rateCents: number | null;
  /** Some of it is late. */
  readonly isLate: boolean;
  /** What counts nothing until the order is accepted or a price is known; 0 if it is gone. */
  readonly undecidedSat: number;
}

export interface Standing<P extends OrderPayment = OrderPayment> {
  /** When it stands so. */
  readonly now: number;
  readonly status: OrderStatus;
  /** What made it paid is late in part. While it is not paid: some payment that counts is late. */
  readonly isLate: boolean;
  /** The price in satoshis, by the newest quote. */
  readonly amountSat: number;
  /** Sum of all payments that are not gone, at most all bitcoins (`boundedSat`). */
  readonly receivedSat: number;
  /** Sum of those that are final. */
  readonly confirmedSat: number;
  /** 0 once enough is seen; null while no quote is in force, and when the order has ended. */
  readonly missingSat: number | null;
  /** What was paid above the price (`excessSatOf`). */
  readonly excessSat: number;
  /** The same of the payments that are final alone. */
  readonly confirmedExcessSat: number;
  readonly quote: Quote | null;
  /** In the order in which they were passed. */
  readonly payments: readonly PaymentStanding<P>[];
  /** A hash of the facts that make an event even if the status stays. Empty without payments. */
  readonly fingerprint: string;
}

/** What the database stores of a standing, for the next `decide`. */
export type OrderSnapshot = Pick<Standing, 'status' | 'fingerprint'>;

export type OrderEventType =
  | 'order.processing'
  | 'order.paid'
  | 'order.expired'
  | 'order.canceled'
  | 'order.reversed'
  | 'order.updated';

/** What an order has received is measured against this. */
interface Bar {
  readonly unit: 'satoshi' | 'satoshi-cent';
  readonly amount: bigint;
  readonly toleranceBasisPoints: number;
  /** What one satoshi is in its unit, at the newest rate. */
  readonly satoshi: bigint;
}

/**
 * @param quotes in the order in which they were made; at least one for a price in a currency
 * @param payments all that its address ever received, with those that are gone
 */
export function standing<P extends OrderPayment>(
  order: OrderFacts,
  quotes: readonly Quote[],
  payments: readonly P[],
  now: number,
): Standing<P> {
  const bar = barOf(order, quotes);
  const counted = countPayments(order, quotes, payments);
  const sums = sumUp(counted, bar);
  const status = statusOf(order, sums, bar);
  const isEnough = isCovered(bar, sums.covered);
  const { covered, receivedSat, confirmedSat } = sums;
  const newest = quotes.at(-1);
  const hasEnded = status === 'expired' || status === 'canceled';
  const isOpen = (window: Window): boolean => !hasEnded && isInForce(window, now, order.createdAt);
  const hasBegun = newest !== undefined && newest.createdAt - now <= maxAheadMs;
  const quote = hasBegun && isOpen(newest) ? newest : null;
  const isPriced = bar.unit === 'satoshi' ? isOpen(order) : quote !== null;
  const missing = ceilDivide(bar.amount - covered, bar.satoshi);
  const late = latePayments(counted, bar);
  return {
    now,
    status,
    isLate: late.size > 0,
    amountSat: order.price.kind === 'sat' ? order.price.amountSat : newestOf(quotes).amountSat,
    receivedSat: boundedSat(receivedSat),
    confirmedSat: boundedSat(confirmedSat),
    missingSat: isEnough ? 0 : isPriced ? Number(missing) : null,
    excessSat: excessAbove(bar, counted),
    confirmedExcessSat: excessAbove(
      bar,
      counted.filter(({ payment }) => isFinal(payment)),
    ),
    quote: order.price.kind === 'sat' ? null : quote,
    payments: counted,
    fingerprint: fingerprintOf(order, counted, late),
  };
}

function newestOf(quotes: readonly Quote[]): Quote {
  const newest = quotes.at(-1);
  if (newest === undefined) throw new Error('an order that is priced in a currency has a quote');
  return newest;
}

function barOf(
  { price, acceptedSat, toleranceBasisPoints }: OrderFacts,
  quotes: readonly Quote[],
): Bar {
  if (acceptedSat !== null) {
    const amount = BigInt(acceptedSat);
    return { unit: 'satoshi', amount, toleranceBasisPoints: 0, satoshi: 1n };
  }
  if (price.kind === 'sat') {
    const amount = BigInt(price.amountSat);
    return { unit: 'satoshi', amount, toleranceBasisPoints, satoshi: 1n };
  }
  return {
    unit: 'satoshi-cent',
    amount: dueSatCents(price),
    toleranceBasisPoints,
    satoshi: BigInt(newestOf(quotes).rateCents),
  };
}

/** Compares products, so that nothing is rounded. */
const isCovered = ({ amount, toleranceBasisPoints }: Bar, covered: bigint): boolean =>
  covered * BigInt(basisPoints) >= amount * BigInt(basisPoints - toleranceBasisPoints);

const isGone = ({ state }: OrderPayment): boolean => state === 'dropped';
const isFinal = ({ state }: OrderPayment): boolean => isFinalState(state);

function countPayments<P extends OrderPayment>(
  order: OrderFacts,
  quotes: readonly Quote[],
  payments: readonly P[],
): PaymentStanding<P>[] {
  const { price, scannedAt } = order;
  const isFiat = price.kind === 'fiat';
  const promises = isFiat
    ? ({ unit: 'fiat', quotes } as const)
    : ({ unit: 'sat', window: order } as const);
  const parts = partsOf(promises, payments, scannedAt);
  return payments.map((payment, at) => standingOf(order, payment, parts[at] ?? []));
}

function standingOf<P extends OrderPayment>(
  { price, latePolicy, acceptedSat }: OrderFacts,
  payment: P,
  seen: readonly PaymentPart[],
): PaymentStanding<P> {
  const isAsked = latePolicy === 'ask' && acceptedSat === null;
  const parts = seen.map((part): CountedPart => {
    return { ...part, counts: !isGone(payment) && !(part.isLate && isAsked) };
  });
  const needsRate = price.kind === 'fiat' && acceptedSat === null;
  const undecided = parts.filter(
    ({ counts, rateCents }) => !counts || (needsRate && rateCents === null),
  );
  return {
    payment,
    parts,
    rateCents: meanRateOf(parts),
    isLate: parts.some(({ isLate }) => isLate),
    undecidedSat: isGone(payment) ? 0 : undecided.reduce((sum, { valueSat }) => sum + valueSat, 0),
  };
}

function meanRateOf(parts: readonly CountedPart[]): number | null {
  let value = 0n;
  let worth = 0n;
  for (const { valueSat, rateCents } of parts) {
    if (rateCents === null) continue;
    value += BigInt(valueSat);
    worth += BigInt(valueSat) * BigInt(rateCents);
  }
  return value === 0n ? null : Number(worth / value);
}

interface Sums {
  readonly receivedSat: bigint;
  readonly confirmedSat: bigint;
  /** In the unit of the bar: what counts, and what of it is final. */
  readonly covered: bigint;
  readonly finallyCovered: bigint;
}

/** In the unit of the bar. */
const worthOf = ({ counts, valueSat, rateCents }: CountedPart, { unit }: Bar): bigint =>
  counts ? BigInt(valueSat) * (unit === 'satoshi' ? 1n : BigInt(rateCents ?? 0)) : 0n;

function sumUp(counted: readonly PaymentStanding[], bar: Bar): Sums {
  const sums = { receivedSat: 0n, confirmedSat: 0n, covered: 0n, finallyCovered: 0n };
  for (const { payment, parts } of counted) {
    if (isGone(payment)) continue;
    const value = BigInt(payment.valueSat);
    const worth = parts.reduce((sum, part) => sum + worthOf(part, bar), 0n);
    sums.receivedSat += value;
    sums.covered += worth;
    if (!isFinal(payment)) continue;
    sums.confirmedSat += value;
    sums.finallyCovered += worth;
  }
  return sums;
}

/** Less than wallets send: a rest below it can't be paid. */
export const minSentSat = 1_000;

/** Whether a payment came after enough was there. */
export function isPaidAgain(
  order: OrderFacts,
  quotes: readonly Quote[],
  { payments }: Pick<Standing, 'payments'>,
): boolean {
  const bar = barOf(order, quotes);
  let covered = 0n;
  for (const { payment, parts } of payments) {
    if (isGone(payment)) continue;
    if (isCovered(bar, covered)) return true;
    covered += parts.reduce((sum, part) => sum + worthOf(part, bar), 0n);
  }
  return false;
}

/** Payments that are late in what made the order paid. What came after that is an excess. */
function latePayments(counted: readonly PaymentStanding[], bar: Bar): ReadonlySet<OrderPayment> {
  const late = new Set<OrderPayment>();
  let covered = 0n;
  for (const { payment, parts } of counted) {
    for (const part of parts) {
      if (isCovered(bar, covered)) return late;
      if (part.counts && part.isLate) late.add(payment);
      covered += worthOf(part, bar);
    }
  }
  return late;
}

const excessAbove = ({ amount, unit }: Bar, counted: readonly PaymentStanding[]): number =>
  excessSatOf(
    amount,
    counted.flatMap(({ parts }) =>
      parts
        .filter(({ counts }) => counts)
        .map(({ valueSat, lowestRateCents }) => ({
          valueSat,
          rate: unit === 'satoshi' ? 1 : lowestRateCents,
        })),
    ),
  );

function statusOf(order: OrderFacts, sums: Sums, bar: Bar): OrderStatus {
  const { canceledAt, acceptedAt, expiresAt, scannedAt } = order;
  if (canceledAt !== null && (acceptedAt === null || acceptedAt < canceledAt)) return 'canceled';
  if (isCovered(bar, sums.finallyCovered)) return 'paid';
  if (isCovered(bar, sums.covered)) return 'processing';
  // Without a scan since, a payment may have arrived in time. The clock may show less by now.
  const isOver = expiresAt !== null && scannedAt !== null && expiresAt <= scannedAt;
  return isOver ? 'expired' : 'open';
}

function fingerprintOf(
  { minimumSat }: OrderFacts,
  counted: readonly PaymentStanding[],
  late: ReadonlySet<OrderPayment>,
): string {
  const noted = counted
    .map(({ payment }) => payment)
    .filter((payment) => !isGone(payment) && payment.valueSat >= (minimumSat ?? 0));
  if (noted.length === 0) return '';
  const isLate = noted.some((payment) => late.has(payment));
  const txids = noted.map(({ txid }) => txid).sort();
  return bytesToHex(sha256(utf8ToBytes([isLate ? 'late' : 'on time', ...txids].join(' '))));
}

/**
 * What an event shows of an order: a hash of its status, sums and payments. Null for an order as it
 * was made. Two events with the same value differ in nothing that a shop acts on.
 */
export function orderStateOf(
  { acceptedAt }: Pick<OrderFacts, 'acceptedAt'>,
  { status, isLate, receivedSat, confirmedSat, excessSat, payments }: Standing,
): string | null {
  const there = payments.filter(({ payment }) => !isGone(payment));
  if (status === 'open' && acceptedAt === null && there.length === 0) return null;
  const txids = there.map(({ payment }) => payment.txid).sort();
  const sums = [isLate, receivedSat, confirmedSat, excessSat, acceptedAt];
  return bytesToHex(sha256(utf8ToBytes([status, ...sums, ...txids].join(' '))));
}

/** How far the money has come. A smaller number is a fall. */
const progress: Readonly<Record<OrderStatus, number>> = {
  canceled: 0,
  expired: 0,
  open: 0,
  processing: 1,
  paid: 2,
};

export function decide(before: OrderSnapshot, after: OrderSnapshot): OrderEventType | undefined {
  if (before.status === after.status) {
    return before.fingerprint === after.fingerprint ? undefined : 'order.updated';
  }
  if (after.status === 'canceled') return 'order.canceled';
  if (progress[after.status] < progress[before.status]) return 'order.reversed';
  return after.status === 'open' ? 'order.updated' : `order.${after.status}`;
}

/**
 * The id of an order's event. Other facts have another id, also in a restored copy, so that no
 * receiver mistakes one event for another.
 * @param version of the order after the event
 */
export const orderEventId = (
  orderId: string,
  version: number,
  type: OrderEventType,
  before: OrderSnapshot,
  { status, fingerprint, receivedSat, confirmedSat }: Standing,
): string => {
  const change = [type, before.status, status, fingerprint];
  return eventIdFor([orderId, version, ...change, receivedSat, confirmedSat]);
};

/**
 * Cancels an order.
 * @returns what changes; undefined if it is canceled already
 * @throws PaygateError conflict if enough was paid
 */
export function cancel(
  { acceptedAt }: OrderFacts,
  { status }: Pick<Standing, 'status'>,
  now: number,
): Pick<OrderFacts, 'canceledAt'> | undefined {
  if (status === 'canceled') return undefined;
  if (status === 'processing' || status === 'paid') {
    throw conflict(`the order is ${status}: only an order that is open or expired is canceled`);
  }
  // Even if the clock was set back since.
  return { canceledAt: acceptedAt === null ? now : Math.max(now, acceptedAt + 1) };
}

/**
 * Accepts what was received as enough: from then on, every payment counts in satoshis. What was
 * received above the price in satoshis stays an excess.
 * @returns what changes; undefined if the order is paid already
 * @throws PaygateError conflict if nothing was received, or enough was
 */
export function accept(
  { canceledAt }: OrderFacts,
  { status, receivedSat, amountSat }: Pick<Standing, 'status' | 'receivedSat' | 'amountSat'>,
  now: number,
): Pick<OrderFacts, 'acceptedAt' | 'acceptedSat'> | undefined {
  if (status === 'paid') return undefined;
  if (status === 'processing') {
    throw conflict('the order is processing: enough was received, and it waits for confirmations');
  }
  if (receivedSat === 0) throw conflict('the order has received nothing that can be accepted');
  const acceptedSat = Math.min(receivedSat, amountSat);
  return { acceptedAt: Math.max(now, canceledAt ?? now), acceptedSat };
}

/** Returns why no new quote may be made; undefined if one may. */
export function newQuoteRefusal(
  { price, expiresAt, acceptedSat }: OrderFacts,
  { status, quote }: Pick<Standing, 'status' | 'quote'>,
  now: number,
): string | undefined {
  if (price.kind === 'sat') return 'the order is priced in satoshis and needs no quote';
  if (status !== 'open') return `the order is ${status}: only an open order gets a quote`;
  if (acceptedSat !== null) return 'the order was accepted and needs no quote';
  if (quote !== null) return 'a quote is in force; use that one until it expires';
  return expiresAt !== null && expiresAt <= now ? "the order's time is over" : undefined;
}

/** Checks whether a new quote may be made. @throws PaygateError conflict */
export function checkNewQuote(...asked: Parameters<typeof newQuoteRefusal>): void {
  const refusal = newQuoteRefusal(...asked);
  if (refusal !== undefined) throw conflict(refusal);
}

const conflict = (message: string): PaygateError => new PaygateError('conflict', message);

interface CoveringPayment {
  readonly valueSat: number;
  /** What one satoshi covers of the price; null while that is unknown. */
  readonly rate: number | null;
}

/**
 * The satoshis that came when the price was covered already. Each payment covers it at the lowest
 * rate that it was promised. What one of two quotes asked is thus nothing too much.
 * @param payments that count, in the order in which they came
 */
export function excessSatOf(amount: bigint, payments: readonly CoveringPayment[]): number {
  let missing = amount;
  let excess = 0n;
  for (const { valueSat, rate } of payments) {
    if (rate === null) continue;
    const value = BigInt(valueSat);
    const needed = missing > 0n ? ceilDivide(missing, BigInt(rate)) : 0n;
    missing -= (needed < value ? needed : value) * BigInt(rate);
    if (needed < value) excess += value - needed;
  }
  return boundedSat(excess);
}
