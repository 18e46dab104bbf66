// Row `derive`: addresses derived a second, by `deriveAddress` in one thread.
// Peer: the libraries, `HDKey.deriveChild` of @scure/bip32 with a cached parent and `p2wpkh` of
// @scure/btc-signer. Ours also computes the scripthash.

import { HDKey } from '@scure/bip32';
import { p2wpkh } from '@scure/btc-signer';
import { deriveAddress, parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { accountKey } from './account-key.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const ROUNDS = 9;
const RUN_MS = 400;
const COMPARED = 20;
const MIN_RATIO = 1.5;

/** @type {import('../bench.mjs').Bench} */
export async function benchDerive() {
  const wallet = parseWalletKey(accountKey('mainnet'), {
    network: 'mainnet',
    scriptType: 'p2wpkh',
  });
  const branch = HDKey.fromExtendedKey(accountKey('mainnet')).deriveChild(0);
  /** @param {number} index */
  const derive = (index) => deriveAddress(wallet, 0, index)?.address;
  /** @param {number} index */
  const deriveBare = (index) => {
    const { publicKey } = branch.deriveChild(index);
    return p2wpkh(/** @type {Uint8Array} */ (publicKey)).address;
  };
  for (let index = 0; index < COMPARED; index += 1) {
    if (derive(index) !== deriveBare(index)) throw new Error(`index ${index} has two addresses`);
  }
  const contenders = { ours: rateOf(derive), bare: rateOf(deriveBare) };
  await takeTurns(1, contenders); // V8 compiles both
  const { ours, bare } = await takeTurns(ROUNDS, contenders);
  const ratio = pairedRatio(ours, bare);
  return {
    name: 'derive',
    unit: '/s',
    figure: median(ours),
    peer: { name: '@scure', figure: median(bare) },
    ratio,
    floor: `≥ ${MIN_RATIO} × the libraries`,
    holds: ratio >= MIN_RATIO,
    details: [],
  };
}

/**
 * Derives each index once.
 * @param {(index: number) => unknown} derive
 * @returns {() => number} addresses a second
 */
function rateOf(derive) {
  let next = 0;
  return () => {
    const startedAt = performance.now();
    const first = next;
    for (; performance.now() - startedAt < RUN_MS; next += 1) derive(next);
    return ((next - first) * 1000) / (performance.now() - startedAt);
  };
}
