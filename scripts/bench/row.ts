// The rows that benches return, their statistics, and how they are printed.

import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import { folder } from './run.ts';

type Unit = '/s' | 'ms' | 'KiB' | 'MiB' | '×';

export interface Row {
  readonly name: string;
  /** Of `figure` and `peer.figure`. */
  readonly unit: Unit;
  /** A median, unless a detail says otherwise. */
  readonly figure: number;
  /** What the figure is held against. */
  readonly peer?: { readonly name: string; readonly figure: number };
  /** Ours to the peer's: the median of pairs. */
  readonly ratio?: number;
  /** Such as `≥ 0.4 of constant JSON`. */
  readonly floor: string;
  readonly holds: boolean;
  readonly details: readonly string[];
}

export type Bench = () => Promise<Row>;

export function asText(rows: readonly Row[]): string {
  const details = rows.flatMap(({ name, details }) => details.map((each) => `${name}: ${each}`));
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`;
  const disk = execFileSync('stat', ['-f', '-c', '%T', folder], { encoding: 'utf8' }).trim();
  const head = `${cores}, Node ${process.version}, databases on ${disk}`;
  return `${[head, '', ...rows.map(asLine), '', ...details].join('\n')}\n`;
}

export function asLine({ name, unit, figure, peer, ratio, floor, holds }: Row): string {
  return [
    name.padEnd(18),
    show(figure, unit).padStart(11),
    (peer ? `${peer.name}: ${show(peer.figure, unit)}` : '').padEnd(24),
    (ratio?.toFixed(2) ?? '').padStart(5),
    `${floor}: ${holds ? 'holds' : 'DOES NOT HOLD'}`,
  ].join('  ');
}

const threeDigits = new Intl.NumberFormat('en', {
  maximumSignificantDigits: 3,
  maximumFractionDigits: 0,
  roundingPriority: 'morePrecision',
});

export const show = (value: number, unit: Unit) =>
  `${threeDigits.format(value)}${unit === '/s' ? '' : ' '}${unit}`;

/** @param share 0 to 1 */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  if (value === undefined) throw new Error('no values');
  return value;
}

export const median = (values: readonly number[]) =>
  (percentile(values, 0.5) + percentile(values, 0.5 - 1e-9)) / 2;

/** How long requests waited. */
export const waitsOf = (ms: readonly number[]) =>
  `p50 ${show(median(ms), 'ms')}, p99 ${show(percentile(ms, 0.99), 'ms')}, ` +
  `longest ${show(Math.max(...ms), 'ms')}`;

/** The median of the ratios of the same rounds. A slow moment disturbs it less than two medians. */
export const pairedRatio = (ours: readonly number[], theirs: readonly number[]) =>
  median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));

/**
 * Lets each contender measure itself once a round, in every other round in the opposite order: a
 * disturbance of the machine disturbs all of them.
 */
export async function takeTurns<Name extends string>(
  rounds: number,
  contenders: Record<Name, () => Promise<number> | number>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contenders) as Name[];
  const results = {} as Record<Name, number[]>;
  for (const name of names) results[name] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name].push(await contenders[name]());
    }
  }
  return results;
}
