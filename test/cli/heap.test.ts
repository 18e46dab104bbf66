import { getHeapStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { collect } from '../../src/cli/heap.ts';

it('a collection of last resort gives the room of what is gone back to the system', () => {
  const bytes = () => getHeapStatistics().total_physical_size;
  const held = Array.from({ length: 3_000_000 }, (_, at) => ({ at }));
  // At least 28 bytes each, wherever they found room.
  const full = bytes();
  held.length = 0;
  collect('last-resort');
  expect(bytes()).toBeLessThan(full - 50_000_000);
});
