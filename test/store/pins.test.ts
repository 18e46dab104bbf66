import { afterEach, expect, it } from 'vitest';
import { cleanUp } from '../support/files.ts';
import { now, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const sha256 = 'ab'.repeat(32);

it('what was learnt of a server is kept, and the last word counts', async () => {
  const store = await openTestStore();
  const { pins } = store;
  const label = 'ssl://electrum.example:50002';
  expect(pins.get(label)).toBeUndefined();
  await pins.learn(label, { kind: 'pinned', sha256 }, now);
  expect(pins.get(label)).toEqual({ kind: 'pinned', sha256 });
  await pins.learn(label, { kind: 'valid' }, now + 1);
  expect(pins.get(label)).toEqual({ kind: 'valid' });
  await pins.learn('another', { kind: 'pinned', sha256: 'cd'.repeat(32) }, now);
  await store.database.close();

  const again = await openTestStore({ path: store.path });
  expect(again.pins.get(label)).toEqual({ kind: 'valid' });
  expect(again.pins.get('another')).toEqual({ kind: 'pinned', sha256: 'cd'.repeat(32) });
  expect(again.pins.get('')).toBeUndefined();
});
