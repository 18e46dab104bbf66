// The merchants' wallets. Each index is derived once a process, because a long run uses many. Each
// restored copy of the file skips up to 10,000 indexes of each wallet.

import { type DerivedAddress, deriveAddress } from '../../src/bitcoin/keychain.ts';
import { merchantKey } from '../support/app.ts';

interface Wallet {
  readonly key: ReturnType<typeof merchantKey>;
  /** By index; undefined if BIP 32 has no such child. */
  readonly derived: (DerivedAddress | undefined)[];
  readonly indexes: Map<string, number>;
}

const wallets = new Map<number, Wallet>();
/** Beyond the indexes of any run: an address that is not found before belongs to another wallet. */
const maxIndexes = 150_000;

function walletOf(number: number): Wallet {
  const known = wallets.get(number);
  if (known !== undefined) return known;
  const wallet = { key: merchantKey(number), derived: [], indexes: new Map() };
  wallets.set(number, wallet);
  return wallet;
}

function deriveNext({ key, derived, indexes }: Wallet): void {
  const next = deriveAddress(key, 0, derived.length);
  if (next !== undefined) indexes.set(next.address, derived.length);
  derived.push(next);
}

export const walletKey = (wallet: number): Wallet['key'] => walletOf(wallet).key;

/** The scripts of a wallet's first `count` indexes. */
export function scriptsOf(number: number, count: number): Uint8Array[] {
  const wallet = walletOf(number);
  while (wallet.derived.length < count) deriveNext(wallet);
  return wallet.derived.slice(0, count).flatMap((derived) => derived?.script ?? []);
}

/** The index of an address in a wallet. */
export function indexOf(number: number, address: string): number {
  const wallet = walletOf(number);
  for (;;) {
    const known = wallet.indexes.get(address);
    if (known !== undefined) return known;
    if (wallet.derived.length >= maxIndexes)
      throw new Error(`${address} is not of wallet ${number}`);
    deriveNext(wallet);
  }
}
