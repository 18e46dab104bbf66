// Copies the orders of paygate into PostgreSQL, for reports over years; docs/growing.md says how.
// PAYGATE=https://… KEY=… node copy-orders.mjs [--whole]; psql reads PGHOST, PGDATABASE and others.

import { execFileSync } from 'node:child_process';

const { PAYGATE, KEY } = process.env;
/** Runs SQL in one transaction. @param {string} input */
const psql = (input) =>
  execFileSync('psql', ['-XqtA1', '-v', 'ON_ERROR_STOP=1'], { input, encoding: 'utf8' }).trim();

/** Undefined where the event of the cursor is unknown: it is too old, or the file was restored. */
async function get(/** @type {string} */ path) {
  const response = await fetch(PAYGATE + path, { headers: { Authorization: `Bearer ${KEY}` } });
  if (response.status === 410) return undefined;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Rows and cursor in one transaction. @param {any[]} orders the newest of each last */
function store(orders, cursor = '', before = '') {
  const rows = JSON.stringify([...new Map(orders.map((each) => [each.id, each])).values()]);
  psql(`${before} INSERT INTO paygate_orders SELECT o->>'id', (o->>'version')::int, o
      FROM jsonb_array_elements('${rows.replaceAll("'", "''")}') o
      ON CONFLICT (id) DO UPDATE SET version = EXCLUDED.version, body = EXCLUDED.body
      WHERE paygate_orders.version < EXCLUDED.version;
    DELETE FROM paygate_cursor; INSERT INTO paygate_cursor VALUES ('${cursor}');`);
}

/** All orders anew. The list has those whose events are over; one without an event has version 1. */
async function copyAll() {
  const orders = [];
  for (let page = await get('/api/v3/orders?limit=100'); page.data.length > 0; ) {
    orders.push(...page.data.filter((/** @type {any} */ { version }) => version > 1));
    page = await get(`/api/v3/orders?limit=100&after=${page.data.at(-1).id}`);
  }
  store(orders, '', 'DELETE FROM paygate_orders;');
}

psql(`SET client_min_messages = warning;
  CREATE TABLE IF NOT EXISTS paygate_orders (id text PRIMARY KEY, version int, body jsonb NOT NULL);
  CREATE TABLE IF NOT EXISTS paygate_cursor (event text NOT NULL);`);
let cursor = process.argv.includes('--whole') ? '' : psql('SELECT event FROM paygate_cursor');
for (let isCurrent = false; !isCurrent; ) {
  if (cursor === '') await copyAll();
  let page = await get(`/api/v3/events?limit=100${cursor && `&after=${cursor}`}`);
  for (; page?.data.length > 0; page = await get(`/api/v3/events?limit=100&after=${cursor}`)) {
    cursor = page.data.at(-1).id;
    store(
      page.data.flatMap((/** @type {any} */ { data }) => data.order ?? []),
      cursor,
    );
  }
  isCurrent = page !== undefined;
  if (!isCurrent) cursor = '';
}
