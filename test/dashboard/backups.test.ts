// The download of backups.

import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { allPages, backupFolder, makeBackupFolder } from '../../src/store/file/backup.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { password, signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const path = '/dashboard/settings/backups';

async function withBackup(app: TestApp): Promise<string> {
  const target = join(makeBackupFolder(app.path), 'latest.db');
  await app.withStore(({ database }) => database.backup(target, allPages));
  return target;
}

test('a backup is sent whole, after the password, with an audit entry', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const target = await withBackup(app);
  app.world.jumpWallClock(6 * 60_000);
  const refused = await visitor.submit(path, 'download', { file: 'latest.db' });
  expect([refused.status, refused.text]).toEqual([
    403,
    expect.stringContaining('Type your password'),
  ]);
  const form = new URLSearchParams({
    token: visitor.formToken,
    do: 'download',
    file: 'latest.db',
    password,
  });
  const response = await fetch(`http://127.0.0.1:${app.port}${path}`, {
    method: 'POST',
    body: form,
    headers: { Cookie: visitor.cookie, Origin: `http://127.0.0.1:${app.port}` },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('Content-Disposition')).toContain('attachment');
  expect(Buffer.from(await response.arrayBuffer())).toEqual(readFileSync(target));
  const { text } = await visitor.get('/dashboard/settings/audit');
  expect(text).toContain('backup.download');
});

test('a button makes a backup without the password, which is then listed and selected', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  app.world.jumpWallClock(6 * 60_000);
  expect((await visitor.get(path)).text).toContain('There is no backup yet');
  const seen = await Promise.all([
    visitor.submit(path, 'back-up'),
    visitor.submit(path, 'back-up'),
  ]);
  const name = `${new Date(app.world.now()).toISOString().slice(0, 19).replaceAll(':', '')}Z.db`;
  for (const { status, to } of seen) {
    expect([status, to]).toEqual([303, `${path}?done=backup-made&file=${name}`]);
  }
  const { text } = await visitor.get(seen[0]?.to ?? '');
  expect(text).toContain('The backup is made.');
  expect(text).toMatch(new RegExp(`<option value="${name}" selected`));
  expect(readdirSync(makeBackupFolder(app.path))).toEqual([name]);
  expect(checkFile(join(makeBackupFolder(app.path), name)).ok).toBe(true);
  const audit = await visitor.get('/dashboard/settings/audit');
  expect(audit.text).toContain(`The backup ${name} was made.`);
});

test('a backup that cannot be made is a sentence without a path, and no audit entry', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const folder = backupFolder(app.path);
  symlinkSync('missing', folder);
  const seen = await visitor.submit(path, 'back-up');
  expect([seen.status, seen.text]).toEqual([
    503,
    expect.stringMatching(/No backup was made: its disk refuses writes \(E[A-Z]+\)\./),
  ]);
  expect(seen.text).not.toContain(folder);
  expect((await visitor.get('/dashboard/settings/audit')).text).not.toContain('backup.make');
});

test.each(['../paygate.db', '.latest.db-x', 'paygate.db', 'notes.txt', '', '..'])(
  '%j is no backup',
  async (file) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    await withBackup(app);
    writeFileSync(join(makeBackupFolder(app.path), 'notes.txt'), 'x');
    writeFileSync(join(makeBackupFolder(app.path), '.latest.db-x'), 'x');
    const seen = await visitor.submit(path, 'download', { file });
    expect([seen.status, seen.headers.get('Content-Disposition')]).toEqual([404, null]);
  },
);
