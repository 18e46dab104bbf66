// A naive count of an order from the text of its rules, with exact fractions, for comparison with
// `standing`. It shares no code with src/ but types.

import type { OrderFacts, OrderPayment, OrderStatus } from '../../src/domain/order.ts';
import type { FiatPrice, Quote, SatPrice } from '../../src/domain/quote.ts';

/** An exact fraction. The denominator is above 0. */
class Fraction {
  readonly top: bigint;
  readonly bottom: bigint;

  constructor(top: bigint | number, bottom: bigint | number = 1) {
    this.top = BigInt(top);
    this.bottom = BigInt(bottom);
  }
  plus(other: Fraction): Fraction {
    const { top, bottom } = other;
    return new Fraction(this.top * bottom + top * this.bottom, this.bottom * bottom);
  }
  times(other: Fraction): Fraction {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }
  over(other: Fraction): Fraction {
    return this.times(new Fraction(other.bottom, other.top));
  }
  minus(other: Fraction): Fraction {
    return this.plus(new Fraction(-other.top, other.bottom));
  }
  isAtLeast(other: Fraction): boolean {
    return this.top * other.bottom >= other.top * this.bottom;
  }
  /** The largest whole number that is not above it. @param this at least 0 */
  floor(): number {
    return Number(this.top / this.bottom);
  }
  ceil(): number {
    return this.floor() + (this.top % this.bottom === 0n ? 0 : 1);
  }
}

const zero = new Fraction(0);
const bitcoins = (sat: number): Fraction => new Fraction(sat, 100_000_000);
const money = (cents: number): Fraction => new Fraction(cents, 100);
const day = 24 * 3_600 * 1_000;
const grace = 120_000;

/** Decimals of the currencies that the tests use. */
const decimals: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, KWD: 3 };

interface Counted {
  readonly payment: OrderPayment;
  /** Money for a bitcoin; 0 while unknown. */
  readonly rate: Fraction;
  /** The lowest of the rates that it was promised; the same as `rate` for one. */
  readonly lowest: Fraction;
  readonly isLate: boolean;
  readonly counts: boolean;
}

export interface Recount {
  readonly status: OrderStatus;
  readonly isLate: boolean;
  readonly receivedSat: number;
  readonly confirmedSat: number;
  readonly missingSat: number | null;
  readonly excessSat: number;
  readonly confirmedExcessSat: number;
  readonly quote: Quote | null;
  /** Whether final payments alone are enough. */
  readonly isFinallyEnough: boolean;
  /** Txid and rate of each that is not gone. */
  readonly rates: readonly string[];
  /** Payments that make events: late or not, and which. */
  readonly noted: string;
}

export function recount(
  order: OrderFacts,
  quotes: readonly Quote[],
  payments: readonly OrderPayment[],
  now: number,
): Recount {
  const counted = payments
    .filter(({ state }) => state !== 'dropped')
    .map((payment) => count(order, quotes, payments, payment));
  const finals = counted.filter(({ payment }) => ['confirmed', 'settled'].includes(payment.state));
  const target = targetOf(order);
  const worth = (some: readonly Counted[]) =>
    some.map((each) => worthOf(order, each)).reduce((sum, each) => sum.plus(each), zero);
  const tolerated = order.acceptedSat === null ? order.toleranceBasisPoints : 0;
  const enough = target.times(new Fraction(10_000 - tolerated, 10_000));
  const isEnough = worth(counted).isAtLeast(enough);
  const isFinallyEnough = worth(finals).isAtLeast(enough);
  const status = statusOf(order, isEnough, isFinallyEnough, now);
  const hasEnded = status === 'canceled' || status === 'expired';
  const clock = Math.max(now, order.createdAt);
  const isFiat = order.price.kind === 'fiat';
  const newest = quotes[quotes.length - 1];
  const isHeld = isFiat && newest && newest.createdAt <= clock && now < newest.expiresAt;
  const quote = isHeld && !hasEnded ? newest : null;
  const unit = isFiat && order.acceptedSat === null ? money(newest?.rateCents ?? 0) : bitcoins(1);
  const perSat = isFiat && order.acceptedSat === null ? unit.times(bitcoins(1)) : unit;
  const ends = order.expiresAt ?? Number.POSITIVE_INFINITY;
  const isAsked = isFiat && order.acceptedSat === null ? quote !== null : !hasEnded && now < ends;
  const above = worth(counted).minus(target);
  const big = counted.filter(({ payment }) => payment.valueSat >= (order.minimumSat ?? 0));
  const hasLate = (some: readonly Counted[]) => some.some(({ counts, isLate }) => counts && isLate);
  return {
    status,
    isLate: hasLate(counted),
    receivedSat: counted.reduce((sum, { payment }) => sum + payment.valueSat, 0),
    confirmedSat: finals.reduce((sum, { payment }) => sum + payment.valueSat, 0),
    missingSat: isEnough ? 0 : isAsked ? zero.minus(above).over(perSat).ceil() : null,
    excessSat: excessOf(order, counted),
    confirmedExcessSat: excessOf(order, finals),
    quote,
    isFinallyEnough,
    rates: counted.map(({ payment, rate, isLate, counts }) => {
      const cents = rate.times(new Fraction(100)).floor();
      return `${payment.txid} ${cents} ${isLate} ${counts}`;
    }),
    noted: `${hasLate(big)} ${big
      .map(({ payment }) => payment.txid)
      .sort()
      .join()}`,
  };
}

