// A database file that is taken from its place while paygate runs: no address is given out that nobody would know of
// later, it is told at once, and what is known is saved, also what is recorded after it.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { backupFolder } from '../../src/store/backup/backup.ts';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { openDatabase } from '../../src/store/db/database.ts';
import { createIssuingGuard } from '../../src/store/db/issuing-guard.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const gone =
  'paygate.db was deleted or moved away while paygate runs: no address is issued. Stop paygate, which saves ' +
  'all that it knows in backups/latest.db, then put that in place, in the folder of the database, with ' +
  '`paygate restore backups/latest.db`';
const latestOf = ({ path }: TestApp) => join(backupFolder(path), 'latest.db');
const warnings = ({ running: app }: TestApp) => app.health().warnings;

async function openShop() {
  const house = await openApp();
  await untilReady(house);
  return { house, address: await house.newAddress() };
}

test('a file that is deleted: told, no address until it is restored, and nothing is lost', async () => {
  const { house, address } = await openShop();
  rmSync(house.path);
  expect(await house.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(warnings(house)).toEqual([gone]);
  expect((await house.ask('/readyz')).body.reasons).toEqual([
    'no address is issued: paygate.db was deleted or moved away while paygate runs',
  ]);
  await house.world.advance(minuteMs);
  await house.world.until(() => existsSync(latestOf(house)), 'a snapshot');
  house.pay(address, 25_000);
  await house.settle();
  expect(house.statuses(address)).toEqual(['0']);
  await house.stop();
  expect(checkFile(latestOf(house))).toMatchObject({
    ok: true,
    counts: { addresses: 1, payments: 1, callbacks_owed: 0 },
  });
  restoreFile(latestOf(house), house.path, 'before');
  await house.start();
  await untilReady(house);
  expect(warnings(house).join()).not.toContain('deleted');
  expect(await house.newAddress()).not.toBe(address);
});

test('of a file with a name of its own the command says which one', async () => {
  const { database, path } = await openTestStore({ path: join(tempFolder(), 'my shop.db') });
  rmSync(path);
  const [warning = ''] = createIssuingGuard(database, () => false).warnings();
  expect(warning).toMatch(
    /`paygate restore 'backups\/my shop\.db\/latest\.db' --db 'my shop\.db'`$/,
  );
});

test('a snapshot that went with the folder is taken again', async () => {
  const { house } = await openShop();
  await house.world.advance(15 * minuteMs);
  await house.world.until(() => existsSync(latestOf(house)), 'a snapshot');
  rmSync(backupFolder(house.path), { recursive: true });
  rmSync(house.path);
  await house.world.advance(minuteMs);
  await house.world.until(() => existsSync(latestOf(house)), 'another snapshot');
  expect(checkFile(latestOf(house)).counts.addresses).toBe(1);
});

test('the whole folder that is deleted: what it held is saved in a new one', async () => {
  const { house, address } = await openShop();
  rmSync(dirname(house.path), { recursive: true });
  expect((await house.ask('/api/new_address')).status).toBe(503);
  await house.world.advance(1_000);
  await house.world.until(() => existsSync(latestOf(house)), 'a snapshot');
  house.pay(address, 25_000);
  await house.settle();
  await house.stop();
  expect(checkFile(latestOf(house)).counts).toMatchObject({ addresses: 1, payments: 1 });
  restoreFile(latestOf(house), house.path, 'before');
  await house.start();
  await untilReady(house);
  expect(await house.newAddress()).not.toBe(address);
});

test('another file that is put in its place: told, and left as it is', async () => {
  const { house } = await openShop();
  const other = await openTestStore();
  await other.database.close();
  const content = readFileSync(other.path);
  writeFileSync(`${house.path}.other`, content);
  renameSync(`${house.path}.other`, house.path);
  expect(warnings(house)).toEqual([
    gone.replace(
      'paygate.db was deleted or moved away',
      'another file was put in the place of paygate.db',
    ),
  ]);
  expect((await house.ask('/api/new_address')).status).toBe(503);
  await house.stop();
  // Its log would be played into the other one by whoever opens that next.
  expect(readFileSync(`${house.path}-wal`, 'utf8')).toBe('');
  expect(checkFile(house.path)).toMatchObject({ ok: true, instance: 'test' });
  expect(readFileSync(house.path)).toEqual(content);
  expect(checkFile(latestOf(house)).counts.addresses).toBe(1);
});

test('a file that is put back where it was: all is well again', async () => {
  const { house, address } = await openShop();
  renameSync(house.path, `${house.path}.away`);
  expect((await house.ask('/api/new_address')).status).toBe(503);
  expect(house.world.logs.map(({ message }) => message)).not.toContain(gone);
  await house.world.advance(1_000);
  expect(house.world.logs.map(({ message }) => message)).toContain(gone);
  renameSync(`${house.path}.away`, house.path);
  expect(await house.newAddress()).not.toBe(address);
  await house.world.advance(minuteMs);
  expect(warnings(house)).toEqual([]);
  await house.stop();
  expect(readFileSync(`${house.path}-wal`, 'utf8')).toBe('');
  expect(checkFile(house.path).counts.addresses).toBe(2);
});

const goneLog = gone.replace('paygate.db was', 'paygate.db-wal, its log, was');

test('its log that is deleted: told, no address, and no other process writes one of its own', async () => {
  const { house, address } = await openShop();
  rmSync(`${house.path}-wal`);
  expect(await house.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(warnings(house)).toEqual([goneLog]);
  expect(() => openDatabase({ path: house.path, create: false })).toThrow(
    'its log was deleted while a running `paygate serve` writes it; stop that first',
  );
  expect(existsSync(`${house.path}-wal`)).toBe(false);
  house.pay(address, 25_000);
  await house.settle();
  await house.world.advance(minuteMs);
  await house.world.until(() => existsSync(latestOf(house)), 'a snapshot');
  await house.stop();
  restoreFile(latestOf(house), house.path, 'before');
  expect(checkFile(house.path).counts).toMatchObject({ addresses: 1, payments: 1 });
  await house.start();
  await untilReady(house);
  expect(warnings(house).join()).not.toContain('log');
  expect(await house.newAddress()).not.toBe(address);
});

test('its log that is deleted: a start again finds all that was known in the file itself', async () => {
  const { house, address } = await openShop();
  rmSync(`${house.path}-wal`);
  house.pay(address, 25_000);
  await house.settle();
  await house.stop();
  expect(checkFile(house.path).counts).toMatchObject({ addresses: 1, payments: 1 });
  await house.start();
  await untilReady(house);
  expect(warnings(house)).toEqual([]);
  expect(await house.newAddress()).not.toBe(address);
});

test('a file whose log was deleted after a kill is opened as it is', async () => {
  const store = await openTestStore();
  const { path } = store;
  await store.database.close();
  writeFileSync(`${path}-shm`, '');
  openDatabase({ path, create: false }).close();
});
