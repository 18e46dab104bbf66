// Counters as the mark has them: under a wallet's name there, and no lower than its floor.

import { markName } from '../domain/allocation.ts';
import type { WalletRow } from './catalog.ts';
import type { Tx } from './writer.ts';

/** @param floorOf how far the mark says that a wallet issued which this file did not know, by its name */
export function raisesTo(floorOf: (wallet: string) => number) {
  const names = new Map<string, string>();

  /** What the mark calls a wallet, found once: it is a hash. */
  function nameOf({ descriptor }: WalletRow): string {
    const name = names.get(descriptor) ?? markName(descriptor);
    names.set(descriptor, name);
    return name;
  }

  return {
    floor: (wallet: WalletRow): number => floorOf(nameOf(wallet)),
    /** The mark keeps what it knows while a wallet is on the way to its floor. */
    raise(tx: Tx, wallet: WalletRow, to: number): void {
      const name = nameOf(wallet);
      tx.raise(name, wallet.nextIndex, Math.max(to, floorOf(name)));
    },
  };
}