/**
 * Satoshi by satoshi it would be: those that come while the price is not covered are no excess.
 * Each covers the least that it was promised.
 */
function excessOf(order: OrderFacts, counted: readonly Counted[]): number {
  const target = targetOf(order);
  let covered = zero;
  let excess = 0;
  for (const each of counted) {
    const { valueSat } = each.payment;
    const all = worthOf(order, { ...each, rate: each.lowest });
    const isUseless = zero.isAtLeast(all);
    const isOver = covered.isAtLeast(target);
    if (!isUseless && isOver) excess += valueSat;
    else if (!isUseless && covered.plus(all).isAtLeast(target)) {
      const perSat = all.over(new Fraction(valueSat));
      excess += valueSat - target.minus(covered).over(perSat).ceil();
    }
    covered = covered.plus(all);
  }
  return excess;
}

/** The price, in money or in bitcoins. */
function targetOf({ price, acceptedSat }: OrderFacts): Fraction {
  return acceptedSat === null ? priceOf(price) : bitcoins(acceptedSat);
}

function priceOf(price: FiatPrice | SatPrice): Fraction {
  if (price.kind === 'sat') return bitcoins(price.amountSat);
  return new Fraction(price.minor, 10n ** BigInt(decimals[price.currency] ?? 0));
}

function worthOf({ price, acceptedSat }: OrderFacts, { payment, rate, counts }: Counted): Fraction {
  if (!counts) return zero;
  const value = bitcoins(payment.valueSat);
  return price.kind === 'sat' || acceptedSat !== null ? value : value.times(rate);
}

function statusOf(
  order: OrderFacts,
  isEnough: boolean,
  isFinallyEnough: boolean,
  now: number,
): OrderStatus {
  const { canceledAt, acceptedAt, expiresAt, scannedAt } = order;
  const acceptedSince = acceptedAt !== null && canceledAt !== null && acceptedAt >= canceledAt;
  if (canceledAt !== null && !acceptedSince) return 'canceled';
  if (isFinallyEnough) return 'paid';
  if (isEnough) return 'processing';
  if (expiresAt === null || scannedAt === null) return 'open';
  return now >= expiresAt && scannedAt >= expiresAt ? 'expired' : 'open';
}

/** The oldest of a payment and what it replaced; of two of one time, the newer transaction. */
function oldest(payment: OrderPayment, payments: readonly OrderPayment[]): OrderPayment {
  let first = payment;
  for (const each of payments) {
    if (each.replacedBy !== payment.txid) continue;
    const older = oldest(each, payments);
    if (older.firstSeenAt < first.firstSeenAt) first = older;
  }
  return first;
}

function count(
  order: OrderFacts,
  quotes: readonly Quote[],
  payments: readonly OrderPayment[],
  payment: OrderPayment,
): Counted {
  const first = oldest(payment, payments);
  const { minedAt } = payment;
  const seenAt = first.firstSeenAt;
  const sinceAt = first.interruptedAt ?? seenAt;
  const spans = order.price.kind === 'sat' ? [order] : quotes;
  type Span = Quote | OrderFacts;
  const within = (span: Span, a: number, b: number): boolean => {
    // The first one has no beginning, because no payment is older than its address.
    const start = span === spans[0] ? Number.NEGATIVE_INFINITY : span.createdAt;
    const end = (span.expiresAt ?? Number.POSITIVE_INFINITY) + grace;
    const from = Math.min(a, b);
    const begun = Math.max(from, start);
    return begun <= b && begun <= end;
  };
  let fitting = spans.filter((span) => within(span, sinceAt, seenAt));
  if (fitting.length === 0 && minedAt !== null && minedAt < seenAt) {
    fitting = spans.filter((span) => within(span, minedAt, minedAt));
  }
  const asks = order.latePolicy === 'ask' && order.acceptedSat === null;
  if (order.price.kind === 'sat') {
    const isLate = fitting.length === 0;
    return { payment, rate: zero, lowest: zero, isLate, counts: !(isLate && asks) };
  }
  const promised = fitting as Quote[];
  let valid = promised.filter((each) => minedAt === null || minedAt - each.expiresAt <= day);
  const isSeenWhenMined = promised.length > 0 && valid.length === 0;
  if (isSeenWhenMined && minedAt !== null) {
    valid = quotes.filter((each) => within(each, minedAt, minedAt));
  }
  const [best] = [...valid].sort((one, other) => other.rateCents - one.rateCents);
  const least = Math.min(...valid.map(({ rateCents }) => rateCents));
  if (best) {
    const promised = { rate: money(best.rateCents), lowest: money(least) };
    return { payment, ...promised, isLate: false, counts: true };
  }
  const at = isSeenWhenMined ? (minedAt ?? 0) : Math.min(seenAt, minedAt ?? seenAt);
  const earlier = quotes.filter((each) => each.createdAt <= at);
  const last = earlier[earlier.length - 1] ?? quotes[0];
  const known = isSeenWhenMined
    ? payment.minedPriceCents
    : (first.priceCents ?? payment.priceCents);
  const cents = known === null ? 0 : known < (last?.rateCents ?? 0) ? known : last?.rateCents;
  const rate = money(cents ?? 0);
  return { payment, rate, lowest: rate, isLate: true, counts: !asks };
}
