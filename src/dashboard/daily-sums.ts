// What was received on each of the last days. Sums of past days are cached for ten minutes, because
// with many payments they take longer than the rest of the page.

import { dayMs } from '../lib/time-units.ts';
import type { DaySum, PaymentView } from '../store/views/payment-view.ts';
import type { World } from '../world/world.ts';

export const chartDays = 30;
const cacheMs = 600_000;

/** Sums by day, without days that have no payment. */
export type DailySums = () => readonly DaySum[];

export function createDailySums(
  view: PaymentView,
  { now, monotonic }: Pick<World, 'now' | 'monotonic'>,
): DailySums {
  let cached: { readonly today: number; readonly at: number; readonly sums: DaySum[] } | undefined;
  return () => {
    const today = Math.floor(now() / dayMs);
    const at = monotonic();
    if (cached === undefined || cached.today !== today || at - cached.at >= cacheMs) {
      cached = { today, at, sums: view.receivedByDay(today - chartDays + 1, today) };
    }
    return [...cached.sums, ...view.receivedByDay(today, today + 1)];
  };
}
