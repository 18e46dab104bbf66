// Units of time in milliseconds, and the seconds of an epoch time.

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Unix seconds of epoch milliseconds; null of null. */
export function unixSeconds(epochMs: number): number;
export function unixSeconds(epochMs: number | null): number | null;
export function unixSeconds(epochMs: number | null): number | null {
  return epochMs === null ? null : Math.floor(epochMs / secondMs);
}
