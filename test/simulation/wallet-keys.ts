// The merchants' wallets, each derived once a process.

import { deriveAddress } from '../../src/bitcoin/keychain.ts';
import { merchantKey } from '../support/house.ts';

const keys = new Map<number, ReturnType<typeof merchantKey>>();
const indexes = new Map<string, number>();
const derived = new Map<number, number>();
const furthest = 5_000;

export function walletKey(wallet: number): ReturnType<typeof merchantKey> {
  const key = keys.get(wallet) ?? merchantKey(wallet);
  keys.set(wallet, key);
  return key;
}

/** Which index of a wallet an address has; -1 for one that is not of this wallet. */
export function indexOf(wallet: number, address: string): number {
  for (let index = derived.get(wallet) ?? 0; index < furthest; index += 1) {
    const known = indexes.get(address);
    if (known !== undefined) return known;
    indexes.set(deriveAddress(walletKey(wallet), 0, index)?.address ?? '', index);
    derived.set(wallet, index + 1);
  }
  return -1;
}
