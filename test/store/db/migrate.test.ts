import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { generateSQLiteDrizzleJson } from 'drizzle-kit/api';
import { afterEach, describe, expect, it } from 'vitest';
import { PaygateError } from '../../../src/lib/errors.ts';
import { migrate } from '../../../src/store/db/migrate.ts';
import { backupFolder, keepBeforeUpdate } from '../../../src/store/file/backup.ts';
import { openDatabase } from '../../../src/store/file/database.ts';
import * as adminSchema from '../../../src/store/schema/admin-schema.ts';
import * as deliverySchema from '../../../src/store/schema/delivery-schema.ts';
import { type Migration, migrations } from '../../../src/store/schema/migrations.ts';
import * as notificationSchema from '../../../src/store/schema/notification-schema.ts';
import * as orderSchema from '../../../src/store/schema/order-schema.ts';
import * as schema from '../../../src/store/schema/schema.ts';
import { cleanUp, look, pragma, type Sqlite, tempFolder } from '../../support/files.ts';

afterEach(cleanUp);

const source = Object.assign(
  {},
  schema,
  adminSchema,
  notificationSchema,
  orderSchema,
  deliverySchema,
);

const freshFile = (): Sqlite => look(join(tempFolder(), 'test.db'));
const table = (name: string): Migration => ({ name, sql: `CREATE TABLE ${name} (x) STRICT` });
const typed = (name: string): Migration => ({ name, sql: `CREATE TABLE ${name} (x ANY) STRICT` });
const [a, b, c] = [typed('a'), typed('b'), typed('c')] as const;

const tables = (sqlite: Sqlite): unknown[] =>
  sqlite.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).pluck().all();
const schemaOf = (sqlite: Sqlite): unknown[][] =>
  sqlite.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').raw().all() as unknown[][];
const recorded = (sqlite: Sqlite): unknown[] =>
  sqlite.prepare('SELECT name, hash FROM migrations ORDER BY rowid').raw().all();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the embedded list', () => {
  const folder = join(import.meta.dirname, '../../../drizzle');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));

  it('is the content of drizzle/, in order', () => {
    expect(migrations.map(({ name }) => `${name}.sql`)).toEqual(files.sort());
    for (const { name, sql } of migrations) {
      expect(sql).toBe(readFileSync(join(folder, `${name}.sql`), 'utf8'));
    }
  });

  it('makes only strict tables', () => {
    for (const { sql } of migrations) {
      const made = sql.match(/CREATE TABLE[^;]*;/g) ?? [];
      for (const statement of made) expect(statement).toMatch(/\) STRICT;$/);
    }
    const sqlite = freshFile();
    migrate(sqlite);
    const list = sqlite.pragma('table_list') as Record<
      'schema' | 'name' | 'type' | 'strict',
      unknown
    >[];
    const lax = list.filter(
      ({ schema, name, type, strict }) =>
        schema === 'main' && type === 'table' && !`${name}`.startsWith('sqlite_') && !strict,
    );
    expect(lax).toEqual([]);
  });

  it('makes what the tables of the source say; if not, run `npm run db:generate`', async () => {
    const { tables: expected } = await generateSQLiteDrizzleJson(source);
    const newest = `meta/${migrations.at(-1)?.name.slice(0, 4)}_snapshot.json`;
    expect(JSON.parse(readFileSync(join(folder, newest), 'utf8')).tables).toEqual(expected);
  });

  it('makes a new file with the schema of drizzle/, and nothing else', async () => {
    const path = join(tempFolder(), 'paygate.db');
    await openDatabase({ path, create: true }).close();
    const byHand = freshFile();
    for (const file of files.sort()) byHand.exec(readFileSync(join(folder, file), 'utf8'));
    const made = schemaOf(look(path)).filter(([name]) => !`${name}`.includes('migrations'));
    expect(made).toEqual(schemaOf(byHand));
  });
});

