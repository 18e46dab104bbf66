// From the notification of the Electrum server to the callback with status 0 at the
// shop. Both are read in this process, for the same payments to a simulated chain, one at a time.
// Between them lie the history, the transaction, the commit, the claim and the request.

import { setTimeout as sleep } from 'node:timers/promises';
import { addressToScript, scripthash } from '../../../src/bitcoin/address.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import { startChain } from '../chain.mjs';
import { addStore } from '../database.mjs';
import { askForEach } from '../electrum-client.mjs';
import { burst } from '../load.mjs';
import { untilCaughtUp } from '../server.mjs';
import { startShop } from '../shop.mjs';

const PAYMENTS = 60;
/** Not counted: code that runs for the first time. */
const WARM_UP = 20;
const PAUSE_MS = 100;
const TIMEOUT_MS = 20_000;

/**
 * @param {import('../../bench.mjs').Context} context
 * @param {string} name of the file
 * @param {(path: string, electrum: string) => Promise<import('../server.mjs').Server>} start
 * @returns {Promise<number[]>} milliseconds of each payment
 */
export async function measureNotify(context, name, start) {
  const notified = createArrivals();
  const called = createArrivals();
  const callbackUrl = await startShop((query) => {
    if (query.get('status') === '0') called.note(query.get('addr') ?? '');
  });
  const chain = await startChain();
  const { path, apiKey } = await addStore(context, name, { callbackUrl });
  const server = await start(path, chain.electrum);
  await untilCaughtUp(server);
  const target = { origin: server.origin, path: '/api/new_address', apiKey, connections: 1 };
  const { answers } = await burst(target, PAYMENTS + WARM_UP, { leadIn: 0 });
  /** @type {string[]} */
  const addresses = answers.map((each) => JSON.parse(each).address);
  const addressOf = new Map(addresses.map((each) => [scripthashOf(each), each]));
  const scripthashes = [...addressOf.keys()];
  await askForEach(chain.port, 'blockchain.scripthash.subscribe', scripthashes, (each) =>
    notified.note(addressOf.get(/** @type {any} */ (each)) ?? ''),
  );

  const afterMs = [];
  for (const address of addresses) {
    await sleep(PAUSE_MS);
    await chain.tell({ pay: [address] });
    afterMs.push((await called.of(address)) - (await notified.of(address)));
  }
  await server.end();
  return afterMs.slice(WARM_UP);
}

/** @param {string} address */
const scripthashOf = (address) => scripthash(addressToScript(address, networks.regtest));

/** When something arrived first, by name. */
function createArrivals() {
  /** @type {Map<string, PromiseWithResolvers<number>>} */
  const arrivals = new Map();
  /** @param {string} name */
  function arrivalOf(name) {
    const arrival = arrivals.get(name) ?? Promise.withResolvers();
    arrivals.set(name, arrival);
    return arrival;
  }
  return {
    note: (/** @type {string} */ name) => arrivalOf(name).resolve(performance.now()),
    of(/** @type {string} */ name) {
      const { promise, reject } = arrivalOf(name);
      const timer = setTimeout(reject, TIMEOUT_MS, new Error(`no sign of ${name}`));
      return promise.finally(() => clearTimeout(timer));
    },
  };
}
