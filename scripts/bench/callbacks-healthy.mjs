// Method of `callbacks`: 100 stores on 100 healthy hosts (shops.mjs, a process of its own) owe 5,000 callbacks. paygate's
// dispatcher, a process of its own with a file on the real disk, sends them; the clock runs from its start to
// the commit that marks the last one as delivered, as a reader of the file sees it every few milliseconds. The
// floor: as many requests to the same hosts by a bare loop of undici. Beside it the same with 10 more stores on 10
// hosts that never answer, which owe as much each.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import SqliteDatabase from 'better-sqlite3';
import { atEnd } from './ending.mjs';
import { openOwed } from './owed.mjs';
import { startHelper } from './process.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const HOSTS = 100;
const HANGING = 10;
const EACH = 50;
const ROUNDS = 5;
const POLL_MS = 5;
const LEAST_RATIO = 0.5;
const MOST_SLOWER = 1.1;
const deliverProgram = fileURLToPath(new URL('deliver.mjs', import.meta.url));

/** @type {import('../bench.mjs').Bench} */
export async function benchCallbacks(context) {
  const shops = startHelper(new URL('shops.mjs', import.meta.url), [
    ...[HOSTS + HANGING, HANGING].map(String),
  ]);
  const { origins } = await shops.next();
  const urls = origins.map((/** @type {string} */ origin) => `${origin}/callback`);
  let runs = 0;

  /** @param {string[]} hosts */
  async function rateTo(hosts) {
    runs += 1;
    const seconds = await deliver(join(context.folder, `healthy-${runs}.db`), hosts);
    context.progress(`callbacks: ${hosts.length} hosts, ${seconds.toFixed(2)} s`);
    return (HOSTS * EACH) / seconds;
  }

  const { ours, hanging, floor } = await takeTurns(ROUNDS, {
    ours: () => rateTo(urls.slice(0, HOSTS)),
    hanging: () => rateTo(urls),
    async floor() {
      const bare = startHelper(new URL('bare-callbacks.mjs', import.meta.url));
      const { ms } = await bare.ask({ urls: urls.slice(0, HOSTS), each: EACH });
      bare.end();
      return (1000 * HOSTS * EACH) / ms;
    },
  });
  const ratio = pairedRatio(ours, floor);
  const slower = pairedRatio(ours, hanging);
  return {
    name: 'callbacks',
    unit: '/s',
    ours: median(ours),
    floor: median(floor),
    ratio,
    pairs: ROUNDS,
    beside: [{ name: `with ${HANGING} hosts that hang`, value: median(hanging), ratio: slower }],
    targets: [
      { text: `≥ ${LEAST_RATIO} of a bare undici loop`, met: ratio >= LEAST_RATIO },
      { text: `with ${HANGING} that hang ≤ ${MOST_SLOWER} × the time`, met: slower <= MOST_SLOWER },
    ],
    notes: [
      `${HOSTS * EACH} callbacks to ${HOSTS} stores on ${HOSTS} hosts, all of them marked in the file; floor: a ` +
        `bare loop of undici to the same hosts. With ${HANGING} more that hang: ${slower.toFixed(2)} × the time.`,
    ],
  };
}

/**
 * @param {string} path
 * @param {string[]} hosts of a store each; only the first are healthy
 * @returns {Promise<number>} seconds until all callbacks to the healthy ones are marked
 */
async function deliver(path, hosts) {
  const owed = await openOwed(path, hosts);
  await owed.database.write((tx) => {
    for (let round = 0; round < EACH; round += 1) {
      for (let storeId = 1; storeId <= hosts.length; storeId += 1) owed.owe(tx, storeId);
    }
  });
  await owed.database.close();
  const child = spawn(process.execPath, [deliverProgram, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  atEnd(() => child.kill('SIGKILL'));
  await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const file = new SqliteDatabase(path, { readonly: true });
  const left = file
    .prepare(`select count(*) from callbacks where state = 'owed' and store_id <= ${HOSTS}`)
    .pluck();
  const start = performance.now();
  child.stdin.write('go\n');
  while (left.get() !== 0) await sleep(POLL_MS);
  const seconds = (performance.now() - start) / 1000;
  file.close();
  child.kill('SIGKILL');
  await once(child, 'exit');
  return seconds;
}
