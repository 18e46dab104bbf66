// Payments that are deep enough now become 2, and old ones settle: when the tip moved, when a hold ended,
// when a store asks for less, and at a start. A block can hold thousands: they are decided on in several
// commits, so that nothing else waits for all of them. What a crash leaves over, the next start finds.

import type { Tx } from '../store/db/writer.ts';
import type { Store } from '../store/open-store.ts';
import type { World } from '../world/world.ts';

/** Payments in one commit: some 20 ms of work. */
const decidedAtOnce = 200;

/**
 * @param first in the first commit, before all: what moved
 * @returns how many callbacks were enqueued
 */
export async function promote(
  { store, world }: { readonly store: Store; readonly world: World },
  first: (tx: Tx) => void = () => {},
): Promise<number> {
  const { database, ledger } = store;
  let waiting: readonly number[] = [];
  let callbacks = await database.write((tx) => {
    first(tx);
    waiting = ledger.maturing();
    return ledger.promote(tx, world.now(), waiting.slice(0, decidedAtOnce));
  });
  for (let from = decidedAtOnce; from < waiting.length; from += decidedAtOnce) {
    const part = waiting.slice(from, from + decidedAtOnce);
    callbacks += await database.write((tx) => ledger.promote(tx, world.now(), part));
  }
  return callbacks;
}
