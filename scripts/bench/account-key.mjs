// The account key of the benches. Its seed is public, so nothing of value may be sent to it.

import { HDKey } from '@scure/bip32';

const versions = {
  mainnet: { private: 0x0488ade4, public: 0x0488b21e },
  regtest: { private: 0x04358394, public: 0x043587cf },
  /** SLIP-132: an Electrum wallet of this key has P2WPKH addresses. */
  electrum: { private: 0x045f18bc, public: 0x045f1cf6 },
};

/**
 * @param {keyof typeof versions} kind
 * @returns {string} an xpub, tpub or vpub
 */
export function accountKey(kind) {
  const root = HDKey.fromMasterSeed(new Uint8Array(32).fill(0xbe), versions[kind]);
  return root.derive("m/84'/0'/0'").publicExtendedKey;
}
