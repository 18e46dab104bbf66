// Root works on a database in the folder of another user, who can replace files by links. Root
// becomes that user before it touches a file, so it writes only where that user may. Needs root.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { accountKey, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const isRoot = process.geteuid?.() === 0;
/** An id that no user has. */
const user = 54_321;
/** In a checkout in root's home, only root may start Node. */
const isNodeForAll =
  isRoot && spawnSync(process.execPath, ['--version'], { uid: user, gid: user }).status === 0;

interface Place {
  readonly folder: string;
  readonly db: string;
  /** A folder that only root may read; empty. */
  readonly own: string;
  /** Makes a link in the user's folder, as the user. */
  link(name: string, to: string): void;
}

function give(path: string): string {
  lchownSync(path, user, user);
  return path;
}

/** A database of that user's. */
async function place(): Promise<Place> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.database.close();
  const [folder, own] = [give(tempFolder()), tempFolder()];
  const db = join(folder, 'paygate.db');
  copyFileSync(records.path, db);
  give(db);
  const link = (name: string, to: string) => {
    symlinkSync(to, join(folder, name));
    give(join(folder, name));
  };
  return { folder, db, own, link };
}

const told = `paygate: in the folder of user ${user}, root works as that user`;

describe.skipIf(!isRoot)('S-127 root', () => {
  it.each([
    ['backup', 'backups', ['backup']],
    ['restore', 'backups', ['restore', 'copy.db']],
    ['restore --moved', '.paygate-mark', ['restore', '--moved']],
    [
      'serve',
      '.paygate-mark',
      ['serve', '--listen', '127.0.0.1:0', '--electrum', 'tcp://127.0.0.1:1'],
    ],
  ])('writes by %s through no link of the user at %s', async (_, name, words) => {
    const { folder, db, own, link } = await place();
    const copy = join(folder, 'copy.db');
    copyFileSync(db, copy);
    give(copy);
    link(name, own);
    const args = words.map((word) => word.replace('copy.db', copy));
    const { code, stderr } = await runProcess([...args, '--db', db]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/EACCES|may not/)]);
    expect(stderr).toContain(told);
    expect(readdirSync(own)).toEqual([]);
  });

  it('reads by check and restore nothing that the user may not read, whatever its name', async () => {
    const { db, own, link } = await place();
    const secret = join(own, 'secret');
    writeFileSync(secret, 'of root', { mode: 0o600 });
    link('paygate.db-wal', secret);
    for (const words of [['check'], ['check', db], ['restore', db]]) {
      const { code, stderr } = await runProcess([...words, '--db', db]);
      expect({ words, code, stderr }).toEqual({
        ...{ words, code: 1 },
        stderr: expect.stringContaining('EACCES'),
      });
    }
    expect(readFileSync(secret, 'utf8')).toBe('of root');
  });

  it('works on no database of root behind a link of the user', async () => {
    const { own, db, link } = await place();
    const other = join(own, 'paygate.db');
    copyFileSync(db, other);
    link('shop.db', other);
    const theirs = db.replace('paygate.db', 'shop.db');
    const through = join(own, 'shop.db');
    symlinkSync(theirs, through);
    for (const each of [theirs, through]) {
      const { code, stderr } = await runProcess(['backup', '--db', each]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('user 54321')]);
    }
    expect(readdirSync(own)).toEqual(['paygate.db', 'shop.db']);
  });

  it('names the user whose rights apply, if that user has no access to a named file', async () => {
    const { db, own } = await place();
    const backup = join(own, 'backup.db');
    copyFileSync(db, backup);
    const from = await runProcess(['restore', backup, '--db', db]);
    expect([from.code, from.stderr]).toEqual([1, expect.stringContaining(told)]);
    const to = await runProcess(['backup', join(own, 'new.db'), '--db', db]);
    expect([to.code, to.stderr]).toEqual([1, expect.stringContaining(told)]);
    expect(readdirSync(own)).toEqual(['backup.db']);
  });

  it('reaches a database of the user by a link of its own, and reads what is typed', async () => {
    const { db, own, folder } = await place();
    const link = join(own, 'shop.db');
    symlinkSync(db, link);
    symlinkSync(folder, join(own, 'shop'));
    for (const each of [link, join(own, 'shop', 'paygate.db')]) {
      const { code, stderr } = await runProcess([
        'backup',
        join(folder, `${each.length}.db`),
        '--db',
        each,
      ]);
      expect([code, stderr]).toEqual([0, '']);
    }
    const asked = ['wallet', '1', '--xpub', '-', '--script', 'p2wpkh', '--start-index', '0'];
    const typed = await runProcess(['store', ...asked, '--db', link], {}, accountKey(2).account);
    expect([typed.code, typed.stderr]).toEqual([0, '']);
    expect(
      readdirSync(folder).filter((name) => lstatSync(join(folder, name)).uid !== user),
    ).toEqual([]);
  });

  it('stays root in a folder of its own, whosever the file in it is', async () => {
    const { db, own } = await place();
    const theirs = join(own, 'paygate.db');
    copyFileSync(db, theirs);
    give(theirs);
    const { code, stderr, stdout } = await runProcess(['backup', '--db', theirs, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(statSync(JSON.parse(stdout).file).uid).toBe(0);
  });
});

