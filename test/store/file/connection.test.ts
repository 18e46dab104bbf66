// What the connection promises: pragmas, locks, and when the main file changes.

import { cpSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { logAsFound } from '../../../src/store/db/empty-log.ts';
import { migrationsIn } from '../../../src/store/db/migrate.ts';
import { backupAsItIs } from '../../../src/store/file/backup.ts';
import { openDatabase } from '../../../src/store/file/database.ts';
import { applicationId } from '../../../src/store/file/file-guards.ts';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { settings } from '../../../src/store/schema/schema.ts';
import {
  cleanUp,
  commitsIn,
  connectionOf,
  look,
  namesIn,
  pragma,
  tempFolder,
  whenOver,
} from '../../support/files.ts';
import { openFile, put } from '../db/open-file.ts';

afterEach(cleanUp);

/** SQLite syncs the log in each commit. */
const full = 2;

describe('every connection', () => {
  it('is strict: a fresh file, the same one again, and a second one beside it', () => {
    const first = openFile();
    const beside = openFile({ path: first.path });
    const again = openFile({ path: first.path });
    for (const database of [first, beside, again]) {
      const sqlite = connectionOf(database);
      expect({
        journal: pragma(sqlite, 'journal_mode'),
        synchronous: pragma(sqlite, 'synchronous'),
        autocheckpoint: pragma(sqlite, 'wal_autocheckpoint'),
        foreignKeys: pragma(sqlite, 'foreign_keys'),
        trustedSchema: pragma(sqlite, 'trusted_schema'),
        busyTimeout: pragma(sqlite, 'busy_timeout'),
      }).toEqual({
        journal: 'wal',
        synchronous: full,
        // Pages of a log of 16 MiB.
        autocheckpoint: 4072,
        foreignKeys: 1,
        trustedSchema: 0,
        busyTimeout: 5000,
      });
    }
  });

  it('switches a file to WAL mode, for example a backup', async () => {
    const first = openFile();
    await put(first, 'a');
    const copy = `${tempFolder()}/paygate.db`;
    connectionOf(first).exec(`VACUUM INTO '${copy}'`);
    expect(pragma(look(copy, { readonly: true }), 'journal_mode')).toBe('delete');
    const restored = connectionOf(openFile({ path: copy }));
    expect(pragma(restored, 'journal_mode')).toBe('wal');
    expect(pragma(restored, 'synchronous')).toBe(full);
  });

  it('signs the file as paygate’s, and with the number of its migrations', () => {
    const sqlite = connectionOf(openFile());
    expect(pragma(sqlite, 'application_id')).toBe(applicationId);
    expect(applicationId).toBe(Buffer.from('PAY1').readUInt32BE());
    expect(pragma(sqlite, 'user_version')).toBe(migrations.length);
  });
});

describe('a database that is named by a link', () => {
  const linked = () => {
    const { path } = openFile();
    const link = `${tempFolder()}/paygate.db`;
    symlinkSync(path, link);
    return { path, link };
  };

  it('is written at the target of the link', async () => {
    const { path, link } = linked();
    writeFileSync(`${link}-wal`, 'left behind');
    const database = openDatabase({ path: link, create: false });
    whenOver(() => database.close());
    await put(database, 'a');
    expect(commitsIn(path)).toBe(1);
    expect(database.walBytes()).toBe(statSync(`${path}-wal`).size);
  });
});

describe('the tables', () => {
  it('are all strict', () => {
    const sqlite = connectionOf(openFile());
    const tables = sqlite.pragma('table_list') as {
      schema: string;
      name: string;
      type: string;
      strict: number;
    }[];
    const ours = tables.filter(
      ({ schema, name, type }) =>
        schema === 'main' && type === 'table' && !name.startsWith('sqlite_'),
    );
    expect(ours.length).toBeGreaterThan(9);
    expect(ours.filter(({ strict }) => strict !== 1)).toEqual([]);
  });

  it('refuse text in a numeric column', () => {
    const sqlite = connectionOf(openFile());
    const insert = sqlite.prepare(
      `INSERT INTO wallets (descriptor, account, script_type, next_index, created_at)
       VALUES ('d', 'a', 'p2wpkh', ?, 0)`,
    );
    expect(() => insert.run('a few')).toThrow('cannot store TEXT value in INTEGER column');
    expect(() => insert.run(1.5)).toThrow('cannot store REAL value in INTEGER column');
    expect(() => insert.run(0)).not.toThrow();
  });

  it('refuse rows with a dangling foreign key', () => {
    const sqlite = connectionOf(openFile());
    const insert = sqlite.prepare(
      `INSERT INTO stores (name, wallet_id, callback_url, required_confirmations, webhook_secret,
       created_at) VALUES ('s', 99, 'u', 2, 'w', 0)`,
    );
    expect(() => insert.run()).toThrow('FOREIGN KEY');
  });
});

describe('the main file', () => {
  it('contains everything after a clean stop', async () => {
    const database = openFile();
    const last = put(database, 'last');
    await database.close();
    await last;
    expect(readdirSync(dirname(database.path))).toEqual(['paygate.db', 'paygate.db-wal']);
    expect(statSync(`${database.path}-wal`).size).toBe(0);
    expect(namesIn(database.path)).toEqual(['last']);
  });

  it('contains everything after the stop of a server, although a reader stays open', async () => {
    const database = openFile({ hasLock: true });
    const reader = look(database.path, { readonly: true });
    reader.prepare('SELECT * FROM settings').all();
    await put(database, 'a');
    await database.close();
    const alone = `${tempFolder()}/paygate.db`;
    cpSync(database.path, alone);
    expect(namesIn(alone)).toEqual(['a']);
  });

  it('is closed so that an updated copy does not use an older WAL', async () => {
    const database = openFile();
    const there = tempFolder();
    // As rsync does it: what is gone meanwhile stays there.
    const copy = () => cpSync(dirname(database.path), there, { recursive: true });
    await put(database, 'first');
    copy();
    await put(database, 'last');
    await database.close();
    copy();
    const names = look(`${there}/paygate.db`).prepare('SELECT name FROM settings').pluck().all();
    expect(names).toEqual(['first', 'last']);
  });

  it('stays complete when it is inspected before an update but not opened', async () => {
    const database = openFile();
    await put(database, 'only');
    await database.close();
    const { path } = database;
    const names = () => readdirSync(dirname(path));
    expect(migrationsIn(path)).toBe(migrations.length);
    expect(names()).toEqual(['paygate.db', 'paygate.db-wal']);
    await backupAsItIs(path, `${tempFolder()}/copy.db`);
    expect(names()).toEqual(['paygate.db', 'paygate.db-wal']);
    const other = look(path);
    other.exec("UPDATE migrations SET hash = 'of another text'");
    other.close();
    writeFileSync(`${path}-wal`, '');
    expect(() => openFile({ path })).toThrow('before paygate 0.1.0');
    expect(names()).toEqual(['paygate.db', 'paygate.db-wal']);
  });

  it('gets no empty WAL in place of one that was deleted while in use', async () => {
    const database = openFile();
    await put(database, 'only');
    const leaveLog = logAsFound(database.path);
    rmSync(`${database.path}-wal`);
    leaveLog();
    expect(readdirSync(dirname(database.path))).toEqual(['paygate.db', 'paygate.db-shm']);
  });

  it('keeps its WAL when one of two connections closes', async () => {
    const database = openFile();
    const beside = openFile({ path: database.path });
    await put(database, 'a');
    await database.close();
    expect(namesIn(beside.path)).toEqual([]);
    await put(beside, 'b');
    await beside.close();
    expect(namesIn(beside.path)).toEqual(['a', 'b']);
  });

  it('is closed only after all queued writes', async () => {
    const database = openFile();
    const writes = Array.from({ length: 1300 }, (_, at) => put(database, `${at}`));
    const closed = database.close();
    const results = await Promise.allSettled(writes);
    await closed;
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(namesIn(database.path)).toHaveLength(1300);
    await expect(put(database, 'too late')).rejects.toThrow('not open');
  });
});

describe('beside another process', () => {
  it('is notified of its commits once, and not of its own', async () => {
    const server = openFile();
    const command = openFile({ path: server.path });
    expect(server.changedElsewhere()).toBe(false);
    await put(server, 'own');
    expect(server.changedElsewhere()).toBe(false);
    await put(command, 'a');
    await put(command, 'b');
    expect(server.changedElsewhere()).toBe(true);
    expect(server.changedElsewhere()).toBe(false);
    expect(command.changedElsewhere()).toBe(true);
  });

  it('is not notified of rollbacks and checkpoints', async () => {
    const server = openFile();
    await put(server, 'own');
    const other = look(server.path);
    other.exec(`BEGIN IMMEDIATE; INSERT INTO settings VALUES ('x', ''); ROLLBACK`);
    expect(server.changedElsewhere()).toBe(false);
    other.pragma('wal_checkpoint(PASSIVE)');
    expect(server.changedElsewhere()).toBe(false);
  });

  it('that locks the file, a write waits and then fails without having run', async () => {
    const database = openFile();
    pragma(connectionOf(database), 'busy_timeout = 10');
    const other = look(database.path);
    other.exec('BEGIN IMMEDIATE');
    let ran = false;
    const write = database.write(() => {
      ran = true;
    });
    await expect(write).rejects.toMatchObject({
      code: 'unavailable',
      message: 'another process keeps the database locked',
      retryAfterSeconds: 5,
    });
    expect(ran).toBe(false);
    other.exec('ROLLBACK');
    await put(database, 'after');
    expect(database.orm.select().from(settings).all()).toHaveLength(1);
  });

  it('reads while the other one writes', async () => {
    const database = openFile();
    await put(database, 'a');
    const other = look(database.path);
    other.exec(`BEGIN IMMEDIATE; INSERT INTO settings VALUES ('b', '')`);
    expect(database.orm.select().from(settings).all()).toMatchObject([{ name: 'a' }]);
    other.exec('COMMIT');
    await nextTurn();
    expect(database.orm.select().from(settings).all()).toHaveLength(2);
  });

  it('sees one state of the database during a turn of the event loop, and its own writes at once', async () => {
    const database = openFile();
    await put(database, 'a');
    const other = look(database.path);
    const names = () =>
      database.orm
        .select()
        .from(settings)
        .all()
        .map(({ name }) => name);
    expect(names()).toEqual(['a']);
    other.exec(`INSERT INTO settings VALUES ('b', '')`);
    expect(names()).toEqual(['a']);
    await Promise.resolve();
    expect(names()).toEqual(['a']);
    database.orm.insert(settings).values({ name: 'c', value: '' }).run();
    expect(names()).toEqual(['a', 'b', 'c']);
    other.exec(`INSERT INTO settings VALUES ('d', '')`);
    expect(names()).toEqual(['a', 'b', 'c']);
    await database.write(() => expect(names()).toEqual(['a', 'b', 'c', 'd']));
    other.exec(`INSERT INTO settings VALUES ('e', '')`);
    await nextTurn();
    expect(names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('holds no snapshot during a checkpoint, or when another process looks for changes', async () => {
    const database = openFile();
    await put(database, 'a');
    const read = () => database.orm.select().from(settings).all();
    read();
    expect(database.checkpoint()).toBe(true);
    database.changedElsewhere();
    read();
    look(database.path).exec(`INSERT INTO settings VALUES ('b', '')`);
    expect(database.changedElsewhere()).toBe(true);
    expect(read()).toHaveLength(2);
  });
});

it('reports the free space in the folder of the file', () => {
  const database = openFile();
  expect(database.freeBytes()).toBeGreaterThan(statSync(database.path).size);
});
