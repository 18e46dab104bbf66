// Method: paygate's start with 100,000 issued addresses, all hot, on a real Electrum server of the bench's own,
// without limits: from the spawning of the single executable until its log says that all are compared (to ask /healthz
// every 20 ms took a tenth of its processor). The floor is a bare subscriber: a socket, the same number of
// `scripthash.subscribe`, all written at once, from the connection to the last answer. Beside it the same behind the
// start of a bare executable (bare-server.mjs), for the floor has no process to start, and ours has. Neither knows the
// other's scripthashes. ElectrumX answers some thousand a second, electrs ten times as many, so that the second row is of
// paygate more than of the server.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { hasElectrs } from '../regtest/electrs.mjs';
import { down, up } from '../regtest/network.mjs';
import { atEnd } from './ending.mjs';
import { executables } from './executables.mjs';
import { serveArguments, startProgram } from './program.mjs';
import { issuedFile } from './sized.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const ADDRESSES = 100_000;
const ROUNDS = 5;
/** As src/watcher/watcher.ts logs it. */
const COMPARED = 'every address is compared';
const TARGET_RATIO = 1.2;

/** @type {import('../bench.mjs').Bench} */
export async function benchStart(context) {
  const name = `bench-start-${process.pid}`;
  atEnd(() => down({ name }));
  const regtest = await up({ name });
  const { path } = await issuedFile(context, ADDRESSES);
  const rows = [await compare(context, path, 'ElectrumX', regtest.electrum.tcpPort)];
  if (!hasElectrs()) return rows;
  const electrs = await regtest.addElectrum('electrs', 'electrs');
  return [...rows, await compare(context, path, 'electrs', electrs.tcpPort)];
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {string} path
 * @param {string} server
 * @param {number} port
 * @returns {Promise<import('./table.mjs').Row>}
 */
async function compare(context, path, server, port) {
  /** @type {number[]} */
  const answered = [];
  const { paygate, bare } = await executables(context);
  const bareFile = join(context.folder, 'bare.db');
  const serving = serveArguments(path, `tcp://127.0.0.1:${port}`);
  /** @param {number} own */
  const argsFor = (own) => [...serving(own), '--log-level', 'info'];
  const results = await takeTurns(ROUNDS, {
    async ours() {
      const program = await startProgram(paygate, argsFor, COMPARED);
      answered.push(program.answeredMs);
      const readyMs = await program.logged;
      await program.end();
      return readyMs;
    },
    floor: () => subscribeAll(port, ADDRESSES),
    async started() {
      const program = await startProgram(bare, (own) => [bareFile, String(own)]);
      const ms = await subscribeAll(port, ADDRESSES);
      await program.end();
      return program.answeredMs + ms;
    },
  });
  context.progress(`start-100k: ${server} is done`);
  const ratio = pairedRatio(results.ours, results.floor);
  return {
    name: `start-100k (${server})`,
    unit: 'ms',
    ours: median(results.ours),
    floor: median(results.floor),
    ratio,
    pairs: ROUNDS,
    beside: [
      {
        name: 'behind the start of a bare executable',
        value: median(results.started),
        ratio: pairedRatio(results.ours, results.started),
      },
    ],
    targets: [{ text: `≤ ${TARGET_RATIO} × a bare subscriber`, met: ratio <= TARGET_RATIO }],
    notes: [
      `${ADDRESSES} hot addresses, from the spawning until all are compared with ${server}; floor: a bare ` +
        `pipelined subscriber of as many. The first HTTP answer came after ${median(answered).toFixed(0)} ms.`,
    ],
  };
}

/**
 * @param {number} port
 * @param {number} count
 * @returns {Promise<number>} milliseconds until the last is answered
 */
async function subscribeAll(port, count) {
  const beganAt = performance.now();
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  const requests = [
    { id: 0, method: 'server.version', params: ['paygate-bench', ['1.4', '1.6']] },
    ...Array.from({ length: count }, (_, index) => {
      const scripthash = createHash('sha256').update(`${beganAt} ${index}`).digest('hex');
      return { id: index + 1, method: 'blockchain.scripthash.subscribe', params: [scripthash] };
    }),
  ];
  socket.write(requests.map((each) => `${JSON.stringify(each)}\n`).join(''));
  let left = requests.length;
  socket.on('data', (chunk) => {
    for (const byte of chunk) if (byte === 10) left -= 1;
    if (left === 0) socket.end();
  });
  await once(socket, 'close');
  if (left > 0) throw new Error(`the Electrum server left ${left} subscriptions unanswered`);
  return performance.now() - beganAt;
}
