// Announces raises of wallets' counters to the high-water mark: under the wallet's name there, and
// never below its floor. It refuses every raise once an older copy was written over the open file.

import { givenBackName, markName } from '../../domain/store/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Tx } from '../db/writer.ts';
import type { WalletRow } from './catalog.ts';

/**
 * @param floorOf takes a wallet's name in the mark file. It returns the first index that the wallet
 * may issue according to it, if the database did not know that at its start; else 0.
 */
export function raisesTo(floorOf: (wallet: string) => number) {
  const names = new Map<string, string>();

  /** The wallet's name in the mark file, computed once: it is a hash. */
  function nameOf({ descriptor }: WalletRow): string {
    const name = names.get(descriptor) ?? markName(descriptor);
    names.set(descriptor, name);
    return name;
  }

  const reached = new Map<string, number>();
  const note = (name: string, index: number): void =>
    void reached.set(name, Math.max(index, reached.get(name) ?? 0));
  let wasSetBack = false;

  function announce(tx: Tx, name: string, from: number, to: number, floor = 0): void {
    if (wasSetBack || from < (reached.get(name) ?? 0)) {
      throw new PaygateError(
        'unavailable',
        'An older copy replaced the database: /healthz says what to do',
        { retryAfterSeconds: 60 },
      );
    }
    tx.afterCommit(() => note(name, to));
    tx.raise(name, from, Math.max(to, floor));
  }

  return {
    /**
     * Whether a counter is lower than at an earlier call, or a wallet is gone. Only an older copy
     * that was written over the open file does that. The first call records the state at the start.
     * @param wallets all wallets, read outside of any write.
     * @param givenBack how many left-out indexes of a wallet were issued later
     */
    isSetBack(wallets: readonly WalletRow[], givenBack: (walletId: number) => number): boolean {
      const now = new Map(
        wallets.flatMap((wallet) => [
          [nameOf(wallet), wallet.nextIndex],
          [givenBackName(nameOf(wallet)), givenBack(wallet.id)],
        ]),
      );
      wasSetBack = [...reached].some(([name, index]) => (now.get(name) ?? -1) < index);
      for (const [name, index] of now) note(name, index);
      return wasSetBack;
    },
    floor: (wallet: WalletRow): number => floorOf(nameOf(wallet)),
    /**
     * Announces that a wallet's counter rises to an index, or to its floor if that is higher.
     * @throws PaygateError unavailable once a counter was set back, because addresses would repeat
     */
    raise(tx: Tx, wallet: WalletRow, to: number): void {
      const name = nameOf(wallet);
      announce(tx, name, wallet.nextIndex, to, floorOf(name));
    },
    /** The same for the counter of indexes that were issued after they had been left out. */
    raiseGivenBack: (tx: Tx, wallet: WalletRow, from: number, to: number): void =>
      announce(tx, givenBackName(nameOf(wallet)), from, to),
  };
}
