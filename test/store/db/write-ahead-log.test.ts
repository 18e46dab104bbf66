// How the log is moved into the main file beside the event loop: what goes on meanwhile, and that the log is never written
// over before the main file is on the disk. What a loss of power leaves is in test/faults/power.faults.ts.

import {
  copyFileSync,
  cpSync,
  existsSync,
  fstatSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
} from '../../../src/store/db/database.ts';
import { settings } from '../../../src/store/db/schema.ts';
import { syncData } from '../../../src/world/disk.ts';
import { cleanUp, look, namesIn, tempFolder, whenOver } from '../../support/files.ts';
import { until } from '../../support/world.ts';

afterEach(cleanUp);

const logBytes = 400_000;
/** With its pages in the log, more than is moved there and then. */
const large = 'x'.repeat(100_000);
const broken = Object.assign(new Error('the disk is broken'), { code: 'EIO' });

const put = (database: Database, name: string, value = large) =>
  database.write(() => void database.orm.insert(settings).values({ name, value }).run());

const names = (path: string): unknown[] =>
  look(path).prepare('SELECT name FROM settings ORDER BY 1').pluck().all();

/** Of both files, as a loss of power leaves them where all was written that could be. */
function namesAfterCrash({ path }: Database): unknown[] {
  const there = `${tempFolder()}/paygate.db`;
  for (const end of ['', '-wal']) cpSync(`${path}${end}`, `${there}${end}`);
  return names(there);
}

const inLog = ({ path }: Database) => {
  const [state] = look(path).pragma('wal_checkpoint(NOOP)') as {
    log: number;
    checkpointed: number;
  }[];
  return { frames: state?.log ?? 0, moved: state?.checkpointed ?? 0 };
};

/** A database whose main file's syncs are in the test's hands. */
function open(options: Partial<DatabaseOptions> = {}) {
  const path = `${tempFolder()}/paygate.db`;
  const began = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const synced: ('log' | 'main')[] = [];
  let held: Promise<void> | undefined;
  /** The log's syncs wait until what it returns is called. */
  function hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = undefined;
      resolve();
    };
  }
  const database = openDatabase({
    path,
    create: true,
    logBytes,
    async syncData(descriptor) {
      const isMain = fstatSync(descriptor).ino === statSync(path).ino;
      if (isMain) {
        began.resolve();
        await gate.promise;
      } else await held;
      await syncData(descriptor);
      synced.push(isMain ? 'main' : 'log');
    },
    ...options,
  });
  whenOver(() => {
    gate.resolve();
    return database.close();
  });
  return { database, began: began.promise, finish: gate.resolve, fail: gate.reject, hold, synced };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/** Until the log has grown and a commit more was made: from then on it is moved. */
async function grow(database: Database): Promise<string[]> {
  const before = ['a', 'b', 'c', 'd'];
  for (const name of before) await put(database, name);
  await nextTurn();
  await put(database, 'e', '');
  return before;
}

