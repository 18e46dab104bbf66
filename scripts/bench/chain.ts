// A helper process: a simulated chain and its Electrum server. It answers each task when it is done.

import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

export type Task =
  | { readonly mine: true }
  | { readonly disconnect: true }
  | { readonly pay: readonly string[] };

const BLOCKS = 110;
const VALUE_SAT = 10_000;
const OUTPUTS_PER_TRANSACTION = 10;

const world = createNodeWorld({ logLevel: 'silent' });
const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
chain.mine(BLOCKS);
const server = new SimulatedServer({ chain, timer: world });
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });

function pay(addresses: readonly string[]) {
  for (let at = 0; at < addresses.length; at += OUTPUTS_PER_TRANSACTION) {
    const paid = addresses.slice(at, at + OUTPUTS_PER_TRANSACTION);
    chain.pay(paid.map((address) => ({ address, valueSat: VALUE_SAT })));
  }
}

process.on('message', (task: Task) => {
  const at = performance.timeOrigin + performance.now();
  if ('mine' in task) chain.mine();
  else if ('disconnect' in task) server.disconnectAll();
  else pay(task.pay);
  process.send?.({ at });
});
process.send?.({ port });
