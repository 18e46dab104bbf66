// The data folder after each command. Only the user of paygate may access its files. A file that is
// not a sound database of paygate is refused in one line and stays unchanged.

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
import { migrations } from '../../src/store/schema/migrations.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, contentOf, look, tempFolder, whenOver } from '../support/files.ts';
import { accountKey } from '../support/store.ts';
import { prepareServe, serve } from './serving.ts';

afterEach(cleanUp);

/** The files in a folder that other users may access, with their modes. */
function openFiles(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.flatMap((name) => {
    const stat = lstatSync(join(folder, name));
    const mode = stat.mode & 0o777;
    return mode === (stat.isDirectory() ? 0o700 : 0o600) ? [] : [`${name} ${mode.toString(8)}`];
  });
}

/** A umask of 0, so that the modes are paygate's own. */
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
    // Without a public URL it prints to stderr that no paygate answers.
    ['admin', 'link', '--public-url', 'https://pay.example.com'],
    ['backup'],
    ['backup', backup],
    ['check'],
    ['check', backup],
    ['restore', backup],
    ['restore', '--in-place'],
  ];
  for (const command of commands) {
    const { code, stderr } = await runProcess([...command, ...at]);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
    expect({ command, open: openFiles(folder) }).toEqual({ command, open: [] });
  }
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['backups', 'paygate.db']));
});

it('every file is 0600 while serve runs, after a kill, and after a clean stop', async () => {
  withOpenUmask();
  const setup = await prepareServe();
  const folder = dirname(setup.path);
  // The test created the file with a umask other than paygate's.
  chmodSync(setup.path, 0o600);
  const paygate = await serve(setup);
  await paygate.newAddress();
  expect(openFiles(folder)).toEqual([]);
  paygate.kill();
  await paygate.ended;
  expect(openFiles(folder)).toEqual([]);
  const again = await serve(setup);
  again.kill('SIGTERM');
  expect((await again.ended).by).toBe(0);
  expect(openFiles(folder)).toEqual([]);
});

const unsound: Readonly<Record<string, (path: string, sound: string) => void>> = {
  'an empty file': (path) => writeFileSync(path, ''),
  'a text file': (path) => writeFileSync(path, 'Dear diary\n'.repeat(1_000)),
  'a database of another program': (path) => {
    const other = look(path);
    other.exec('CREATE TABLE diary (day)');
    other.close();
  },
  'a newer database': (path, sound) => {
    copyFileSync(sound, path);
    const sqlite = look(path);
    sqlite.pragma(`user_version = ${migrations.length + 1}`);
    sqlite.close();
  },
  'a truncated database': (path, sound) => {
    copyFileSync(sound, path);
    truncateSync(path, 3 * 4_096);
  },
  'a folder': (path) => mkdirSync(path),
};

it.each(Object.entries(unsound))(
  '%s is refused in one line and stays unchanged',
  async (_what, make) => {
    const { path: sound, args } = await prepareServe();
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
      const { code, stdout, stderr } = await runProcess(command);
      expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
      expect(stderr).toMatch(/^paygate: [^\n]+\n$/);
      expect(stderr).toContain(path);
      expect(contentOf(folder)).toEqual(before);
    }
  },
);
