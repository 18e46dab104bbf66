// `node constant-server.mjs DATABASE [durable]`: the same kind of server (hono on node:http) behind the same key
// check (the key's own checksum, its SHA-256 looked up in the file), which answers constant JSON; with `durable`
// after one durable commit and one fdatasync of the mark (durable-writes.mjs).

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { readApiKey } from '../../src/domain/api-key.ts';
import { openStore } from '../../src/store/open-store.ts';
import { durableWrites } from './durable-writes.mjs';

const [path = '', mode] = process.argv.slice(2);
const { keys } = await openStore({
  path,
  create: false,
  network: undefined,
  newInstance: () => '',
});
const write = mode === 'durable' ? durableWrites(path, 1).once : () => 1;
const answer = {
  address: 'bcrt1q0000000000000000000000000000000000000',
  time: 1_700_000_000,
  crypto: 'BTC',
  account: 'x'.repeat(111),
};
const app = new Hono();
app.get('/constant', (context) => {
  const [, text = ''] = /^Bearer (\S+)$/.exec(context.req.header('Authorization') ?? '') ?? [];
  const key = readApiKey(text);
  if (key === undefined || keys.find(key, Date.now()) === undefined) return context.text('no', 401);
  if (write() === 0) return context.text('no rows are left', 503);
  return context.json(answer);
});
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
process.once('SIGTERM', () => server.close());
