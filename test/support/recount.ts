// A naive count of an order from the text of its rules, with exact fractions, for comparison with
// `standing`. It shares no code with src/ but types.

import type { OrderFacts, OrderPayment, OrderStatus } from '../../src/domain/order/order.ts';
import type { FiatPrice, Quote, SatPrice } from '../../src/domain/order/quote.ts';

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
const threeHours = 3 * 3_600_000;
const grace = 120_000;

/** Decimals of the currencies that the tests use. */
const decimals: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, KWD: 3 };

/** Satoshis of a payment that were seen when `origin` was. */
interface Run {
  readonly payment: OrderPayment;
  readonly origin: OrderPayment;
  readonly valueSat: number;
}

interface Counted extends Run {
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
  /** Txid, value, rate, late or not, and whether it counts, of each part that is not gone. */
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
    .flatMap((payment) => runsOf(payment, payments, []))
    .map((run) => count(order, quotes, run));
  const finals = counted.filter(({ payment }) => ['confirmed', 'settled'].includes(payment.state));
  const target = targetOf(order);
  const worth = (some: readonly Counted[]) =>
    some.map((each) => worthOf(order, each)).reduce((sum, each) => sum.plus(each), zero);
  const tolerated = order.acceptedSat === null ? order.toleranceBasisPoints : 0;
  const enough = target.times(new Fraction(10_000 - tolerated, 10_000));
  const isEnough = worth(counted).isAtLeast(enough);
  const isFinallyEnough = worth(finals).isAtLeast(enough);
  const status = statusOf(order, isEnough, isFinallyEnough);
  const hasEnded = status === 'canceled' || status === 'expired';
  const clock = Math.max(now, order.createdAt);
  const isFiat = order.price.kind === 'fiat';
  const newest = quotes[quotes.length - 1];
  const isRight = newest && newest.createdAt - now <= threeHours;
  const isHeld = isFiat && isRight && newest.createdAt <= clock && now < newest.expiresAt;
  const quote = isHeld && !hasEnded ? newest : null;
  const unit = isFiat && order.acceptedSat === null ? money(newest?.rateCents ?? 0) : bitcoins(1);
  const perSat = isFiat && order.acceptedSat === null ? unit.times(bitcoins(1)) : unit;
  const ends = order.expiresAt ?? Number.POSITIVE_INFINITY;
  const isAsked = isFiat && order.acceptedSat === null ? quote !== null : !hasEnded && now < ends;
  const above = worth(counted).minus(target);
  // Only what came before it was enough made it enough.
  const made = counted.filter((_each, at) => !worth(counted.slice(0, at)).isAtLeast(enough));
  const late = made.filter(({ counts, isLate }) => counts && isLate);
  const big = new Set(
    counted
      .filter(({ payment }) => payment.valueSat >= (order.minimumSat ?? 0))
      .map(({ payment }) => payment),
  );
  return {
    status,
    isLate: late.length > 0,
    receivedSat: counted.reduce((sum, { valueSat }) => sum + valueSat, 0),
    confirmedSat: finals.reduce((sum, { valueSat }) => sum + valueSat, 0),
    missingSat: isEnough ? 0 : isAsked ? zero.minus(above).over(perSat).ceil() : null,
    excessSat: excessOf(order, counted),
    confirmedExcessSat: excessOf(order, finals),
    quote,
    isFinallyEnough,
    rates: counted.map(({ payment, valueSat, rate, isLate, counts }) => {
      const cents = rate.times(new Fraction(100)).floor();
      return `${payment.txid} ${valueSat} ${cents} ${isLate} ${counts}`;
    }),
    noted: `${late.some(({ payment }) => big.has(payment))} ${[...big]
      .map(({ txid }) => txid)
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
    const { valueSat } = each;
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

function worthOf(
  { price, acceptedSat }: OrderFacts,
  { valueSat, rate, counts }: Counted,
): Fraction {
  if (!counts) return zero;
  const value = bitcoins(valueSat);
  return price.kind === 'sat' || acceptedSat !== null ? value : value.times(rate);
}

function statusOf(order: OrderFacts, isEnough: boolean, isFinallyEnough: boolean): OrderStatus {
  const { canceledAt, acceptedAt, expiresAt, scannedAt } = order;
  const acceptedSince = acceptedAt !== null && canceledAt !== null && acceptedAt >= canceledAt;
  if (canceledAt !== null && !acceptedSince) return 'canceled';
  if (isFinallyEnough) return 'paid';
  if (isEnough) return 'processing';
  if (expiresAt === null || scannedAt === null) return 'open';
  return scannedAt >= expiresAt ? 'expired' : 'open';
}

/** A replacement is the old one up to its value, and a new one above. */
function runsOf(
  payment: OrderPayment,
  payments: readonly OrderPayment[],
  passed: readonly OrderPayment[],
): Run[] {
  const earlier = payments
    .filter(({ replacedBy }) => replacedBy === payment.txid)
    .filter((each) => each !== payment && !passed.includes(each));
  const inherited = earlier.flatMap((each) => runsOf(each, payments, [...passed, payment]));
  // The one that was seen first comes first.
  if (earlier.length > 1)
    inherited.sort((one, other) => one.origin.firstSeenAt - other.origin.firstSeenAt);
  const runs: Run[] = [];
  let left = payment.valueSat;
  for (const { origin, valueSat } of [...inherited, { origin: payment, valueSat: left }]) {
    const taken = Math.min(left, valueSat);
    if (taken > 0) runs.push({ payment, origin, valueSat: taken });
    left -= taken;
  }
  return runs;
}

function count(order: OrderFacts, quotes: readonly Quote[], run: Run): Counted {
  const { payment, origin } = run;
  // A block that it was found in is a proof that it was there.
  const seenAt = Math.min(origin.firstSeenAt, origin.firstBlockAt ?? origin.firstSeenAt);
  const sinceAt = Math.min(seenAt, origin.interruptedAt ?? seenAt);
  const spans = order.price.kind === 'sat' ? [order] : quotes;
  type Span = Quote | OrderFacts;
  const isWithin = (span: Span): boolean => {
    const end = (span.expiresAt ?? Number.POSITIVE_INFINITY) + grace;
    // The first one has no beginning, because no payment is older than its address.
    const start = span === spans[0] ? Number.NEGATIVE_INFINITY : span.createdAt;
    return start <= seenAt && sinceAt <= end;
  };
  const fitting = spans.filter(isWithin);
  const asks = order.latePolicy === 'ask' && order.acceptedSat === null;
  if (order.price.kind === 'sat') {
    const isLate = fitting.length === 0;
    return { ...run, rate: zero, lowest: zero, isLate, counts: !(isLate && asks) };
  }
  const isFoundUnmined = payment.firstBlockAt === null;
  const looks = [isFoundUnmined ? payment.firstSeenAt : 0, order.scannedAt ?? 0];
  const unminedAt = payment.minedAt ?? Math.max(...looks);
  // A quote of a clock that was hours ahead is no promise once a block says so.
  const knownAt = Math.max(origin.firstSeenAt, origin.minedAt ?? Number.POSITIVE_INFINITY);
  const isPromise = (each: Quote): boolean => each.createdAt - knownAt <= threeHours;
  const promised = (fitting as Quote[]).filter(isPromise);
  const valid = promised.filter(({ expiresAt }) => unminedAt - expiresAt <= day);
  // No payment is older than its order.
  const waitsFrom = quotes.find(isPromise)?.createdAt ?? origin.firstSeenAt;
  const isTooOld = unminedAt - Math.max(origin.firstSeenAt, waitsFrom) > day;
  if (isTooOld || (promised.length > 0 && valid.length === 0)) {
    return { ...run, rate: zero, lowest: zero, isLate: true, counts: !asks };
  }
  const [best] = [...valid].sort((one, other) => other.rateCents - one.rateCents);
  const least = Math.min(...valid.map(({ rateCents }) => rateCents));
  if (best) {
    const rates = { rate: money(best.rateCents), lowest: money(least) };
    return { ...run, ...rates, isLate: false, counts: true };
  }
  const earlier = quotes.filter((each) => each.createdAt <= seenAt);
  const last = earlier[earlier.length - 1] ?? quotes[0];
  const known = origin.priceCents ?? payment.priceCents;
  const cents = known === null ? 0 : known < (last?.rateCents ?? 0) ? known : last?.rateCents;
  const rate = money(cents ?? 0);
  return { ...run, rate, lowest: rate, isLate: true, counts: !asks };
}
