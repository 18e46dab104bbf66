// The thread of chain.mjs: performs a task and answers when it is done.

import { parentPort } from 'node:worker_threads';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

/** @typedef {'mine' | 'disconnect' | { pay: readonly string[], confirmed?: boolean }} Task */

const BLOCKS = 110;
const VALUE_SAT = 10_000;
const OUTPUTS_PER_TRANSACTION = 10;

const world = createNodeWorld({ logLevel: 'silent' });
const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
chain.mine(BLOCKS);
const server = new SimulatedServer({ chain, timer: world });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });

/** @param {Task} task */
function perform(task) {
  if (task === 'mine') chain.mine();
  else if (task === 'disconnect') server.disconnectAll();
  else pay(task);
}

/**
 * Pays each address, ten in a transaction. If `confirmed`, each transaction has its own block.
 * @param {Exclude<Task, string>} task
 */
function pay({ pay: addresses, confirmed = false }) {
  for (let at = 0; at < addresses.length; at += OUTPUTS_PER_TRANSACTION) {
    const paid = addresses.slice(at, at + OUTPUTS_PER_TRANSACTION);
    chain.pay(paid.map((address) => ({ address, valueSat: VALUE_SAT })));
    if (confirmed) chain.mine();
  }
}

parentPort?.on('message', (/** @type {Task} */ task) => {
  perform(task);
  parentPort?.postMessage('done');
});
parentPort?.postMessage(port);