describe('a log that has grown', () => {
  it('is moved beside the event loop: reads and commits go on', async () => {
    const { database, began, finish } = open();
    const before = await grow(database);
    await began;
    await put(database, 'f');
    expect(database.orm.select().from(settings).all()).toHaveLength(6);
    expect(inLog(database).moved).toBeGreaterThan(100);
    expect(namesAfterCrash(database)).toEqual([...before, 'e', 'f']);
    finish();
  });

  it('is not moved before it has gone on behind what is moved, and never as a whole', async () => {
    const { database, began, finish } = open();
    for (const name of ['a', 'b', 'c', 'd']) await put(database, name);
    await nextTurn();
    expect(namesIn(database.path)).toEqual([]);
    await put(database, 'e', '');
    await began;
    const { frames, moved } = inLog(database);
    expect(moved).toBeGreaterThan(100);
    expect(frames).toBeGreaterThan(moved);
    finish();
  });

  it('is not moved by the sync of a commit that its reader sees', async () => {
    const { database, began, finish, hold, synced } = open();
    await grow(database);
    await began;
    await put(database, 'f');
    const letGo = hold();
    const seen = put(database, 'g');
    await turns(10);
    finish();
    await until(() => synced.includes('main'));
    await nextTurn();
    letGo();
    await seen;
    await turns(100);
    const { frames, moved } = inLog(database);
    expect(frames).toBeGreaterThan(moved);
    expect(synced.filter((each) => each === 'main')).toHaveLength(1);
    await put(database, 'h', '');
    await until(() => database.walBytes() === 0);
  });

  it('is written from its beginning by nobody until the main file is on the disk', async () => {
    const { database, began, finish } = open();
    await grow(database);
    await began;
    const { frames } = inLog(database);
    expect(database.checkpoint()).toBe(false);
    const other = look(database.path, { timeout: 0 });
    expect(other.pragma('wal_checkpoint(RESTART)')).toMatchObject([{ busy: 1 }]);
    other.prepare("INSERT INTO settings (name, value) VALUES ('other', '')").run();
    expect(inLog(database).frames).toBeGreaterThan(frames);
    finish();
  });

  it('has its rest moved there and then once that is small, and begins anew', async () => {
    const { database, finish, synced } = open();
    finish();
    const before = await grow(database);
    const commits = synced.length;
    await until(() => database.walBytes() === 0);
    // The log again: another process may have committed to it.
    expect(synced.slice(commits)).toEqual(['log', 'main']);
    expect(namesIn(database.path)).toEqual([...before, 'e']);
    await put(database, 'f', '');
    expect(inLog(database).frames).toBeLessThan(10);
  });

  it('is moved on by another reader where much came meanwhile', async () => {
    const { database, began, finish, synced } = open();
    await grow(database);
    await began;
    for (const name of ['f', 'g']) await put(database, name);
    finish();
    await until(() => synced.includes('main'));
    await nextTurn();
    expect(database.walBytes()).toBeGreaterThan(200_000);
    await put(database, 'h', '');
    await until(() => database.walBytes() === 0);
    expect(synced.filter((each) => each === 'main')).toHaveLength(2);
    expect(namesIn(database.path)).toHaveLength(8);
  });

  it('is moved so by who reads behind each write, too', async () => {
    const { database, finish, synced } = open();
    finish();
    for (let count = 0; count < 20 && !synced.includes('main'); count += 1) {
      await put(database, `${count}`);
      expect(database.orm.select().from(settings).all()).toHaveLength(count + 1);
      await nextTurn();
    }
    expect(synced).toContain('main');
  });

  it('is written to until it is closed: what was asked for meanwhile is on file', async () => {
    const { database, began, finish, hold, synced } = open();
    await grow(database);
    await began;
    const closed = database.close();
    await turns(10);
    const letGo = hold();
    const late = put(database, 'late', '');
    await turns(10);
    finish();
    await until(() => synced.includes('main'));
    await turns(10);
    letGo();
    await Promise.all([late, closed]);
    expect(names(database.path)).toContain('late');
  });

  it('has no reader any more where the database is closed before it is moved', async () => {
    const { database } = open();
    for (const name of ['a', 'b', 'c', 'd']) await put(database, name);
    await nextTurn();
    await database.close();
    expect(existsSync(`${database.path}-shm`)).toBe(false);
    expect(namesIn(database.path)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('is waited for when the database is closed, and is on file then', async () => {
    const { database, began, finish } = open();
    const before = await grow(database);
    await began;
    let isClosed = false;
    const closed = database.close().then(() => {
      isClosed = true;
    });
    await turns(10);
    expect(isClosed).toBe(false);
    finish();
    await closed;
    expect(names(database.path)).toEqual([...before, 'e']);
  });

  it('is moved there and then where another file stands at its path: that one is not touched', async () => {
    const { database } = open();
    for (const name of ['a', 'b', 'c', 'd']) {
      await put(database, name);
      if (name === 'a') {
        copyFileSync(database.path, `${database.path}.kept`);
        renameSync(`${database.path}.kept`, database.path);
      }
    }
    await nextTurn();
    expect(database.walBytes()).toBe(0);
    expect(namesIn(database.path)).toEqual([]);
  });
});

describe('a sync of the main file that fails', () => {
  it('leaves nothing that counts as moved, also to a process that has the file open', async () => {
    const ended = Promise.withResolvers<void>();
    const { database, began, fail } = open({ onFatal: () => ended.resolve() });
    const before = readFileSync(database.path);
    await grow(database);
    const other = look(database.path);
    expect(other.prepare('SELECT count(*) FROM settings').pluck().get()).toBe(5);
    await began;
    fail(broken);
    await ended.promise;
    // The disk has none of the pages, whatever memory says.
    writeFileSync(database.path, before);
    expect(inLog(database).moved).toBe(0);
    expect(other.prepare('SELECT count(*) FROM settings').pluck().get()).toBe(5);
    expect(names(database.path)).toHaveLength(5);
  });

  it('is told also where the index is gone', async () => {
    const ended = Promise.withResolvers<Error>();
    const { database, began, fail } = open({ onFatal: ended.resolve });
    await grow(database);
    await began;
    rmSync(`${database.path}-shm`);
    fail(broken);
    expect(await ended.promise).toMatchObject({ code: 'EIO' });
  });

  it('is told, is never tried again, and the log has all that was committed', async () => {
    const failures: Error[] = [];
    const { database, began, fail, synced } = open({
      onFatal: (error) => void failures.push(error),
    });
    const before = await grow(database);
    await began;
    fail(broken);
    await until(() => failures.length > 0);
    expect(failures).toMatchObject([{ code: 'EIO' }]);
    for (const name of ['f', 'g', 'h', 'i', 'j', 'k']) await put(database, name);
    await turns(10);
    expect(synced).not.toContain('main');
    expect(failures).toHaveLength(1);
    expect(namesAfterCrash(database)).toEqual([...before, 'e', 'f', 'g', 'h', 'i', 'j', 'k']);
  });
});
