// When a cron expression matches next. node-cron reads the expression; its own search asks the calendars of all
// time zones, which are 10 ms to load at a start. Ours are in UTC.

import { parse } from 'node-cron';
import { dayMs, hourMs, minuteMs, secondMs } from '../lib/time-units.ts';

/** Every day that there is comes within as many: a 29th of February on one day of the week, beside 2100. */
const maxWaitMs = 41 * 366 * dayMs;

/**
 * @param expression six fields, seconds first; days of the month and of the week both hold, as for node-cron
 * @returns the first match after a time; both epoch milliseconds
 * @throws Error what is no such expression, or never matches
 */
export function nextMatch(expression: string): (after: number) => number {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(expression);
  const isToday = (date: Date): boolean =>
    month.includes(date.getUTCMonth() + 1) &&
    dayOfMonth.includes(date.getUTCDate()) &&
    dayOfWeek.includes(date.getUTCDay());
  return (after) => {
    let at = startOfNext(secondMs, after);
    while (at - after < maxWaitMs) {
      const date = new Date(at);
      if (!isToday(date)) at = startOfNext(dayMs, at);
      else if (!hour.includes(date.getUTCHours())) at = startOfNext(hourMs, at);
      else if (!minute.includes(date.getUTCMinutes())) at = startOfNext(minuteMs, at);
      else if (!second.includes(date.getUTCSeconds())) at = startOfNext(secondMs, at);
      else return at;
    }
    throw new Error(`${expression}: never comes`);
  };
}

const startOfNext = (ms: number, at: number): number => Math.floor(at / ms) * ms + ms;
