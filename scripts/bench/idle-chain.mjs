// A thread of its own with a simulated chain and an Electrum server before it; it mines an empty block, or
// ends all connections, whenever it is told to, and says when that is done.

import { parentPort } from 'node:worker_threads';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const BLOCKS = 110;

const world = createNodeWorld({ logLevel: 'silent' });
const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
chain.mine(BLOCKS);
const server = new SimulatedServer({ chain, timer: world });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
const tasks = { mine: () => void chain.mine(), disconnect: () => server.disconnectAll() };
parentPort?.on('message', (/** @type {keyof typeof tasks} */ task) => {
  tasks[task]();
  parentPort?.postMessage('done');
});
parentPort?.postMessage(`tcp://127.0.0.1:${port}`);
