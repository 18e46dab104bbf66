// Indexes that were skipped because lying servers reported payments to them. They are returned on
// demand and issued again, each once.

import { copyFileSync } from 'node:fs';
import { eq } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { markName } from '../../src/domain/store/allocation.ts';
import { openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { addresses, wallets } from '../../src/store/schema/schema.ts';
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

/** A file after a server's lies: index 0 is issued, then 30 are skipped, and 31 is issued. */
async function damaged(): Promise<TestApp> {
  const app = await openApp();
  await untilReady(app);
  expect(await app.newAddress()).toBe(addressAt(0));
  await app.stop();
  await app.withStore(async ({ database, instance, addresses: { deriveAhead } }) => {
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
    const mark = openHighWaterMark(app.path, instance);
    await mark.raise([{ wallet: markName(merchantKey().descriptor), from: 31, to: 31 }]);
    mark.close();
  });
  await app.start();
  await untilReady(app);
  expect(await app.newAddress()).toBe(addressAt(31));
  return app;
}

const recheck = async (app: TestApp): Promise<void> => {
  await app.withStore(({ database, state }) =>
    database.write((tx) => state.rechecks.write(tx, [...new Set([...state.rechecks.read(), 1])])),
  );
  await app.world.advance(1_000);
  await app.settle();
};

const newAddresses = async (app: TestApp, count: number): Promise<string[]> => {
  const made: string[] = [];
  for (let at = 0; at < count; at += 1) made.push(await app.newAddress());
  return made;
};

test('P-17 are issued before the counter rises, each once', async () => {
  const app = await damaged();
  await recheck(app);
  expect(await newAddresses(app, 31)).toEqual([...range(1, 31), addressAt(32)]);
});

test('stay skipped if a block proves that they were used', async () => {
  const app = await damaged();
  for (const index of [1, 3]) app.pay(addressAt(index), 5_000);
  app.chain.mine();
  await app.settle();
  await recheck(app);
  expect(await newAddresses(app, 2)).toEqual([addressAt(2), addressAt(4)]);
});

test('wait for a server that can be asked', async () => {
  const app = await damaged();
  app.server.inject({
    kind: 'error',
    code: 1,
    message: 'busy',
    when: (method) => method.endsWith('get_history'),
  });
  await recheck(app);
  expect(await app.newAddress()).toBe(addressAt(32));
});

test('are watched: a payment to one sends callbacks', async () => {
  const app = await damaged();
  await recheck(app);
  const address = await app.newAddress();
  app.pay(address, 5_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
});

test('are still available after a restart, without a warning', async () => {
  const app = await damaged();
  await recheck(app);
  const [first] = await newAddresses(app, 1);
  await app.stop();
  await app.start();
  await untilReady(app);
  expect([first, ...(await newAddresses(app, 1))]).toEqual(range(1, 3));
  expect(app.running.health().warnings.join()).not.toContain('copy');
});

test('P-17 are issued by no copy of the file', async () => {
  const app = await damaged();
  await recheck(app);
  const given = await loseByRestore(app, () => newAddresses(app, 2));
  expect(given).toEqual(range(1, 3));
  await app.start();
  await untilReady(app);
  expect(app.running.health().warnings.join()).toContain('this database is a copy');
  expect(range(0, 32)).not.toContain(await app.newAddress());
  await recheck(app);
  expect(range(0, 32)).not.toContain(await app.newAddress());
});

test('P-17 are issued by no older file that was written over the newer one', async () => {
  const app = await damaged();
  await app.stop();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.start();
  await untilReady(app);
  await recheck(app);
  const given = await newAddresses(app, 2);
  expect(given).toEqual(range(1, 3));
  await app.stop();
  copyFileSync(`${app.path}.bak`, app.path);
  await app.start();
  await untilReady(app);
  expect(app.running.health().warnings.join()).toContain('this database is a copy');
  await recheck(app);
  expect(range(0, 32)).not.toContain(await app.newAddress());
});

test('P-17 are issued by no older file whose copy preceded the last raise of the mark file', async () => {
  const app = await damaged();
  await recheck(app);
  const [first] = await newAddresses(app, 1);
  expect(first).toBe(addressAt(1));
  await app.stop();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.start();
  await untilReady(app);
  expect(await newAddresses(app, 1)).toEqual([addressAt(2)]);
  await app.stop();
  copyFileSync(`${app.path}.bak`, app.path);
  await app.start();
  await untilReady(app);
  expect(range(0, 32)).not.toContain(await app.newAddress());
});

test('P-17 are issued by no older file that was written over the newer one, however often it was restarted', async () => {
  const app = await damaged();
  await recheck(app);
  await app.stop();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.start();
  await untilReady(app);
  expect(await newAddresses(app, 1)).toEqual([addressAt(1)]);
  await app.stop();
  copyFileSync(`${app.path}.bak`, app.path);
  for (let restart = 0; restart < 2; restart += 1) {
    await app.start();
    await untilReady(app);
    await app.stop();
  }
  await app.start();
  await untilReady(app);
  expect(range(0, 32)).not.toContain(await app.newAddress());
});
