// Row `small-block`: the block of `full-block` with 500 of one shop, until all callbacks are
// delivered, while the shop makes an order each 100 ms.
// Peer: the same requests and callbacks, and the commits that they need (bare-block.mjs).

import { join } from 'node:path';
import { confirmBare, confirmBlock, prepareBlock } from '../full-block.mjs';
import { beginLoad } from '../load.mjs';
import { ORDER } from '../orders.mjs';
import { median, pairedRatio, takeTurns } from '../stats.mjs';
import { waitsOf } from './issuing.mjs';
import { MAX_WAIT_MS, smallMachine } from './machine.mjs';

const PAYMENTS = 500;
const STORES = 1;
const ROUNDS = 3;
const PAUSE_MS = 100;
const MAX_RATIO = 2;

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallBlock(context) {
  const { group, env, serve, serveBare } = await smallMachine(context);
  const scene = await prepareBlock(PAYMENTS, STORES);
  /** @type {number[]} */
  const waits = [];
  /** @type {number[]} */
  const proven = [];
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      const name = `small-block-${proven.length}`;
      const { deliveredMs, provenMs, during } = await confirmBlock(context, scene, name, {
        begin: ({ origin, apiKey = '' }) =>
          beginLoad({ ...ORDER, origin, apiKey, connections: 1 }, { pauseMs: PAUSE_MS }),
        start: serve,
      });
      waits.push(...(during?.latenciesMs ?? []));
      proven.push(provenMs);
      context.progress(`small-block: ${deliveredMs.toFixed(0)} ms`);
      return deliveredMs;
    },
    async bare() {
      const { origin, end } = await serveBare();
      const target = { origin, path: '/healthz', connections: 1 };
      const endOrders = beginLoad(target, { pauseMs: PAUSE_MS });
      const path = join(context.folder, 'bare-block.db');
      const { sentMs } = await confirmBare(scene, { add: group.add, env, path });
      await endOrders();
      await end();
      return sentMs;
    },
  });
  const ratio = pairedRatio(ours, bare);
  return {
    name: 'small-block',
    unit: 'ms',
    figure: median(ours),
    peer: { name: 'bare pipeline', figure: median(bare) },
    ratio,
    floor: `≤ ${MAX_RATIO} × the bare pipeline, no order over 1 s`,
    holds: ratio <= MAX_RATIO && Math.max(...waits) <= MAX_WAIT_MS,
    details: [
      `proven after ${median(proven).toFixed(0)} ms`,
      `${waits.length} orders meanwhile: ${waitsOf(waits)}`,
    ],
  };
}
