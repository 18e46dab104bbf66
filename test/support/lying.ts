// A watcher with servers that may lie, and checks that tests of lies share.

import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import type { Liar } from './liar.ts';
import { type RecordedPayment, recorded } from './recorded.ts';
import { prepareWatching, type Watching, type WatchingOptions } from './watching.ts';

export interface Lying extends Omit<Watching, 'inUse' | 'again'> {
  /** What stands before the server in use. */
  inUse(): Liar;
  issue(): Promise<IssuedAddress>;
  /** So many, one by one, each worked up. */
  minutes(much: number): Promise<void>;
  payments(issued: Pick<IssuedAddress, 'scripthash'>): RecordedPayment[];
}

/** Two servers by default. */
export async function prepareLying(options: WatchingOptions = {}): Promise<Lying> {
  const watching = await prepareWatching({ servers: 2, ...options, mayLie: true });
  const { world, records, watcher, labels, liars } = watching;
  return {
    ...watching,
    inUse: () => liars[labels.indexOf(watcher.status().server ?? '')] as Liar,
    async issue() {
      const issued = await records.issue();
      watcher.issued(issued.scripthash);
      await world.turn();
      return issued;
    },
    async minutes(much) {
      for (let minute = 0; minute < much; minute += 1) {
        await world.advance(60_000 - (world.now() % 60_000));
        await watcher.idle();
      }
    },
    payments: ({ scripthash }) =>
      recorded(records, records.addresses.byScripthash(scripthash)?.id ?? 0),
  };
}
