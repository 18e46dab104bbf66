// Turns a change of src/store/db/schema.ts into a migration: drizzle-kit writes the SQL, this makes
// its tables STRICT (which drizzle can't say) and embeds all migrations in src/store/db/migrations.ts.
// Usage: npm run db:generate -- --name what_changes

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folder = new URL('../drizzle/', import.meta.url);
const embedded = new URL('../src/store/db/migrations.ts', import.meta.url);

execFileSync('drizzle-kit', ['generate', ...process.argv.slice(2)], { stdio: 'inherit' });

const names = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort();

const entries = names.map((file) => {
  const path = new URL(file, folder);
  const sql = strict(readFileSync(path, 'utf8'));
  writeFileSync(path, sql);
  return `  {\n    name: '${file.slice(0, -4)}',\n    sql: ${quoted(sql)},\n  },\n`;
});

writeFileSync(
  embedded,
  `// Made by \`npm run db:generate\` from drizzle/*.sql; not edited by hand.

export interface Migration {
  readonly name: string;
  readonly sql: string;
}

export const migrations: readonly Migration[] = [
${entries.join('')}];
`,
);

/** @param {string} sql */
function strict(sql) {
  return sql.replace(/^(CREATE TABLE [^;]*?\n\));/gm, '$1 STRICT;');
}

/** @param {string} sql */
function quoted(sql) {
  return `\`${sql.replace(/[\\`$]/g, '\\$&')}\``;
}
