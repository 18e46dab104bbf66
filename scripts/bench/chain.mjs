// A simulated chain and its Electrum server in a thread of their own, so that their work holds up
// neither the load generator nor the clock.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { atEnd } from './cleanup.mjs';

/**
 * @typedef {object} Chain
 * @property {string} electrum URL of the Electrum server
 * @property {number} port of it
 * @property {(task: import('./chain-worker.mjs').Task) => Promise<void>} tell resolves
 *   when it is done
 */

/** @returns {Promise<Chain>} */
export async function startChain() {
  const worker = new Worker(new URL('chain-worker.mjs', import.meta.url));
  atEnd(async () => void (await worker.terminate()));
  const [port] = await once(worker, 'message');
  return {
    electrum: `tcp://127.0.0.1:${port}`,
    port,
    async tell(task) {
      worker.postMessage(task);
      await once(worker, 'message');
    },
  };
}
