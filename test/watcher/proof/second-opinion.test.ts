// Since when a payment is unreported, where several payments pay one address.

import { expect, it } from 'vitest';
import type { Scripthash, Txid } from '../../../src/bitcoin/ids.ts';
import { createAbsenceTracker } from '../../../src/watcher/proof/second-opinion.ts';
import { createTestWorld } from '../../support/world.ts';

const script = 'ab'.repeat(32) as Scripthash;
const [one, other] = ['01'.repeat(32) as Txid, '02'.repeat(32) as Txid];

function begin() {
  const world = createTestWorld();
  const rechecks: Scripthash[] = [];
  const absences = createAbsenceTracker(world, (each) => rechecks.push(each));
  return { world, rechecks, lasting: (...txids: Txid[]) => [...absences.lasting(script, txids)] };
}

it('an absence begins anew for a payment that was reported again, but not for another', async () => {
  const { world, lasting } = begin();
  expect(lasting(one, other)).toEqual([]);
  await world.advance(10_000);
  expect(lasting(other)).toEqual([]);
  await world.advance(20_000);
  expect(lasting(one, other)).toEqual([other]);
  await world.advance(29_999);
  expect(lasting(one, other)).toEqual([other]);
  await world.advance(1);
  expect(lasting(one, other)).toEqual([one, other]);
});

it('an absence that begins during another is checked when it may count', async () => {
  const { world, rechecks, lasting } = begin();
  lasting(one);
  await world.advance(10_000);
  lasting(one, other);
  await world.advance(20_000);
  expect(rechecks).toEqual([script]);
  expect(lasting(one, other)).toEqual([one]);
  await world.advance(10_000);
  expect(rechecks).toEqual([script, script]);
  expect(lasting(one, other)).toEqual([one, other]);
});
