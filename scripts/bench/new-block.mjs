// Method: a block that pays nobody of ours, with 1,000,000 issued addresses in the file. The built `./paygate
// serve` is connected to a simulated chain in another thread, which mines an empty block each time; what
// counts is the CPU time that all threads of paygate have used until the next one (/proc), less what it uses in as
// long a time without a block: the medians of both, for a sweep of a minute's share of 1,000,000 addresses, which has
// rows of its own, falls into some of them. Beside it the same paygate with a file without addresses.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { atEnd } from './ending.mjs';
import { cpuOf, launcher, serveArguments, startProgram, untilCaughtUp } from './program.mjs';
import { issuedFile } from './sized.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const ADDRESSES = 1_000_000;
const ROUNDS = 5;
const BLOCKS = 20;
const EVERY_MS = 100;
const SETTLE_MS = 10_000;
const TARGET_MS = 2;

/** @type {import('../bench.mjs').Bench} */
export async function benchNewBlock(context) {
  const chain = await startChain();
  const ours = await serveFile(context, ADDRESSES, chain.electrum);
  const empty = await serveFile(context, 0, chain.electrum);
  await sleep(SETTLE_MS);
  const results = await takeTurns(ROUNDS, {
    ours: () => cpuOfBlocks(ours, chain.mine),
    empty: () => cpuOfBlocks(empty, chain.mine),
  });
  const value = median(results.ours);
  return {
    name: 'new-block-1M',
    unit: 'ms',
    ours: value,
    floor: median(results.empty),
    ratio: pairedRatio(results.ours, results.empty),
    pairs: ROUNDS,
    targets: [{ text: `≤ ${TARGET_MS} ms`, met: value <= TARGET_MS }],
    notes: [
      `CPU time of a block that pays nobody, ${ADDRESSES} addresses in the file, ${BLOCKS} blocks a round; ` +
        'floor: the same with none.',
    ],
  };
}

export async function startChain() {
  const worker = new Worker(new URL('idle-chain.mjs', import.meta.url));
  atEnd(async () => void (await worker.terminate()));
  const [electrum] = await once(worker, 'message');
  /** @param {'mine' | 'disconnect'} task */
  async function tell(task) {
    worker.postMessage(task);
    await once(worker, 'message');
  }
  return {
    /** @type {string} */
    electrum,
    mine: () => tell('mine'),
    disconnect: () => tell('disconnect'),
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {number} count
 * @param {string} electrum
 */
async function serveFile(context, count, electrum) {
  const { path } = await issuedFile(context, count);
  const program = await startProgram(launcher(context), serveArguments(path, electrum));
  await untilCaughtUp(program.origin);
  return program;
}

/**
 * @param {import('./program.mjs').Program} program
 * @param {() => Promise<void>} mine
 * @returns {Promise<number>} milliseconds a block
 */
export async function cpuOfBlocks(program, mine) {
  const idle = await cpuOfEach(program, () => sleep(EVERY_MS));
  const busy = await cpuOfEach(program, async () => {
    await mine();
    await sleep(EVERY_MS);
  });
  return median(busy) - median(idle);
}

/**
 * @param {import('./program.mjs').Program} program
 * @param {() => Promise<unknown>} step
 * @returns {Promise<number[]>} milliseconds, one a step
 */
async function cpuOfEach(program, step) {
  const each = [];
  for (let count = 0; count < BLOCKS; count += 1) {
    const before = cpuOf(program);
    await step();
    each.push(cpuOf(program) - before);
  }
  return each;
}
