// Method: the balance of a wallet with 5,000 used addresses, none of which paygate has seen, is asked for
// until it is answered; meanwhile a shop asks for something cheap, on 4 keep-alive connections. Ours is
// the p99 of those requests while the scan runs, the floor their p99 before it.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';
import { load } from './load.mjs';
import { addStore, serve } from './paygate.mjs';
import { untilCaughtUp } from './program.mjs';
import { percentile } from './stats.mjs';

const USED = 5_000;
const VALUE_SAT = 10_000;
const CONNECTIONS = 4;
const QUIET_SECONDS = 3;
/** The load runs in turns of this length, until the scan has ended. */
const TURN_SECONDS = 0.5;

/** @type {import('../bench.mjs').Bench} */
export async function benchScan(context) {
  const electrum = await startChain(context);
  const shop = await addStore(context, 'scan', undefined, USED);
  const origin = await serve(context, shop.path, electrum);
  await untilCaughtUp(origin);
  const target = { origin, path: '/api/v2/stores', apiKey: shop.apiKey, connections: CONNECTIONS };
  const quiet = (await load(target, QUIET_SECONDS)).latenciesMs;

  const scan = { isOver: false, answers: /** @type {number[]} */ ([]), ms: 0 };
  const scanned = askUntilAnswered(origin, shop.apiKey, scan);
  /** @type {number[]} */
  const busy = [];
  while (!scan.isOver) busy.push(...(await load(target, TURN_SECONDS)).latenciesMs);
  await scanned;

  const [ours, floor] = [percentile(busy, 0.99), percentile(quiet, 0.99)];
  return {
    name: 'balance-scan',
    unit: 'ms',
    ours,
    floor,
    ratio: ours / floor,
    pairs: 1,
    latencyMs: { p50: percentile(busy, 0.5), p99: ours },
    notes: [
      `${USED} used addresses, scanned in ${(scan.ms / 1000).toFixed(1)} s, answers ${scan.answers.join(' ')}; ` +
        `p50 and p99 of ${busy.length} other requests meanwhile, the slowest ${Math.max(...busy).toFixed(1)} ms; ` +
        `floor: their p99 before it, where the slowest took ${Math.max(...quiet).toFixed(1)} ms.`,
    ],
  };
}

/** @param {import('../bench.mjs').Context} context */
async function startChain({ progress }) {
  progress(`balance-scan: paying ${USED} addresses`);
  const workerData = { account: accountKey('regtest'), used: USED };
  const worker = new Worker(new URL('used-chain.mjs', import.meta.url), { workerData });
  atEnd(async () => void (await worker.terminate()));
  const [electrum] = await once(worker, 'message');
  return electrum;
}

/**
 * As a client does that is told to come back.
 * @param {string} origin
 * @param {string} apiKey
 * @param {{ isOver: boolean, answers: number[], ms: number }} scan
 */
async function askUntilAnswered(origin, apiKey, scan) {
  const headers = { authorization: `Bearer ${apiKey}` };
  const startedAt = performance.now();
  try {
    for (;;) {
      const response = await fetch(`${origin}/api/balance?addr=${accountKey('regtest')}`, {
        headers,
      });
      const body = /** @type {any} */ (await response.json());
      scan.answers.push(response.status);
      if (response.status === 200) {
        const [{ confirmed }] = body.response;
        if (confirmed !== USED * VALUE_SAT) throw new Error(`the balance is ${confirmed}`);
        return;
      }
      if (response.status !== 503) throw new Error(`balance answered ${response.status}`);
      await sleep(Number(response.headers.get('retry-after')) * 1000);
    }
  } finally {
    scan.ms = performance.now() - startedAt;
    scan.isOver = true;
  }
}
