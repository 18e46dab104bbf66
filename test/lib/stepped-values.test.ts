import { expect, test } from 'vitest';
import { steppedValues } from '../../src/lib/stepped-values.ts';

test('each value is found by one step, and one more finds the end', () => {
  const sorted = ['CHF', 'CHF', 'EUR', 'EUR', 'EUR', 'USD'];
  const asked: string[] = [];
  const next = (last: string): string | undefined => {
    asked.push(last);
    return sorted.find((value) => value > last);
  };
  expect(steppedValues(next)).toEqual(['CHF', 'EUR', 'USD']);
  expect(asked).toEqual(['', 'CHF', 'EUR', 'USD']);
  expect(steppedValues(() => undefined)).toEqual([]);
});
