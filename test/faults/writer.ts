// `writer.ts DATABASE`: commits 300 times a second until a line of input, with checkpoints and (far
// more often) snapshots like those of a server. Each commit writes its number to the first and the
// last row, and adds a row. For each checkpoint it prints `checkpoint FROM TO NUMBER`: nanoseconds
// of the machine's clock, and the last commit in the main file.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { sql } from 'drizzle-orm';
import { createSnapshots } from '../../src/store/backup/backup-schedule.ts';
import { placeholder } from '../../src/store/db/orm.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { settings } from '../../src/store/schema/schema.ts';

const [path = ''] = process.argv.slice(2);
const perSecond = 300;
const tickMs = 10;
const snapshotMs = 1_000;
/** How often it checks whether a checkpoint is due, because it must print each one. */
const checkMs = 10;
const logBytes = 8 * 1024 * 1024;

const print = (text: string): void => void writeSync(1, `${text}\n`);

async function run(): Promise<void> {
  const database = openDatabase({ path, create: false });
  const { orm } = database;
  const snapshots = createSnapshots(database, { floorBytes: 0 });
  let written = 0;
  let isOver = false;

  const value = placeholder('value');
  const insert = orm
    .insert(settings)
    .values({ name: placeholder('name'), value })
    .prepare();
  const update = orm
    .update(settings)
    .set({ value })
    .where(sql`name in ('a left', 'z right')`)
    .prepare();
  const commit = () =>
    database.write(() => {
      const number = written + 1;
      insert.run({ name: `row ${number}`, value: 'x'.repeat(200) });
      update.run({ value: `${number}` });
      written = number;
    });

  function checkpoint(): void {
    const from = process.hrtime.bigint();
    const whole = database.checkpoint();
    print(`checkpoint ${from} ${process.hrtime.bigint()} ${whole ? written : 0}`);
  }
  const startedAt = performance.now();
  let running = Promise.resolve();
  const writing = setInterval(() => {
    running = running.then(async () => {
      const due = ((performance.now() - startedAt) * perSecond) / 1000;
      while (written < due && !isOver) await commit();
    });
  }, tickMs);
  const checkpointing = setInterval(() => {
    if (database.walBytes() >= logBytes) checkpoint();
  }, checkMs);
  const saving = setInterval(() => void snapshots.take(Date.now()), snapshotMs);
  print('ready');
  for await (const _ of createInterface(process.stdin)) break;
  clearInterval(writing);
  clearInterval(checkpointing);
  clearInterval(saving);
  isOver = true;
  await running;
  await snapshots.stop();
  print(`written ${written} ${Math.round(performance.now() - startedAt)}`);
  process.exit(0);
}

run().catch((error: unknown) => {
  print(`error: ${error}`);
  process.exit(1);
});
