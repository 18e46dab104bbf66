// The second peer of row `orders-64`: `add_request` of Electrum's daemon, offline on regtest, with
// a watching-only wallet on a real disk. It gets the same rush from an empty wallet, once on one
// connection and once on four; the better rate counts. Without `electrum` the row has no such peer.
// https://electrum.readthedocs.io/en/latest/jsonrpc.html

import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { accountKey } from './account-key.mjs';
import { burst } from './load.mjs';
import { startServer } from './server.mjs';
import { show } from './table.mjs';

/** @typedef {{ rate: number, first: number, last: number }} Rates answers a second */

const MIN_RATIO = 100;
/** Electrum writes its whole wallet for each request, so the first requests are its fastest. */
const ENDS = 100;
const USER = 'bench';
const PASSWORD = 'bench';

/**
 * @param {import('../bench.mjs').Context} context
 * @param {import('./table.mjs').Row} row
 * @param {number} count of requests
 * @returns {Promise<import('./table.mjs').Row>} the row with the peer
 */
export async function againstAddRequest(context, row, count) {
  context.progress(`${row.name}: ${count} requests to Electrum, twice`);
  const best = await betterRush(context, count);
  if (best === undefined) {
    return { ...row, details: [...row.details, 'Electrum add_request: electrum is not installed'] };
  }
  const ratio = row.figure / best.rate;
  return {
    ...row,
    floor: `${row.floor}, ≥ ${MIN_RATIO} × add_request`,
    holds: row.holds && ratio >= MIN_RATIO,
    details: [
      ...row.details,
      `Electrum add_request: ${show(best.rate, '/s')}, ${show(ratio, '×')} ` +
        `(first ${ENDS}: ${show(best.first, '/s')}, last ${ENDS}: ${show(best.last, '/s')})`,
    ],
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} count
 * @returns {Promise<Rates | undefined>} undefined without the command `electrum`
 */
async function betterRush(context, count) {
  try {
    const one = await rush(context, count, 1);
    const four = await rush(context, count, 4);
    return one.rate > four.rate ? one : four;
  } catch (error) {
    const { syscall, code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (syscall === 'spawn electrum' && code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} count
 * @param {number} connections
 * @returns {Promise<Rates>}
 */
async function rush({ folder }, count, connections) {
  const global = ['--regtest', '--offline', '--dir', mkdtempSync(join(folder, 'electrum-'))];
  await promisify(execFile)('electrum', ['restore', accountKey('electrum'), ...global]);
  const { origin, end } = await startServer('electrum', (port) => [
    ...['daemon', ...global, '--rpcuser', USER, '--rpcpassword', PASSWORD],
    ...['--rpcsock', 'tcp', '--rpchost', '127.0.0.1', '--rpcport', String(port)],
  ]);
  const target = { origin, path: '/', basic: `${USER}:${PASSWORD}`, connections };
  await burst({ ...target, body: call('load_wallet', {}) }, 1, { leadIn: 0 });
  const order = { amount: '0.00025', memo: '1007', force: true };
  const run = await burst({ ...target, body: call('add_request', order) }, count, { leadIn: 0 });
  await end();
  const addresses = new Set(run.answers.map((each) => JSON.parse(each).result?.address));
  if (addresses.size < count || addresses.has(undefined)) {
    throw new Error(`Electrum made ${addresses.size} requests, not ${count}`);
  }
  /** @param {number[]} ms */
  const rateOf = (ms) => (connections * 1_000 * ms.length) / ms.reduce((sum, each) => sum + each);
  return {
    rate: run.rate,
    first: rateOf(run.latenciesMs.slice(0, ENDS)),
    last: rateOf(run.latenciesMs.slice(-ENDS)),
  };
}

/** @type {(method: string, params: object) => string} */
const call = (method, params) => JSON.stringify({ id: 0, method, params });
