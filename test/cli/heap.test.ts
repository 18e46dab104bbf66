import { getHeapStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { collect } from '../../src/cli/heap.ts';

it('a collection of last resort gives the room of what is gone back to the system', () => {
  const bytes = () => getHeapStatistics().total_physical_size;
  const before = bytes();
  const held = Array.from({ length: 1_000_000 }, (_, at) => ({ at }));
  const full = bytes();
  expect(full - before).toBeGreaterThan(20_000_000);
  held.length = 0;
  collect('last-resort');
  expect(bytes()).toBeLessThan(full - 20_000_000);
});
