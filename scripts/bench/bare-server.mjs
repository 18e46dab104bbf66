// What the executable is measured against: hono, and one SQLite file through the same driver, and nothing
// else. Usage: PROGRAM DATABASE PORT

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { openSqlite } from '../../src/store/db/driver.ts';

const [path = '', port] = process.argv.slice(2);
const sqlite = openSqlite(path);
sqlite.pragma('journal_mode = WAL');
sqlite.pragma('synchronous = FULL');
sqlite.exec('CREATE TABLE IF NOT EXISTS bare (id integer PRIMARY KEY, text text NOT NULL) STRICT');
const count = sqlite.prepare('SELECT count(*) FROM bare').pluck();
const app = new Hono().get('/healthz', (context) => context.json({ rows: count.get() }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });
