// A wallet's care: what it skips when a restored file lost it and it is added again; the scan, which finds
// where its used addresses end (the first one, and that of a copied file beyond what it skipped); and the
// addresses that are derived ahead so that issuing one finds it ready and watched, and, where a wallet issues
// much, a reserve behind them that is derived in quiet times.

import type { Scripthash } from '../bitcoin/ids.ts';
import { type DerivedAddress, deriveAddress } from '../bitcoin/keychain.ts';
import { furthestAhead, lookahead, minSkip, reserveOf, scanGap } from '../domain/allocation.ts';
import { ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Store } from '../store/open-store.ts';
import type { DerivedIndex } from '../store/records/addresses.ts';
import type { WalletRow } from '../store/records/catalog.ts';
import type { World } from '../world/world.ts';
import { orAnother } from './elsewhere.ts';
import { recheckUsed } from './recheck.ts';
import { type Found, type Use, type UsedParts, useOf } from './used.ts';

export interface WalletCareParts extends UsedParts {
  readonly world: World;
  readonly store: Store;
  /** Up to which index each wallet is watched ahead, as far as this process saw to it; its reserve aside. */
  readonly watchedUntil: Map<number, number>;
  /** What servers said of the indexes of each wallet whose scan has not ended: whether they are used. */
  readonly scanned: Map<number, Map<number, Found>>;
  /** Has new addresses subscribed. */
  readonly watch: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** The same of what lies in reserve: behind everything else, and where there is room. */
  readonly watchReserve: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** A server refuses what a scan needs, or does not answer it. */
  readonly onRefusal: (session: Session, reason: string) => void;
  /** Paygate is to end: what takes long goes on at the next start. */
  readonly isStopped: () => boolean;
}

const external = 0;
/** Indexes skipped in one commit, which derives them: a derivation takes up to 1.3 ms. */
const skippedAtOnce = 5;
/** Addresses kept in one commit. */
const keptAtOnce = 50;
/** How often a long scan says how far it is. */
const progressEvery = 200;
/** Used addresses that one server alone shows, in one scan: what it shows costs nothing to invent. */
const mostShown = 1_000;
/** Addresses that a server may refuse to tell of in one scan: their histories are too long for it. */
const mostRefused = 5;

/**
 * Skips and derives ahead, and scans what was not scanned yet (only with a session).
 * @throws what the scan of a wallet failed with, once the others were cared for
 */
