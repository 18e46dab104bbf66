// What a second process does in the tests of the store: `open`, `visit`, `lock`, `place`, `read` or
// `issue` files.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { NetworkName } from '../../src/bitcoin/network.ts';
import { reasonOf } from '../../src/lib/errors.ts';
import { openSqlite } from '../../src/store/db/driver.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { lockForServer } from '../../src/store/file/file-guards.ts';
import { openRecords } from '../../src/store/open-records.ts';
import { CounterMark } from '../../src/store/resume/counter-mark.ts';
import { settings } from '../../src/store/schema/schema.ts';
import { nobody } from '../support/files.ts';

const [command = '', path = '', extra = ''] = process.argv.slice(2);

/** One system call, so that a kill leaves no partial output. */
const print = (text: string): void => void writeSync(1, `${text}\n`);
const said = createInterface(process.stdin)[Symbol.asyncIterator]();
const told = async (): Promise<string> => (await said.next()).value ?? '';

/**
 * From now on permissions apply to this process, as they don't to root, who alone may read the
 * driver's addon perhaps.
 */
function becomeOrdinary(): void {
  openSqlite(':memory:').close();
  if (process.getuid?.() === 0) process.setuid?.(nobody);
}

/**
 * Opens each file that it is given, prints the result, and opens it again after all others have.
 */
async function open(): Promise<void> {
  const newInstance = () => `instance ${process.pid}`;
  const network = path as NetworkName;
  if (extra === 'ordinary') becomeOrdinary();
  for (;;) {
    print('ready');
    const asked = await told();
    if (asked === '') process.exit(0);
    try {
      const records = await openRecords({ path: asked, create: true, network, newInstance });
      print(`${records.network} ${records.instance}`);
      await told();
      const { state, database } = records;
      print(`${state.network.read()} ${state.instance.read()}`);
      await database.close();
    } catch (error) {
      print(`error: ${reasonOf(error)}`);
      await told();
      print('no second look');
    }
  }
}

/** Comes and goes, as commands do, and leaves a row each time. */
async function visit(): Promise<void> {
  print('ready');
  await told();
  for (let visits = 0; visits < Number(extra); visits += 1) {
    const records = await openRecords({
      path,
      create: true,
      network: undefined,
      newInstance: () => '',
    });
    const name = `${process.pid} ${visits}`;
    await records.database.write(() =>
      records.database.orm.insert(settings).values({ name, value: '' }).run(),
    );
    await records.database.close();
  }
  print('done');
  process.exit(0);
}

async function lock(): Promise<void> {
  lockForServer(path);
  print('locked');
  await told();
}

/** Serves the file. On each request it prints what is at the path. */
async function place(): Promise<void> {
  lockForServer(path);
  const database = openDatabase({ path, create: false, hasLock: true });
  for (;;) {
    print(database.place());
    await told();
  }
}

/** On request it keeps the file open for another second. */
async function read(): Promise<void> {
  const sqlite = openSqlite(path, { readonly: true });
  sqlite.exec('BEGIN; SELECT * FROM settings');
  print('reading');
  await told();
  setTimeout(() => {
    sqlite.exec('COMMIT');
    print('done');
    process.exit(0);
  }, 1_000);
}

/** Mulberry32: the same course for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Issues addresses of wallet 1 in groups as fast as it can, with a mark file and checkpoints. It
 * kills itself at a random moment. It prints each index after its commit. A row of the settings
 * names each index, so that half a transaction would show.
 */
async function issue(): Promise<void> {
  const random = createRandom(Number(extra));
  const dieIn = (among: number): void => {
    if (random() < 1 / among) process.kill(process.pid, 'SIGKILL');
  };
  const mark = new CounterMark();
  const records = await openRecords({
    path,
    create: false,
    network: undefined,
    newInstance: () => '',
    beforeCommit(raises) {
      dieIn(15);
      mark.raise(raises);
      dieIn(15);
    },
  });
  const silent = () => {};
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  await mark.begin(records, { now: () => 1, log });
  print(records.state.copied.read().text || 'continue');
  for (;;) {
    const jobs = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
      records.database
        .write((tx) => {
          const { derivationIndex } = records.addresses.issue(tx, 1, 1, 1);
          dieIn(60);
          const name = `issued ${derivationIndex}`;
          records.database.orm.insert(settings).values({ name, value: '' }).run();
          return derivationIndex;
        })
        .then((index) => print(`${index}`)),
    );
    await Promise.all(jobs);
    dieIn(15);
    if (random() < 0.1) records.database.checkpoint();
  }
}

const commands: Record<string, () => Promise<void>> = { open, visit, lock, place, read, issue };
commands[command]?.().catch((error: unknown) => {
  print(`error: ${reasonOf(error)}`);
  process.exit(1);
});
