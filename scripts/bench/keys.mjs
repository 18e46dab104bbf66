// A merchant's account key for benches. Its seed stands here, so nothing of value may be sent to it.

import { HDKey } from '@scure/bip32';

const versions = {
  mainnet: { private: 0x0488ade4, public: 0x0488b21e },
  regtest: { private: 0x04358394, public: 0x043587cf },
  /** The same, as Electrum is told that it is for native segwit (SLIP-132). */
  'regtest vpub': { private: 0x045f18bc, public: 0x045f1cf6 },
};

/**
 * @param {keyof typeof versions} network
 * @returns {string} an xpub, tpub or vpub
 */
export function accountKey(network) {
  const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(0xbe), versions[network]);
  return root.derive("m/84'/0'/0'").publicExtendedKey;
}
