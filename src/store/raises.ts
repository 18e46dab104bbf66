// Counters as the mark has them: under a wallet's name there, no lower than its floor, and never falling.

import { markName } from '../domain/allocation.ts';
import { PaygateError } from '../errors.ts';
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

  /** How far each rose since the file was opened, and its callers have heard of it. */
  const reached = new Map<string, number>();
  const isBehind = (wallet: WalletRow): boolean =>
    wallet.nextIndex < (reached.get(nameOf(wallet)) ?? 0);

  return {
    /** Only an older copy that was put over the file, while it is open, sets a counter back. */
    isBehind,
    floor: (wallet: WalletRow): number => floorOf(nameOf(wallet)),
    /**
     * The mark keeps what it knows while a wallet is on the way to its floor.
     * @throws PaygateError unavailable for a counter that was set back: it would give out the same addresses again
     */
    raise(tx: Tx, wallet: WalletRow, to: number): void {
      if (isBehind(wallet)) {
        throw new PaygateError(
          'unavailable',
          'The database knows less than before: /healthz says what to do',
          { retryAfterSeconds: 60 },
        );
      }
      const name = nameOf(wallet);
      tx.afterCommit(() => reached.set(name, Math.max(to, reached.get(name) ?? 0)));
      tx.raise(name, wallet.nextIndex, Math.max(to, floorOf(name)));
    },
  };
}
