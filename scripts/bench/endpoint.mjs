// Method: one reading endpoint of the API against the built `./paygate serve`, whose Electrum server is a
// simulated chain in this process; a wallet with payments to its first addresses. One shop, 8 keep-alive
// connections. The floor is the same kind of server with constant JSON behind the same key check.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';
import { load } from './load.mjs';
import { addStore, serve, startServer } from './paygate.mjs';
import { untilCaughtUp } from './program.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const CONNECTIONS = 8;
const PAYMENTS = 100;
const ROUNDS = 5;
const SECONDS = 1;
const POLL_MS = 100;
/** As many currencies as public sources have. */
const CODES = Intl.supportedValuesOf('currency').slice(0, 160);
const constantServer = fileURLToPath(new URL('constant-server.mjs', import.meta.url));

/** What of a path's end its name tells. */
const subjects = /** @type {const} */ ([
  ['XPUB', ' (wallet)'],
  ['ADDRESSES', ` (${PAYMENTS} addresses)`],
  ['balance=true', ' (with balance)'],
]);

/**
 * @param {string} path below /api, with ADDRESS, ADDRESSES, TXID and XPUB for what was paid
 * @returns {import('../bench.mjs').Bench}
 */
export const benchEndpoint = (path) => async (context) => {
  const name = path.replace(/\?.*/, '') + (subjects.find(([end]) => path.endsWith(end))?.[1] ?? '');
  const file = `endpoint-${path.replaceAll(/\W/g, '-')}`;
  const shop = await addStore(context, file);
  const beside = await addStore(context, `${file}-floor`);
  const { chain, electrum } = await startChain();
  const origin = await serve(context, shop.path, electrum, await priceSettings());
  await untilCaughtUp(origin);
  const paid = await pay(chain, origin, shop.apiKey);
  const target = path
    .replace('ADDRESSES', paid.addresses.join())
    .replace('ADDRESS', paid.addresses[0] ?? '')
    .replace('TXID', paid.txid)
    .replace('XPUB', accountKey('regtest'));
  const shared = { connections: CONNECTIONS };
  const ours = { ...shared, origin, path: `/api/${target}`, apiKey: shop.apiKey };
  const constant = {
    ...{ ...shared, path: '/constant', apiKey: beside.apiKey },
    origin: await startServer(process.execPath, [constantServer, beside.path]),
  };
  /** @type {number[]} */
  const latenciesMs = [];
  const results = await takeTurns(ROUNDS, {
    async ours() {
      const run = await load(ours, SECONDS);
      latenciesMs.push(...run.latenciesMs);
      return run.rate;
    },
    floor: async () => (await load(constant, SECONDS)).rate,
  });
  return {
    name,
    unit: '/s',
    ours: median(results.ours),
    floor: median(results.floor),
    ratio: pairedRatio(results.ours, results.floor),
    pairs: ROUNDS,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    notes: [
      `${PAYMENTS} payments, ${CONNECTIONS} connections; floor: constant JSON, same key check.`,
    ],
  };
};

async function startChain() {
  const world = createNodeWorld({ logLevel: 'silent' });
  const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
  chain.mine(110);
  const server = new SimulatedServer({ chain, timer: world });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => listening.close());
  return { chain, electrum: `tcp://127.0.0.1:${listening.port}` };
}

/** Settings of a paygate whose prices come from two servers of ours. */
async function priceSettings() {
  const sources = await Promise.all([startPrices(), startPrices()]);
  return [
    '--price',
    'own',
    ...sources.flatMap((origin) => ['--price-source', `${origin}/#{CODE}`]),
  ];
}

async function startPrices() {
  const prices = JSON.stringify(Object.fromEntries(CODES.map((code) => [code, 60_000])));
  const server = createServer((_request, response) => response.end(prices)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
}

/**
 * Pays the shop's first addresses, and waits until paygate knows.
 * @param {SimulatedChain} chain
 * @param {string} origin
 * @param {string} apiKey
 */
async function pay(chain, origin, apiKey) {
  const headers = { authorization: `Bearer ${apiKey}` };
  /** @type {string[]} */
  const addresses = [];
  while (addresses.length < PAYMENTS) {
    const response = await fetch(`${origin}/api/new_address`, { headers });
    addresses.push(/** @type {any} */ (await response.json()).address);
  }
  const txid = chain.pay(addresses.map((address) => ({ address, valueSat: 10_000 })));
  chain.mine(2);
  for (;;) {
    const response = await fetch(`${origin}/api/merchant/tx?txid=${txid}`, { headers });
    const body = /** @type {any} */ (await response.json());
    if (body.txs?.length === PAYMENTS && body.status === 2) return { addresses, txid };
    await sleep(POLL_MS);
  }
}
