// What was received on each day of the merchant's zone, for the first page. A day is summed once,
// and again after one of its payments changed. The sums of many payments take longer than the rest
// of the page.

import { sumSat } from '../domain/payment/money.ts';
import type { PaymentState } from '../domain/payment/payment.ts';
import { dayOf, dayStart, sameTimeYesterday } from '../domain/text/time-zone.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import {
  boundedMinor,
  type Received,
  type ReceivedWorth,
} from '../store/payments/received-view.ts';
import type { World } from '../world/world.ts';

/** The chart has so many days; they are compared with as many before. */
export const chartDays = 30;

export interface DailySums {
  /** The day of now. */
  today(): number;
  /** @param day as of `dayOf` */
  ofDay(day: number): Received;
  /** Yesterday’s, up to the time of day that it is now. */
  ofYesterdayUntilNow(): Received;
}

/** More changes than this between two views forget every day. */
const maxChanges = 10_000;

export function createDailySums(
  { receivedView, events, state }: Pick<Records, 'receivedView' | 'events' | 'state'>,
  { now }: Pick<World, 'now'>,
): DailySums {
  const days = new Map<number, Received>();
  const changed = new Set<number>();
  /** The currencies of payments of all days; read at the first view. */
  let currencies: Set<string> | undefined;
  let partial: { readonly until: number; readonly sum: Received } | undefined;
  /** The zone of the sums. */
  let zone = state.zone();
  const today = (): number => dayOf(now(), zone);

  function forgetAll(): void {
    days.clear();
    changed.clear();
    currencies = undefined;
    partial = undefined;
  }

  events.on('paymentChanged', (paymentId, { before, after }) => {
    if (before !== undefined && isCounted(before) === isCounted(after)) return;
    changed.add(paymentId);
    if (changed.size > maxChanges) forgetAll();
  });
  // A payment gets its price minutes after it was first seen.
  events.on('pricesStored', () => {
    days.delete(today());
    days.delete(today() - 1);
    partial = undefined;
  });

  /** The sums of other days begin anew with another zone. */
  function followZone(): void {
    const chosen = state.zone();
    if (chosen !== zone) forgetAll();
    zone = chosen;
  }

  function forgetChanged(): Set<string> {
    followZone();
    const current = today();
    // Days that no view shows any more.
    for (const day of days.keys()) if (day <= current - 3 * chartDays) days.delete(day);
    const known =
      currencies ?? new Set(receivedView.currencies(dayStart(current - 2 * chartDays, zone)));
    currencies = known;
    for (const paymentId of changed) {
      const payment = receivedView.payment(paymentId);
      if (payment === undefined) continue;
      days.delete(dayOf(payment.firstSeenAt, zone));
      if (payment.currency !== null) known.add(payment.currency);
    }
    if (changed.size > 0) partial = undefined;
    changed.clear();
    return known;
  }

  const between = (since: number, until: number, known: Set<string>): Received =>
    receivedView.received({ since, until, currencies: [...known] });

  return {
    today() {
      followZone();
      return today();
    },
    ofDay(day) {
      const known = forgetChanged();
      const sum = days.get(day) ?? between(dayStart(day, zone), dayStart(day + 1, zone), known);
      days.set(day, sum);
      return sum;
    },
    ofYesterdayUntilNow() {
      const known = forgetChanged();
      const until = Math.floor(sameTimeYesterday(now(), zone) / minuteMs) * minuteMs;
      if (partial?.until !== until) {
        partial = { until, sum: between(dayStart(today() - 1, zone), until, known) };
      }
      return partial.sum;
    },
  };
}

const isCounted = (state: PaymentState | undefined): boolean =>
  state === 'confirmed' || state === 'settled';

export function total(sums: readonly Received[]): Received {
  const worths = new Map<string, ReceivedWorth>();
  for (const { currency, minor, valueSat } of sums.flatMap((sum) => sum.worths)) {
    const known = worths.get(currency);
    worths.set(currency, {
      currency,
      minor: boundedMinor(minor + (known?.minor ?? 0)),
      valueSat: sumSat([valueSat, known?.valueSat ?? 0]),
    });
  }
  return {
    count: sums.reduce((sum, { count }) => sum + count, 0),
    valueSat: sumSat(sums.map(({ valueSat }) => valueSat)),
    worths: [...worths.values()].sort((one, other) => other.valueSat - one.valueSat),
  };
}
