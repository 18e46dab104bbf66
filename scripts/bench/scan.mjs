// Row `scan-5k`: the balance of a wallet with 5,000 used addresses that paygate does not know,
// from the first request until the answer. A shop asks for something cheap meanwhile.
// Peer: the same addresses derived once, and a bare client that asks the same server (a simulated
// chain) for the history of each.

import { setTimeout as sleep } from 'node:timers/promises';
import { scripthash } from '../../src/bitcoin/address.ts';
import { deriveAddress, parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { accountKey } from './account-key.mjs';
import { startChain } from './chain.mjs';
import { addStore } from './database.mjs';
import { askForEach } from './electrum-client.mjs';
import { beginLoad } from './load.mjs';
import { serve, untilCaughtUp } from './server.mjs';
import { percentile } from './stats.mjs';

const USED = 5_000;
const VALUE_SAT = 10_000;
const POLL_MS = 50;
const PAUSE_MS = 5;
const MAX_RATIO = 3;

/** @type {import('../bench.mjs').Bench} */
export async function benchScan(context) {
  const key = parseWalletKey(accountKey('regtest'), { network: 'regtest', scriptType: 'p2wpkh' });
  const began = performance.now();
  const used = Array.from({ length: USED }, (_, index) => deriveAddress(key, 0, index)).filter(
    (each) => each !== undefined,
  );
  const derivedMs = performance.now() - began;
  const chain = await startChain();
  context.progress(`scan-5k: paying ${USED} addresses`);
  await chain.tell({ pay: used.map(({ address }) => address), confirmed: true });
  await chain.tell('mine'); // the last payment needs two confirmations
  const { path, apiKey } = await addStore(context, 'scan', { startIndex: USED });
  const server = await serve(context, path, chain.electrum);
  await untilCaughtUp(server);

  const target = { origin: server.origin, path: '/api/v2/stores', apiKey, connections: 1 };
  const end = beginLoad(target, { pauseMs: PAUSE_MS });
  const startedAt = performance.now();
  await untilBalance(server.origin, apiKey);
  const figure = performance.now() - startedAt;
  const { latenciesMs } = await end();
  await server.end();
  const hashes = used.map(({ script }) => scripthash(script));
  const bare =
    derivedMs + (await askForEach(chain.port, 'blockchain.scripthash.get_history', hashes));
  const ratio = figure / bare;
  return {
    name: 'scan-5k',
    unit: 'ms',
    figure,
    peer: { name: 'derived and asked', figure: bare },
    ratio,
    floor: `≤ ${MAX_RATIO} × deriving and asking`,
    holds: ratio <= MAX_RATIO,
    details: [
      `other requests meanwhile: p50 ${percentile(latenciesMs, 0.5).toFixed(1)} ms, ` +
        `p99 ${percentile(latenciesMs, 0.99).toFixed(1)} ms`,
    ],
  };
}

/**
 * @param {string} origin
 * @param {string} apiKey
 */
async function untilBalance(origin, apiKey) {
  for (;;) {
    const response = await fetch(`${origin}/api/balance?addr=${accountKey('regtest')}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const body = /** @type {any} */ (await response.json());
    if (response.status === 200) {
      const [{ confirmed }] = body.response;
      if (confirmed !== USED * VALUE_SAT) throw new Error(`the balance is ${confirmed}`);
      return;
    }
    if (response.status !== 503) throw new Error(`balance answered ${response.status}`);
    await sleep(POLL_MS);
  }
}
