// Turns the tables of src/store/schema/*schema.ts into migrations: drizzle-kit writes the SQL, this makes
// its tables STRICT and adds src/store/schema/search.sql (which drizzle can't say).
// src/store/schema/migrations.ts lists its files.
// Usage: npm run db:generate                          before the first release: 0000_initial anew
//        npm run db:generate -- --name what_changes   after it: one more migration

import { execFileSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const folder = new URL('../drizzle/', import.meta.url);

const args = process.argv.slice(2);
if (args.length === 0) rewriteInitial();
else generate(args);

for (const file of readdirSync(folder).filter((name) => name.endsWith('.sql'))) {
  const path = new URL(file, folder);
  writeFileSync(path, strict(readFileSync(path, 'utf8')));
}

/** Files that a release wrote hold the text of its migrations, which must not change any more. */
function rewriteInitial() {
  const tags = execFileSync('git', ['tag', '--list', 'v*'], { encoding: 'utf8' });
  if (tags !== '') {
    process.stderr.write('a version is released: name the change, `-- --name what_changes`\n');
    process.exit(2);
  }
  rmSync(folder, { recursive: true, force: true });
  generate(['--name', 'initial']);
  const search = new URL('../src/store/schema/search.sql', import.meta.url);
  appendFileSync(new URL('0000_initial.sql', folder), readFileSync(search));
  // Neither chance nor time: the same schema gives the same files.
  replaceIn('meta/0000_snapshot.json', /"id": "[-0-9a-f]{36}"/, '"id": "initial"');
  replaceIn('meta/_journal.json', /"when": \d+/, '"when": 0');
}

function generate(options: readonly string[]) {
  execFileSync('drizzle-kit', ['generate', ...options], { stdio: 'inherit' });
}

function replaceIn(name: string, pattern: RegExp, text: string) {
  const path = new URL(name, folder);
  writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, text));
}

function strict(sql: string) {
  return sql.replace(/^(CREATE TABLE [^;]*?\n\));/gm, '$1 STRICT;');
}
