// A thread of its own with a simulated chain on which a wallet has used addresses, and an Electrum server
// before it, so that its work is not counted with that of who measures.

import { parentPort, workerData } from 'node:worker_threads';
import { deriveAddress, parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const BLOCKS = 110;
const PAID_AT_ONCE = 10;
const VALUE_SAT = 10_000;

const { account, used } = workerData;
const key = parseWalletKey(account, { network: 'regtest', scriptType: 'p2wpkh' });
const world = createNodeWorld({ logLevel: 'silent' });
const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
chain.mine(BLOCKS);
for (let start = 0; start < used; start += PAID_AT_ONCE) {
  const outputs = Array.from({ length: PAID_AT_ONCE }, (_, offset) => ({
    address: deriveAddress(key, 0, start + offset)?.address ?? '',
    valueSat: VALUE_SAT,
  }));
  chain.pay(outputs);
  chain.mine();
}
chain.mine();
const server = new SimulatedServer({ chain, timer: world });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
parentPort?.postMessage(`tcp://127.0.0.1:${port}`);
