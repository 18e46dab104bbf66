// Copies of a running server's files at 300 commits a second: `cp paygate.db*`, `cp paygate.db`, a
// reader that takes a second, and `backups/latest.db`. Each copy is opened, checked and compared.
// A copy may be broken or mixed only if a checkpoint ran meanwhile; such copies are counted.

import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { openSqlite } from '../../src/store/db/driver.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { settings } from '../../src/store/schema/schema.ts';
import { startChild } from '../support/child.ts';
import { cleanUp, look, pragma, tempFolder } from '../support/files.ts';
import { eventually } from './serving.ts';
import { howMany } from './thorough.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, 'writer.ts');
const run = promisify(execFile);
const slowMs = 1_000;
const slowChunks = 20;
const slowAtOnce = 10;
/** Rows in the file before the first copy. */
const rowsBefore = 10_000;

type CopyMethod = (from: string, to: string) => Promise<void>;

const methods: Readonly<Record<string, CopyMethod>> = {
  'cp paygate.db*': (from, to) => copyBy(`cp ${from}* ${to}`),
  'cp paygate.db': (from, to) => copyBy(`cp ${from} ${to}`),
  'a slow reader': slowly,
  'backups/latest.db': (from, to) =>
    copyBy(`cp ${dirname(from)}/backups/latest.db ${to}/paygate.db`),
};

const copyBy = async (command: string): Promise<void> => {
  await run('sh', ['-c', command]);
};

async function slowly(from: string, to: string): Promise<void> {
  const [reading, writing] = [openSync(from, 'r'), openSync(join(to, 'paygate.db'), 'w')];
  const { size } = fstatSync(reading);
  const chunk = Buffer.alloc(Math.ceil(size / slowChunks));
  for (let read = 1; read > 0; ) {
    read = readSync(reading, chunk);
    writeSync(writing, chunk, 0, read);
    await new Promise((resolve) => setTimeout(resolve, slowMs / slowChunks));
  }
  closeSync(reading);
  closeSync(writing);
}

interface Copy {
  readonly method: string;
  readonly from: bigint;
  readonly to: bigint;
  /** The number of the last commit before the copy began. */
  readonly committed: number;
  /** The number of the last commit in the copy, or the reason why it is unsound. */
  readonly content: number | string;
}

/** The number of the last commit in a copy. A text if it is broken or mixes several commits. */
function examine(path: string): number | string {
  const sqlite = openSqlite(path);
  try {
    const integrity = pragma(sqlite, 'integrity_check');
    if (integrity !== 'ok') return `broken: ${integrity}`;
    const named = sqlite.prepare('SELECT value FROM settings WHERE name = ?').pluck();
    const [left, right] = ['a left', 'z right'].map((name) => Number(named.get(name)));
    const rows = sqlite
      .prepare("SELECT count(*) FROM settings WHERE name LIKE 'row %'")
      .pluck()
      .get();
    return left !== undefined && left === right && left === rows
      ? left
      : `mixed: ${left}, ${right}, ${rows}`;
  } catch (error) {
    return `broken: ${error}`;
  } finally {
    sqlite.close();
  }
}

it('copies of a running server are sound unless a checkpoint ran meanwhile', async () => {
  const count = howMany('copies by each method', 30, 200);
  const path = join(tempFolder(), 'paygate.db');
  const database = openDatabase({ path, create: true });
  await database.write(() => {
    const put = (name: string, value: string) =>
      database.orm.insert(settings).values({ name, value }).run();
    for (const name of ['a left', 'z right']) put(name, '0');
    for (let row = 0; row < rowsBefore; row += 1) put(`before ${row}`, 'x'.repeat(200));
  });
  await database.close();
  const writer = startChild(program, path);
  expect(await writer.line()).toBe('ready');
  await eventually('a snapshot', () => existsSync(join(dirname(path), 'backups/latest.db')));
  const committed = look(path, { readonly: true })
    .prepare("SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'a left'")
    .pluck();
  const here = tempFolder();
  const copies: Copy[] = [];

  async function copy(method: string, number: number): Promise<void> {
    const folder = join(here, `${method.replaceAll(/\W/g, '')}-${number}`);
    mkdirSync(folder);
    const before = { committed: committed.get() as number, from: process.hrtime.bigint() };
    await methods[method]?.(path, folder);
    const to = process.hrtime.bigint();
    copies.push({ method, ...before, to, content: examine(join(folder, 'paygate.db')) });
    rmSync(folder, { recursive: true });
  }

  for (const method of Object.keys(methods)) {
    const atOnce = method === 'a slow reader' ? slowAtOnce : 1;
    for (let number = 0; number < count; number += atOnce) {
      const group = Array.from(
        { length: Math.min(atOnce, count - number) },
        (_, at) => number + at,
      );
      await Promise.all(group.map((each) => copy(method, each)));
    }
  }
  writer.say('stop');
  expect(await writer.ended).toEqual({ by: 0, errors: '' });
  const lines = (await writer.rest()).map((line) => line.split(' '));
  const checkpoints = lines
    .filter(([what]) => what === 'checkpoint')
    .map(([, from = '', to = '', number]) => ({
      from: BigInt(from),
      to: BigInt(to),
      number: Number(number),
    }));
  const [, written, tookMs] = lines.at(-1) ?? [];
  const rate = Math.round((Number(written) * 1000) / Number(tookMs));

  const hasCheckpoint = (copy: Copy): boolean =>
    checkpoints.some(({ from, to }) => from <= copy.to && to >= copy.from);
  /** The oldest commit that may be the last one in the copy. */
  function minOf(copy: Copy): number {
    if (copy.method === 'cp paygate.db*') return copy.committed;
    if (copy.method === 'backups/latest.db') return 0;
    return Math.max(
      0,
      ...checkpoints.filter(({ to }) => to < copy.from).map(({ number }) => number),
    );
  }
  const isSound = (copy: Copy): boolean =>
    typeof copy.content === 'number' && copy.content >= minOf(copy);
  const report = Object.keys(methods).map((method) => {
    const all = copies.filter((each) => each.method === method);
    const risky = all.filter(hasCheckpoint);
    const unsound = risky.filter((each) => !isSound(each));
    return `${method}: ${all.length} copies, ${risky.length} with a checkpoint, of which ${unsound.length} broken, mixed or stale`;
  });
  process.stdout.write(
    `${rate} commits a second, ${checkpoints.length} checkpoints\n${report.join('\n')}\n`,
  );
  expect(copies.filter((each) => !hasCheckpoint(each) && !isSound(each))).toEqual([]);
  // A snapshot is renamed into place, so no checkpoint can spoil it.
  expect(copies.filter((each) => each.method === 'backups/latest.db' && !isSound(each))).toEqual(
    [],
  );
  expect(copies).toHaveLength(4 * count);
  // Without a checkpoint this test proves nothing.
  expect(checkpoints.length).toBeGreaterThan(0);
});
