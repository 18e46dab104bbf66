// The peer of the executable: hono and one SQLite file through the same driver. GET /healthz answers
// constant JSON, GET /commits measures bare commits, one after the other. Usage: FILE PORT

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { openBare } from './bare-file.ts';

const COMMITS = 50;
/** As large as the row of an address or an order with its indexes. */
const ROW = 'x'.repeat(400);

const [path = '', port] = process.argv.slice(2);
const commit = openBare(path);

/** @returns milliseconds of one commit */
function measureCommits(): number {
  const startedAt = performance.now();
  for (let count = 0; count < COMMITS; count += 1) commit([ROW]);
  return (performance.now() - startedAt) / COMMITS;
}

const app = new Hono()
  .get('/healthz', (context) => context.json({ row: ROW }))
  .get('/commits', (context) => context.json({ ms: measureCommits() }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });
