// A backup that is copied over the database with `cp` while paygate runs: the same file by its number, with older pages in
// it. No address that it does not know of any more is given out again, and what could mend it stays.

import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { backupAsItIs, backupFolder } from '../../src/store/backup/backup.ts';
import { restoreFile } from '../../src/store/backup/restore.ts';
import { markPath } from '../../src/store/mark/high-water-mark.ts';
import { closeApps, merchantKey, openApp, untilReady } from '../support/app.ts';
import { look, pragma, tempFolder } from '../support/files.ts';

afterEach(closeApps);

const quarterMs = 15 * 60_000;
const fact =
  'the database knows less than before: an older copy was put over it while paygate runs';

/** Where nothing is in the log, as each hour. */
async function putOver(path: string, copy: string): Promise<void> {
  // No snapshot of a turn is in the way.
  await nextTurn();
  const other = look(path);
  pragma(other, 'wal_checkpoint(TRUNCATE)');
  other.close();
  copyFileSync(copy, path);
}

async function openOverwritten() {
  const house = await openApp();
  await untilReady(house);
  const copy = join(tempFolder(), 'copy.db');
  const addresses = [await house.newAddress()];
  await backupAsItIs(house.path, copy);
  addresses.push(await house.newAddress(), await house.newAddress());
  const latest = join(backupFolder(house.path), 'latest.db');
  await house.world.advance(quarterMs);
  await house.world.until(() => existsSync(latest), 'a snapshot');
  const snapshot = readFileSync(latest);
  const mark = readFileSync(markPath(house.path), 'utf8');
  await putOver(house.path, copy);
  return { house, addresses, latest, snapshot, mark };
}

test('no address is given out twice, and it is told', async () => {
  const { house, mark } = await openOverwritten();
  expect(await house.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(house.running.health().warnings.join()).toContain(
    `${fact}: no address is issued, and no snapshot taken. Stop paygate`,
  );
  expect((await house.ask('/readyz')).body).toEqual({
    ready: false,
    reasons: [`no address is issued: ${fact}`],
  });
  expect(readFileSync(markPath(house.path), 'utf8')).toBe(mark);
});

test('nor where none was issued since the start', async () => {
  const house = await openApp();
  await untilReady(house);
  const copy = join(tempFolder(), 'copy.db');
  await house.newAddress();
  await backupAsItIs(house.path, copy);
  await house.newAddress();
  await house.stop();
  await house.start();
  await untilReady(house);
  await putOver(house.path, copy);
  expect(await house.ask('/api/new_address')).toMatchObject({ status: 503 });
  expect(house.running.health().warnings.join()).toContain(fact);
});

test('nor is any given out by a copy that lacks a wallet', async () => {
  const house = await openApp();
  await untilReady(house);
  await house.newAddress();
  await house.stop();
  const copy = join(tempFolder(), 'copy.db');
  await backupAsItIs(house.path, copy);
  await house.addStore({ key: merchantKey(2) });
  await house.start();
  await untilReady(house);
  await putOver(house.path, copy);
  await house.world.advance(1_000);
  expect(house.running.health().warnings.join()).toContain(fact);
  expect(await house.ask('/api/new_address')).toMatchObject({ status: 503 });
});

test('its snapshots stay as they were, and one of them is put back', async () => {
  const { house, addresses, latest, snapshot } = await openOverwritten();
  await house.world.advance(quarterMs);
  await house.stop();
  expect(readFileSync(latest).equals(snapshot)).toBe(true);
  restoreFile(latest, house.path, 'before');
  await house.start();
  await untilReady(house);
  expect(addresses).not.toContain(await house.newAddress());
  expect(house.running.health().warnings.join()).not.toContain(fact);
});
