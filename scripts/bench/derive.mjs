// Method: paygate's `deriveAddress` (key, script, address and scripthash of the next index) against the
// bare library calls, `HDKey.deriveChild` of the cached branch key and `p2wpkh` of its public key. One
// thread, one call after the other, every index once; both warmed up, then in turn.

import { HDKey } from '@scure/bip32';
import { p2wpkh } from '@scure/btc-signer';
import { deriveAddress, parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { accountKey } from './keys.mjs';
import { median, pairedRatio, rateOf, takeTurns } from './stats.mjs';

const ROUNDS = 15;
const SECONDS = 0.4;
const WARM_UP_SECONDS = 0.5;
const COMPARED = 20;
const LEAST_OF_LIBRARIES = 2;

/** @returns {(index: number) => string} */
export function bareDerivation() {
  const branch = HDKey.fromExtendedKey(accountKey('mainnet')).deriveChild(0);
  return (index) => {
    const { publicKey } = branch.deriveChild(index);
    const { address } = p2wpkh(/** @type {Uint8Array} */ (publicKey));
    return /** @type {string} */ (address);
  };
}

/** @returns {(index: number) => string} */
function ourDerivation() {
  const wallet = parseWalletKey(accountKey('mainnet'), {
    network: 'mainnet',
    scriptType: 'p2wpkh',
  });
  return (index) => deriveAddress(wallet, 0, index)?.address ?? '';
}

/**
 * Counts derivations of indexes that it never repeats.
 * @param {(index: number) => string} derive
 * @returns {(seconds: number) => number} a second
 */
export function derivationRate(derive) {
  let index = 0;
  return (seconds) =>
    rateOf(seconds, () => {
      derive(index);
      index += 1;
      return 1;
    });
}

/** @type {import('../bench.mjs').Bench} */
export async function benchDerive() {
  const [ours, bare] = [ourDerivation(), bareDerivation()];
  for (let index = 0; index < COMPARED; index += 1) {
    if (ours(index) !== bare(index)) throw new Error(`index ${index} has two addresses`);
  }
  const [rateOfOurs, rateOfBare] = [derivationRate(ours), derivationRate(bare)];
  rateOfOurs(WARM_UP_SECONDS);
  rateOfBare(WARM_UP_SECONDS);
  const results = await takeTurns(ROUNDS, {
    ours: () => rateOfOurs(SECONDS),
    floor: () => rateOfBare(SECONDS),
  });
  const ratio = pairedRatio(results.ours, results.floor);
  return {
    name: 'derive',
    unit: '/s',
    ours: median(results.ours),
    floor: median(results.floor),
    ratio,
    pairs: ROUNDS,
    targets: [
      { text: `≥ ${LEAST_OF_LIBRARIES} × the libraries`, met: ratio >= LEAST_OF_LIBRARIES },
    ],
    notes: [
      `${ROUNDS} pairs of ${SECONDS} s; ours also computes the scripthash; floor: @scure/bip32 ` +
        'deriveChild with a cached parent + @scure/btc-signer p2wpkh.',
    ],
  };
}
