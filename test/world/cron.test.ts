// Compares our search with that of node-cron.

import { createTask } from 'node-cron';
import { afterEach, expect, it, vi } from 'vitest';
import { nextMatch } from '../../src/world/cron.ts';

afterEach(() => vi.useRealTimers());

const expressions = [
  ...['* * * * * *', '*/10 * * * * *', '0 * * * * *', '0 */15 * * * *', '0 0 * * * *'],
  ...['59 59 23 31 12 *', '0 30 4 * * 7', '5,7 1-3 */6 1,15 * *', '0 0 0 13 * 5', '0 0 0 29 2 *'],
];
const times = [
  ...['2026-11-23T01:28:29.500Z', '2026-12-31T23:59:58.999Z', '2026-12-31T23:59:59.000Z'],
  ...['2027-02-28T23:59:59.999Z', '2028-02-28T12:00:00.000Z', '2027-03-28T00:59:59.001Z'],
];

it.each(expressions)('%s has the same next match as in node-cron', (expression) => {
  const next = nextMatch(expression);
  vi.useFakeTimers();
  for (const time of times) {
    vi.setSystemTime(time);
    const task = createTask(expression, () => {}, { timezone: 'UTC' });
    const dates = task.getNextRuns(3);
    void task.destroy();
    let at = Date.parse(time);
    for (const date of dates) {
      at = next(at);
      expect(new Date(at)).toEqual(date);
    }
  }
});

it('finds a match that occurs once in 40 years', () => {
  const next = nextMatch('0 0 0 29 2 1');
  expect(new Date(next(Date.UTC(2072, 2, 1)))).toEqual(new Date('2112-02-29T00:00:00Z'));
});

it.each(['61 * * * * *', '0 0 0 30 2 *', 'never', '* * * * * * *'])('refuses %s', (expression) => {
  expect(() => nextMatch(expression)).toThrow();
});

it('ends its search, also for syntax that only node-cron supports', () => {
  expect(() => nextMatch('0 0 0 L * *')(0)).toThrow('0 0 0 L * *: never comes');
});
