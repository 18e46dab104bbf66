// The download of backups.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { allPages, makeBackupFolder } from '../../src/store/backup/backup.ts';
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
