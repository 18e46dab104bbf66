// Counters as the mark has them: under a wallet's name there, no lower than its floor, and never falling.

import { givenBackName, markName } from '../../domain/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Tx } from '../db/writer.ts';
import type { WalletRow } from '../records/catalog.ts';

/** @param floorOf how far the mark says that a wallet issued which this file did not know, by its name */
export function raisesTo(floorOf: (wallet: string) => number) {
  const names = new Map<string, string>();

  /** What the mark calls a wallet, found once: it is a hash. */
  function nameOf({ descriptor }: WalletRow): string {
    const name = names.get(descriptor) ?? markName(descriptor);
    names.set(descriptor, name);
    return name;
  }

  /** How far each was seen to be, in what nobody can take back any more. */
  const reached = new Map<string, number>();
  const note = (name: string, index: number): void =>
    void reached.set(name, Math.max(index, reached.get(name) ?? 0));
  let wasSetBack = false;

  function announce(tx: Tx, name: string, from: number, to: number, floor = 0): void {
    if (wasSetBack || from < (reached.get(name) ?? 0)) {
      throw new PaygateError(
        'unavailable',
        'The database knows less than before: /healthz says what to do',
        { retryAfterSeconds: 60 },
      );
    }
    tx.afterCommit(() => note(name, to));
    tx.raise(name, from, Math.max(to, floor));
  }

  return {
    /**
     * Only an older copy that was put over the file, while it is open, sets a counter back, or takes a wallet away. To be asked first
     * when the file was opened: it is compared with what it was then, and since.
     * @param wallets all of them, outside of any write
     * @param givenBack how many indexes of a wallet were given out after they had been left out
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
     * The mark keeps what it knows while a wallet is on the way to its floor.
     * @throws PaygateError unavailable once a counter was set back: it would give out the same addresses again
     */
    raise(tx: Tx, wallet: WalletRow, to: number): void {
      const name = nameOf(wallet);
      announce(tx, name, wallet.nextIndex, to, floorOf(name));
    },
    /** The same of how many were given out after they had been left out. */
    raiseGivenBack: (tx: Tx, wallet: WalletRow, from: number, to: number): void =>
      announce(tx, givenBackName(nameOf(wallet)), from, to),
  };
}
