// A file belongs to one network and has one name, for any number of processes that open it.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkFile } from '../../src/store/backup/integrity-check.ts';
import { applicationId, lockForServer } from '../../src/store/file/file-guards.ts';
import { openRecords } from '../../src/store/open-records.ts';
import { migrations } from '../../src/store/schema/migrations.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { type Child, startChild, startChildIn } from '../support/child.ts';
import { cleanUp, contentOf, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { accountKey, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const program = `${import.meta.dirname}/program.ts`;
const freshPath = (): string => join(tempFolder(), 'paygate.db');

describe('the network', () => {
  it('is mainnet by default, and stays', async () => {
    const { path, network, database } = await openTestStore({ network: undefined });
    expect(network).toBe('mainnet');
    await database.close();
    expect((await openTestStore({ path, network: 'mainnet' })).network).toBe('mainnet');
  });

  it('is by default that of the file', async () => {
    const { path } = await openTestStore({ network: 'signet' });
    expect((await openTestStore({ path, network: undefined })).network).toBe('signet');
  });

  it('cannot become another one', async () => {
    const { path, database } = await openTestStore({ network: 'regtest' });
    await database.close();
    const before = contentOf(dirname(path));
    await expect(openTestStore({ path, network: 'mainnet' })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(`${path}: this database is for regtest, not mainnet`),
    });
    // Closed again: nothing is left open, and nothing was written.
    expect(contentOf(dirname(path))).toEqual(before);
    expect((await openTestStore({ path, network: undefined })).network).toBe('regtest');
  });
});

it('the instance id of a file is created once', async () => {
  const path = freshPath();
  const names = ['first', 'second', 'third'];
  const open = () =>
    openRecords({ path, create: true, network: undefined, newInstance: () => names.shift() ?? '' });
  for (let times = 0; times < 3; times += 1) {
    const { instance, database } = await open();
    expect(instance).toBe('first');
    await database.close();
  }
});

describe('several processes at once', () => {
  /**
   * Opens a fresh path in all processes at the same moment; answers what each of them says, twice.
   */
  async function openTogether(path: string, children: readonly Child[]) {
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.say(path);
    const first = await Promise.all(children.map((child) => child.line()));
    for (const child of children) child.say('look again');
    const second = await Promise.all(children.map((child) => child.line()));
    return first.map((line = '', at) => [line, second[at] ?? '']);
  }
  const processesOf = (...networks: string[]) =>
    networks.map((network) => startChild(program, 'open', network));

  it('create one file with one instance id', async () => {
    const processes = processesOf('regtest', 'regtest', 'regtest');
    for (let rounds = 0; rounds < 6; rounds += 1) {
      const path = freshPath();
      const [one, ...others] = await openTogether(path, processes);
      expect(one).toEqual([
        expect.stringMatching(/^regtest instance \d+$/),
        expect.stringMatching(/^regtest instance \d+$/),
      ]);
      expect(one?.[0]).toBe(one?.[1]);
      for (const other of others) expect(other).toEqual(one);
      expect(readdirSync(dirname(path)).filter((name) => name.includes('new'))).toEqual([]);
    }
  });

  it('with different networks: one wins, and the others fail', async () => {
    const processes = processesOf('regtest', 'signet', 'testnet4');
    for (let rounds = 0; rounds < 6; rounds += 1) {
      const path = freshPath();
      const said = await openTogether(path, processes);
      const winners = said.filter(([line]) => !line?.startsWith('error'));
      expect(winners).toHaveLength(1);
      expect(winners[0]?.[0]).toBe(winners[0]?.[1]);
      const [network] = winners[0]?.[0]?.split(' ') ?? [];
      const losers = said.filter(([line]) => line?.startsWith('error'));
      for (const [line] of losers) expect(line).toContain(`this database is for ${network}`);
      expect((await openTestStore({ path, network: undefined })).network).toBe(network);
    }
  });

  it('open and close at the same time', async () => {
    const path = freshPath();
    const visits = 12;
    const children = [1, 2, 3].map(() => startChild(program, 'visit', path, `${visits}`));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.say('go');
    expect(await Promise.all(children.map((child) => child.line()))).toEqual([
      'done',
      'done',
      'done',
    ]);
    await Promise.all(children.map((child) => child.ended));
    const rows = look(path).prepare(`SELECT count(*) FROM settings WHERE name LIKE '% %'`);
    expect(rows.pluck().get()).toBe(children.length * visits);
    expect(readdirSync(dirname(path)).filter((name) => /wal|shm|new/.test(name))).toEqual(
      // Our own look is still open.
      ['paygate.db-shm', 'paygate.db-wal'],
    );
  });
});

it('S-06 files that a command writes are for its own user alone', () => {
  const path = freshPath();
  const { account } = accountKey();
  const main = bundleOf(join(import.meta.dirname, '../../src/main.ts'));
  const add = ['store', 'add', '--db', path, '--network', 'regtest', '--name', 'Shop'];
  const wallet = [
    '--xpub',
    account,
    '--script',
    'p2wpkh',
    '--callback-url',
    'https://shop.example',
  ];
  const before = process.umask(0);
  whenOver(() => void process.umask(before));
  execFileSync(process.execPath, [main, ...add, ...wallet], { env: bundleEnv(main) });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // SQLite gives the log the mode of its file.
  const beside = look(path);
  beside.exec(`INSERT INTO settings VALUES ('a', '')`);
  expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
});

describe('a file of an older version', () => {
  /** From before the first migration: for this paygate no other would be older. */
  function olderFile(): string {
    const path = freshPath();
    look(path).pragma(`application_id = ${applicationId}`);
    return path;
  }
  const versionOf = (path: string) => pragma(look(path, { readonly: true }), 'user_version');

  it('is updated by any command while no server uses it', async () => {
    const path = olderFile();
    await openTestStore({ path });
    expect(versionOf(path)).toBe(migrations.length);
    lockForServer(path).release();
  });

  it('is left alone by commands while an older version serves it', async () => {
    const path = olderFile();
    const server = startChild(program, 'lock', path);
    expect(await server.line()).toBe('locked');
    await expect(openTestStore({ path })).rejects.toMatchObject({
      code: 'conflict',
      message: `${path}: is of an older version, and in use: restart a running \`paygate serve\` with this version, which updates the file, or wait for the command that is doing so; then repeat yours`,
    });
    expect(versionOf(path)).toBe(0);
    server.kill();
    await server.ended;
    await openTestStore({ path });
    expect(versionOf(path)).toBe(migrations.length);
  });

  it('is updated by the server, which holds the lock', async () => {
    const path = olderFile();
    const lock = lockForServer(path);
    await openTestStore({ path, hasLock: true });
    lock.release();
    expect(versionOf(path)).toBe(migrations.length);
  });
});

describe('the WAL of a served file', () => {
  async function served() {
    const { path, database } = await openTestStore();
    await database.close();
    const server = startChildIn(dirname(path), program, 'place', basename(path));
    expect(await server.line()).toBe('ours');
    const place = () => {
      server.say('');
      return server.line();
    };
    return { path, server, place };
  }

  it('is not written by a process that would create another index', async () => {
    const { path, server, place } = await served();
    rmSync(`${path}-shm`);
    await expect(openTestStore({ path })).rejects.toThrow(
      `${path}: the index of its write-ahead log was deleted while a running \`paygate serve\` writes it`,
    );
    expect(checkFile(path).ok).toBe(true);
    expect(existsSync(`${path}-shm`)).toBe(false);
    expect(await place()).toBe('ours');
    server.kill();
    await server.ended;
    await openTestStore({ path });
  });

  it.each([[['-wal']], [['-wal', '-shm']]])('is not recreated if %s is gone', async (ends) => {
    const { path, server, place } = await served();
    for (const end of ends) rmSync(`${path}${end}`);
    const refusal = `${path}: its write-ahead log was deleted while a running \`paygate serve\` writes it`;
    await expect(openTestStore({ path })).rejects.toThrow(refusal);
    expect(() => checkFile(path)).toThrow(refusal);
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(await place()).toBe('logless');
    server.kill();
    await server.ended;
    await openTestStore({ path });
  });

  it('is found if the working folder was moved', async () => {
    const { path, server, place } = await served();
    const moved = `${dirname(path)}-moved`;
    renameSync(dirname(path), moved);
    expect(await place()).toBe('ours');
    server.kill();
    await server.ended;
    renameSync(moved, dirname(path));
  });
});

describe('the server’s lock', () => {
  it('admits one server, and the next one after its end', () => {
    const path = freshPath();
    const lock = lockForServer(path);
    for (let tries = 0; tries < 2; tries += 1) {
      expect(() => lockForServer(path)).toThrow(
        `${path}: another \`paygate serve\` uses this database`,
      );
    }
    lock.release();
    lockForServer(path).release();
  });

  it('exists once a file', () => {
    const locks = [lockForServer(freshPath()), lockForServer(freshPath())];
    for (const lock of locks) lock.release();
  });

  it('blocks no command', async () => {
    const path = freshPath();
    const lock = lockForServer(path);
    const { database, state } = await openTestStore({ path });
    await database.write((tx) => state.baseUrl.write(tx, 'b'));
    expect(state.baseUrl.read()).toBe('b');
    lock.release();
  });

  it('works between processes, and ends with a kill', async () => {
    const path = freshPath();
    const server = startChild(program, 'lock', path);
    expect(await server.line()).toBe('locked');
    expect(() => lockForServer(path)).toThrow('another `paygate serve` uses this database');
    const second = startChild(program, 'lock', path);
    expect(await second.line()).toBe(
      `error: ${path}: another \`paygate serve\` uses this database`,
    );
    server.kill();
    expect(await server.ended).toMatchObject({ by: 'SIGKILL' });
    lockForServer(path).release();
  });

  it('fails if its path is no file', () => {
    const path = freshPath();
    writeFileSync(`${path}.lock`, 'no database '.repeat(100));
    expect(() => lockForServer(path)).toThrow(`${path}.lock: file is not a database`);
  });
});
