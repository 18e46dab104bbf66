// Days of time zones: their beginnings, days of 23 and 25 hours, zones without a midnight.

import { describe, expect, test } from 'vitest';
import {
  dayOf,
  dayStart,
  formatDay,
  formatMinute,
  hourOf,
  knownZones,
  parseDay,
  parseZone,
  sameTimeYesterday,
  usableZone,
  zoneIn,
} from '../../../src/domain/text/time-zone.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../../../src/lib/time-units.ts';

const day = (text: string): number => parseDay(text) ?? Number.NaN;
const iso = (at: number): string => new Date(at).toISOString().slice(0, 16);

describe('a day begins', () => {
  test.each([
    ['UTC', '2026-11-21', '2026-11-21T00:00', 24],
    ['Europe/Berlin', '2026-11-21', '2026-11-20T23:00', 24],
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00', 23],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00', 25],
    ['America/Los_Angeles', '2026-01-01', '2026-01-01T08:00', 24],
    ['America/Los_Angeles', '2026-03-08', '2026-03-08T08:00', 23],
    ['Pacific/Chatham', '2026-01-01', '2025-12-31T10:15', 24],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00', 24],
    ['Pacific/Pago_Pago', '2026-01-01', '2026-01-01T11:00', 24],
    ['Asia/Kolkata', '2026-01-01', '2025-12-31T18:30', 24],
    // Half an hour is put forward and back.
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30', 23.5],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00', 24.5],
    // No midnight: the clocks go from 0:00 to 1:00.
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00', 23],
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00', 23],
    // Midnight is shown twice, or the hour before it.
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00', 25],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00', 25],
    // A clock that was set back from 0:01 to 23:01.
    ['America/St_Johns', '2010-11-06', '2010-11-06T02:30', 24 + 1 + 1 / 60],
    // A day that a zone skipped has no moment.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00', 0],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00', 24],
    ['Africa/Monrovia', '1971-06-01', '1971-06-01T00:44', 24],
    ['Europe/Berlin', '1969-06-01', '1969-06-01T00:00', 24],
    ['Europe/Berlin', '1970-01-01', '1969-12-31T23:00', 24],
    ['Asia/Tokyo', '9999-12-31', '9999-12-30T15:00', 24],
  ])('%s, %s, at %s, and has %d hours', (zone, text, begin, hours) => {
    const start = dayStart(day(text), zone);
    const tolerance = text === '2010-11-06' ? hourMs : 0;
    expect(iso(start)).toBe(begin);
    const length = (dayStart(day(text) + 1, zone) - start) / hourMs;
    expect(Math.abs(length - hours) * hourMs).toBeLessThanOrEqual(tolerance);
  });
});

describe('days leave out no moment and share none around a change:', () => {
  test.each([
    ['America/St_Johns', '2010-11-04'],
    ['America/St_Johns', '2011-03-10'],
    ['Pacific/Apia', '2011-12-27'],
    ['America/Sao_Paulo', '2018-11-01'],
    ['America/Sao_Paulo', '2018-02-14'],
    ['Asia/Beirut', '2026-03-26'],
    ['Asia/Gaza', '2026-10-22'],
  ])('%s from %s on', (zone, from) => {
    for (let each = day(from); each < day(from) + 7; each += 1) {
      const [start, end] = [dayStart(each, zone), dayStart(each + 1, zone)];
      expect([each, end >= start]).toEqual([each, true]);
      for (let at = start; at < end; at += 10 * minuteMs) {
        expect([at, dayOf(at, zone)]).toEqual([at, each]);
        const before = sameTimeYesterday(at, zone);
        expect([at, before >= dayStart(each - 1, zone), before <= start]).toEqual([at, true, true]);
      }
      if (end > start) expect(dayOf(end - 1, zone)).toBe(each);
    }
  });
});

test('a day is what the clocks of the zone show', () => {
  const at = Date.parse('2026-01-01T04:59:59.999Z');
  const shown = (zone: string) => formatDay(dayOf(at, zone));
  expect(shown('UTC')).toBe('2026-01-01');
  expect(shown('America/New_York')).toBe('2025-12-31');
  expect(formatDay(dayOf(at + 1, 'America/New_York'))).toBe('2026-01-01');
  expect(formatMinute(at, 'America/New_York')).toBe('2025-12-31 23:59 America/New_York');
  expect(formatMinute(at, 'Asia/Kathmandu')).toBe('2026-01-01 10:44 Asia/Kathmandu');
  expect(formatMinute(at, 'UTC')).toBe('2026-01-01 04:59 UTC');
  expect(hourOf(at, 'America/New_York')).toBe(23);
  expect(hourOf(at + 1, 'America/New_York')).toBe(0);
  expect(hourOf(at, 'UTC')).toBe(4);
});

