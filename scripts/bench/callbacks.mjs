// Method of `callbacks-bad-hosts`: 100 stores on 100 hosts (127.0.1.1 … 127.0.1.100) owe 5,000 callbacks. paygate's
// dispatcher, a process of its own with a file on the real disk, sends them; the hosts are this process.
// Ours: 10 hosts hang and 10 answer 500; the floor: the same without those 20 hosts. The clock runs from
// the start of the dispatcher to the arrival of the last callback of a healthy host.
// Method of `callback-wake`: from the commit that owes a callback to its arrival at a shop in the same
// process, one at a time; the floor: a bare GET on a new socket to the same shop.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CallbackDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { atEnd } from './ending.mjs';
import { bareGet, openOwed } from './owed.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const HOSTS = 100;
const HANGING = 10;
const FAILING = 10;
const CALLBACKS = 5_000;
const ROUNDS = 5;
const MOST_SLOWER = 1.2;
const WAKES = 300;
const WARM_UP_WAKES = 30;
const deliverProgram = fileURLToPath(new URL('deliver.mjs', import.meta.url));

/** @typedef {'healthy' | 'hanging' | 'failing'} Kind */

/** @type {import('../bench.mjs').Bench} */
export async function benchBadHosts(context) {
  /** @type {number[]} */
  const grewMb = [];
  let runs = 0;

  /** @param {boolean} withBad */
  async function run(withBad) {
    runs += 1;
    const hosts = await startHosts();
    const { seconds, mb } = await deliver(
      join(context.folder, `callbacks-${runs}.db`),
      hosts,
      withBad,
    );
    await hosts.close();
    if (withBad) grewMb.push(mb);
    context.progress(
      `callbacks: ${withBad ? 'with' : 'without'} bad hosts ${seconds.toFixed(2)} s`,
    );
    return hosts.count('healthy') / seconds;
  }

  const { ours, floor } = await takeTurns(ROUNDS, {
    ours: () => run(true),
    floor: () => run(false),
  });
  const slower = median(floor.map((rate, round) => rate / (ours[round] ?? 0)));
  return {
    name: 'callbacks-bad-hosts',
    unit: '/s',
    ours: median(ours),
    floor: median(floor),
    ratio: pairedRatio(ours, floor),
    pairs: ROUNDS,
    targets: [
      { text: `≤ ${MOST_SLOWER.toFixed(2)} × the time without`, met: slower <= MOST_SLOWER },
    ],
    notes: [
      `${HOSTS} stores on ${HOSTS} hosts, ${CALLBACKS} callbacks, ${HANGING} hosts hang and ${FAILING} ` +
        'answer 500; floor: without these. With them the healthy ones take ' +
        `${slower.toFixed(2)} × the time; memory grew by ${Math.max(...grewMb).toFixed(0)} MB at most.`,
    ],
  };
}

/** One server a host; the first are healthy, then those that hang, then those that answer 500. */
async function startHosts() {
  const counts = { healthy: 0, hanging: 0, failing: 0 };
  /** @type {() => void} */
  let onHealthy = () => {};
  /** @type {import('node:http').Server[]} */
  const servers = [];
  for (let number = 1; number <= HOSTS; number += 1) {
    const kind = kindOf(number);
    const server = createServer((_, response) => {
      counts[kind] += 1;
      if (kind === 'healthy') onHealthy();
      if (kind !== 'hanging') response.writeHead(kind === 'healthy' ? 200 : 500).end();
    });
    server.listen(0, `127.0.1.${number}`);
    await once(server, 'listening');
    servers.push(server);
  }
  function close() {
    for (const server of servers) server.close().closeAllConnections();
  }
  atEnd(close);
  return {
    origins: servers.map((server) => {
      const { address, port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      return `http://${address}:${port}/callback`;
    }),
    /** @param {Kind} kind */
    count: (kind) => counts[kind],
    /** @param {number} wanted */
    healthy: (wanted) =>
      new Promise((resolve) => {
        onHealthy = () => {
          if (counts.healthy === wanted) resolve(undefined);
        };
      }),
    async close() {
      close();
      await Promise.all(servers.map((server) => server.listening && once(server, 'close')));
    },
  };
}

/**
 * @param {number} number of the host
 * @returns {Kind}
 */
function kindOf(number) {
  if (number > HOSTS - FAILING) return 'failing';
  return number > HOSTS - FAILING - HANGING ? 'hanging' : 'healthy';
}

/**
 * @param {string} path
 * @param {Awaited<ReturnType<typeof startHosts>>} hosts
 * @param {boolean} withBad
 */
async function deliver(path, hosts, withBad) {
  const owed = await openOwed(path, hosts.origins);
  const each = CALLBACKS / HOSTS;
  await owed.database.write((tx) => {
    for (let round = 0; round < each; round += 1) {
      for (let storeId = 1; storeId <= HOSTS; storeId += 1) {
        if (withBad || kindOf(storeId) === 'healthy') owed.owe(tx, storeId);
      }
    }
  });
  await owed.database.close();
  const child = spawn(process.execPath, [deliverProgram, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  atEnd(() => child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value: ready = '' } = await lines.next();
  const all = hosts.healthy((HOSTS - HANGING - FAILING) * each);
  const start = performance.now();
  child.stdin.write('go\n');
  await all;
  const seconds = (performance.now() - start) / 1000;
  child.stdin.end();
  const { value = '' } = await lines.next();
  await once(child, 'exit');
  return { seconds, mb: (kibOf(value) - kibOf(ready)) / 1024 };
}

/** @param {string} line */
const kibOf = (line) => Number(line.split(' ')[1]);

/** @type {import('../bench.mjs').Bench} */
export async function benchCallbackWake({ folder }) {
  /** @type {(at: number) => void} */
  let arrived = () => {};
  const server = createServer((_, response) => {
    arrived(performance.now());
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close().closeAllConnections());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const owed = await openOwed(join(folder, 'callback-wake.db'), [`http://127.0.0.1:${port}/cb`]);
  const world = createNodeWorld({ logLevel: 'error' });
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const dispatcher = new CallbackDispatcher({ world, ...owed, sender });
  await dispatcher.start();
  atEnd(async () => {
    await dispatcher.stop();
    await owed.database.close();
  });

  /** @param {() => void} begin */
  async function timed(begin) {
    const arrival = new Promise((resolve) => {
      arrived = resolve;
    });
    const start = performance.now();
    begin();
    const took = (await arrival) - start;
    await dispatcher.idle();
    await sleep(2);
    return took;
  }
  const { ours, floor } = await takeTurns(WAKES + WARM_UP_WAKES, {
    async ours() {
      await owed.database.write((tx) => owed.owe(tx, 1));
      return timed(() => dispatcher.wake());
    },
    floor: () => timed(() => bareGet(port)),
  });
  const [counted, bare] = [ours.slice(WARM_UP_WAKES), floor.slice(WARM_UP_WAKES)];
  return {
    name: 'callback-wake',
    unit: 'ms',
    ours: median(counted),
    floor: median(bare),
    ratio: pairedRatio(counted, bare),
    pairs: WAKES,
    latencyMs: { p50: percentile(counted, 0.5), p99: percentile(counted, 0.99) },
    notes: [
      `${WAKES} callbacks, from the commit that owes one to its arrival at a shop on loopback (goal: ` +
        '5 ms); between them lies the durable commit of the claim. Floor: a bare GET on a new socket.',
    ],
  };
}
