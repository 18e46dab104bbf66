// Which satoshis of a payment are in time, and at which rate they count. docs/orders.md has the
// rule under "In time and late". No other file decides on it. A payment is split into parts that
// were seen at one time: a replacement is the old payment up to the value that it replaced. What is
// in no block for a day has no rate. Times are epoch milliseconds.

import { dayMs, hourMs, minuteMs } from '../../lib/time-units.ts';
import type { PaymentState } from './payment.ts';

export interface Window {
  readonly createdAt: number;
  /** Null for a window that never ends. */
  readonly expiresAt: number | null;
}

interface RatedWindow extends Window {
  /** The price of one bitcoin in hundredths of the currency. */
  readonly rateCents: number;
  readonly expiresAt: number;
}

export interface SeenFacts {
  readonly firstSeenAt: number;
  /**
   * The last look before an interruption of the watcher, if the first look after that found the
   * payment. Null for any other payment.
   */
  readonly interruptedAt: number | null;
  /** The time of the block in which it was first seen; null if it was first seen unconfirmed. */
  readonly firstBlockAt: number | null;
  /** The time of the block that has it; null while no block of the best chain does. */
  readonly minedAt: number | null;
}

export interface SeenPayment extends SeenFacts {
  readonly txid: string;
  readonly valueSat: number;
  readonly state: PaymentState;
  /** The txid of the transaction that replaced it, if it was dropped. */
  readonly replacedBy: string | null;
  /** The price of one bitcoin when it was first seen, in hundredths; null while unknown. */
  readonly priceCents: number | null;
}

export interface PaymentRate {
  /** Null while it counts nothing in the currency: its price is unknown, or it is an option. */
  readonly rateCents: number | null;
  /** The lowest rate that was promised when it was seen: at most `rateCents`. */
  readonly lowestRateCents: number | null;
  readonly isLate: boolean;
}

/** Satoshis of a payment that were seen at one time. */
export interface PaymentPart extends PaymentRate {
  readonly valueSat: number;
}

/** What payments are compared with. An order that is priced in satoshis is its own window. */
export type Promises =
  | { readonly unit: 'fiat'; readonly quotes: readonly RatedWindow[] }
  | { readonly unit: 'sat'; readonly window: Window };

/** A payment is in time until so long after the end of its window: it needs time to reach us. */
export const graceMs = 2 * minuteMs;

/** How long a payment at a promised rate may be in no block. See docs/decisions/047. */
export const maxUnminedMs = dayMs;

/**
 * A clock that is further ahead has an alarm (clock-check.ts). Once it is right, what it promised
 * has not begun.
 */
export const maxAheadMs = 3 * hourMs;

/** Satoshis of a payment, with the payment whose time they have. */
interface Share<P> {
  readonly origin: P;
  readonly valueSat: number;
}

/**
 * Splits payments into parts that were seen at one time.
 * @param payments to one address, with those that are gone; in the order in which they came
 * @param scannedAt when a server that had caught up last showed that the unconfirmed ones are in no
 *   block; null for never
 * @returns the parts of each payment, in its order; the sum of the parts is its value
 */
export function partsOf<P extends SeenPayment>(
  promises: Promises,
  payments: readonly P[],
  scannedAt: number | null,
): PaymentPart[][] {
  const replaced = Map.groupBy(payments, ({ replacedBy }) => replacedBy);
  return payments.map((payment) =>
    sharesOf(payment, replaced).map(({ origin, valueSat }) => ({
      valueSat,
      ...(promises.unit === 'sat'
        ? satRate(promises.window, origin)
        : rateFor(promises.quotes, origin, {
            priceCents: origin.priceCents ?? payment.priceCents,
            unminedAt: unminedAt(payment, scannedAt),
          })),
    })),
  );
}

/**
 * Its own satoshis last, those of what it replaced first, the earliest of these first. What is gone
 * has its own alone, so that each payment is in one chain.
 */
function sharesOf<P extends SeenPayment>(
  payment: P,
  replaced: ReadonlyMap<string | null, readonly P[]>,
): readonly Share<P>[] {
  if (payment.state === 'dropped') return [{ origin: payment, valueSat: payment.valueSat }];
  // A set, because a server can invent payments that replace each other in a circle.
  const chain = new Set([payment]);
  for (const { txid } of chain) {
    for (const earlier of replaced.get(txid) ?? []) chain.add(earlier);
  }
  const shares = new Map<P, Share<P>[]>();
  for (const each of [...chain].reverse()) {
    // In a circle, the first of the chain has no shares yet.
    const earlier = (replaced.get(each.txid) ?? []).filter((one) => shares.has(one));
    shares.set(each, limited(earlier, shares, each));
  }
  return shares.get(payment) ?? [];
}

