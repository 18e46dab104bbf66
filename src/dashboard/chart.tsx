// A chart of what was received a day, drawn by the server: bars with their amounts in words, for those who
// see it and those who hear it.

import { formatBitcoin } from '../domain/format.ts';
import { dayMs } from '../lib/time-units.ts';
import type { DaySum } from '../store/views/payment-view.ts';
import { chartDays } from './daily-sums.ts';

const width = 600;
const height = 120;
const step = width / chartDays;

interface ChartProps {
  readonly sums: readonly DaySum[];
  readonly now: number;
}

export function ReceivedChart({ sums, now }: ChartProps) {
  const today = Math.floor(now / dayMs);
  const byDay = new Map(sums.map(({ day, valueSat }) => [day, valueSat]));
  const days = Array.from({ length: chartDays }, (_, place) => today - chartDays + 1 + place);
  const most = Math.max(1, ...byDay.values());
  const total = sums.reduce((sum, { valueSat }) => sum + valueSat, 0);
  return (
    <figure>
      <svg
        class="chart"
        preserveAspectRatio="none"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${formatBitcoin(total)} BTC were received in the last ${chartDays} days`}
      >
        {days.map((day, place) => {
          const valueSat = byDay.get(day) ?? 0;
          const tall = Math.round((valueSat / most) * (height - 2));
          return (
            <rect x={place * step + 1} y={height - 1 - tall} width={step - 2} height={tall + 1}>
              <title>{`${nameOf(day)}: ${formatBitcoin(valueSat)} BTC`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        {formatBitcoin(total)} BTC received in the last {chartDays} days, by day in UTC
      </figcaption>
    </figure>
  );
}

const nameOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);
