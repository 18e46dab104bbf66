import { expect, test } from 'vitest';
import { moneyWayOf } from '../../../src/domain/store/money-way.ts';

const nothing = { plugin: false, program: false };

test.each([
  [undefined, nothing, 'links'],
  ['links', nothing, 'links'],
  ['plugin', nothing, 'plugin'],
  ['program', nothing, 'program'],
  // What receives already says more than an old answer, or than none.
  [undefined, { plugin: true, program: true }, 'plugin'],
  ['links', { plugin: true, program: false }, 'plugin'],
  ['links', { plugin: false, program: true }, 'program'],
  ['plugin', { plugin: false, program: true }, 'plugin'],
  ['program', { plugin: true, program: true }, 'program'],
] as const)('answered %s, with %j: %s', (answered, receives, way) => {
  expect(moneyWayOf(answered, receives)).toBe(way);
});
