// Paths that are not a database, a backup or a copy. The error is one line with the path and what
// to do, and nothing changes.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');

/** The exit code and the error text for each kind of path. */
const odd: Readonly<Record<string, readonly [code: number, told: string]>> = {
  folder: [1, 'is not a file but a folder; name a file, as '],
  'folder/': [1, 'is not a file but a folder; name a file, as '],
  fifo: [1, 'is not a file but a pipe, a socket or a device; name another one'],
  device: [1, 'is not a file but a pipe, a socket or a device; name another one'],
  'file/paygate.db': [1, 'ENOTDIR); name another one'],
  loop: [1, 'ELOOP); name another one'],
  'nowhere/paygate.db': [1, 'does not exist; make it, or name another file'],
};

async function layOut(): Promise<string> {
  const folder = tempFolder();
  mkdirSync(join(folder, 'folder'));
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  symlinkSync('/dev/null', join(folder, 'device'));
  symlinkSync('loop', join(folder, 'loop'));
  writeFileSync(join(folder, 'file'), 'a file');
  const { database } = await openTestStore({ path: join(folder, 'shop.db') });
  await database.close();
  return folder;
}

const server = [
  '--network',
  'regtest',
  '--electrum',
  'tcp://127.0.0.1:1',
  '--listen',
  '127.0.0.1:0',
];

describe('as --db', () => {
  it.each(Object.entries(odd))('%s: each command reports it', async (name, [code, told]) => {
    const folder = await layOut();
    const before = readdirSync(folder, { recursive: true });
    const path = `${folder}/${name}`;
    const backup = join(folder, 'shop.db');
    for (const command of [
      ['serve', ...server],
      ['store', 'list'],
      ['backup'],
      ['restore', backup],
      ['restore', '--moved'],
    ]) {
      const { stdout, ...said } = await runCli([...command, '--db', path]);
      expect([command, said.code, stdout]).toEqual([command, code, '']);
      expect(said.stderr).toMatch(/^paygate: [^\n]+\n$/);
      expect(said.stderr).toContain(path.replace(/\/$/, ''));
      expect(said.stderr).toContain(told);
    }
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });

  it.each([':memory:', '', ' '])('%j: no command makes a file of it', async (path) => {
    for (const command of [['serve', ...server], ['store', 'list'], ['doctor'], ['check']]) {
      const { code, stderr } = await runCli([...command, '--db', path]);
      expect([command, code]).toEqual([command, 2]);
      expect(stderr).toMatch(/^paygate: --db: [^\n]+\n$/);
    }
  });

  it('a file that this user may not open: the error says so', async () => {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'paygate.db'), 'x');
    chmodSync(join(folder, 'paygate.db'), 0o000);
    const { code, stderr } = await runCli(['store', 'list', '--db', join(folder, 'paygate.db')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^paygate: [^\n]+paygate\.db: [^\n]+\n$/);
  });

  it('a name in a removed working folder: the error says so', () => {
    const bundle = bundleOf(program);
    const gone = join(tempFolder(), 'gone');
    mkdirSync(gone);
    const script = 'cd "$1"; rmdir "$1"; shift; exec "$@"';
    const command = [process.execPath, bundle, 'store', 'list', '--db', 'paygate.db'];
    const { status, stderr } = spawnSync('sh', ['-c', script, 'sh', gone, ...command], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...bundleEnv(bundle) },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('paygate: the working folder was removed; change to one that exists');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('as a backup, or as the file to check', () => {
  it.each(Object.entries(odd))('%s: the error says so', async (name) => {
    const folder = await layOut();
    const before = readdirSync(folder, { recursive: true });
    const path = `${folder}/${name}`;
    for (const command of [
      ['check', path],
      ['restore', path, '--db', join(folder, 'new.db')],
      ['backup', path, '--db', join(folder, 'shop.db')],
    ]) {
      const { code, stdout, stderr } = await runCli(command);
      expect([command[0], code, stdout]).toEqual([command[0], 1, '']);
      expect(stderr).toMatch(/^paygate: [^\n]+\n$/);
      expect(stderr).toContain(path.replace(/\/$/, ''));
    }
    const made = /^(new|shop)\.db\.lock$|^shop\.db-wal$/;
    const after = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(after.filter((each) => !made.test(each))).toEqual(
      before.filter((each) => !made.test(`${each}`)),
    );
  });

  it.each([':memory:', '', ' '])('%j: no file is made of it', async (path) => {
    const folder = await layOut();
    const db = join(folder, 'shop.db');
    for (const command of [
      ['check', path],
      ['restore', path, '--db', db],
      ['backup', path, '--db', db],
    ]) {
      const { code, stderr } = await runCli(command);
      expect([command[0], code]).toEqual([command[0], 2]);
      expect(stderr).toMatch(/^paygate: [^\n]+\n$/);
    }
  });
});
