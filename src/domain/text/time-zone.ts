// Days of a time zone. A day is a number: days since 1970-01-01 by the calendar of the zone. The
// days of a zone leave out no moment and share none, even where clocks change at midnight.

import { throwInvalid } from '../../lib/errors.ts';
import { dayMs, hourMs, secondMs } from '../../lib/time-units.ts';
import { trimInvisible } from './pasted-text.ts';

/** The zone of an installation that has none. */
export const defaultZone = 'UTC';

const maxNameLength = 64;

/** A new one takes longer than 20 uses of it. */
const formats = new Map<string, Intl.DateTimeFormat>();
const maxFormats = 20;

/** @throws RangeError for an unknown zone */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone: zone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  });
  if (formats.size >= maxFormats) formats.clear();
  formats.set(zone, format);
  return format;
}

/**
 * The name of a zone in the time zone database of IANA, such as `Europe/Berlin` or `UTC`. It is
 * undefined for another text, and for an offset such as `+01:00`.
 */
export function zoneIn(text: string): string | undefined {
  const name = trimInvisible(text.slice(0, 2 * maxNameLength));
  const isName = name.length <= maxNameLength && /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name);
  if (!isName) return undefined;
  try {
    const { timeZone } = formatOf(name).resolvedOptions();
    // It names some zones by an older name, such as Europe/Kiev.
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return undefined;
  }
}

/** @throws PaygateError invalid */
export const parseZone = (text: string): string =>
  zoneIn(text) ?? throwInvalid('the name of a time zone is expected, such as Europe/Berlin or UTC');

/** A stored zone; the default without one, and for one that this program does not know. */
export const usableZone = (stored: string | undefined): string =>
  zoneIn(stored ?? defaultZone) ?? defaultZone;

/** The zones to choose from. */
export const knownZones = (): string[] => [
  ...new Set([defaultZone, ...Intl.supportedValuesOf('timeZone')]),
];

/** What a clock of the zone shows, in the milliseconds of a UTC clock that shows the same. */
function clockOf(at: number, zone: string): number {
  if (zone === defaultZone) return at;
  const parts = formatOf(zone).formatToParts(at);
  const [year = 0, month = 0, ...rest] = (
    ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
  ).map((type) => Number(parts.find((part) => part.type === type)?.value));
  const [day, hour, minute, second] = rest;
  return (
    Date.UTC(year, month - 1, day, hour, minute, second) + (((at % secondMs) + secondMs) % secondMs)
  );
}

const offsetOf = (at: number, zone: string): number => clockOf(at, zone) - at;

/** No clock is further from UTC. */
const maxOffsetMs = 16 * hourMs;

/**
 * The first moment of a day, epoch milliseconds; that of the next day for a day that the zone
 * skipped. Days before 1970 are those of UTC.
 */
export function dayStart(day: number, zone: string): number {
  const midnight = day * dayMs;
  if (day < 0) return midnight;
  let [before, from] = [midnight - maxOffsetMs, midnight + maxOffsetMs];
  const offset = offsetOf(before, zone);
  if (offset === offsetOf(from, zone)) return midnight - offset;
  // The clocks change near midnight: its first second is searched for.
  while (from - before > secondMs) {
    const middle = before + Math.floor((from - before) / (2 * secondMs)) * secondMs;
    if (clockOf(middle, zone) >= midnight) from = middle;
    else before = middle;
  }
  return from;
}

/** The day of a moment. */
export function dayOf(at: number, zone: string): number {
  const day = Math.floor(clockOf(at, zone) / dayMs);
  // A clock that is set back after midnight shows two days twice.
  if (at < dayStart(day, zone)) return day - 1;
  return at < dayStart(day + 1, zone) ? day : day + 1;
}

/** The moment of the day before at which its clocks show the same as now. */
export function sameTimeYesterday(now: number, zone: string): number {
  const today = dayOf(now, zone);
  const [first, end] = [dayStart(today - 1, zone), dayStart(today, zone)];
  const at = now - dayMs + offsetOf(now, zone) - offsetOf(now - dayMs, zone);
  return Math.min(Math.max(at, first), end);
}

/** `2026-11-21` */
export const formatDay = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** The day of a text such as 2026-11-21; undefined for another text. */
export function parseDay(text: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // `Date.parse` takes the 31st of each month.
  return Number.isFinite(at) && formatDay(at / dayMs) === text ? at / dayMs : undefined;
}

/** To the minute, with the name of the zone: `2026-11-21 17:26 Europe/Berlin`. */
export const formatMinute = (at: number, zone: string): string =>
  `${new Date(clockOf(at, zone)).toISOString().slice(0, 16).replace('T', ' ')} ${zone}`;

/** The hour that clocks of the zone show, 0 to 23. */
export const hourOf = (at: number, zone: string): number =>
  new Date(clockOf(at, zone)).getUTCHours();
