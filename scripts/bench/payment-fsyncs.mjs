// Method of `payment-fsyncs`: strace counts all fsyncs and fdatasyncs of a `./paygate serve` on the simulated
// chain (in this process, as the shop is) through the life of a payment: its address is issued, it is seen,
// a block confirms it, a second one makes it final, and each time a callback is delivered. Ours: ten
// payments alone, one after the other, each with its two blocks; beside it 100 payments that do all of
// this together. What a block costs that holds nothing for us is told too. Without strace there is no row.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { atEnd } from './ending.mjs';
import { burst } from './load.mjs';
import { addStore, serve } from './paygate.mjs';
import { pidOf } from './process-of.mjs';
import { untilCaughtUp } from './program.mjs';
import { countSyncs, noStrace } from './syncs.mjs';

const ALONE = 10;
const TOGETHER = 100;
const EMPTY_BLOCKS = 5;
const FIRST_BLOCKS = 110;
const VALUE_SAT = 10_000;
const PHASES = /** @type {const} */ (['issued', 'seen', 'confirming', 'confirmed']);

/** @type {import('../bench.mjs').Bench} */
export async function benchPaymentFsyncs(context) {
  const lacking = noStrace();
  if (lacking !== undefined) {
    context.progress(`payment-fsyncs: no row, ${lacking}`);
    return [];
  }
  const { chain, electrum } = await startChain();
  const shop = await startShop();
  const { path, apiKey } = await addStore(context, 'payment-fsyncs', shop.callbackUrl);
  const origin = await serve(context, path, electrum);
  await untilCaughtUp(origin);
  const target = { origin, path: '/api/new_address', apiKey };
  const counter = await countSyncs(pidOf(path), path, context.folder);

  /** @param {number} count payments at once; @returns the fsyncs of each phase */
  async function live(count) {
    const connections = Math.min(count, 64);
    await counter.taken();
    const { answers } = await burst({ ...target, connections }, count, 0);
    const addresses = answers.map(({ address }) => address);
    const phases = [sumOf(await counter.taken())];
    const steps = [
      () => chain.pay(addresses.map((address) => ({ address, valueSat: VALUE_SAT }))),
      () => chain.mine(),
      () => chain.mine(),
    ];
    for (const [status, step] of steps.entries()) {
      step();
      await shop.told(addresses, status);
      phases.push(sumOf(await counter.taken()));
    }
    return phases;
  }

  await live(1);
  let alone = PHASES.map(() => 0);
  for (let payment = 0; payment < ALONE; payment += 1) {
    const phases = await live(1);
    alone = alone.map((sum, at) => sum + (phases[at] ?? 0) / ALONE);
  }
  const together = (await live(TOGETHER)).map((sum) => sum / TOGETHER);
  for (let block = 0; block < EMPTY_BLOCKS; block += 1) chain.mine();
  const block = sumOf(await counter.taken()) / EMPTY_BLOCKS;
  return describe(alone, together, block);
}

/** @param {import('./syncs.mjs').Syncs} syncs */
const sumOf = ({ log, main, mark, other }) => log + main + mark + other;

async function startChain() {
  const world = createNodeWorld({ logLevel: 'silent' });
  const chain = new SimulatedChain({ seed: 'bench', now: () => world.now() / 1000 });
  chain.mine(FIRST_BLOCKS);
  const server = new SimulatedServer({ chain, timer: world });
  const { port, close } = await server.listen({ host: '127.0.0.1', port: 0 });
  atEnd(close);
  return { chain, electrum: `tcp://127.0.0.1:${port}` };
}

/** A shop that can wait for callbacks. */
async function startShop() {
  /** @type {Set<string>} */
  const heard = new Set();
  /** @type {() => void} */
  let onHeard = () => {};
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://shop.invalid').searchParams;
    heard.add(`${query.get('addr')} ${query.get('status')}`);
    response.end();
    onHeard();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close().closeAllConnections());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    callbackUrl: `http://127.0.0.1:${port}/callback`,
    /**
     * @param {string[]} addresses
     * @param {number} status
     */
    async told(addresses, status) {
      const isTold = () => addresses.every((address) => heard.has(`${address} ${status}`));
      while (!isTold()) {
        await new Promise((resolve) => {
          onHeard = () => resolve(undefined);
        });
      }
    },
  };
}

/**
 * @param {number[]} alone fsyncs a payment, by phase
 * @param {number[]} together
 * @param {number} block
 * @returns {import('./table.mjs').Row}
 */
function describe(alone, together, block) {
  const total = (/** @type {number[]} */ phases) => phases.reduce((sum, each) => sum + each, 0);
  const told = (/** @type {number[]} */ phases) =>
    PHASES.map((name, at) => `${name} ${phases[at]?.toFixed(2)}`).join(', ');
  return {
    name: 'payment-fsyncs',
    unit: 'fsyncs',
    ours: total(alone),
    pairs: ALONE,
    beside: [
      {
        name: `a payment, of ${TOGETHER} at once`,
        value: total(together),
        ratio: total(alone) / total(together),
      },
    ],
    notes: [
      `Fsyncs of one payment alone through its life, database and sidecar: ${told(alone)}; of ${TOGETHER} at ` +
        `once: ${told(together)}. Each phase has its callback, the last two a block of their own; a block ` +
        `that holds nothing for us costs ${block.toFixed(1)}.`,
    ],
  };
}