export async function tendWallets(
  parts: WalletCareParts,
  session: Session | undefined,
): Promise<void> {
  // First, for a scan may take long.
  for (const wallet of parts.store.catalog.wallets()) await reachFloor(parts, wallet);
  const failures: unknown[] = [];
  for (const wallet of parts.store.catalog.wallets()) {
    if (parts.isStopped()) return;
    try {
      if (wallet.scannedAt === null && session !== undefined) await scan(parts, session, wallet);
      await topUp(parts, wallet.id);
      if (session !== undefined) await recheckUsed(parts, session, wallet.id);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** @param goesOn whether it is still quiet: nobody asks for an address, and nothing else is to be done */
export async function fillReserves(parts: WalletCareParts, goesOn: () => boolean): Promise<void> {
  for (const { id } of parts.store.catalog.wallets()) await fillReserve(parts, id, goesOn);
}

async function reachFloor(parts: WalletCareParts, { id, nextIndex }: WalletRow): Promise<void> {
  const floor = parts.store.addresses.floor(id);
  if (nextIndex >= floor) return;
  const skipped = { walletId: id, from: nextIndex, to: floor };
  parts.world.log.warn('a wallet is back that had issued, indexes are skipped', skipped);
  await skipTo(parts, id, floor);
}

/** Each part is skipped as it is derived: one that was watched before would be taken for foreign. */
async function skipTo(
  { world, store, watch, isStopped }: WalletCareParts,
  walletId: number,
  to: number,
): Promise<void> {
  let until = store.catalog.wallet(walletId).nextIndex;
  while (until < to && !isStopped()) {
    until = Math.min(until + skippedAtOnce, to);
    const next = until;
    await watch(
      await store.database.write((tx) => store.addresses.skip(tx, world.now(), walletId, next)),
    );
  }
}

async function scan(parts: WalletCareParts, session: Session, wallet: WalletRow): Promise<void> {
  const { world, store } = parts;
  const key = store.catalog.walletKey(wallet.id);
  world.log.info('wallet scan started', { walletId: wallet.id });
  // A counter has risen already where this file is a copy: shops leave longer gaps than wallets do.
  const start = wallet.nextIndex;
  const gap = start > 0 ? minSkip : scanGap;
  const isCopy = store.addresses.isUsed(wallet.id);
  // What its original had issued behind the last one that was paid, somebody may pay still. The last one may be among those
  // that were skipped: as a copy, or by a scan that was cut off.
  const margin = isCopy ? gap : 0;
  let nextIndex = start;
  let refused = 0;
  const known = parts.scanned.get(wallet.id) ?? new Map<number, Found>();
  parts.scanned.set(wallet.id, known);
  const from = Math.max(store.addresses.floor(wallet.id), start - margin);
  for (let index = from, end = start + gap; index < end; index += scanGap) {
    const indexes = Array.from({ length: scanGap }, (_, offset) => index + offset);
    const used = await allOrFirstFault(indexes.map((each) => isTaken(each)));
    if (used.includes(true)) {
      const taken = index + used.lastIndexOf(true) + 1;
      nextIndex = Math.max(nextIndex, taken + margin);
      end = Math.max(end, taken + gap);
    }
    const shown = [...known.values()].filter((each) => each.use === 'shown' && isSettled(each));
    if (shown.length > mostShown) throw tooManyShown(session, wallet.id);
    if (index > start && (index - start) % progressEvery === 0) {
      world.log.info('wallet scan goes on', { walletId: wallet.id, scanned: index });
    }
  }
  if (isCopy) await skipTo(parts, wallet.id, nextIndex);
  if (parts.isStopped()) return;
  await store.database.write((tx) =>
    store.addresses.finishScan(tx, world.now(), wallet.id, nextIndex),
  );
  parts.scanned.delete(wallet.id);
  // What is ahead of it was not watched until now.
  parts.watchedUntil.set(wallet.id, store.catalog.wallet(wallet.id).nextIndex);
  world.log.info('wallet scan done', { walletId: wallet.id, nextIndex });

  /** What one server alone has said is asked of others, once there are any. */
  function isSettled({ use, by }: Found): boolean {
    if (use === 'used' || use === 'none') return true;
    return use !== 'open' && by === session && parts.elsewhere(session) === undefined;
  }

  async function isTaken(index: number): Promise<boolean> {
    const before = known.get(index);
    if (before !== undefined && isSettled(before)) return isLeftOut(before.use);
    const derived = deriveAddress(key, external, index);
    if (derived === undefined) return false;
    try {
      const use = await useAnywhere(parts, session, derived);
      known.set(index, { use, by: session });
      return isLeftOut(use);
    } catch (error) {
      refused += 1;
      // Taken for used: an index that is left out costs nothing, one that is used twice does.
      if (error instanceof ServerError && refused <= mostRefused) return true;
      if (!(error instanceof PaygateError)) throw error;
      // Another server may know what this one does not say.
      if (!session.closed) parts.onRefusal(session, error.message);
      throw new PaygateError('unavailable', `${session.server.label}: ${error.message}`);
    }
  }
}

const isLeftOut = (use: Use): boolean => use === 'used' || use === 'shown';

/** Waits for all of them: what is answered beside a failure is kept. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** By another server where this one refuses or does not answer in time. */
function useAnywhere(
  parts: WalletCareParts,
  session: Session,
  script: DerivedAddress,
): Promise<Use> {
  const alone = { ...parts, elsewhere: () => undefined };
  return orAnother(session, parts.elsewhere, (by) =>
    useOf(by === session ? parts : alone, by, script),
  );
}

const tooManyShown = ({ server }: Session, walletId: number) =>
  new PaygateError(
    'unavailable',
    `${server.label} alone names more than ${mostShown} used addresses of wallet ${walletId}, and no block proves ` +
      'them: name a second server in --electrum, which must say the same',
  );

/** What must be there whoever asks: no index is to be handed out of which no server was asked whether it was used. */
async function topUp(parts: WalletCareParts, walletId: number): Promise<void> {
  const { store, watch, watchedUntil } = parts;
  const { scannedAt, nextIndex } = store.catalog.wallet(walletId);
  if (scannedAt === null) return;
  const derivedUntil = store.addresses.derivedUntil(walletId);
  // What was there before us is subscribed with the session.
  const from = watchedUntil.get(walletId) ?? Math.min(derivedUntil, nextIndex + furthestAhead);
  if (derivedUntil < nextIndex + lookahead) {
    await deriveAhead(store, walletId, nextIndex + furthestAhead);
  }
  const until = Math.min(nextIndex + furthestAhead, store.addresses.derivedUntil(walletId));
  watchedUntil.set(walletId, until);
  // Of what lay in reserve as well, for which there may have been no room.
  await watch(store.addresses.ahead(walletId, from, until));
}

/** Once half of it is used up. */
async function fillReserve(
  { store, watchReserve }: WalletCareParts,
  walletId: number,
  goesOn: () => boolean,
): Promise<void> {
  const { catalog, addresses } = store;
  const { scannedAt, nextIndex } = catalog.wallet(walletId);
  const givenOut = nextIndex - addresses.countLeftOut(walletId);
  const reserve = reserveOf(givenOut, catalog.wallets().length);
  let until = addresses.derivedUntil(walletId);
  if (scannedAt === null || until >= nextIndex + reserve / 2) return;
  while (until < nextIndex + reserve && goesOn()) {
    const from = addresses.derivedUntil(walletId);
    until = Math.min(until + keptAtOnce, nextIndex + reserve);
    await deriveAhead(store, walletId, until, goesOn);
    await watchReserve(addresses.ahead(walletId, from, until));
  }
}

/**
 * Derives outside of any transaction, one a turn of the event loop, and keeps all of it in one commit. Ends where
 * requests were faster in deriving what they need.
 */
async function deriveAhead(
  { addresses, catalog, database }: Store,
  walletId: number,
  until: number,
  goesOn: () => boolean = () => true,
): Promise<void> {
  const key = catalog.walletKey(walletId);
  const derived: DerivedIndex[] = [];
  const from = addresses.derivedUntil(walletId);
  const isWanted = () => goesOn() && addresses.derivedUntil(walletId) === from;
  for (let index = from; index < until && isWanted(); index += 1) {
    const found = deriveAddress(key, external, index);
    if (found !== undefined) derived.push({ ...found, index });
    await nextTurn();
  }
  await database.write((tx) => addresses.keepAhead(tx, walletId, derived));
}
