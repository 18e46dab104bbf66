// Root runs commands on files of another user, as `sudo paygate backup` beside the service. The
// files that they make must belong to that user. For attacks by that user see foreign-folder. Needs
// root.

import { chownSync, lstatSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { removeLeftovers } from '../../src/world/disk.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { accountKey } from '../support/store.ts';

afterEach(cleanUp);

const isRoot = process.geteuid?.() === 0;
/** An id that no user has. */
const user = 54_321;

/** A folder of that user's. */
function userFolder(): string {
  const folder = tempFolder();
  chownSync(folder, user, user);
  return folder;
}

/** What in a folder is somebody else's. */
const strange = (folder: string): string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => lstatSync(join(folder, name)).uid !== user,
  );

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProcess(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

describe.skipIf(!isRoot)('root', () => {
  it('creates database, mark file, backups and restored file for the owner of the folder', async () => {
    const folder = userFolder();
    const db = ['--db', join(folder, 'paygate.db')];
    const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback'];
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
    await run('store', 'add', ...db, '--network', 'regtest', ...shop, ...wallet);
    expect(strange(folder)).toEqual([]);
    const { file } = JSON.parse(await run('backup', ...db, '--json'));
    expect(strange(folder)).toEqual([]);
    await run('restore', '--moved', ...db);
    expect(strange(folder)).toEqual([]);
    await run('restore', file, ...db);
    expect(readdirSync(join(folder, 'backups'))).toHaveLength(2);
    expect(strange(folder)).toEqual([]);
  });

  it('gives all backup folders of a database with another name to the user', async () => {
    const folder = userFolder();
    const db = ['--db', join(folder, 'shop.db'), '--network', 'regtest'];
    const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback'];
    await run('store', 'add', ...db, ...shop, '--xpub', accountKey().account, '--script', 'p2wpkh');
    await run('backup', ...db);
    expect(strange(folder)).toEqual([]);
  });

  it('removes only its own leftovers, not files of a user with such names', () => {
    const folder = tempFolder();
    const [own, theirs] = [join(folder, 'left-1'), join(folder, 'left-2')];
    for (const left of [own, theirs]) {
      mkdirSync(left);
      utimesSync(left, 0, 0);
    }
    chownSync(theirs, user, user);
    removeLeftovers(folder, /^left-/, folder);
    expect(readdirSync(folder)).toEqual(['left-2']);
  });
});

if (!isRoot) process.stderr.write('test/cli/root: 3 tests skipped, for they need root\n');
