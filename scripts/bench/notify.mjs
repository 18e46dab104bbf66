// Method: payments on a real node (Bitcoin Knots) and a real Electrum server (ElectrumX), a network of
// the bench's own. The clock of a payment starts at the call of `sendrawtransaction`. Ours stops when the
// callback with status 0 arrives at a shop's server in this process; the floor, on the very same payment,
// when a bare subscriber (a socket of its own, all addresses subscribed beforehand) reads the Electrum
// server's notification. The peer, on the same payment as well, is Electrum's merchant daemon, which was told
// to `notify` the same shop of the address: until its POST arrives. The transactions are signed beforehand, one at a time is sent, after a random
// pause of more than the second for which ElectrumX may hold back a line on a connection in use.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressToScript, scripthash } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { down, up } from '../regtest/network.mjs';
import { startElectrumDaemon } from './electrum-daemon.mjs';
import { atEnd } from './ending.mjs';
import { addStore, serve } from './paygate.mjs';
import { untilCaughtUp } from './program.mjs';
import { median, pairedRatio } from './stats.mjs';

const PAYMENTS = 42;
/** Not counted: code that runs for the first time. */
const WARM_UP_PAYMENTS = 2;
const PAUSE_MS = { least: 1_200, more: 800 };
const QUIET_MS = 2_000;
const ARRIVAL_TIMEOUT_MS = 20_000;
const PAID_BTC = 0.01;
const FEE_BTC = 0.0001;
const SATS = 1e8;
const MOST_AFTER_MS = 10;

/**
 * When something was heard of first, by name, in milliseconds of `performance.now()`.
 * @typedef {object} Arrivals
 * @property {(name: string) => void} note
 * @property {(name: string) => Promise<number>} of
 */

/** @typedef {{ ours: number, floor: number, peer: number }} Payment milliseconds */

/** @type {import('../bench.mjs').Bench} */
export async function benchNotify(context) {
  const name = `bench-${process.pid}`;
  atEnd(() => down({ name }));
  const regtest = await up({ name });
  const { tcpPort } = regtest.electrum;
  const [told, posted] = [createArrivals(), createArrivals()];
  const receiver = await startReceiver(told, posted);
  const shop = await addStore(context, 'notify', `${receiver}/callback`);
  const origin = await serve(context, shop.path, `tcp://127.0.0.1:${tcpPort}`);
  await untilCaughtUp(origin);
  const addresses = await issue(origin, shop.apiKey, PAYMENTS + WARM_UP_PAYMENTS);
  const transactions = await signPayments(regtest.rpc, addresses);
  const notified = createArrivals();
  await subscribe(tcpPort, addresses, notified);
  const daemon = await startElectrumDaemon({ folder: context.folder, electrumPort: tcpPort });
  for (const address of addresses)
    await daemon.call('notify', { address, URL: `${receiver}/peer` });
  await sleep(QUIET_MS);

  /** @type {Payment[]} */
  const payments = [];
  for (const [index, address] of addresses.entries()) {
    await sleep(PAUSE_MS.least + Math.random() * PAUSE_MS.more);
    const sentAt = performance.now();
    await regtest.rpc('sendrawtransaction', transactions[index]);
    const arrived = [told, notified, posted].map((arrivals) => arrivals.of(address));
    const [ours = 0, floor = 0, peer = 0] = await Promise.all(arrived);
    payments.push({ ours: ours - sentAt, floor: floor - sentAt, peer: peer - sentAt });
    if (index % 8 === 7) context.progress(`notify: ${index + 1} payments`);
  }
  return describe(payments.slice(WARM_UP_PAYMENTS));
}

/** @returns {Arrivals} */
function createArrivals() {
  /** @type {Map<string, PromiseWithResolvers<number>>} */
  const arrivals = new Map();
  /** @param {string} name */
  function arrivalOf(name) {
    const known = arrivals.get(name) ?? Promise.withResolvers();
    arrivals.set(name, known);
    return known;
  }
  return {
    note: (name) => arrivalOf(name).resolve(performance.now()),
    async of(name) {
      const limit = new AbortController();
      const late = sleep(ARRIVAL_TIMEOUT_MS, undefined, { signal: limit.signal, ref: false });
      late.catch(() => {});
      try {
        return await Promise.race([
          arrivalOf(name).promise,
          late.then(() => {
            throw new Error(`nothing was heard of ${name} within ${ARRIVAL_TIMEOUT_MS / 1000} s`);
          }),
        ]);
      } finally {
        limit.abort();
      }
    },
  };
}

