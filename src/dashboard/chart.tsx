// A chart of the amount received on each day, drawn by the server as SVG. Each bar has its amount
// as a title, also for screen readers.

import { formatBitcoin } from '../domain/format.ts';
import { dayMs } from '../lib/time-units.ts';
import type { DaySum } from '../store/views/payment-view.ts';
import { chartDays } from './daily-sums.ts';

const width = 600;
const height = 120;
const dayWidth = width / chartDays;

interface ReceivedChartProps {
  readonly sums: readonly DaySum[];
  readonly now: number;
}

export function ReceivedChart({ sums, now }: ReceivedChartProps) {
  const today = Math.floor(now / dayMs);
  const byDay = new Map(sums.map(({ day, valueSat }) => [day, valueSat]));
  const days = Array.from({ length: chartDays }, (_, place) => today - chartDays + 1 + place);
  const maxSat = Math.max(1, ...byDay.values());
  const total = sums.reduce((sum, { valueSat }) => sum + valueSat, 0);
  return (
    <figure>
      <svg
        class="chart"
        preserveAspectRatio="none"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Last ${chartDays} days: ${formatBitcoin(total)} BTC received`}
      >
        {days.map((day, place) => {
          const valueSat = byDay.get(day) ?? 0;
          const barHeight = Math.round((valueSat / maxSat) * (height - 2));
          return (
            <rect
              x={place * dayWidth + 1}
              y={height - 1 - barHeight}
              width={dayWidth - 2}
              height={barHeight + 1}
            >
              <title>{`${dateOf(day)}: ${formatBitcoin(valueSat)} BTC`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        Last {chartDays} days: {formatBitcoin(total)} BTC received, by day in UTC
      </figcaption>
    </figure>
  );
}

const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);
