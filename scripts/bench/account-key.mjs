// The account key of the benches. Its seed is public, so nothing of value may be sent to it.

import { HDKey } from '@scure/bip32';

const versions = {
  mainnet: { private: 0x0488ade4, public: 0x0488b21e },
  regtest: { private: 0x04358394, public: 0x043587cf },
};

/**
 * @param {keyof typeof versions} network
 * @returns {string} an xpub or tpub
 */
export function accountKey(network) {
  const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(0xbe), versions[network]);
  return root.derive("m/84'/0'/0'").publicExtendedKey;
}