/** The shares of what a payment replaced, up to its value, and what is above them. */
function limited<P extends SeenPayment>(
  earlier: readonly P[],
  known: ReadonlyMap<P, Share<P>[]>,
  payment: P,
): Share<P>[] {
  const [first = [], ...others] = earlier.map((each) => known.get(each) ?? []);
  if (others.length > 0) return upTo(payment, [first, ...others].flat().sort(byFirstSeen));
  // The list of a single earlier payment is taken over, so that a long chain stays linear work.
  let left = payment.valueSat - (earlier[0]?.valueSat ?? 0);
  while (left < 0) {
    const last = first.pop();
    if (last === undefined) break;
    left += last.valueSat;
    if (left > 0) first.push({ origin: last.origin, valueSat: left });
    left = Math.min(left, 0);
  }
  if (left > 0) first.push({ origin: payment, valueSat: left });
  return first;
}

/** Takes the first shares up to the value of a payment. Their sum may be above what is exact. */
function upTo<P extends SeenPayment>(payment: P, shares: readonly Share<P>[]): Share<P>[] {
  const taken: Share<P>[] = [];
  let left = payment.valueSat;
  for (const { origin, valueSat } of [...shares, { origin: payment, valueSat: left }]) {
    if (left === 0) break;
    const part = Math.min(left, valueSat);
    taken.push({ origin, valueSat: part });
    left -= part;
  }
  return taken;
}

const byFirstSeen = <P extends SeenPayment>(one: Share<P>, other: Share<P>): number =>
  one.origin.firstSeenAt - other.origin.firstSeenAt;

/** The last moment at which a payment is known to be in no earlier block. */
const unminedAt = (
  { minedAt, firstBlockAt, firstSeenAt }: SeenFacts,
  scannedAt: number | null,
): number => minedAt ?? Math.max(firstBlockAt === null ? firstSeenAt : 0, scannedAt ?? 0);

/** When it was seen at the latest: a block proves that it was there before we saw it. */
const seenAtOf = ({ firstSeenAt, firstBlockAt }: SeenFacts): number =>
  Math.min(firstSeenAt, firstBlockAt ?? firstSeenAt);

/**
 * The windows in which a payment was seen. They are in the order in which they were made, and the
 * first one begins with the order: no payment is older than its address. A payment that the first
 * look after an interruption found may have arrived at any time of it.
 */
export function windowsOf<W extends Window>(windows: readonly W[], seen: SeenFacts): W[] {
  const to = seenAtOf(seen);
  const from = Math.min(to, seen.interruptedAt ?? to);
  return windows.filter(
    ({ createdAt, expiresAt }, at) =>
      (at === 0 || createdAt <= to) && (expiresAt === null || from <= expiresAt + graceMs),
  );
}

/** Its rate is fixed, so no payment is an option. */
const satRate = (window: Window, seen: SeenFacts): PaymentRate => ({
  rateCents: null,
  lowestRateCents: null,
  isLate: windowsOf([window], seen).length === 0,
});

/**
 * The rate at which satoshis count. In time: that of their quote, or the higher one of two quotes.
 * Late: the lower of the last quote's rate and the price when they were seen.
 * @param quotes of the order, in the order in which they were made; at least one
 */
export function rateFor(
  quotes: readonly RatedWindow[],
  seen: SeenFacts,
  { priceCents, unminedAt }: { readonly priceCents: number | null; readonly unminedAt: number },
): PaymentRate {
  // The clock may also have been behind when it saw the payment: a block must say that it is old.
  const { firstSeenAt, minedAt } = seen;
  const knownAt = Math.max(firstSeenAt, minedAt ?? Number.POSITIVE_INFINITY);
  const hasBegun = ({ createdAt }: RatedWindow) => createdAt - knownAt <= maxAheadMs;
  const promised = windowsOf(quotes, seen).filter(hasBegun);
  const valid = promised.filter(({ expiresAt }) => unminedAt <= expiresAt + maxUnminedMs);
  // No payment is older than its order, so a clock that says so was behind.
  const waitsFrom = Math.max(firstSeenAt, quotes.find(hasBegun)?.createdAt ?? firstSeenAt);
  const isOption =
    unminedAt > waitsFrom + maxUnminedMs || (promised.length > 0 && valid.length === 0);
  if (isOption) return { rateCents: null, lowestRateCents: null, isLate: true };
  if (promised.length === 0) return lateAt(quotes, seenAtOf(seen), priceCents);
  const rates = valid.map(({ rateCents }) => rateCents);
  return { rateCents: Math.max(...rates), lowestRateCents: Math.min(...rates), isLate: false };
}

function lateAt(
  quotes: readonly RatedWindow[],
  seenAt: number,
  priceCents: number | null,
): PaymentRate {
  const last = quotes.findLast(({ createdAt }) => createdAt <= seenAt) ?? quotes[0];
  if (last === undefined) throw new Error('a late payment needs a quote');
  const rateCents = priceCents === null ? null : Math.min(last.rateCents, priceCents);
  return { rateCents, lowestRateCents: rateCents, isLate: true };
}
