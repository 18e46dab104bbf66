// Method: the writes by which a shop plugin sets itself up, against the built `./paygate serve`: a store is
// added, given its wallet, renamed, given another Callback URL, loses the wallet, and is removed. One
// keep-alive connection goes round and round; each step is a durable commit, so the floor is the time of
// one durable commit of a row in SQLite, taken in turns with the rounds.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Pool } from 'undici';
import { openDatabase } from '../../src/store/db/database.ts';
import { settings } from '../../src/store/db/schema.ts';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';
import { addStore, serve } from './paygate.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 9;
const CYCLES = 20;
const ALLOWED_MINUTES = '60';
const NOBODY = 'tcp://127.0.0.1:1';
const callback = 'https://shop.example/callback';

/** @type {import('../bench.mjs').Bench} */
export async function benchConnect(context) {
  const { path, apiKey } = await addStore(context, 'connect');
  const allow = ['plugin', 'allow', '--db', path, '--minutes', ALLOWED_MINUTES];
  await promisify(execFile)(join(context.checkout, 'paygate'), allow);
  const pool = new Pool(await serve(context, path, NOBODY), { connections: 1 });
  atEnd(() => pool.close());
  const commit = await bareCommit(join(context.folder, 'connect-floor.db'));
  /** @type {Map<string, number[]>} */
  const latenciesMs = new Map();
  let changes = 0;

  /**
   * @param {'POST' | 'DELETE'} method
   * @param {string} route as docs/api.md has it
   * @param {string} target
   * @param {object} [content]
   */
  async function write(method, route, target, content) {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const startedAt = performance.now();
    const { statusCode, body } = await pool.request({
      ...{ method, headers, path: target },
      ...(content && { body: JSON.stringify(content) }),
    });
    const text = await body.text();
    const name = `${method} ${route}`;
    latenciesMs.set(name, [...(latenciesMs.get(name) ?? []), performance.now() - startedAt]);
    if (statusCode !== 200) throw new Error(`${name} answered ${statusCode}: ${text}`);
    return JSON.parse(text);
  }

  async function setUpAndRemove() {
    const { data } = await write('POST', 'v2/stores', '/api/v2/stores', {
      name: 'Bench',
      http_callback: callback,
    });
    const store = `/api/v2/stores/${data.id}`;
    await write('POST', 'v2/stores/{id}/wallets', `${store}/wallets`, { wallet_id: 1 });
    await write('POST', 'v2/stores/{id}', store, { name: 'Renamed' });
    await write('DELETE', 'v2/stores/{id}/wallets/{wid}', `${store}/wallets/1`);
    // The store that was there before is the only one that uses the wallet now. Another URL each time, for the same would
    // change nothing; and not that of the new store, which is not added a second time where one has its name and URL.
    changes += 1;
    const change = { xpub: accountKey('regtest'), callback: `${callback}/${changes}` };
    await write('POST', 'update_callback', '/api/update_callback', change);
    await write('DELETE', 'v2/stores/{id}', store);
  }

  const results = await takeTurns(ROUNDS, {
    ours: () => timePer(CYCLES * 6, CYCLES, setUpAndRemove),
    floor: () => timePer(CYCLES, CYCLES, commit),
  });
  const all = [...latenciesMs.values()].flat();
  return {
    name: 'connect',
    unit: 'ms',
    ours: median(results.ours),
    floor: median(results.floor),
    ratio: pairedRatio(results.ours, results.floor),
    pairs: ROUNDS,
    latencyMs: { p50: percentile(all, 0.5), p99: percentile(all, 0.99) },
    notes: [
      'one write of the API, durable, one connection; floor: one durable commit of a row.',
      ...[...latenciesMs].map(([name, values]) => {
        const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)];
        return `${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
      }),
    ],
  };
}

/**
 * @param {string} path
 * @returns {Promise<() => Promise<void>>}
 */
async function bareCommit(path) {
  const database = openDatabase({ path, create: true });
  atEnd(() => database.close());
  let count = 0;
  return async () => {
    count += 1;
    const name = `bench-${count}`;
    await database.write(
      () => void database.orm.insert(settings).values({ name, value: '' }).run(),
    );
  };
}

/**
 * Milliseconds for one of so many.
 * @param {number} parts
 * @param {number} times
 * @param {() => Promise<void>} work
 */
async function timePer(parts, times, work) {
  const startedAt = performance.now();
  for (let done = 0; done < times; done += 1) await work();
  return (performance.now() - startedAt) / parts;
}
