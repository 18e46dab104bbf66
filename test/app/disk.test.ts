// A disk that takes its time: what is not on it yet is told to nobody, and all the rest goes on.

import { afterEach, expect, test } from 'vitest';
import { syncData } from '../../src/world/disk.ts';
import { closeHouses, openHouse, untilReady } from '../support/house.ts';

/** Of the disk that is held up. */
let release = () => {};
afterEach(closeHouses);
// Before it: no house closes while something waits for its disk.
afterEach(() => release());

/** A house on a disk that can be held up. */
async function openOnSlowDisk() {
  let held: PromiseWithResolvers<void> | undefined;
  let asked = Promise.withResolvers<void>();
  const house = await openHouse({
    async syncData(descriptor) {
      asked.resolve();
      await held?.promise;
      await syncData(descriptor);
    },
  });
  await untilReady(house);
  await house.settle();
  return {
    house,
    hold() {
      held = Promise.withResolvers();
      release = held.resolve;
      asked = Promise.withResolvers();
    },
    /** Resolves when something is committed and waits for the disk. */
    asked: () => asked.promise,
  };
}

test('an address is not answered before it is on the disk, and nothing that was read meanwhile', async () => {
  const { house, hold, asked } = await openOnSlowDisk();
  const known = await house.newAddress();
  await house.settle();
  hold();
  const answered: string[] = [];
  const issuing = house.newAddress().then((address) => {
    answered.push('issued');
    return address;
  });
  await asked();
  const reading = house.ask('/healthz').then(({ status }) => {
    answered.push('read');
    return status;
  });
  await house.world.advance(10_000);
  expect(answered).toEqual([]);
  release();
  expect(await issuing).not.toBe(known);
  expect(await reading).toBe(200);
  expect(answered).toHaveLength(2);
});

test('no shop hears of a payment that is not on the disk', async () => {
  const { house, hold, asked } = await openOnSlowDisk();
  const address = await house.newAddress();
  await house.settle();
  hold();
  house.pay(address, 25_000);
  await asked();
  await house.world.advance(10_000);
  expect(house.told()).toEqual([]);
  release();
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
});
