import { expect, test } from 'vitest';
import { pause } from '../../src/lib/deadline.ts';
import { createTestWorld } from '../support/world.ts';

test('a pause ends after its delay', async () => {
  const world = createTestWorld();
  let isOver = false;
  const pausing = pause(world, 500, new AbortController().signal).then(() => {
    isOver = true;
  });
  await world.advance(499);
  expect(isOver).toBe(false);
  await world.advance(1);
  expect(isOver).toBe(true);
  await pausing;
});

test('an abort ends a pause at once, and one that came before it as well', async () => {
  const world = createTestWorld();
  const stop = new AbortController();
  const pausing = pause(world, 500, stop.signal);
  stop.abort();
  await pausing;
  await pause(world, 500, stop.signal);
  expect(world.monotonic()).toBe(0);
});
