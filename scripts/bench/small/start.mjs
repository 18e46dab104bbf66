// Row `small-first-answer`: a start with 10,000 addresses until the first HTTP answer.
// Peer: the same Node with hono and the SQLite driver (bare-server.mjs).

import { issuedFile } from '../database.mjs';
import { NO_ELECTRUM } from '../server.mjs';
import { median, pairedRatio, takeTurns } from '../stats.mjs';
import { smallMachine } from './machine.mjs';

const ADDRESSES = 10_000;
const ROUNDS = 5;
const MAX_MS = 3_000;

/** @type {import('../../bench.mjs').Bench} */
export async function benchSmallStart(context) {
  const { serve, serveBare } = await smallMachine(context);
  const { path } = await issuedFile(context, ADDRESSES);
  const { ours, bare } = await takeTurns(ROUNDS, {
    ours: () => answeredMs(serve(path, NO_ELECTRUM)),
    bare: () => answeredMs(serveBare()),
  });
  const longest = Math.max(...ours);
  return {
    name: 'small-first-answer',
    unit: 'ms',
    figure: median(ours),
    peer: { name: 'bare Node', figure: median(bare) },
    ratio: pairedRatio(ours, bare),
    floor: 'none over 3 s',
    holds: longest <= MAX_MS,
    details: [`longest ${longest.toFixed(0)} ms`],
  };
}

/** @param {Promise<import('../server.mjs').Server>} starting */
async function answeredMs(starting) {
  const { answeredMs, end } = await starting;
  await end();
  return answeredMs;
}
