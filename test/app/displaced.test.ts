// A database file that is moved away while paygate runs. No address is issued that the file would
// lack later. An alarm reports it at once. Recorded data is saved, also data recorded afterwards.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { backupFolder } from '../../src/store/file/backup.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { createIssuingGuard } from '../../src/store/file/issuing-guard.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const gone =
  'paygate.db was deleted or moved away while paygate runs: no address is issued. Stop paygate, which saves ' +
  'a complete copy as backups/latest.db, then put that in place, in the folder of the database, with ' +
  '`paygate restore backups/latest.db`';
const latestOf = ({ path }: TestApp) => join(backupFolder(path), 'latest.db');
const warnings = ({ running: app }: TestApp) => app.health().warnings;

async function openShop() {
  const app = await openApp();
  await untilReady(app);
  return { app, address: await app.newAddress() };
}

test('a deleted file: a warning, no address until it is restored, and nothing is lost', async () => {
  const { app, address } = await openShop();
  rmSync(app.path);
  expect(await app.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(warnings(app)).toEqual([gone]);
  expect((await app.ask('/readyz')).body.reasons).toEqual([
    'no address is issued: paygate.db was deleted or moved away while paygate runs',
  ]);
  await app.world.advance(minuteMs);
  await app.world.until(() => existsSync(latestOf(app)), 'a snapshot');
  app.pay(address, 25_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
  await app.stop();
  expect(checkFile(latestOf(app))).toMatchObject({
    ok: true,
    counts: { addresses: 1, payments: 1, callbacks_owed: 0 },
  });
  restoreFile(latestOf(app), app.path, 'before');
  await app.start();
  await untilReady(app);
  expect(warnings(app).join()).not.toContain('deleted');
  expect(await app.newAddress()).not.toBe(address);
});

test('the advised command names a file that has not the default name', async () => {
  const { database, path } = await openTestStore({ path: join(tempFolder(), 'my shop.db') });
  rmSync(path);
  const [warning = ''] = createIssuingGuard(database, () => false).warnings();
  expect(warning).toMatch(
    /`paygate restore 'backups\/my shop\.db\/latest\.db' --db 'my shop\.db'`$/,
  );
});

test('a snapshot that went with the folder is taken again', async () => {
  const { app } = await openShop();
  await app.world.advance(15 * minuteMs);
  await app.world.until(() => existsSync(latestOf(app)), 'a snapshot');
  rmSync(backupFolder(app.path), { recursive: true });
  rmSync(app.path);
  await app.world.advance(minuteMs);
  await app.world.until(() => existsSync(latestOf(app)), 'another snapshot');
  expect(checkFile(latestOf(app)).counts.addresses).toBe(1);
});

test('a deleted folder: its content is saved in a new one', async () => {
  const { app, address } = await openShop();
  rmSync(dirname(app.path), { recursive: true });
  expect((await app.ask('/api/new_address')).status).toBe(503);
  await app.world.advance(1_000);
  await app.world.until(() => existsSync(latestOf(app)), 'a snapshot');
  app.pay(address, 25_000);
  await app.settle();
  await app.stop();
  expect(checkFile(latestOf(app)).counts).toMatchObject({ addresses: 1, payments: 1 });
  restoreFile(latestOf(app), app.path, 'before');
  await app.start();
  await untilReady(app);
  expect(await app.newAddress()).not.toBe(address);
});

test('another file in its place: a warning, and that file stays unchanged', async () => {
  const { app } = await openShop();
  const other = await openTestStore();
  await other.database.close();
  const content = readFileSync(other.path);
  writeFileSync(`${app.path}.other`, content);
  renameSync(`${app.path}.other`, app.path);
  expect(warnings(app)).toEqual([
    gone.replace(
      'paygate.db was deleted or moved away',
      'another file was put in the place of paygate.db',
    ),
  ]);
  expect((await app.ask('/api/new_address')).status).toBe(503);
  await app.stop();
  // The next process that opens the other file would apply this log to it.
  expect(readFileSync(`${app.path}-wal`, 'utf8')).toBe('');
  expect(checkFile(app.path)).toMatchObject({ ok: true, instance: 'test' });
  expect(readFileSync(app.path)).toEqual(content);
  expect(checkFile(latestOf(app)).counts.addresses).toBe(1);
});

test('a file that is moved back: the warning ends', async () => {
  const { app, address } = await openShop();
  renameSync(app.path, `${app.path}.away`);
  expect((await app.ask('/api/new_address')).status).toBe(503);
  expect(app.world.logs.map(({ message }) => message)).not.toContain(gone);
  await app.world.advance(1_000);
  expect(app.world.logs.map(({ message }) => message)).toContain(gone);
  renameSync(`${app.path}.away`, app.path);
  expect(await app.newAddress()).not.toBe(address);
  await app.world.advance(minuteMs);
  expect(warnings(app)).toEqual([]);
  await app.stop();
  expect(readFileSync(`${app.path}-wal`, 'utf8')).toBe('');
  expect(checkFile(app.path).counts.addresses).toBe(2);
});

const goneLog = gone.replace('paygate.db was', 'paygate.db-wal, its write-ahead log, was');

test('a deleted WAL: a warning, no address, and no other process creates a WAL', async () => {
  const { app, address } = await openShop();
  rmSync(`${app.path}-wal`);
  expect(await app.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(warnings(app)).toEqual([goneLog]);
  expect(() => openDatabase({ path: app.path, create: false })).toThrow(
    'its write-ahead log was deleted while a running `paygate serve` writes it; stop that first',
  );
  expect(existsSync(`${app.path}-wal`)).toBe(false);
  app.pay(address, 25_000);
  await app.settle();
  await app.world.advance(minuteMs);
  await app.world.until(() => existsSync(latestOf(app)), 'a snapshot');
  await app.stop();
  restoreFile(latestOf(app), app.path, 'before');
  expect(checkFile(app.path).counts).toMatchObject({ addresses: 1, payments: 1 });
  await app.start();
  await untilReady(app);
  expect(warnings(app).join()).not.toContain('log');
  expect(await app.newAddress()).not.toBe(address);
});

test('a deleted WAL: after a restart the main file has all data', async () => {
  const { app, address } = await openShop();
  rmSync(`${app.path}-wal`);
  app.pay(address, 25_000);
  await app.settle();
  await app.stop();
  expect(checkFile(app.path).counts).toMatchObject({ addresses: 1, payments: 1 });
  await app.start();
  await untilReady(app);
  expect(warnings(app)).toEqual([]);
  expect(await app.newAddress()).not.toBe(address);
});

test('a file whose WAL was deleted after a kill is opened as it is', async () => {
  const records = await openTestStore();
  const { path } = records;
  await records.database.close();
  writeFileSync(`${path}-shm`, '');
  openDatabase({ path, create: false }).close();
});