describe('migrations', () => {
  it('are applied once each, known by name and hash, counted by user_version', () => {
    const sqlite = freshFile();
    migrate(sqlite, [a]);
    expect(pragma(sqlite, 'user_version')).toBe(1);
    migrate(sqlite, [a, b]);
    migrate(sqlite, [a, b]);
    expect(recorded(sqlite)).toEqual([
      ['a', sha256(a.sql)],
      ['b', sha256(b.sql)],
    ]);
    expect(tables(sqlite)).toEqual(['a', 'b', 'migrations']);
    expect(pragma(sqlite, 'user_version')).toBe(2);
  });

  it('of a file in use make one copy of it before all new ones', () => {
    const path = join(tempFolder(), 'paygate.db');
    const sqlite = look(path);
    const kept: number[] = [];
    const keep = () => {
      kept.push(pragma(sqlite, 'user_version') as number);
      keepBeforeUpdate(sqlite, path);
    };
    migrate(sqlite, [a], keep);
    sqlite.exec('INSERT INTO a VALUES (7)');
    migrate(sqlite, [a, b, c], keep);
    migrate(sqlite, [a, b, c], keep);
    expect(kept).toEqual([1]);
    expect(readdirSync(backupFolder(path))).toEqual(['before-update-1.db']);
    const before = look(join(backupFolder(path), 'before-update-1.db'), { readonly: true });
    expect(tables(before)).toEqual(['a', 'migrations']);
    expect(before.prepare('SELECT x FROM a').pluck().get()).toBe(7);
    expect(statSync(before.name).mode & 0o777).toBe(0o600);
  });

  it('change nothing if the copy fails', () => {
    const path = join(tempFolder(), 'paygate.db');
    const sqlite = look(path);
    migrate(sqlite, [a]);
    mkdirSync(join(backupFolder(path), 'before-update-1.db'), { recursive: true });
    const update = () => migrate(sqlite, [a, b], () => keepBeforeUpdate(sqlite, path));
    expect(update).toThrow('cannot be written before the update');
    expect(tables(sqlite)).toEqual(['a', 'migrations']);
    expect(readdirSync(backupFolder(path))).toEqual(['before-update-1.db']);
  });

  it('write nothing when there is nothing to do', () => {
    const sqlite = freshFile();
    migrate(sqlite, [a]);
    const other = look(sqlite.name, { readonly: true });
    const before = pragma(other, 'data_version');
    migrate(sqlite, [a]);
    expect(pragma(other, 'data_version')).toBe(before);
  });

  it('that were interrupted continue', () => {
    const sqlite = freshFile();
    const broken = { name: 'b', sql: `${b.sql}; CREATE TABLE half (x ANY) STRICT; NONSENSE` };
    expect(() => migrate(sqlite, [a, broken, c])).toThrow('NONSENSE');
    expect(tables(sqlite)).toEqual(['a', 'migrations']);
    expect(pragma(sqlite, 'user_version')).toBe(1);
    expect(sqlite.inTransaction).toBe(false);
    migrate(sqlite, [a, b, c]);
    expect(tables(sqlite)).toEqual(['a', 'b', 'c', 'migrations']);
    expect(pragma(sqlite, 'user_version')).toBe(3);
  });

  it('that were interrupted before the first one continue too', () => {
    const sqlite = freshFile();
    expect(() => migrate(sqlite, [table('a')])).toThrow('missing datatype');
    expect(tables(sqlite)).toEqual(['migrations']);
    migrate(sqlite, [a]);
    expect(tables(sqlite)).toEqual(['a', 'migrations']);
  });

  it('wait for another process that migrates, and find its work done', () => {
    const sqlite = freshFile();
    sqlite.pragma('journal_mode = WAL');
    migrate(sqlite, []);
    const other = look(sqlite.name, { timeout: 10 });
    migrate(other, [a]);
    migrate(sqlite, [a]);
    expect(recorded(sqlite)).toHaveLength(1);
    other.exec('BEGIN IMMEDIATE');
    sqlite.pragma('busy_timeout = 10');
    expect(() => migrate(sqlite, [a, b])).toThrow('locked');
    other.exec('ROLLBACK');
    migrate(sqlite, [a, b]);
    expect(recorded(sqlite)).toHaveLength(2);
  });
});

describe('a file is refused', () => {
  function refused(list: readonly Migration[], later: readonly Migration[]): string {
    const sqlite = freshFile();
    migrate(sqlite, list);
    const before = [tables(sqlite), recorded(sqlite), pragma(sqlite, 'user_version')];
    let message = '';
    try {
      migrate(sqlite, later);
    } catch (error) {
      expect(error).toBeInstanceOf(PaygateError);
      expect(error).toMatchObject({ code: 'unavailable' });
      ({ message } = error as PaygateError);
    }
    expect(message.startsWith(`${sqlite.name}: `)).toBe(true);
    expect([tables(sqlite), recorded(sqlite), pragma(sqlite, 'user_version')]).toEqual(before);
    return message;
  }

  it('when a newer paygate has migrated it', () => {
    expect(refused([a, b], [a])).toContain('was written by a newer paygate');
    expect(refused([a], [])).toContain('was written by a newer paygate');
  });

  it('when the text of an applied migration has changed', () => {
    const changed = { name: 'b', sql: `${b.sql} -- changed` };
    expect(refused([a, b], [a, changed])).toContain('another migration b');
    expect(refused([a, b, c], [a, changed, c])).toContain('another migration b');
    expect(refused([a, b], [a, changed, c])).toContain('another migration b');
  });

  it('when its first migration is another: a development version made it', () => {
    const changed = { name: 'a', sql: `${a.sql} -- changed` };
    const expected = expect.stringMatching(
      /: was made by a development version before paygate 0\.1\.0, which opens no such file; [^.]+$/,
    );
    expect(refused([a], [changed])).toEqual(expected);
    expect(refused([a, b], [changed, b])).toEqual(expected);
    expect(refused([a], [changed, b])).toEqual(expected);
  });

  it('when it has a migration that this paygate does not have', () => {
    expect(refused([a, b], [a, c])).toContain('migration b');
    expect(refused([a], [b])).toContain('migration a');
    expect(refused([a, b], [a, c, { name: 'd', sql: typed('d').sql }])).toContain('migration b');
  });
});
