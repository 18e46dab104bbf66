// Brings the counters of a file to where they go on at a start. It reads the high-water mark, skips
// indexes that another file may have issued, and then makes the mark file that of this very file.

import { raisedVersion } from '../../domain/order/version-raise.ts';
import {
  type Counter,
  givenBackName,
  markName,
  marksOf,
  type Resumption,
  resume,
  type Skip,
  skipByRate,
} from '../../domain/store/allocation.ts';
import { formatCount, verbOf } from '../../domain/text/format.ts';
import type { World } from '../../world/world.ts';
import type { Tx } from '../db/writer.ts';
import type { HighWaterMark } from '../mark/high-water-mark.ts';
import type { Records } from '../open-records.ts';
import { issuingRate, lastIssue } from './issuing-rate.ts';
import { highestVersion, newestEvent } from './order-progress.ts';

/** Addresses derived in one write: up to 1.3 ms each, while the event loop waits. */
const derivedAtOnce = 100;
/** Addresses between two log entries on the progress: about a second. */
const progressEvery = 1_000;

export const countersOf = ({
  catalog,
  addresses,
}: Pick<Records, 'catalog' | 'addresses'>): Counter[] =>
  catalog.wallets().flatMap(({ id, descriptor, nextIndex, scannedAt }): Counter[] => {
    const wallet = markName(descriptor);
    const used = addresses.isUsed(id);
    const count = addresses.returnedCount(id);
    return [
      { walletId: id, wallet, nextIndex, used, scanned: scannedAt !== null },
      {
        walletId: id,
        wallet: givenBackName(wallet),
        nextIndex: count,
        used: count > 0,
        scanned: true,
        givenBack: true,
      },
    ];
  });

/**
 * Skips what must be skipped, records in the file that it is a copy, and raises the versions of its
 * orders.
 * @returns for each wallet that the file does not know, by its name in the mark file, its next
 * index
 */
export async function resumeCounters(
  records: Records,
  mark: HighWaterMark,
  world: Pick<World, 'now' | 'log'>,
): Promise<ReadonlyMap<string, number>> {
  const { addresses, database } = records;
  const resumption = resume(countersOf(records), mark.reading, (walletId) =>
    skipByRate(issuingRate(records, walletId, world.now())),
  );
  const { lost } = resumption;
  const skips = resumption.skips.filter(({ givenBack }) => !givenBack);
  // First, because a crash later can leave a mark file in step, which no longer shows the copy.
  if (resumption.kind === 'copy') await noteCopy(records, resumption, world.now());
  const versions =
    resumption.kind === 'copy' || lacksEvents(records, mark)
      ? await raiseVersions(records, mark, world.now())
      : undefined;
  for (const skip of skips) await derive(records, world, skip);
  const mustScan = resumption.kind === 'copy' && resumption.mustScan;
  await database.write((tx) => {
    // In one commit with the skip: a scan begins where the wallet's counter stands.
    if (mustScan) addresses.requireScan(tx);
    for (const { walletId, to } of skips) addresses.skip(tx, world.now(), walletId, to);
    for (const { walletId, to, givenBack } of resumption.skips) {
      if (givenBack) addresses.setReturnedCount(tx, walletId, to);
    }
    if (resumption.kind === 'copy') keepWhatIsBelow(records, tx);
  });
  const { reading } = mark;
  const isOfCopy = mustScan || reading === undefined || reading.distrust !== undefined;
  mark.begin(marksOf(countersOf(records), [...(reading?.raises ?? []), ...lost]), isOfCopy, {
    ...(versions !== undefined && { versions }),
    lastEvent: newestEvent(records)?.id ?? 0,
  });
  if (resumption.kind === 'copy') {
    const { reason } = resumption;
    const lostWallets = lost.length;
    world.log.warn('this database is a copy, indexes were skipped', { reason, skips, lostWallets });
  }
  return new Map(lost.map(({ wallet, to }) => [wallet, to]));
}

/** Keeps left-out indexes from being issued, because the original may have issued them. */
function keepWhatIsBelow({ catalog, addresses }: Records, tx: Tx): void {
  for (const { id, nextIndex } of catalog.wallets()) addresses.withholdBelow(tx, id, nextIndex);
}

async function noteCopy(
  records: Records,
  copy: Extract<Resumption, { kind: 'copy' }>,
  now: number,
): Promise<void> {
  const { database, state } = records;
  // With a clock that is behind, earlier addresses would count as issued after the copy.
  const at = Math.max(now, lastIssue(records));
  await database.write((tx) => state.copied.write(tx, { at, text: warningOf(copy) }));
}

/**
 * Whether the file is older than its mark file, although it issued no fewer addresses. Its inode
 * may be that of the file that it replaces.
 */
const lacksEvents = (records: Records, { reading }: HighWaterMark): boolean =>
  records.state.restored.read() || (newestEvent(records)?.id ?? 0) < (reading?.lastEvent ?? 0);

/** @returns the version of all orders */
async function raiseVersions(records: Records, mark: HighWaterMark, now: number): Promise<number> {
  const { database, state, orders } = records;
  const known = { highest: highestVersion(records), marked: mark.reading?.versions ?? 0 };
  const version = raisedVersion(known, now);
  // With a clock that is behind, events of the original would count as sent by the copy.
  const until = Math.max(now, lastIssue(records), newestEvent(records)?.createdAt ?? 0);
  await database.write((tx) => {
    state.versionsRaisedAt.write(tx, until);
    state.restored.write(tx, false);
    orders.raiseVersions(tx, version);
  });
  return version;
}

/** Derives the indexes of a skip in parts: at once they would block the event loop for seconds. */
async function derive(
  { addresses, database }: Records,
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

/** The text of the warning. Nothing else names a missing wallet, whose payments are not seen. */
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
      : `; ${formatCount(lost.length, 'wallet')} added later ${verbOf(lost.length, 'is', 'are')} not in it, and payments to them ` +
        'are not seen: add their stores again';
  return `this database is a copy (${reason}): ${skipped}${missing}`;
}
