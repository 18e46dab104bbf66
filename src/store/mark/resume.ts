// Where the counters of a file go on at a start: what its mark says of it is asked, indexes that another
// file may have issued are skipped, and from then on the mark is that of this very file.

import {
  blindSkipAt,
  type Counter,
  givenBackName,
  markName,
  marksOf,
  type Resumption,
  resume,
  type Skip,
} from '../../domain/allocation.ts';
import type { World } from '../../world/world.ts';
import type { Tx } from '../db/writer.ts';
import type { Store } from '../open-store.ts';
import { noteCopied } from '../records/settings.ts';
import type { Highwater } from './high-water-mark.ts';
import { issuingRate, lastIssue } from './issuing-rate.ts';

/** Addresses derived in one go: up to 1.3 ms each, and nothing else is heard meanwhile. */
const derivedAtOnce = 100;
/** How often that says how far it is: about every second. */
const progressEvery = 1_000;

export const countersOf = ({
  catalog,
  addresses,
}: Pick<Store, 'catalog' | 'addresses'>): Counter[] =>
  catalog.wallets().flatMap(({ id, descriptor, nextIndex, scannedAt }): Counter[] => {
    const wallet = markName(descriptor);
    const used = addresses.isUsed(id);
    const count = addresses.givenBackCount(id);
    return [
      { walletId: id, wallet, nextIndex, used, scanned: scannedAt !== null },
      {
        ...{ walletId: id, wallet: givenBackName(wallet), nextIndex: count },
        ...{ used: count > 0, scanned: true, givenBack: true },
      },
    ];
  });

/**
 * Goes on where the counters must go on, and notes in the file when it is a copy of another.
 * @returns where wallets go on that this file does not know, should they be added again, by their names
 */
export async function resumeCounters(
  store: Store,
  mark: Highwater,
  world: Pick<World, 'now' | 'log'>,
): Promise<ReadonlyMap<string, number>> {
  const { addresses, database } = store;
  const resumption = resume(countersOf(store), mark.reading, (walletId) =>
    blindSkipAt(issuingRate(store, walletId, world.now())),
  );
  const { lost } = resumption;
  const skips = resumption.skips.filter(({ givenBack }) => !givenBack);
  // First, for after a crash behind it the mark may be that of this file, and says nothing of a copy.
  if (resumption.kind === 'copy') await noteCopy(store, resumption, world.now());
  for (const skip of skips) await derive(store, world, skip);
  const mustScan = resumption.kind === 'copy' && resumption.mustScan;
  await database.write((tx) => {
    // Not before the skip: killed in between, it would be asked from where the copy stands.
    if (mustScan) addresses.requireScan(tx);
    for (const { walletId, to } of skips) addresses.skip(tx, world.now(), walletId, to);
    for (const { walletId, to, givenBack } of resumption.skips) {
      if (givenBack) addresses.setGivenBack(tx, walletId, to);
    }
    if (resumption.kind === 'copy') keepWhatIsBelow(store, tx);
  });
  const { reading } = mark;
  const isOfCopy = mustScan || reading === undefined || reading.distrust !== undefined;
  mark.begin(marksOf(countersOf(store), [...(reading?.raises ?? []), ...lost]), isOfCopy);
  if (resumption.kind === 'copy') {
    const { reason } = resumption;
    const lostWallets = lost.length;
    world.log.warn('this database is a copy, indexes were skipped', { reason, skips, lostWallets });
  }
  return new Map(lost.map(({ wallet, to }) => [wallet, to]));
}

/** Its original may have given out, or back, whatever was left out in it. */
function keepWhatIsBelow({ catalog, addresses }: Store, tx: Tx): void {
  for (const { id, nextIndex } of catalog.wallets()) addresses.keepBelow(tx, id, nextIndex);
}

async function noteCopy(
  store: Store,
  copy: Extract<Resumption, { kind: 'copy' }>,
  now: number,
): Promise<void> {
  const { database, catalog } = store;
  // A clock that is behind would take what was issued before for issued since.
  const at = Math.max(now, lastIssue(store));
  await database.write((tx) => {
    noteCopied(tx, catalog, at, warningOf(copy));
  });
}

/** What a skip takes, in parts: all of it at once would leave a stop unheard for seconds. */
async function derive(
  { addresses, database }: Store,
  { log }: Pick<World, 'log'>,
  { walletId, from, to }: Skip,
): Promise<void> {
  for (let until = from; until < to; ) {
    until = Math.min(until + derivedAtOnce, to);
    const next = until;
    await database.write((tx) => addresses.deriveAhead(tx, walletId, next));
    const derived = until - from;
    if (derived % progressEvery !== 0) continue;
    log.info('skipped addresses are derived', { walletId, derived, of: to - from });
  }
}

/** What is to be done about it. A wallet that is missing is named by nobody else: its payments are not seen. */
function warningOf({ reason, skips, lost }: Extract<Resumption, { kind: 'copy' }>): string {
  const indexes = skips.filter(({ givenBack }) => !givenBack);
  const gap = Math.max(0, ...indexes.map(({ from, to }) => to - from));
  const skipped =
    gap === 0
      ? 'no address was skipped'
      : `${gap} addresses were skipped, ` +
        `set the gap limit of the merchant's wallet to ${gap + 20} or more`;
  const missing =
    lost.length === 0
      ? ''
      : `; ${lost.length} wallet(s) that were added later are not in it, and what is paid to them ` +
        'is not seen: add their stores again';
  return `this database is a copy (${reason}): ${skipped}${missing}`;
}
