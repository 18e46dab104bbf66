// The peer of the executable: hono and one SQLite file through the same driver. Usage: FILE PORT

import { serve } from '@hono/node-server';
import SqliteDatabase from 'better-sqlite3';
import { Hono } from 'hono';

const [path = '', port] = process.argv.slice(2);
const sqlite = new SqliteDatabase(path);
sqlite.pragma('journal_mode = WAL');
sqlite.pragma('synchronous = FULL');
sqlite.exec('CREATE TABLE IF NOT EXISTS bare (id integer PRIMARY KEY) STRICT');
const count = sqlite.prepare('SELECT count(*) FROM bare').pluck();
const app = new Hono().get('/healthz', (context) => context.json({ rows: count.get() }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });
