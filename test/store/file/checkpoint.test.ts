// When SQLite copies the write-ahead log into the main file, and what a reader in the way does to
// it. What a loss of power leaves is in test/faults/power.faults.ts.

import { cpSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/store/file/database.ts';
import { startChild } from '../../support/child.ts';
import {
  cleanUp,
  commitsIn,
  connectionOf,
  look,
  namesIn,
  pragma,
  tempFolder,
} from '../../support/files.ts';
import { openFile, put } from '../db/open-file.ts';

afterEach(cleanUp);

const megabyte = 1_000_000;

/** A connection of another program that reads the file as it is now. */
function readerOf({ path }: Database) {
  const reader = look(path, { readonly: true });
  reader.exec('BEGIN; SELECT * FROM settings');
  return reader;
}

describe('a WAL of 8 MiB', () => {
  it('is checkpointed in the first second without a write', async () => {
    const database = openFile();
    database.checkpointIfQuiet();
    await put(database, 'a', 9 * megabyte);
    database.checkpointIfQuiet();
    await put(database, 'b');
    database.checkpointIfQuiet();
    expect(namesIn(database.path)).toEqual([]);
    expect(database.walBytes()).toBeGreaterThan(9 * megabyte);
    database.checkpointIfQuiet();
    expect(namesIn(database.path)).toEqual(['a', 'b']);
    expect(database.walBytes()).toBe(0);
  });

  it('is not checkpointed while another process writes', async () => {
    const database = openFile();
    await put(database, 'a', 9 * megabyte);
    database.checkpointIfQuiet();
    const other = look(database.path);
    other.exec("PRAGMA wal_autocheckpoint = 0; INSERT INTO settings VALUES ('other', '')");
    database.checkpointIfQuiet();
    expect(namesIn(database.path)).toEqual([]);
    database.checkpointIfQuiet();
    expect(namesIn(database.path)).toEqual(['a', 'other']);
  });

  it('is checkpointed later if a reader blocks it, which is no error', async () => {
    const failures: Error[] = [];
    const database = openFile({ onFatal: (error) => void failures.push(error) });
    await put(database, 'a');
    const reader = readerOf(database);
    await put(database, 'b', 9 * megabyte);
    for (let second = 0; second < 3; second += 1) database.checkpointIfQuiet();
    expect(database.walBytes()).toBeGreaterThan(9 * megabyte);
    reader.exec('COMMIT');
    database.checkpointIfQuiet();
    expect(database.walBytes()).toBe(0);
    expect(failures).toEqual([]);
  });
});

it('leaves a shorter WAL alone, however long there is no write', async () => {
  const database = openFile();
  await put(database, 'a', 7 * megabyte);
  for (let second = 0; second < 3; second += 1) database.checkpointIfQuiet();
  expect(namesIn(database.path)).toEqual([]);
});

describe('a WAL of 16 MiB', () => {
  it('is checkpointed by the commit that reaches it', async () => {
    const database = openFile();
    for (const name of ['a', 'b', 'c']) await put(database, name, 5 * megabyte);
    expect(namesIn(database.path)).toEqual([]);
    await put(database, 'd', 5 * megabyte);
    expect(namesIn(database.path)).toEqual(['a', 'b', 'c', 'd']);
    expect(database.walBytes()).toBe(0);
  });

  it('grows while a reader blocks it: no write fails, and the next commit after it completes the checkpoint', async () => {
    const database = openFile();
    const reader = readerOf(database);
    for (const name of ['a', 'b', 'c', 'd']) await put(database, name, 5 * megabyte);
    expect(database.walBytes()).toBeGreaterThan(20 * megabyte);
    reader.exec('COMMIT');
    await put(database, 'e');
    expect(namesIn(database.path)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is truncated to that size after a reader that made it grow', async () => {
    const database = openFile();
    const reader = readerOf(database);
    await put(database, 'a', 20 * megabyte);
    expect(statSync(`${database.path}-wal`).size).toBeGreaterThan(20 * megabyte);
    reader.exec('COMMIT');
    expect(database.checkpoint()).toBe(true);
    await put(database, 'b');
    expect(statSync(`${database.path}-wal`).size).toBe(16 * 1024 * 1024);
    expect(namesIn(database.path)).toEqual(['a']);
  });
});

describe('a checkpoint', () => {
  it('completes the main file', async () => {
    const database = openFile();
    await put(database, 'a');
    expect(commitsIn(database.path)).toBeGreaterThan(0);
    expect(database.checkpoint()).toBe(true);
    expect(database.walBytes()).toBe(0);
    expect(namesIn(database.path)).toEqual(['a']);
    await put(database, 'b');
    expect(namesIn(database.path)).toEqual(['a']);
  });

  it('leaves a WAL of the same length, which is overwritten from its beginning', async () => {
    const database = openFile();
    const log = `${database.path}-wal`;
    await put(database, 'a', 400_000);
    const { size } = statSync(log);
    expect(database.checkpoint()).toBe(true);
    for (const name of ['b', 'c']) await put(database, name, 100_000);
    expect(statSync(log).size).toBe(size);
    expect(database.walBytes()).toBeGreaterThan(200_000);
    expect(database.walBytes()).toBeLessThan(300_000);
    // As a loss of power leaves it: what was written before stands behind what is written now.
    const there = `${tempFolder()}/paygate.db`;
    for (const end of ['', '-wal']) cpSync(`${database.path}${end}`, `${there}${end}`);
    const names = look(there).prepare('SELECT name FROM settings ORDER BY 1').pluck().all();
    expect(names).toEqual(['a', 'b', 'c']);
  });

  it('reports that it is incomplete while a reader blocks it', async () => {
    const database = openFile();
    await put(database, 'a');
    const reader = readerOf(database);
    await put(database, 'b');
    expect(database.checkpoint()).toBe(false);
    expect(database.walBytes()).toBeGreaterThan(0);
    reader.exec('COMMIT');
    expect(database.checkpoint()).toBe(true);
    expect(namesIn(database.path)).toEqual(['a', 'b']);
  });

  it('does not wait for a reader, because no request would be answered meanwhile', async () => {
    const database = openFile();
    await put(database, 'a');
    const reader = startChild(`${import.meta.dirname}/../program.ts`, 'read', database.path);
    expect(await reader.line()).toBe('reading');
    await put(database, 'b');
    reader.say('go');
    // It would succeed if it waited.
    expect(database.checkpoint()).toBe(false);
    expect(await reader.line()).toBe('done');
    await reader.ended;
    expect(database.checkpoint()).toBe(true);
    // A write waits for others as before.
    expect(pragma(connectionOf(database), 'busy_timeout')).toBe(5_000);
  });

  it('is made by a clean stop of a server, which truncates the WAL', async () => {
    const database = openFile({ hasLock: true });
    const reader = look(database.path, { readonly: true });
    reader.prepare('SELECT * FROM settings').all();
    await put(database, 'a', megabyte);
    await database.close();
    expect(statSync(`${database.path}-wal`).size).toBe(0);
    expect(namesIn(database.path)).toEqual(['a']);
  });

  it('is made in the turn of the commit that requests it, before other commits', async () => {
    const database = openFile();
    const turns: number[] = [];
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await nextTurn();
        turns.push(database.walBytes());
      }
    })();
    await put(database, 'a', 17 * megabyte);
    isOver = true;
    await others;
    expect(Math.max(...turns)).toBe(0);
  });
});
