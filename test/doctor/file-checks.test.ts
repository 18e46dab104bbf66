// The doctor's checks of the file and of what lies around it, each seen well and ill, over real
// files.

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runChecks } from '../../src/doctor/doctor-check.ts';
import { fileChecks } from '../../src/doctor/file-checks.ts';
import { backupFolder } from '../../src/store/file/backup.ts';
import { applicationId } from '../../src/store/file/file-guards.ts';
import { markPath, openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, contentOf, look, tempFolder, tempRoot, whenOver } from '../support/files.ts';
import { markOf, openTestStore, type TestRecords } from '../support/store.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const hourMs = 3_600_000;

/** `paygate` sets its umask; the tests' own process has another. */
function makePrivate(path: string): void {
  for (const end of ['', '-wal', '-shm', '.lock']) {
    if (existsSync(`${path}${end}`)) chmodSync(`${path}${end}`, 0o600);
  }
}

describe('the file', () => {
  async function findings(
    records: TestRecords,
    world: TestWorld = createTestWorld(),
    walletGap = 20,
  ) {
    const parts = { world, records, walletGap, uid: process.getuid?.() };
    const found = await runChecks(world, fileChecks(parts));
    return Object.fromEntries(found.map(({ check, ...finding }) => [check, finding]));
  }

  async function shop(): Promise<TestRecords> {
    const records = await openTestStore();
    chmodSync(dirname(records.path), 0o700);
    makePrivate(records.path);
    await records.addWallet();
    await records.addStore();
    return records;
  }

  it('without a store, and with one', async () => {
    const records = await openTestStore();
    const { database, wallets, mark } = await findings(records);
    expect(database).toMatchObject({
      state: 'warn',
      text: expect.stringContaining('0 stores, 1 MiB, 0 MiB of WAL; add a store with'),
    });
    expect(wallets).toEqual({ state: 'skip', text: 'there is no wallet yet' });
    const text = 'the mark file belongs to this database and agrees with its counters';
    expect(mark).toEqual({ state: 'ok', text });
    expect((await findings(await shop())).database).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('regtest, 1 store'),
    });
  });

  it('of an older version is reported and stays unchanged', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const older = look(path);
    older.pragma(`application_id = ${applicationId}`);
    older.exec('CREATE TABLE settings (name TEXT)');
    const before = contentOf(dirname(path));
    const args = ['doctor', '--json', '--db', path, '--electrum', 'tcp://127.0.0.1:1'];
    const { checks } = JSON.parse((await runProcess(args)).stdout);
    expect(checks[0]).toEqual({
      check: 'database',
      state: 'warn',
      text: `${path}: has an older schema; the next start takes a snapshot and updates it`,
    });
    expect(contentOf(dirname(path))).toEqual(before);
  });

  it('that has issued addresses and lost its mark file is reported as a copy at the next start', async () => {
    const records = await shop();
    const mark = openHighWaterMark(records.path, records.instance);
    await mark.raise([{ wallet: markOf(), from: 0, to: 1 }]);
    mark.close();
    await records.issue();
    expect((await findings(records)).mark).toMatchObject({ state: 'ok' });
    rmSync(markPath(records.path));
    expect((await findings(records)).mark).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('there is no mark file beside it'),
    });
  });

  it('that other users may read or replace exposes its keys', async () => {
    const records = await shop();
    expect((await findings(records)).permissions).toMatchObject({ state: 'ok' });
    chmodSync(records.path, 0o640);
    chmodSync(dirname(records.path), 0o777);
    const { permissions } = await findings(records);
    expect(permissions?.state).toBe('fail');
    expect(permissions?.text).toContain(
      `${records.path}: others may read the keys in it; run chmod 600`,
    );
    expect(permissions?.text).toContain('others may write there');
  });

  it('whose mark file or snapshots other users may read exposes its keys', async () => {
    const records = await shop();
    const mark = openHighWaterMark(records.path, records.instance);
    await mark.raise([]);
    mark.close();
    expect((await runProcess(['backup', '--db', records.path])).code).toBe(0);
    expect((await findings(records)).permissions).toMatchObject({ state: 'ok' });
    const folder = backupFolder(records.path);
    const [name = ''] = readdirSync(folder);
    for (const path of [markPath(records.path), join(folder, name)]) {
      chmodSync(path, 0o604);
      expect((await findings(records)).permissions).toEqual({
        state: 'fail',
        text: `${path}: others may read the keys in it; run chmod 600`,
      });
      chmodSync(path, 0o600);
    }
  });

  it('of another user is reported', async () => {
    const records = await shop();
    const world = createTestWorld();
    const checks = fileChecks({ world, records, walletGap: 20, uid: 54_321 });
    const found = await runChecks(world, checks);
    expect(found.find(({ check }) => check === 'permissions')?.text).toContain('not to 54321');
  });

  it('on a disk that is almost full', async () => {
    const records = await shop();
    const full = (bytes: number) => ({
      ...records,
      database: { ...records.database, freeBytes: () => bytes },
    });
    expect((await findings(records)).disk).toMatchObject({ state: 'ok' });
    expect((await findings(full(1_000))).disk).toMatchObject({ state: 'fail' });
    const { disk } = await findings(full(64 * 1024 * 1024));
    expect(disk).toMatchObject({
      state: 'warn',
      text: expect.stringContaining('a snapshot needs'),
    });
    if (statSync(tempRoot).dev === statSync(tmpdir()).dev) return;
    const elsewhere = mkdtempSync(join(tmpdir(), 'paygate-backups-'));
    whenOver(() => rmSync(elsewhere, { recursive: true }));
    symlinkSync(elsewhere, backupFolder(records.path));
    expect((await findings(full(64 * 1024 * 1024))).disk).toMatchObject({ state: 'ok' });
    expect((await findings(full(1_000))).disk).toMatchObject({ state: 'fail' });
    // One of another name has its snapshots in a folder below, which the first one makes.
    const named = await openTestStore({ path: join(dirname(records.path), 'shop.db') });
    const { disk: other } = await findings({
      ...named,
      database: { ...named.database, freeBytes: () => 64 * 1024 * 1024 },
    });
    expect(other).toMatchObject({ state: 'ok' });
  });

  it('has no snapshot, a recent one, or only an old one', async () => {
    const records = await shop();
    const latest = join(dirname(records.path), 'backups/latest.db');
    expect((await findings(records)).snapshot).toMatchObject({ state: 'warn' });
    expect((await runProcess(['backup', '--db', records.path])).code).toBe(0);
    writeFileSync(latest, '', { mode: 0o600 });
    expect((await findings(records)).snapshot).toMatchObject({ state: 'ok' });
    const age = async (hours: number) => {
      const at = new Date(Date.now() - hours * hourMs);
      utimesSync(latest, at, at);
      return (await findings(records)).snapshot?.state;
    };
    expect([await age(0.5), await age(3), await age(25)]).toEqual(['ok', 'warn', 'fail']);
  });

  it('whose snapshots were found damaged by the daily check', async () => {
    const records = await shop();
    expect((await runProcess(['backup', '--db', records.path])).code).toBe(0);
    const damaged = join(backupFolder(records.path), 'latest-damaged.db');
    writeFileSync(damaged, '', { mode: 0o600 });
    expect((await findings(records)).snapshot).toEqual({
      state: 'fail',
      text: expect.stringMatching(/latest-damaged\.db: .*`paygate check`.*`paygate restore /),
    });
  });

  it('of a machine whose clock is behind the newest block', async () => {
    const app = await openApp();
    await untilReady(app);
    const records = await openTestStore({ path: app.path });
    const told = async (hours: number) => {
      app.world.jumpWallClock(hours * hourMs);
      return (await findings(records, app.world)).clock;
    };
    expect(await told(0)).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('not before block 110'),
    });
    // A block may claim to be two hours ahead.
    const { time = 0 } = records.headers.tip()?.header ?? {};
    expect((await told((time * 1000 - app.world.now()) / hourMs - 2))?.state).toBe('ok');
    expect(await told(-3)).toMatchObject({
      state: 'fail',
      text: expect.stringContaining(', 5 hours before block 110: set the clock'),
    });
  });

  it('of a machine whose clock is before the release of this paygate, without any block', async () => {
    const records = await shop();
    const world = createTestWorld();
    const told = async (releasedAt: number) => {
      const checks = fileChecks({ world, records, walletGap: 20, uid: 0, releasedAt });
      return (await runChecks(world, checks)).find(({ check }) => check === 'clock');
    };
    expect(await told(world.now())).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('there is no block yet to compare with'),
    });
    expect(await told(world.now() + 1)).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('before this paygate was released: set the clock'),
    });
  });

  it('whose wallet has no finished scan, or is beyond its gap limit', async () => {
    const waiting = await openTestStore();
    await waiting.addWallet({ startIndex: undefined });
    expect((await findings(waiting)).wallets).toEqual({
      state: 'warn',
      text: 'wallet 1 issues no address until the chain is scanned',
    });
    const records = await shop();
    expect((await findings(records)).wallets).toMatchObject({ state: 'ok' });
    for (let count = 0; count < 16; count += 1) await records.issue();
    expect((await findings(records)).wallets?.text).toContain('set the gap limit');
    expect((await findings(records, createTestWorld(), 60)).wallets).toMatchObject({ state: 'ok' });
  });
});