/**
 * A shop's server, which notes the first callback and the first POST of the peer for each address.
 * @param {Arrivals} told
 * @param {Arrivals} posted
 * @returns {Promise<string>} its origin
 */
async function startReceiver(told, posted) {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://shop.invalid');
    if (pathname === '/peer') {
      const { address, status } = /** @type {any} */ (await json(request));
      // It also says at once what it found when it was told to watch.
      if (status) posted.note(address);
    } else if (query.get('status') === '0') told.note(query.get('addr') ?? '');
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return `http://127.0.0.1:${port}`;
}

/**
 * @param {string} origin
 * @param {string} apiKey
 * @param {number} count
 */
async function issue(origin, apiKey, count) {
  /** @type {string[]} */
  const addresses = [];
  while (addresses.length < count) {
    const response = await fetch(`${origin}/api/new_address`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    if (!response.ok) throw new Error(`new_address answered ${response.status}`);
    addresses.push(/** @type {any} */ (await response.json()).address);
  }
  return addresses;
}

/**
 * A transaction for each address, each from a confirmed coin of its own: none waits for another.
 * @param {import('../regtest/servers.mjs').Rpc} rpc
 * @param {string[]} addresses
 * @returns {Promise<string[]>} raw, in hex
 */
async function signPayments(rpc, addresses) {
  const coins = await rpc('listunspent', 1);
  const change = await rpc('getnewaddress');
  const transactions = [];
  for (const [index, address] of addresses.entries()) {
    const { txid, vout, amount } = coins[index];
    const rest = Math.round((amount - PAID_BTC - FEE_BTC) * SATS) / SATS;
    const outputs = [{ [address]: PAID_BTC }, { [change]: rest }];
    const raw = await rpc('createrawtransaction', [{ txid, vout }], outputs);
    const { hex, complete } = await rpc('signrawtransactionwithwallet', raw);
    if (!complete) throw new Error('the node could not sign');
    transactions.push(hex);
  }
  return transactions;
}

/**
 * The bare subscriber: resolves once all are subscribed, notes the first notification of each.
 * @param {number} port
 * @param {string[]} addresses
 * @param {Arrivals} arrivals
 */
async function subscribe(port, addresses, arrivals) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  atEnd(() => socket.destroy());
  const hashes = addresses.map((each) => scripthash(addressToScript(each, networks.regtest)));
  const addressOf = new Map(hashes.map((hash, index) => [hash, addresses[index] ?? '']));
  const method = 'blockchain.scripthash.subscribe';
  const requests = [
    { id: 0, method: 'server.version', params: ['paygate-bench', ['1.4', '1.6']] },
    ...hashes.map((hash, index) => ({ id: index + 1, method, params: [hash] })),
  ];
  socket.write(requests.map((each) => `${JSON.stringify(each)}\n`).join(''));
  await new Promise((resolve, reject) => {
    socket.once('error', reject);
    let answers = 0;
    createInterface(socket).on('line', (line) => {
      const message = JSON.parse(line);
      if (message.error) reject(new Error(`the Electrum server: ${message.error.message}`));
      if (message.method === method) arrivals.note(addressOf.get(message.params[0]) ?? '');
      if (message.id !== undefined) answers += 1;
      if (answers === requests.length) resolve(undefined);
    });
  });
}

/**
 * @param {Payment[]} payments
 * @returns {import('./table.mjs').Row}
 */
function describe(payments) {
  const ours = payments.map((payment) => payment.ours);
  const floor = payments.map((payment) => payment.floor);
  const peer = payments.map((payment) => payment.peer);
  const added = payments.map((payment) => payment.ours - payment.floor);
  const after = median(added);
  const toPeer = pairedRatio(ours, peer);
  return {
    name: 'notify',
    unit: 'ms',
    ours: median(ours),
    floor: median(floor),
    ratio: pairedRatio(ours, floor),
    pairs: payments.length,
    peer: { name: 'Electrum', value: median(peer), ratio: toPeer },
    targets: [
      {
        text: `≤ the notification + ${MOST_AFTER_MS} ms (${after.toFixed(1)})`,
        met: after <= MOST_AFTER_MS,
      },
      { text: '≤ the POST of Electrum’s daemon', met: toPeer <= 1 },
    ],
    notes: [
      `${payments.length} payments; from sendrawtransaction to the callback; floor: to the Electrum ` +
        'server’s own notification, same payments; peer: to the POST of Electrum’s daemon. After the ' +
        `notification paygate took ${after.toFixed(1)} ms (median), ${Math.max(...added).toFixed(1)} ms at most.`,
    ],
  };
}
