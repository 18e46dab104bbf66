// `paygate backup`, `check` and `restore` as a person types them, also beside a running server, and
// the snapshots that the server takes by itself.

import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { refuseExisting } from '../../src/store/file/backup.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { asOrdinaryUser, cleanUp, damageTable, tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const minuteMs = 60_000;

it('a backup beside a running server, restored elsewhere, and checked', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await untilReady(app);
  for (let count = 0; count < 3; count += 1) await app.newAddress();
  const file = join(tempFolder(), 'copy.db');

  const written = await runCli(['backup', file, '--db', app.path, '--json']);
  expect(written).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(written.stdout)).toMatchObject({
    file,
    ok: true,
    network: 'regtest',
    counts: { addresses: 3 },
    wallets: [{ id: 1, last_index: 2, next_index: 3 }],
  });
  const again = await runCli(['backup', file, '--db', app.path]);
  expect(again).toMatchObject({
    code: 1,
    stderr: `paygate: ${file}: exists already; name a new file\n`,
  });

  const folder = join(tempFolder(), 'none');
  const nowhere = await runCli(['backup', join(folder, 'x.db'), '--db', app.path]);
  expect(nowhere).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: `paygate: ${folder}/x.db: cannot be written (there is no folder ${folder})\n`,
  });

  const db = join(tempFolder(), 'paygate.db');
  const restored = await runCli(['restore', file, '--db', db]);
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toContain('addresses          3\n');
  expect(restored.stdout).toContain('The next `paygate serve` detects that it is a copy');
  expect(restored.stdout).toContain('Never serve both this database and its original');
  const inPlace = await runCli(['restore', file, '--db', db]);
  expect(inPlace.stdout).toContain('The former database is now');
  expect(inPlace.stdout).not.toContain('Never serve both');
  const busy = await runCli(['restore', file, '--db', app.path]);
  expect(busy).toMatchObject({ code: 1, stdout: '' });
  expect(busy.stderr).toContain('another `paygate serve` uses this database');

  const checked = await runCli(['check', '--db', db]);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toMatch(/^file +.*\nstate +intact\n/);
  expect(checked.stdout).toMatch(/\n1 +p2wpkh +2 +3\n$/);
});

