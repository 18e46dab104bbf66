// Row `small-block`: the block of `full-block` with 500 of one shop, until all callbacks are
// delivered, while the shop makes an order each 100 ms.
// Peer: the same requests and callbacks, and the commits that they need (bare-block.ts).

import { join } from 'node:path';
import { confirmBare, confirmBlock, prepareBlock } from '../full-block.ts';
import { beginLoad } from '../load.ts';
import { median, pairedRatio, type Row, takeTurns, waitsOf } from '../row.ts';
import { folder } from '../run.ts';
import { beginOrders, MAX_WAIT_MS, smallMachine } from './machine.ts';

const PAYMENTS = 500;
const ROUNDS = 3;
const MAX_RATIO = 2;

export async function benchSmallBlock(): Promise<Row> {
  const { group, env, serve, serveBare } = await smallMachine();
  const scene = await prepareBlock(PAYMENTS, 1);
  const waits: number[] = [];
  const proven: number[] = [];
  const { ours, bare } = await takeTurns(ROUNDS, {
    async ours() {
      const name = `small-block-${proven.length}`;
      const run = await confirmBlock(scene, name, serve, beginOrders);
      waits.push(...(run.during?.latenciesMs ?? []));
      proven.push(run.provenMs);
      return run.deliveredMs;
    },
    async bare() {
      const { origin, end } = await serveBare();
      const endOrders = beginLoad({ origin, path: '/healthz', pauseMs: 100 });
      const path = join(folder, 'bare-block.db');
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
