// How much two short texts differ.

import { expect, test } from 'vitest';
import { editDistance } from '../../../src/domain/text/edit-distance.ts';

test.each([
  ['orders', 'orders', 0],
  ['orders', 'order', 1],
  ['order', 'orders', 1],
  ['orders', 'ordxrs', 1],
  ['orders', 'odrers', 2],
  ['orders', '', 6],
  ['', 'orders', 6],
  ['links', 'events', 4],
  ['cancel', 'chancell', 2],
])('%s and %s differ by %i', (one, other, edits) => {
  expect(editDistance(one, other)).toBe(edits);
});
