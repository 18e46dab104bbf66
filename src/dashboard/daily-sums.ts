// What was received on each of the last days. Days that are over change seldom, and are added up again only
// every ten minutes: with many payments that takes longer than the rest of the page.

import { dayMs } from '../lib/time-units.ts';
import type { DaySum, PaymentView } from '../store/views/payment-view.ts';
import type { World } from '../world/world.ts';

export const chartDays = 30;
const keptMs = 600_000;

/** By day, those without a payment left out. */
export type Received = () => readonly DaySum[];

export function createReceived(
  desk: PaymentView,
  { now, monotonic }: Pick<World, 'now' | 'monotonic'>,
): Received {
  let kept: { readonly today: number; readonly at: number; readonly sums: DaySum[] } | undefined;
  return () => {
    const today = Math.floor(now() / dayMs);
    const at = monotonic();
    if (kept === undefined || kept.today !== today || at - kept.at >= keptMs) {
      kept = { today, at, sums: desk.receivedByDay(today - chartDays + 1, today) };
    }
    return [...kept.sums, ...desk.receivedByDay(today, today + 1)];
  };
}
