// Indexes that were left out by the word of servers that lied: taken back on demand, given out again, and none of them twice.

import { copyFileSync } from 'node:fs';
import { eq } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { markName } from '../../src/domain/allocation.ts';
import { addresses, wallets } from '../../src/store/db/schema.ts';
import { openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { askForRecheck } from '../../src/store/records/settings.ts';
import {
  closeApps,
  loseByRestore,
  merchantKey,
  openApp,
  type TestApp,
  untilReady,
} from '../support/app.ts';

afterEach(closeApps);

const addressAt = (index: number): string => deriveAddress(merchantKey(), 0, index)?.address ?? '';
const range = (from: number, until: number): string[] =>
  Array.from({ length: until - from }, (_, at) => addressAt(from + at));

/** A file as the lies of a server left it: index 0 is issued, then 30 are left out, and 31 is issued. */
async function damaged(): Promise<TestApp> {
  const house = await openApp();
  await untilReady(house);
  expect(await house.newAddress()).toBe(addressAt(0));
  await house.stop();
  await house.withStore(async ({ database, instance, addresses: { deriveAhead } }) => {
    await database.write((tx) => {
      deriveAhead(tx, 1, 80);
      const { orm } = database;
      const isLeftOut = (index: number) => index > 0 && index <= 30;
      for (const row of orm.select().from(addresses).all()) {
        if (!isLeftOut(row.derivationIndex)) continue;
        const marked = { origin: 'foreign', statusHash: 'ab'.repeat(32) } as const;
        orm
          .update(addresses)
          .set(marked as never)
          .where(eq(addresses.id, row.id))
          .run();
      }
      orm.update(wallets).set({ nextIndex: 31 }).run();
    });
    const mark = openHighWaterMark(house.path, instance);
    await mark.raise([{ wallet: markName(merchantKey().descriptor), from: 31, to: 31 }]);
    mark.close();
  });
  await house.start();
  await untilReady(house);
  expect(await house.newAddress()).toBe(addressAt(31));
  return house;
}

const recheck = async (house: TestApp): Promise<void> => {
  await house.withStore(({ database, catalog }) =>
    database.write((tx) => askForRecheck(tx, catalog, 1)),
  );
  await house.world.advance(1_000);
  await house.settle();
};

const newAddresses = async (house: TestApp, count: number): Promise<string[]> => {
  const made: string[] = [];
  for (let at = 0; at < count; at += 1) made.push(await house.newAddress());
  return made;
};

test('P-17 are given out before the counter rises on, each once', async () => {
  const house = await damaged();
  await recheck(house);
  expect(await newAddresses(house, 31)).toEqual([...range(1, 31), addressAt(32)]);
});

test('stay left out where a block proves that they were used', async () => {
  const house = await damaged();
  for (const index of [1, 3]) house.pay(addressAt(index), 5_000);
  house.chain.mine();
  await house.settle();
  await recheck(house);
  expect(await newAddresses(house, 2)).toEqual([addressAt(2), addressAt(4)]);
});

test('wait for a server that can be asked', async () => {
  const house = await damaged();
  house.server.inject({
    kind: 'error',
    code: 1,
    message: 'busy',
    when: (method) => method.endsWith('get_history'),
  });
  await recheck(house);
  expect(await house.newAddress()).toBe(addressAt(32));
});

test('are watched: a payment to one is told', async () => {
  const house = await damaged();
  await recheck(house);
  const address = await house.newAddress();
  house.pay(address, 5_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
});

test('go on after a restart, silently', async () => {
  const house = await damaged();
  await recheck(house);
  const [first] = await newAddresses(house, 1);
  await house.stop();
  await house.start();
  await untilReady(house);
  expect([first, ...(await newAddresses(house, 1))]).toEqual(range(1, 3));
  expect(house.running.health().warnings.join()).not.toContain('copy');
});

test('P-17 are given out by no copy of the file', async () => {
  const house = await damaged();
  await recheck(house);
  const given = await loseByRestore(house, () => newAddresses(house, 2));
  expect(given).toEqual(range(1, 3));
  await house.start();
  await untilReady(house);
  expect(house.running.health().warnings.join()).toContain('this database is a copy');
  expect(range(0, 32)).not.toContain(await house.newAddress());
  await recheck(house);
  expect(range(0, 32)).not.toContain(await house.newAddress());
});

test('P-17 are given out by no older file that was written over the newer one', async () => {
  const house = await damaged();
  await house.stop();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.start();
  await untilReady(house);
  await recheck(house);
  const given = await newAddresses(house, 2);
  expect(given).toEqual(range(1, 3));
  await house.stop();
  copyFileSync(`${house.path}.bak`, house.path);
  await house.start();
  await untilReady(house);
  expect(house.running.health().warnings.join()).toContain('this database is a copy');
  await recheck(house);
  expect(range(0, 32)).not.toContain(await house.newAddress());
});

test('P-17 are given out by no older file of which the mark began its last raise', async () => {
  const house = await damaged();
  await recheck(house);
  const [first] = await newAddresses(house, 1);
  expect(first).toBe(addressAt(1));
  await house.stop();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.start();
  await untilReady(house);
  expect(await newAddresses(house, 1)).toEqual([addressAt(2)]);
  await house.stop();
  copyFileSync(`${house.path}.bak`, house.path);
  await house.start();
  await untilReady(house);
  expect(range(0, 32)).not.toContain(await house.newAddress());
});

test('P-17 are given out by no older file that was written over the newer one, however often it was restarted', async () => {
  const house = await damaged();
  await recheck(house);
  await house.stop();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.start();
  await untilReady(house);
  expect(await newAddresses(house, 1)).toEqual([addressAt(1)]);
  await house.stop();
  copyFileSync(`${house.path}.bak`, house.path);
  for (let restart = 0; restart < 2; restart += 1) {
    await house.start();
    await untilReady(house);
    await house.stop();
  }
  await house.start();
  await untilReady(house);
  expect(range(0, 32)).not.toContain(await house.newAddress());
});
