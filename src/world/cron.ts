// Finds the next match of a cron expression, in UTC. node-cron parses the expression. Its own
// search loads the calendars of all time zones, which takes 10 ms at a start.

import { parse } from 'node-cron';
import { dayMs, hourMs, minuteMs, secondMs } from '../lib/time-units.ts';

/**
 * Every possible day occurs in this time, even 29 February on a given day of the week around 2100.
 */
const maxWaitMs = 41 * 366 * dayMs;

/**
 * Returns a function from a time to the first match after it, both epoch milliseconds.
 * @param expression six fields, seconds first. Days of month and week must both match, as in
 * node-cron.
 * @throws Error for a malformed expression; the function throws if it never matches
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
