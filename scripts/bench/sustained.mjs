// Method: `new_address` with 64 connections without a pause, 5 times 12 s, so that each address on the clock
// costs its derivation too: what was derived ahead is used up before the clock runs. The floor, after each
// run, is the bare derivation of the library's public API with a cached parent (derive.mjs), in this
// process alone and without HTTP, SQLite or a disk.

import { bareDerivation, derivationRate } from './derive.mjs';
import { load } from './load.mjs';
import { NO_ELECTRUM } from './new-address.mjs';
import { addStore, serve } from './paygate.mjs';
import { median, pairedRatio, percentile, takeTurns } from './stats.mjs';

const ROUNDS = 5;
const SECONDS = 12;
const BARE_SECONDS = 3;
const CONNECTIONS = 64;
/** More than is ever derived ahead. */
const LEAD_IN = 1_200;
const LEAST_OF_DERIVATION = 0.9;

/** @type {import('../bench.mjs').Bench} */
export async function benchSustained(context) {
  const shop = await addStore(context, 'new_address-sustained');
  const target = {
    origin: await serve(context, shop.path, NO_ELECTRUM),
    path: '/api/new_address',
    apiKey: shop.apiKey,
    connections: CONNECTIONS,
  };
  const bareRate = derivationRate(bareDerivation());
  bareRate(1);
  /** @type {number[]} */
  const latenciesMs = [];
  const { ours, floor } = await takeTurns(ROUNDS, {
    async ours() {
      const run = await load(target, SECONDS, LEAD_IN);
      latenciesMs.push(...run.latenciesMs);
      return run.rate;
    },
    floor: () => bareRate(BARE_SECONDS),
  });
  const ratio = pairedRatio(ours, floor);
  return {
    name: 'new_address-sustained',
    unit: '/s',
    ours: median(ours),
    floor: median(floor),
    ratio,
    pairs: ROUNDS,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) },
    targets: [
      {
        text: `≥ ${LEAST_OF_DERIVATION} of bare derivation`,
        met: ratio >= LEAST_OF_DERIVATION,
      },
    ],
    notes: [
      `${ROUNDS} × ${SECONDS} s, ${CONNECTIONS} connections, nothing left of what was derived ahead; ` +
        'floor: @scure/bip32 deriveChild with a cached parent + p2wpkh, alone.',
    ],
  };
}