describe.skipIf(!isNodeForAll)('an update by root', () => {
  /** Executables that say a version; the new one also as whom it looks at the snapshot. */
  function executables() {
    const folder = tempFolder();
    chmodSync(folder, 0o755);
    const [binary, fresh] = [join(folder, 'paygate'), join(folder, 'fresh')];
    const write = (path: string, version: string) => {
      writeFileSync(
        path,
        `#!${process.execPath}
if (process.argv[2] === '--version') console.log('${version}');
else {
  require('node:fs').accessSync(process.argv[3], require('node:fs').constants.W_OK);
  console.error(process.getuid(), process.getgid(), process.getgroups().join(), process.env.PAYGATE_TEST, require('node:fs').readFileSync('/proc/self/stat', 'utf8').split(' ')[5] === String(process.pid));
  process.exitCode = process.env.PAYGATE_TEST ? 0 : 1;
}`,
      );
      chmodSync(path, 0o755);
    };
    write(binary, '0.1.0');
    write(fresh, '0.2.0');
    const sum = createHash('sha256').update(readFileSync(fresh)).digest('hex');
    return (db: string) =>
      runProcess(['update', fresh, '--sha256', sum, '--binary', binary, '--db', db], {
        PAYGATE_TEST: '1',
      });
  }

  it('runs the new executable on the snapshot as the user, without the environment of root', async () => {
    const { db, folder } = await place();
    const { code, stderr } = await executables()(db);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `it cannot read the database: ${user} ${user} ${user} undefined true;`,
      ),
    ]);
    const backups = join(folder, 'backups');
    expect(
      [backups, ...readdirSync(backups).map((name) => join(backups, name))].map(
        (path) => statSync(path).uid,
      ),
    ).toEqual([user, user]);
  });

  it('creates no file behind a link of the user', async () => {
    const { db, own, link } = await place();
    link('paygate.db.update.lock', join(own, 'nologin'));
    link('backups', own);
    const { code, stderr } = await executables()(db);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/EACCES.*; nothing was changed/)]);
    expect(readdirSync(own)).toEqual([]);
  });

  it('uses no database of root behind a link of the user', async () => {
    const { db, own, link, folder } = await place();
    const other = join(own, 'paygate.db');
    copyFileSync(db, other);
    link('shop.db', other);
    const { code, stderr } = await executables()(join(folder, 'shop.db'));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/EACCES.*; nothing was changed/)]);
    expect(readdirSync(own)).toEqual(['paygate.db']);
  });
});

if (!isRoot) {
  process.stderr.write('test/cli/foreign-folder: 12 tests skipped, for they need root\n');
} else if (!isNodeForAll) {
  process.stderr.write(
    `test/cli/foreign-folder: 3 tests skipped, for only root may start ${process.execPath}\n`,
  );
}
