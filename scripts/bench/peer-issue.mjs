// Method of `peer-issue`: paygate and Electrum's merchant daemon (electrum-daemon.mjs) on the same regtest node
// and ElectrumX, with a wallet of the same key in which each has given out as many addresses before (in them
// paygate's code is compiled; the daemon is Python, which has nothing to compile). They take turns: a rush of 900
// `new_address` on 64 connections (rush.mjs), `add_request` (durable: it writes the whole wallet file and syncs it)
// and `createnewaddress` (not durable) for a while each, JSON-RPC over one kept connection; the daemon does one
// thing at a time, more connections made it no faster. Each turn waits until what the last one left behind is done:
// both subscribe their new addresses in the background, which is work of the same two cores.

import { setTimeout as sleep } from 'node:timers/promises';
import { down, up } from '../regtest/network.mjs';
import { startElectrumDaemon } from './electrum-daemon.mjs';
import { atEnd } from './ending.mjs';
import { addStore, serve } from './paygate.mjs';
import { processorMs } from './process.mjs';
import { pidOf } from './process-of.mjs';
import { untilCaughtUp } from './program.mjs';
import { createRush, ISSUED_BEFORE, RUSH } from './rush.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 5;
/** As much as a burst of a few seconds: V8 has not compiled all before. */
const WARMING_ROUNDS = 10;
const ADDRESSES = ISSUED_BEFORE + WARMING_ROUNDS * RUSH;
const PEER_MS = 3_000;
const CONNECTIONS = 64;
const QUIET_MS = 500;
const QUIET_TIMEOUT_MS = 60_000;
/** Of that, by any of them. */
const QUIET_SHARE = 0.05;
const LEAST_OF_ADD_REQUEST = 100;
const LEAST_OF_CREATE = 10;

/** @type {import('../bench.mjs').Bench} */
export async function benchPeerIssue(context) {
  const network = `bench-issue-${process.pid}`;
  atEnd(() => down({ name: network }));
  const regtest = await up({ name: network });
  const { tcpPort } = regtest.electrum;
  const peer = await startElectrumDaemon({ folder: context.folder, electrumPort: tcpPort });
  context.progress(`peer-issue: electrum makes ${ADDRESSES} addresses`);
  for (let made = 0; made < ADDRESSES; made += 1) await peer.call('createnewaddress');
  const shop = await addStore(context, 'peer-issue');
  const origin = await serve(context, shop.path, `tcp://127.0.0.1:${tcpPort}`);
  await untilCaughtUp(origin);
  const { rush } = await createRush(shop.path, {
    ...{ origin, path: '/api/new_address', apiKey: shop.apiKey, connections: CONNECTIONS },
  });

  for (let round = 0; round < WARMING_ROUNDS; round += 1) await rush();
  const quiet = () => untilQuiet([peer.pid, pidOf(shop.path), regtest.electrum.pid ?? 0]);

  /**
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @returns {() => Promise<number>} answers a second
   */
  const peerRate = (method, params) => async () => {
    await quiet();
    const start = performance.now();
    let asked = 0;
    while (performance.now() - start < PEER_MS) {
      const answer = await peer.call(method, params);
      if (!answer) throw new Error(`${method} answered ${answer}`);
      asked += 1;
    }
    return (asked * 1000) / (performance.now() - start);
  };
  /** @type {number[]} */
  const latenciesMs = [];
  const rates = await takeTurns(ROUNDS, {
    async ours() {
      await quiet();
      const run = await rush();
      latenciesMs.push(...run.latenciesMs);
      return run.rate;
    },
    addRequest: peerRate('add_request', { amount: 0.001, force: true }),
    create: peerRate('createnewaddress', {}),
  });
  return describe(peer.version, rates, latenciesMs);
}

/**
 * Resolves when none of these processes has anything left to do.
 * @param {number[]} pids
 */
async function untilQuiet(pids) {
  const startedAt = performance.now();
  for (let before = pids.map(processorMs); ; ) {
    if (performance.now() - startedAt > QUIET_TIMEOUT_MS) throw new Error('it is never quiet');
    await sleep(QUIET_MS);
    const now = pids.map(processorMs);
    if (now.every((ms, index) => ms - (before[index] ?? 0) <= QUIET_SHARE * QUIET_MS)) return;
    before = now;
  }
}

/**
 * @param {string} version
 * @param {Record<'ours' | 'addRequest' | 'create', number[]>} rates
 * @param {number[]} latenciesMs
 * @returns {import('./table.mjs').Row[]}
 */
function describe(version, { ours, addRequest, create }, latenciesMs) {
  const contests = [
    { method: 'add_request', rates: addRequest, least: LEAST_OF_ADD_REQUEST },
    { method: 'createnewaddress', rates: create, least: LEAST_OF_CREATE },
  ];
  return contests.map(({ method, rates, least }) => {
    const ratio = pairedRatio(ours, rates);
    return {
      name: `peer-issue ${method}`,
      unit: '/s',
      ours: median(ours),
      pairs: ROUNDS,
      peer: { name: `electrum ${version}`, value: median(rates), ratio },
      latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
      targets: [{ text: `≥ ${least} × ${method}`, met: ratio >= least }],
      notes: [
        `${ROUNDS} rushes of ${RUSH} new_address on ${CONNECTIONS} connections against ${method} of electrum ` +
          `${version} for ${PEER_MS / 1000} s, ${ADDRESSES.toLocaleString('en')} addresses given out by each before.`,
      ],
    };
  });
}