test('moments before 1970 have a day, too', () => {
  expect(dayOf(-secondMs / 2, 'UTC')).toBe(-1);
  expect(dayOf(-dayMs, 'Europe/Berlin')).toBe(-1);
  expect(dayOf(-1, 'Europe/Berlin')).toBe(0);
});

test('the same time yesterday is what the clocks showed, within yesterday', () => {
  const yesterday = (now: string, zone: string) => iso(sameTimeYesterday(Date.parse(now), zone));
  expect(yesterday('2026-11-21T15:00Z', 'Europe/Berlin')).toBe('2026-11-20T15:00');
  // The clocks were put forward in the night before, and in the night before that.
  expect(yesterday('2026-03-29T13:00Z', 'Europe/Berlin')).toBe('2026-03-28T14:00');
  expect(yesterday('2026-03-30T13:00Z', 'Europe/Berlin')).toBe('2026-03-29T13:00');
  expect(yesterday('2026-10-25T14:00Z', 'Europe/Berlin')).toBe('2026-10-24T13:00');
  // The hour of now did not exist then: the clocks went from 2:00 to 3:00.
  expect(yesterday('2026-03-30T00:30Z', 'Europe/Berlin')).toBe('2026-03-29T01:30');
  // Yesterday had no 0:30.
  expect(yesterday('2018-11-05T02:30Z', 'America/Sao_Paulo')).toBe('2018-11-04T03:30');
  // Yesterday had no moment.
  expect(yesterday('2011-12-30T18:00Z', 'Pacific/Apia')).toBe('2011-12-30T10:00');
  // The second 23:30 of a day is after the end of the day before.
  expect(yesterday('2018-02-18T02:30Z', 'America/Sao_Paulo')).toBe('2018-02-17T01:30');
});

describe('the name of a zone', () => {
  test.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    [' europe/berlin\u200b', 'Europe/Berlin'],
    ['utc', 'UTC'],
    ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
    ['Etc/GMT+5', 'Etc/GMT+5'],
    // ICU names it Europe/Kiev.
    ['Europe/Kyiv', 'Europe/Kyiv'],
  ])('%j is read as %s', (text, zone) => {
    expect(zoneIn(text)).toBe(zone);
    expect(parseZone(text)).toBe(zone);
  });

  test.each([
    '',
    '+01:00',
    '-08:00',
    'Z',
    'Mars/Olympus',
    '__proto__',
    'constructor',
    'Europe/Berlin; drop',
    '<b>UTC</b>',
    '../../etc/passwd',
    'Europe/Berlin/',
    'UTC\nUTC',
    'Ευρώπη/Αθήνα',
    `Europe/${'x'.repeat(60)}`,
    `${' '.repeat(60)}UTC${'x'.repeat(100_000)}`,
  ])('%.20j is none', (text) => {
    expect(zoneIn(text)).toBeUndefined();
    expect(() => parseZone(text)).toThrow('such as Europe/Berlin or UTC');
    expect(usableZone(text)).toBe('UTC');
  });

  test('without one, days are those of UTC', () => {
    expect(usableZone(undefined)).toBe('UTC');
    expect(usableZone('Asia/Tokyo')).toBe('Asia/Tokyo');
  });

  test('each that is offered is read, UTC among them, once', () => {
    const zones = knownZones();
    expect(zones.filter((zone) => parseZone(zone) !== zone)).toEqual([]);
    expect(zones.filter((zone) => zone === 'UTC')).toEqual(['UTC']);
    expect(zones).toContain('Europe/Berlin');
    // More zones than there are formats in memory.
    expect(new Set(zones.map((zone) => dayStart(20_000, zone))).size).toBeGreaterThan(20);
  });
});

describe('a day in the query of a URL', () => {
  test.each([
    ['2026-02-28', 20_512],
    ['1970-01-01', 0],
    ['2026-02-29', undefined],
    ['2026-02-31', undefined],
    ['2026-13-01', undefined],
    ['26-01-01', undefined],
    ['2026-01-01T00:00', undefined],
    ['+275760-09-13', undefined],
    ['', undefined],
  ])('%j is %s', (text, expected) => {
    expect(parseDay(text)).toBe(expected);
    if (expected !== undefined) expect(formatDay(expected)).toBe(text);
  });
});

test('a minute of the change is the same minute in both directions', () => {
  const change = Date.parse('2026-10-25T01:00Z');
  const shown = [-minuteMs, 0, hourMs - minuteMs, hourMs].map((past) =>
    formatMinute(change + past, 'Europe/Berlin').slice(11, 16),
  );
  expect(shown).toEqual(['02:59', '02:00', '02:59', '03:00']);
});
