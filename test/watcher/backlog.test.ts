import { describe, expect, it } from 'vitest';
import {
  backlogAbove,
  backlogHoldsMs,
  backlogRestsMs,
  createBacklog,
  startHoldsMs,
} from '../../src/watcher/backlog.ts';
import { createTestWorld } from '../support/world.ts';

function setUp() {
  const world = createTestWorld();
  const seen = { over: 0 };
  const backlog = createBacklog(world, () => {
    seen.over += 1;
  });
  backlog.followed();
  seen.over = 0;
  return { world, backlog, seen };
}

it('begins with more than two commits of scripts, and is over once no more of them wait', () => {
  const { backlog, seen } = setUp();
  backlog.counts(backlogAbove);
  expect(backlog.holds()).toBe(false);
  backlog.counts(backlogAbove + 1);
  backlog.counts(4_000);
  expect([backlog.holds(), seen.over]).toEqual([true, 0]);
  backlog.counts(backlogAbove);
  expect([backlog.holds(), seen.over]).toEqual([false, 1]);
});

it('holds for a second at most, however long it lasts, and is told once', async () => {
  const { world, backlog, seen } = setUp();
  backlog.counts(4_000);
  await world.advance(backlogHoldsMs - 1);
  expect(backlog.holds()).toBe(true);
  await world.advance(1);
  expect([backlog.holds(), seen.over]).toEqual([false, 1]);
  backlog.counts(5_000);
  backlog.counts(0);
  await world.advance(10 * backlogHoldsMs);
  expect([backlog.holds(), seen.over]).toEqual([false, 1]);
});

it('holds again for the next one, once a second has gone by', async () => {
  const { world, backlog, seen } = setUp();
  backlog.counts(4_000);
  backlog.counts(0);
  await world.advance(backlogRestsMs - 1);
  backlog.counts(4_000);
  expect(backlog.holds()).toBe(false);
  backlog.counts(0);
  await world.advance(1);
  backlog.counts(4_000);
  expect(backlog.holds()).toBe(true);
  backlog.counts(0);
  expect([backlog.holds(), seen.over]).toEqual([false, 2]);
});

it('holds half of the time at most, however often scripts come and go', async () => {
  const { world, backlog } = setUp();
  let held = 0;
  for (let ms = 0; ms < 20_000; ms += 100) {
    backlog.counts(ms % 900 === 0 ? 0 : 4_000);
    if (backlog.holds()) held += 100;
    await world.advance(100);
  }
  expect(held).toBeLessThanOrEqual(10_000);
});

describe('at a start', () => {
  const atStart = () => {
    const world = createTestWorld();
    const seen = { over: 0 };
    const backlog = createBacklog(world, () => {
      seen.over += 1;
    });
    return { world, backlog, seen };
  };

  it('holds until a server was followed to its tip, which is told once', () => {
    const { backlog, seen } = atStart();
    expect(backlog.holds()).toBe(true);
    backlog.followed();
    backlog.followed();
    expect([backlog.holds(), seen.over]).toEqual([false, 1]);
  });

  it('does not hold for ever where none can be reached', async () => {
    const { world, backlog } = atStart();
    await world.advance(startHoldsMs - 1);
    expect(backlog.holds()).toBe(true);
    await world.advance(1);
    expect(backlog.holds()).toBe(false);
  });
});
