// A backup that is copied over the database with `cp` while paygate runs: the same inode with older
// pages. No address that it lacks is issued again, and files that could repair it stay.

import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { backupAsItIs, backupFolder } from '../../src/store/file/backup.ts';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { closeApps, merchantKey, openApp, untilReady } from '../support/app.ts';
import { look, pragma, tempFolder } from '../support/files.ts';

afterEach(closeApps);

const quarterMs = 15 * 60_000;
const fact = 'the database has lost records: an older copy replaced it while paygate runs';

/** Overwrites the file while its write-ahead log is empty, as after each hourly checkpoint. */
async function putOver(path: string, copy: string): Promise<void> {
  // No snapshot of a turn is in the way.
  await nextTurn();
  const other = look(path);
  pragma(other, 'wal_checkpoint(TRUNCATE)');
  other.close();
  copyFileSync(copy, path);
}

async function openOverwritten() {
  const app = await openApp();
  await untilReady(app);
  const copy = join(tempFolder(), 'copy.db');
  const addresses = [await app.newAddress()];
  await backupAsItIs(app.path, copy);
  addresses.push(await app.newAddress(), await app.newAddress());
  const latest = join(backupFolder(app.path), 'latest.db');
  await app.world.advance(quarterMs);
  await app.world.until(() => existsSync(latest), 'a snapshot');
  const snapshot = readFileSync(latest);
  const mark = readFileSync(markPath(app.path), 'utf8');
  await putOver(app.path, copy);
  return { app, addresses, latest, snapshot, mark };
}

test('no address is issued twice, and a warning appears', async () => {
  const { app, mark } = await openOverwritten();
  expect(await app.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(app.running.health().warnings.join()).toContain(
    `${fact}: no address is issued, and no snapshot taken. Stop paygate`,
  );
  expect((await app.ask('/readyz')).body).toEqual({
    ready: false,
    reasons: [`no address is issued: ${fact}`],
  });
  expect(readFileSync(markPath(app.path), 'utf8')).toBe(mark);
});

test('no address is issued twice, also if none was issued since the start', async () => {
  const app = await openApp();
  await untilReady(app);
  const copy = join(tempFolder(), 'copy.db');
  await app.newAddress();
  await backupAsItIs(app.path, copy);
  await app.newAddress();
  await app.stop();
  await app.start();
  await untilReady(app);
  await putOver(app.path, copy);
  expect(await app.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(app.running.health().warnings.join()).toContain(fact);
});

test('no address is issued twice, also if the copy lacks a wallet', async () => {
  const app = await openApp();
  await untilReady(app);
  await app.newAddress();
  await app.stop();
  const copy = join(tempFolder(), 'copy.db');
  await backupAsItIs(app.path, copy);
  await app.addStore({ key: merchantKey(2) });
  await app.start();
  await untilReady(app);
  await putOver(app.path, copy);
  await app.world.advance(1_000);
  expect(app.running.health().warnings.join()).toContain(fact);
  expect(await app.ask('/api/new_address')).toMatchObject({ status: 503 });
});

test('the snapshots stay unchanged, and one of them can be restored', async () => {
  const { app, addresses, latest, snapshot } = await openOverwritten();
  await app.world.advance(quarterMs);
  await app.stop();
  expect(readFileSync(latest).equals(snapshot)).toBe(true);
  restoreFile(latest, app.path, 'before');
  await app.start();
  await untilReady(app);
  expect(addresses).not.toContain(await app.newAddress());
  expect(app.running.health().warnings.join()).not.toContain(fact);
});
