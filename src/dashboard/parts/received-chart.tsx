// A chart of what was received on each day, drawn by the server as SVG. Each bar leads to the
// payments of its day. A table below it has the same figures.

import type { Child } from 'hono/jsx';
import { minorText } from '../../domain/payment/currency.ts';
import { formatAmount, formatBitcoin, formatDecimal, formatSat } from '../../domain/text/format.ts';
import { formatDay } from '../../domain/text/time-zone.ts';
import { dayMs } from '../../lib/time-units.ts';
import type { Received } from '../../store/payments/received-view.ts';
import { Amount } from '../../web/values.tsx';
import { base } from '../page.ts';
import { worthTexts } from './fiat-worth.tsx';
import { RowTable } from './layout.tsx';

export interface DaySum extends Received {
  /** As of `dayOf`. */
  readonly day: number;
}

interface ReceivedChartProps {
  /** One for each day, the oldest first. */
  readonly sums: readonly DaySum[];
  /** The zone of the days, as a link to its setting for the owner. */
  readonly zone: Child;
}

const height = 160;
const dayWidth = 20;
const daysPerLabel = 6;

export function ReceivedChart({ sums, zone }: ReceivedChartProps) {
  const unit = unitOf(sums);
  const max = roundUp(Math.max(1, ...sums.map(unit.valueOf)));
  const isEmpty = sums.every(({ count }) => count === 0);
  const labels = sums.filter((_, place) => place % daysPerLabel === 0);
  return (
    <figure class="chart">
      <div class="plot">
        <div class="scale" aria-hidden="true">
          {[max, max / 2, 0].map((value) => (
            <span>{value === 0 ? '0' : isEmpty ? '' : unit.textOf(value, max)}</span>
          ))}
        </div>
        <svg
          preserveAspectRatio="none"
          viewBox={`0 0 ${sums.length * dayWidth} ${height}`}
          aria-hidden="true"
        >
          {[0, height / 2, height].map((y) => (
            <line x1="0" x2={sums.length * dayWidth} y1={y} y2={y} />
          ))}
          {sums.map((sum, place) => (
            <Bar sum={sum} x={place * dayWidth} part={unit.valueOf(sum) / max} />
          ))}
        </svg>
        <div class="dates" aria-hidden="true">
          {labels.map(({ day }) => (
            <span>{shortDate(day)}</span>
          ))}
        </div>
      </div>
      <figcaption>
        Confirmed payments by the day on which they were first seen, in the time zone {zone}.
      </figcaption>
      {isEmpty ? null : (
        <details>
          <summary>Show as a table</summary>
          <DayTable sums={sums} />
        </details>
      )}
    </figure>
  );
}

const Bar = ({ sum, x, part }: { sum: DaySum; x: number; part: number }) => {
  const barHeight = sum.count === 0 ? 0 : Math.max(2, Math.round(part * height));
  return (
    <a href={dayPath(sum.day)} tabindex={-1}>
      <title>
        {[formatDay(sum.day), ...worthTexts(sum), formatAmount(sum.valueSat)].join(' · ')}
      </title>
      <rect class="day" x={x} y={0} width={dayWidth} height={height} />
      <rect x={x + 2} y={height - barHeight} width={dayWidth - 4} height={barHeight} />
    </a>
  );
};

const DayTable = ({ sums }: Pick<ReceivedChartProps, 'sums'>) => (
  <RowTable
    label="Received by day"
    rows={sums.filter(({ count }) => count > 0).reverse()}
    columns={[
      ['Day', ({ day }) => <a href={dayPath(day)}>{formatDay(day)}</a>],
      ['Payments', ({ count }) => count.toLocaleString('en'), 'number'],
      ['Worth', (sum) => worthTexts(sum).join(', '), 'number'],
      ['Bitcoin', ({ valueSat }) => <Amount sat={valueSat} />, 'number'],
    ]}
  />
);

interface Unit {
  readonly valueOf: (sum: Received) => number;
  /** @param max the largest value of the chart, which decides the unit */
  readonly textOf: (value: number, max: number) => string;
}

const satoshis: Unit = {
  valueOf: ({ valueSat }) => valueSat,
  textOf: (value, max) =>
    formatAmount(max).endsWith('sat')
      ? formatSat(value)
      : `${formatBitcoin(value).replace(/\.?0+$/, '')} BTC`,
};

/** The currency if every payment has a worth in one, or else bitcoins. */
function unitOf(sums: readonly DaySum[]): Unit {
  const [first] = sums.flatMap(({ worths }) => worths);
  const isOfOne = sums.every(
    ({ valueSat, worths }) =>
      valueSat === 0 ||
      (worths[0]?.currency === first?.currency && worths[0]?.valueSat === valueSat),
  );
  if (first === undefined || !isOfOne) return satoshis;
  const { currency } = first;
  return {
    valueOf: ({ worths }) => worths[0]?.minor ?? 0,
    textOf: (value) => {
      const text = minorText(value, currency).replace(/\.0+$/, '');
      return `${formatDecimal(text)} ${currency}`;
    },
  };
}

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

const shortDate = (day: number): string =>
  new Date(day * dayMs).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });

const dayPath = (day: number): string =>
  `${base}/payments?state=confirmed&from=${formatDay(day)}&to=${formatDay(day)}`;
