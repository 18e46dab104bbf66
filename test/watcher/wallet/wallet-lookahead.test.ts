// When issued addresses are subscribed: none is forgotten, and none waits for long.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import { NewAddresses } from '../../../src/watcher/wallet/wallet-lookahead.ts';
import { createTestWorld } from '../../support/world.ts';

const scripts = (from: number, count: number): Scripthash[] =>
  Array.from({ length: count }, (_, at) => String(from + at).padStart(64, '0') as Scripthash);

function begin() {
  const world = createTestWorld();
  const watched: { script: Scripthash; at: number }[] = [];
  const newAddresses = new NewAddresses({
    world,
    subscribe: (these) =>
      void watched.push(...these.map((script) => ({ script, at: world.monotonic() }))),
  });
  return { world, watched, newAddresses };
}

it('are each watched once, in order: fifty in a row at once, the rest when it is quiet or within a second', async () => {
  const burst = fc.record({
    count: fc.integer({ min: 1, max: 40 }),
    pauseMs: fc.constantFrom(0, 1, 40, 99, 100, 250),
  });
  const course = fc.asyncProperty(fc.array(burst, { maxLength: 40 }), async (bursts) => {
    const { world, watched, newAddresses } = begin();
    const added: { script: Scripthash; at: number; atOnce: boolean }[] = [];
    let lastAt = 0;
    let inRow = 0;
    for (const { count, pauseMs } of bursts) {
      for (const script of scripts(added.length, count)) {
        const at = world.monotonic();
        inRow = at - lastAt >= 100 ? 1 : inRow + 1;
        lastAt = at;
        added.push({ script, at, atOnce: inRow <= 50 && watched.length === added.length });
        newAddresses.add(script);
      }
      await world.advance(pauseMs);
      expect(newAddresses.isQuiet()).toBe(world.monotonic() - lastAt >= 100);
    }
    await world.advance(1_000);
    expect(watched.map(({ script }) => script)).toEqual(added.map(({ script }) => script));
    for (const [place, { at, atOnce }] of added.entries()) {
      const waitedMs = (watched[place]?.at ?? 0) - at;
      expect([place, waitedMs === 0, waitedMs <= 1_000]).toEqual([place, atOnce, true]);
    }
  });
  await fc.assert(course, { numRuns: 50 });
});

it('beyond fifty in a row wait for 100 ms without a request', async () => {
  const { world, watched, newAddresses } = begin();
  expect(newAddresses.isQuiet()).toBe(false);
  await world.advance(5_000);
  expect(newAddresses.isQuiet()).toBe(true);
  for (const script of scripts(0, 51)) newAddresses.add(script);
  await world.advance(50);
  newAddresses.add(scripts(51, 1)[0] as Scripthash);
  await world.advance(99);
  expect(watched.length).toBe(50);
  await world.advance(51);
  expect(watched.length).toBe(52);
});

it('are not watched any more after a stop', async () => {
  const { world, watched, newAddresses } = begin();
  for (const script of scripts(0, 51)) newAddresses.add(script);
  newAddresses.stop();
  await world.advance(2_000);
  expect(watched.length).toBe(50);
});
