// What the commands leave in the data folder, each a process of its own: every file is for its user alone; a file that
// is no sound database of ours is refused in one line and stays as it is.

import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { migrations } from '../../src/store/db/migrations.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, contentOf, look, tempFolder, whenOver } from '../support/files.ts';
import { accountKey } from '../support/store.ts';
import { openPremises, serve } from './serving.ts';

afterEach(cleanUp);

/** What in a folder is open to others, and how far. */
function openFiles(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.flatMap((name) => {
    const stat = lstatSync(join(folder, name));
    const mode = stat.mode & 0o777;
    return mode === (stat.isDirectory() ? 0o700 : 0o600) ? [] : [`${name} ${mode.toString(8)}`];
  });
}

/** What paygate is started with hides nothing by itself. */
function withOpenUmask(): void {
  const before = process.umask(0);
  whenOver(() => void process.umask(before));
}

it('every file is 0600 and every folder 0700 after every command', async () => {
  const folder = tempFolder();
  const path = join(folder, 'paygate.db');
  const { account } = accountKey(2);
  const backup = join(tempFolder(), 'shop.db');
  const at = ['--db', path];
  withOpenUmask();
  const commands = [
    [
      'store',
      'add',
      '--name',
      'Shop',
      '--xpub',
      account,
      '--script',
      'p2wpkh',
      '--network',
      'regtest',
    ].concat(['--callback-url', 'https://shop.example/cb', '--start-index', '0']),
    ['store', 'list'],
    ['store', 'set', '1', '--name', 'Other'],
    ['key', 'add', '--store', '1', '--scope', 'read'],
    ['key', 'rotate'],
    ['callbacks', 'list'],
    ['audit', 'list'],
    ['plugin', 'allow'],
    // It says on stderr where no paygate answers, but not of one behind a public URL.
    ['admin', 'link', '--public-url', 'https://pay.example.com'],
    ['backup'],
    ['backup', backup],
    ['check'],
    ['check', backup],
    ['restore', backup],
    ['restore', '--in-place'],
  ];
  for (const command of commands) {
    const { code, stderr } = await runCli([...command, ...at]);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
    expect({ command, open: openFiles(folder) }).toEqual({ command, open: [] });
  }
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['backups', 'paygate.db']));
});

it('and while serve runs, after a kill, and after a clean stop', async () => {
  withOpenUmask();
  const premises = await openPremises();
  const folder = dirname(premises.path);
  // The test has made it with another umask than paygate's own.
  chmodSync(premises.path, 0o600);
  const paygate = await serve(premises);
  await paygate.newAddress();
  expect(openFiles(folder)).toEqual([]);
  paygate.kill();
  await paygate.ended;
  expect(openFiles(folder)).toEqual([]);
  const again = await serve(premises);
  again.kill('SIGTERM');
  expect((await again.ended).by).toBe(0);
  expect(openFiles(folder)).toEqual([]);
});

const unsound: Readonly<Record<string, (path: string, sound: string) => void>> = {
  'zero bytes': (path) => writeFileSync(path, ''),
  'no database': (path) => writeFileSync(path, 'Dear diary\n'.repeat(1_000)),
  'of another program': (path) => {
    const other = look(path);
    other.exec('CREATE TABLE diary (day)');
    other.close();
  },
  newer: (path, sound) => {
    copyFileSync(sound, path);
    const sqlite = look(path);
    sqlite.pragma(`user_version = ${migrations.length + 1}`);
    sqlite.close();
  },
  truncated: (path, sound) => {
    copyFileSync(sound, path);
    truncateSync(path, 3 * 4_096);
  },
  'a folder': (path) => mkdirSync(path),
};

it.each(Object.entries(unsound))(
  'a file that is %s: one line, and it stays as it is',
  async (_what, make) => {
    const { path: sound, args } = await openPremises();
    const folder = tempFolder();
    const path = join(folder, 'paygate.db');
    make(path, sound);
    const before = contentOf(folder);
    const commands = [
      args.map((arg) => (arg === sound ? path : arg)),
      ['store', 'list', '--db', path],
      ['backup', '--db', path],
      ['check', '--db', path],
      ['admin', 'link', '--db', path],
      ['restore', path, '--db', sound],
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await runCli(command);
      expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
      expect(stderr).toMatch(/^paygate: [^\n]+\n$/);
      expect(stderr).toContain(path);
      expect(contentOf(folder)).toEqual(before);
    }
  },
);
