// `migrate.ts DATABASE new|update`: creates a database, or updates one with the two extra migrations
// of updates.ts. A process of its own, whose writes the shim records.

import { writeSync } from 'node:fs';
import { openDatabase } from '../../src/store/file/database.ts';
import { openUpdated } from './updates.ts';

const [path = '', what = ''] = process.argv.slice(2);

async function run(): Promise<void> {
  if (what === 'new') await openDatabase({ path, create: true }).close();
  else openUpdated(path).close();
  writeSync(1, 'closed\n');
}

run().catch((error: unknown) => {
  writeSync(1, `error: ${error}\n`);
  process.exit(1);
});
