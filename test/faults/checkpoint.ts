// `checkpoint.ts DATABASE`: makes a commit, then a checkpoint for each line of standard input.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openDatabase } from '../../src/store/file/database.ts';
import { settings } from '../../src/store/schema/schema.ts';

const [path = ''] = process.argv.slice(2);
const print = (text: string): void => void writeSync(1, `${text}\n`);

async function run(): Promise<void> {
  const database = openDatabase({
    path,
    create: false,
    onFatal() {
      print('fatal');
      process.exit(74);
    },
  });
  const value = 'x'.repeat(100_000);
  await database.write(() =>
    database.orm.insert(settings).values({ name: 'committed', value }).run(),
  );
  print('committed');
  for await (const _ of createInterface(process.stdin)) print(`${database.checkpoint()}`);
}

run().catch((error: unknown) => {
  print(`error: ${error}`);
  process.exit(1);
});
