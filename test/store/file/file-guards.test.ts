// A file that is not a sound database of ours is refused with one line, and stays as it is.

import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { PaygateError } from '../../../src/lib/errors.ts';
import { checkFile } from '../../../src/store/backup/integrity-check.ts';
import { openDatabase } from '../../../src/store/file/database.ts';
import { inspectFile, lockForServer } from '../../../src/store/file/file-guards.ts';
import { openRecords } from '../../../src/store/open-records.ts';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { settings } from '../../../src/store/schema/schema.ts';
import { startChild } from '../../support/child.ts';
import {
  asOrdinaryUser,
  cleanUp,
  contentOf,
  damageTable,
  look,
  noise,
  pageBytes,
  scribble,
  tempFolder,
} from '../../support/files.ts';

afterEach(cleanUp);

const freshPath = (): string => join(tempFolder(), 'paygate.db');

const openAt = (path: string, create = true) =>
  openRecords({ path, create, network: undefined, newInstance: () => 'test' });

/** A sound file, stopped cleanly. */
async function soundFile(): Promise<string> {
  const path = freshPath();
  const { database } = await openAt(path);
  for (let at = 0; at < 20; at += 1) {
    const value = 'x'.repeat(1000);
    await database.write(() =>
      database.orm
        .insert(settings)
        .values({ name: `${at}`, value })
        .run(),
    );
  }
  await database.close();
  return path;
}

async function refusalOf(path: string, create = true): Promise<PaygateError> {
  const opened = openAt(path, create).then(
    async (records) => {
      await records.database.close();
      return 'it was opened';
    },
    (error: unknown) => error,
  );
  const error = await opened;
  expect(error).toBeInstanceOf(PaygateError);
  return error as PaygateError;
}