it('a file of a network other than the named one passes no check and is not restored', async () => {
  const app = await openApp();
  const file = join(tempFolder(), 'copy.db');
  await runCli(['backup', file, '--db', app.path]);
  const db = join(tempFolder(), 'paygate.db');
  for (const args of [
    ['check', file],
    ['restore', file, '--db', db],
  ]) {
    const refused = await runCli([...args, '--network', 'mainnet']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('is for regtest, not mainnet');
    // A machine may say it for all commands.
    expect(await runCli(args, { PAYGATE_NETWORK: 'mainnet' })).toEqual(refused);
    const unknown = await runCli([...args, '--network', 'mars']);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain('--network: unknown network');
  }
  expect(existsSync(db)).toBe(false);
  expect((await runCli(['restore', file, '--db', db, '--network', 'regtest'])).code).toBe(0);
});

it('a backup without a name goes to the folder of backups', async () => {
  const app = await openApp();
  const { code, stdout } = await runCli(['backup', '--db', app.path, '--json']);
  expect(code).toBe(0);
  const { file } = JSON.parse(stdout);
  expect(dirname(file)).toBe(join(dirname(app.path), 'backups'));
  expect(file).toMatch(/\/\d{4}-\d\d-\d\dT\d{6}Z\.db$/);
  expect(checkFile(file).ok).toBe(true);
});

it('a backup to an inaccessible folder fails with a clear sentence', async () => {
  const records = await openTestStore();
  await records.database.close();
  const folder = tempFolder();
  const long = join(folder, `${'x'.repeat(300)}.db`);
  const refused = await runCli(['backup', long, '--db', records.path]);
  expect(refused).toMatchObject({
    code: 1,
    stderr: `paygate: ${long}: cannot be read (ENAMETOOLONG); name another one\n`,
  });
  chmodSync(folder, 0o000);
  const shut = join(folder, 'copy.db');
  expect(() => asOrdinaryUser(() => refuseExisting(shut))).toThrow(
    `${shut}: is in a folder that this user may not read (EACCES)`,
  );
});

it('a backup is not written beside the WAL of another file, which SQLite would replay into it', async () => {
  const app = await openApp();
  const file = join(tempFolder(), 'copy.db');
  writeFileSync(`${file}-wal`, 'of another file');
  const refused = await runCli(['backup', file, '--db', app.path]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toBe(
    `paygate: ${file}: ${file}-wal exists, and SQLite would apply it to the new file; name a new file\n`,
  );
  expect(existsSync(file)).toBe(false);
});

it('a check names the damage, and exits with 1', async () => {
  const app = await openApp();
  const file = join(tempFolder(), 'copy.db');
  await runCli(['backup', file, '--db', app.path]);
  writeFileSync(file, readFileSync(file).fill(0xa5, 4096 * 3, 4096 * 12));
  const { code, stdout, stderr } = await runCli(['check', file]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toContain('DAMAGED: ');
});

it('names in a hostile file neither clear the screen nor write lines of their own', async () => {
  const { path, database } = await openTestStore();
  await database.close();
  const name = 'x\u001b[2J\u001b]0;owned\u0007\u009b1A\u202e\nstate              intact\u001b[8m';
  new Database(path).exec(`CREATE VIEW "${name}" AS SELECT 1`).close();
  const { code, stdout } = await runCli(['check', path]);
  expect(code).toBe(1);
  expect(stdout).toContain('DAMAGED: view x [2J ]0;owned 1A state intact [8m is not as paygate');
  expect(stdout.match(/^state /gm)).toHaveLength(1);
  expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  // What cannot be looked at is named in a failure, by a name that anybody may have given it.
  const absent = await runCli(['check', join(tempFolder(), 'x\u001b[2J.db')]);
  expect(absent.stderr).toMatch(/^paygate: \S+\/x \[2J\.db: there is no such file\n$/);
});

it('a command on a damaged file names the damage and the remedy in one line', async () => {
  const { path, addWallet, addStore, database } = await openTestStore();
  await addWallet();
  await addStore();
  await database.close();
  damageTable(path, 'stores');
  for (const args of [
    ['store', 'list'],
    ['store', 'remove', '1'],
  ]) {
    expect(await runCli([...args, '--db', path])).toEqual({
      code: 1,
      stdout: '',
      stderr: `paygate: ${path}: the database is damaged (database disk image is malformed); put a backup in its place by \`paygate restore BACKUP --db ${path}\`\n`,
    });
  }
});

it('restore takes exactly one of a backup, --moved and --in-place', async () => {
  const both = await runCli(['restore', 'copy.db', '--moved', '--db', 'none.db']);
  const nothing = await runCli(['restore', '--db', 'none.db']);
  for (const { code, stderr } of [both, nothing]) {
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'paygate: name either a backup, --moved or --in-place\n',
    });
  }
});

it('restore --without-mark belongs to --moved', async () => {
  const alone = await runCli(['restore', 'copy.db', '--without-mark', '--db', 'none.db']);
  expect(alone).toMatchObject({ code: 2, stderr: 'paygate: --without-mark belongs to --moved\n' });
});

it('restore --in-place takes effect at the next start', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await untilReady(app);
  await app.newAddress();
  await app.stop();
  const said = await runCli(['restore', '--in-place', '--db', app.path, '--json']);
  expect(JSON.parse(said.stdout)).toEqual({ file: app.path, noted: 'set_back' });
  await app.start();
  await untilReady(app);
  expect(app.running.health().warnings.join()).toContain('this machine was set back to a snapshot');
  await app.stop();
  const moved = await runCli(['restore', '--moved', '--db', app.path]);
  expect(moved).toMatchObject({
    code: 0,
    stdout: 'Recorded: the database continues where it stopped.\n',
  });
});

it('the server takes a snapshot each quarter of an hour in which something changed', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await untilReady(app);
  const latest = join(dirname(app.path), 'backups/latest.db');
  expect(existsSync(latest)).toBe(false);
  await app.newAddress();
  await app.world.advance(15 * minuteMs);
  await app.world.until(() => existsSync(latest), 'the snapshot');
  expect(checkFile(latest)).toMatchObject({ ok: true, counts: { addresses: 1 } });
  expect(readdirSync(dirname(latest))).toHaveLength(2);
  expect(app.running.health().warnings).toEqual([]);
});

it('the server reports a failed snapshot, and continues', async () => {
  const app = await openApp({ store: { startIndex: 0 } });
  await untilReady(app);
  writeFileSync(join(dirname(app.path), 'backups'), 'in the way');
  await app.world.advance(15 * minuteMs);
  await app.world.until(() => app.running.health().warnings.length > 0, 'the warning');
  expect(app.running.health().warnings.join()).toMatch(/^the last snapshot failed: /);
  await app.newAddress();
});
