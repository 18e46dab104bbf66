// Method: what the kernel says of an idle process (/proc/PID/smaps_rollup: anonymous is what nothing but
// this process holds, resident counts the executable's own pages as well). The single executable with so many
// issued addresses in its file, connected to a simulated chain in this process's thread and caught up, after
// it was left alone for a while. Beside it an executable of the same Node with hono and the driver alone.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { executables } from './executables.mjs';
import { startChain } from './new-block.mjs';
import { memoryOf, serveArguments, startProgram, untilCaughtUp } from './program.mjs';
import { issuedFile } from './sized.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const ROUNDS = 5;
const IDLE_MS = 10_000;

/**
 * @typedef {object} Limits MiB
 * @property {number} anonymous
 * @property {number} [resident]
 */

/**
 * @param {number} addresses
 * @param {Limits} limits
 * @returns {import('../bench.mjs').Bench}
 */
export const benchMemory = (addresses, limits) => async (context) => {
  const { paygate, bare } = await executables(context);
  const { path } = await issuedFile(context, addresses);
  const { electrum } = await startChain();
  const bareFile = join(context.folder, 'bare.db');
  /** @type {Record<'ours' | 'bare', import('./program.mjs').Held[]>} */
  const held = { ours: [], bare: [] };
  const anonymous = await takeTurns(ROUNDS, {
    ours: () => hold(held.ours, paygate, serveArguments(path, electrum), untilCaughtUp),
    floor: () => hold(held.bare, bare, (port) => [bareFile, String(port)]),
  });
  const ours = median(anonymous.ours);
  const resident = median(held.ours.map((each) => each.resident));
  const bareResident = median(held.bare.map((each) => each.resident));
  const { resident: mostResident = Number.POSITIVE_INFINITY } = limits;
  return {
    name: `memory-${addresses === 1_000_000 ? '1M' : `${addresses / 1000}k`}`,
    unit: 'MiB',
    ours,
    floor: median(anonymous.floor),
    ratio: pairedRatio(anonymous.ours, anonymous.floor),
    pairs: ROUNDS,
    memoryMib: resident,
    targets: [
      { text: `anonymous ≤ ${limits.anonymous} MiB`, met: ours <= limits.anonymous },
      ...(limits.resident === undefined
        ? []
        : [{ text: `resident ≤ ${mostResident} MiB`, met: resident <= mostResident }]),
    ],
    notes: [
      `anonymous, idle and caught up, ${addresses} addresses; floor: an executable with hono and SQLite alone, ` +
        `which is resident with ${bareResident.toFixed(0)} MiB.`,
    ],
  };
};

/**
 * @param {import('./program.mjs').Held[]} held is added to
 * @param {string} command
 * @param {(port: number) => string[]} argsFor
 * @param {(origin: string) => Promise<void>} [untilReady]
 * @returns {Promise<number>} anonymous
 */
async function hold(held, command, argsFor, untilReady = async () => {}) {
  const program = await startProgram(command, argsFor);
  await untilReady(program.origin);
  await sleep(IDLE_MS);
  const memory = memoryOf(program);
  held.push(memory);
  await program.end();
  return memory.anonymous;
}