/** Files at the path of the database, and the message for each. */
const unsound: Record<string, [(path: string) => Promise<void> | void, RegExp]> = {
  'no bytes at all': [
    (path) => writeFileSync(path, ''),
    /is empty \(0 bytes\); put a backup .*, or delete it$/,
  ],
  'a short text': [(path) => writeFileSync(path, 'hello'), /is not a paygate database/],
  'a long text': [
    (path) => writeFileSync(path, 'hello world\n'.repeat(5000)),
    /is not a paygate database/,
  ],
  'the database of another program': [
    (path) => {
      const other = look(path);
      other.exec('CREATE TABLE settings (name TEXT, value TEXT)');
      other.close();
    },
    /is the database of another program/,
  ],
  'a database that another program has signed': [
    (path) => {
      const other = look(path);
      other.exec('PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE t (x)');
      other.close();
    },
    /is the database of another program/,
  ],
  'a database of a development version, with eight migrations': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      const sqlite = look(path);
      sqlite.pragma(`application_id = ${Buffer.from('PAYG').readUInt32BE()}`);
      sqlite.pragma('user_version = 8');
      sqlite.close();
    },
    /: was made by a development version before paygate 0\.1\.0, which opens no such file; [^.]+$/,
  ],
  'a database of a newer paygate': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      const sqlite = look(path);
      sqlite.pragma(`user_version = ${migrations.length + 1}`);
      sqlite.close();
    },
    /was written by a newer paygate/,
  ],
  'a database that ends in the middle': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      truncateSync(path, Math.floor(statSync(path).size / pageBytes / 2) * pageBytes);
    },
    /is truncated; put a backup in its place by `paygate restore BACKUP --db .*paygate\.db`$/,
  ],
  'a database without its last byte': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      truncateSync(path, statSync(path).size - 1);
    },
    /is truncated/,
  ],
  'a database of which only the header is left': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      truncateSync(path, 100);
    },
    /is truncated/,
  ],
  'a database whose first page is noise behind its header': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      scribble(path, 100, noise(pageBytes - 100));
    },
    /is damaged .*; put a backup in its place by `paygate restore BACKUP --db .*paygate\.db`$/,
  ],
  'a database whose settings are noise': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      damageTable(path, 'settings');
    },
    /is damaged/,
  ],
  'a database whose list of migrations is noise': [
    async (path) => {
      copyFileSync(await soundFile(), path);
      damageTable(path, 'migrations');
    },
    /is damaged/,
  ],
  'a folder': [(path) => void mkdirSync(path), /is not a file/],
  'nothing, but a log of what was here': [
    (path) => writeFileSync(`${path}-wal`, 'log'),
    /is missing, but .*-wal shows that it was here; put it back, or a backup by `paygate restore BACKUP /,
  ],
  'nothing, but its mark': [
    (path) => {
      mkdirSync(join(dirname(path), '.paygate-mark'));
      writeFileSync(join(dirname(path), '.paygate-mark', 'paygate.db'), 'mark');
    },
    /is missing, but .*\.paygate-mark\/paygate\.db shows that it was here/,
  ],
  'nothing, but its snapshots': [
    (path) => {
      mkdirSync(join(dirname(path), 'backups'));
      writeFileSync(join(dirname(path), 'backups', 'latest.db'), 'snapshot');
    },
    /is missing, but .*backups\/latest\.db shows that it was here; put it back, or a backup by `paygate restore .*backups\/latest\.db --db .*paygate\.db`$/,
  ],
};

describe('instead of the database', () => {
  it.each(Object.entries(unsound))('%s: refused and left alone', async (_what, [make, message]) => {
    const path = freshPath();
    await make(path);
    const before = contentOf(dirname(path));
    for (const create of [true, false]) {
      const error = await refusalOf(path, create);
      expect(error.code).toBe('unavailable');
      expect(error.message).toMatch(message);
      expect(error.message.startsWith(`${path}: `)).toBe(true);
      expect(error.message).not.toContain('\n');
      expect(contentOf(dirname(path))).toEqual(before);
    }
  });

  it('as a backup to read: the same, and no advice to replace it', async () => {
    const path = await soundFile();
    truncateSync(path, 100);
    expect(() => checkFile(path)).toThrow(new PaygateError('unavailable', `${path}: is truncated`));
    writeFileSync(path, '');
    const empty = `${path}: is empty (0 bytes)`;
    expect(() => checkFile(path)).toThrow(new PaygateError('unavailable', empty));
  });

  it('no folder: refused, and none is created', async () => {
    const path = join(tempFolder(), 'missing', 'paygate.db');
    const error = await refusalOf(path);
    expect(error.message).toBe(
      `${path}: the folder ${dirname(path)} does not exist; make it, or name another file`,
    );
    expect(contentOf(dirname(dirname(path)))).toEqual({});
  });

  it('nothing: created if requested, otherwise not', async () => {
    const path = freshPath();
    expect(inspectFile(path)).toBe('absent');
    const error = await refusalOf(path, false);
    expect(error).toMatchObject({ code: 'not_found', message: expect.stringContaining(path) });
    expect(contentOf(dirname(path))).toEqual({});
    await (await openAt(path)).database.close();
    expect(Object.keys(contentOf(dirname(path)))).toEqual([
      '.paygate-mark',
      '.paygate-mark/paygate.db',
      '.paygate-mark/paygate.db-at-0',
      'paygate.db',
      'paygate.db-wal',
    ]);
    expect(inspectFile(path)).toBe('ours');
  });

  it('a file that cannot be read: refused with its name', async () => {
    const path = await soundFile();
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o000);
    expect(() => asOrdinaryUser(() => inspectFile(path))).toThrow(PaygateError);
    expect(() => asOrdinaryUser(() => inspectFile(path))).toThrow(`${path}: `);
  });

  it('a folder of another user: refused with its name, and not reported as empty', async () => {
    const path = await soundFile();
    const link = join(tempFolder(), 'paygate.db');
    symlinkSync(path, link);
    chmodSync(dirname(link), 0o755);
    chmodSync(dirname(path), 0o000);
    const text = 'is in a folder that this user may not read (EACCES); run this as its owner';
    for (const named of [path, link]) {
      const attempts: (() => unknown)[] = [
        () => inspectFile(named),
        () => lockForServer(named),
        () => checkFile(named),
      ];
      for (const attempt of attempts) {
        expect(() => asOrdinaryUser(attempt)).toThrow(PaygateError);
        expect(() => asOrdinaryUser(attempt)).toThrow(`${named}: ${text}`);
      }
    }
  });

  it('a name that is too long: refused', () => {
    const path = join(tempFolder(), 'p'.repeat(300));
    expect(() => inspectFile(path)).toThrow(PaygateError);
    expect(() => inspectFile(path)).toThrow('cannot be read (ENAMETOOLONG)');
  });

  it.each([
    ['a file that cannot be written', 0o755],
    ['a folder that cannot be written', 0o555],
  ])('%s: refused with its name', async (_what, mode) => {
    const path = await soundFile();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), mode);
    const open = () => asOrdinaryUser(() => openDatabase({ path, create: true }));
    expect(open).toThrow(PaygateError);
    expect(open).toThrow(`${path}: cannot be opened for writing`);
  });

  it.each(['', '-wal', '-shm'])(
    'a read-only file%s in a writable folder: refused with its name, and nothing is created',
    async (end) => {
      const path = await soundFile();
      chmodSync(dirname(path), 0o777);
      for (const each of ['', '-wal', '-shm']) {
        closeSync(openSync(`${path}${each}`, 'a'));
        chmodSync(`${path}${each}`, each === end ? 0o444 : 0o666);
      }
      if (end === '') for (const each of ['-wal', '-shm']) rmSync(`${path}${each}`);
      const before = contentOf(dirname(path));
      const user = startChild(
        `${import.meta.dirname}/../program.ts`,
        'open',
        'mainnet',
        'ordinary',
      );
      expect(await user.line()).toBe('ready');
      user.say(path);
      expect(await user.line()).toBe(
        `error: ${path}${end}: cannot be opened for writing; as its owner, run chmod u+w`,
      );
      expect(contentOf(dirname(path))).toEqual(before);
    },
  );

  it('nothing, in a folder that cannot be written: refused with its name', () => {
    const path = freshPath();
    chmodSync(dirname(path), 0o555);
    const attempts: (() => unknown)[] = [
      () => openDatabase({ path, create: true }),
      () => lockForServer(path),
    ];
    for (const attempt of attempts) {
      expect(() => asOrdinaryUser(attempt)).toThrow(PaygateError);
      expect(() => asOrdinaryUser(attempt)).toThrow(path);
    }
    expect(contentOf(dirname(path))).toEqual({});
  });
});

it('a file that a newer paygate was updating when it was killed is not damaged to an older one', async () => {
  const path = freshPath();
  const { database } = await openAt(path);
  await database.close();
  const newer = look(path);
  // Until the log is moved the header says the older version still.
  newer.pragma('wal_autocheckpoint = 0');
  newer.exec(
    `BEGIN; CREATE TABLE later (x); PRAGMA user_version = ${migrations.length + 1}; COMMIT`,
  );
  expect(() => checkFile(path)).toThrow(
    `${path}: was written by a newer paygate; start that version`,
  );
});

describe('a file after an interruption', () => {
  /**
   * A checkpoint writes page by page. The first page already has the new number of pages. A process
   * that is killed leaves a file that is shorter, and the rest is in the WAL.
   */
  async function midCheckpoint(): Promise<string> {
    const path = freshPath();
    const { database } = await openAt(path);
    database.checkpoint();
    const value = 'x'.repeat(100_000);
    await database.write(() => database.orm.insert(settings).values({ name: 'big', value }).run());
    const cut = freshPath();
    copyFileSync(path, cut);
    copyFileSync(`${path}-wal`, `${cut}-wal`);
    database.checkpoint();
    scribble(cut, 0, readFileSync(path).subarray(0, pageBytes));
    expect(statSync(cut).size).toBeLessThan(statSync(path).size);
    await database.close();
    return cut;
  }

  it('is opened after a kill in the middle of a checkpoint, with all that was committed', async () => {
    const path = await midCheckpoint();
    const { database } = await openAt(path, false);
    const rows = database.orm.select().from(settings).all();
    expect(rows.find(({ name }) => name === 'big')?.value).toHaveLength(100_000);
    await database.close();
    expect(look(path).pragma('integrity_check', { simple: true })).toBe('ok');
  });

  it('is refused if the WAL lacks pages that the file needs', async () => {
    const path = await midCheckpoint();
    truncateSync(`${path}-wal`, 32 + 3 * (24 + pageBytes));
    const before = contentOf(dirname(path));
    expect((await refusalOf(path)).message).toMatch(/is truncated/);
    expect(contentOf(dirname(path))).toEqual(before);
  });

  it('is refused if the WAL is of another time', async () => {
    const path = await midCheckpoint();
    const wal = readFileSync(`${path}-wal`);
    wal.writeUInt32BE(wal.readUInt32BE(16) + 1, 16);
    writeFileSync(`${path}-wal`, wal);
    expect((await refusalOf(path)).message).toMatch(/is truncated/);
  });

  it('is refused if the WAL is gone', async () => {
    const path = await midCheckpoint();
    rmSync(`${path}-wal`);
    expect((await refusalOf(path)).message).toMatch(/is truncated/);
  });
});
