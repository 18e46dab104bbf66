// Scans a wallet for its used indexes: up to the gap limit, and in a copied file beyond the skipped
// ones. Checks indexes again that count as used by another program, when the operator asks for it.
// What counts as used is in address-use.ts.

import { type DerivedAddress, deriveAddress } from '../../bitcoin/keychain.ts';
import { minSkip, scanGap } from '../../domain/store/allocation.ts';
import { isNoAnswer, ServerError } from '../../electrum/requests.ts';
import type { Session } from '../../electrum/session.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Records } from '../../store/open-records.ts';
import { type AddressPlace, external, incompleteStatus } from '../../store/wallets/address-row.ts';
import type { WalletRow } from '../../store/wallets/catalog.ts';
import type { Unused } from '../../store/wallets/returned-indexes.ts';
import type { World } from '../../world/world.ts';
import type { CurrentSubscriptions } from '../address-subscriptions.ts';
import { withFallback } from '../proof/other-servers.ts';
import type { ServerChoice } from '../server-choice.ts';
import { type AddressUse, type AddressUseParts, useOf } from './address-use.ts';

export interface IndexUse {
  readonly use: AddressUse;
  readonly by: Session;
}

export interface WalletParts extends AddressUseParts {
  readonly world: World;
  readonly records: Records;
  readonly servers: Pick<ServerChoice, 'other' | 'leaveUnanswering'>;
  readonly subscriptions: CurrentSubscriptions;
  readonly watchedUntil: Map<number, number>;
  /** The uses that the unfinished scan of each wallet has found, by index. */
  readonly scanned: Map<number, Map<number, IndexUse>>;
  /** The process is stopping: long work goes on at the next start. */
  readonly isStopped: () => boolean;
}

/** Indexes skipped in one commit: it derives them, and a derivation takes up to 1.3 ms. */
const maxSkippedAtOnce = 5;
/** After so many indexes, a scan logs its progress. */
const progressEvery = 200;
/** Used addresses in one scan that only one server shows: they cost nothing to invent. */
const maxShown = 1_000;
/** Addresses in one scan whose histories a server may refuse because they are too long. */
const maxRefused = 5;

export async function skipToFloor(parts: WalletParts, { id, nextIndex }: WalletRow): Promise<void> {
  const floor = parts.records.addresses.floor(id);
  if (nextIndex >= floor) return;
  const skipped = { walletId: id, from: nextIndex, to: floor };
  parts.world.log.warn(
    'a wallet that issued addresses before was added again, indexes are skipped',
    skipped,
  );
  await skipTo(parts, id, floor);
}

/**
 * Skips each part as it is derived: an address that is watched before that would count as foreign.
 */
async function skipTo(
  { world, records, subscriptions, isStopped }: WalletParts,
  walletId: number,
  to: number,
): Promise<void> {
  let until = records.catalog.wallet(walletId).nextIndex;
  while (until < to && !isStopped()) {
    until = Math.min(until + maxSkippedAtOnce, to);
    const next = until;
    await subscriptions.add(
      await records.database.write((tx) => records.addresses.skip(tx, world.now(), walletId, next)),
    );
  }
}

export async function scanWallet(
  parts: WalletParts,
  session: Session,
  wallet: WalletRow,
): Promise<void> {
  const { world, records } = parts;
  const key = records.catalog.walletKey(wallet.id);
  world.log.info('wallet scan started', { walletId: wallet.id });
  // A copied file has a raised counter: shops leave longer gaps than wallets do.
  const start = wallet.nextIndex;
  const gap = start > 0 ? minSkip : scanGap;
  const isCopy = records.addresses.isUsed(wallet.id);
  // Unpaid addresses that the original issued may still be paid. The last paid one may be among the
  // skipped ones, because of the copy or of an earlier scan that was cut off.
  const margin = isCopy ? gap : 0;
  let nextIndex = start;
  let refused = 0;
  const known = parts.scanned.get(wallet.id) ?? new Map<number, IndexUse>();
  parts.scanned.set(wallet.id, known);
  const from = Math.max(records.addresses.floor(wallet.id), start - margin);
  for (let index = from, end = start + gap; index < end; index += scanGap) {
    const indexes = Array.from({ length: scanGap }, (_, offset) => index + offset);
    const used = await allOrFirstFault(indexes.map((each) => isTaken(each)));
    if (used.includes(true)) {
      const taken = index + used.lastIndexOf(true) + 1;
      nextIndex = Math.max(nextIndex, taken + margin);
      end = Math.max(end, taken + gap);
    }
    const shown = [...known.values()].filter((each) => each.use === 'shown' && isSettled(each));
    if (shown.length > maxShown) throw tooManyShown(session, wallet.id);
    if (index > start && (index - start) % progressEvery === 0) {
      world.log.info('wallet scan goes on', { walletId: wallet.id, scanned: index });
    }
  }
  if (isCopy) await skipTo(parts, wallet.id, nextIndex);
  if (parts.isStopped()) return;
  await records.database.write((tx) =>
    records.addresses.finishScan(tx, world.now(), wallet.id, nextIndex),
  );
  parts.scanned.delete(wallet.id);
  // The addresses ahead of it were not watched until now.
  parts.watchedUntil.set(wallet.id, records.catalog.wallet(wallet.id).nextIndex);
  world.log.info('wallet scan done', { walletId: wallet.id, nextIndex });

  /** The answer of a single server is asked of others, once there are any. */
  function isSettled({ use, by }: IndexUse): boolean {
    if (use === 'used' || use === 'none') return true;
    return use !== 'open' && by === session && parts.servers.other(session) === undefined;
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
      // It counts as used: an index that is left out costs nothing, and one that is used twice
      // does.
      if (error instanceof ServerError && refused <= maxRefused) return true;
      if (!(error instanceof PaygateError)) throw error;
      // Another server may answer.
      if (!session.closed) parts.servers.leaveUnanswering(session, error.message);
      throw new PaygateError('unavailable', `${session.server.label}: ${error.message}`);
    }
  }
}

const isLeftOut = (use: AddressUse): boolean => use === 'used' || use === 'shown';

/** Waits for all, so that answers beside a failure are stored. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

function useAnywhere(
  parts: WalletParts,
  session: Session,
  script: DerivedAddress,
): Promise<AddressUse> {
  const alone = { ...parts, servers: { other: () => undefined } };
  return withFallback(session, parts.servers, (by) =>
    useOf(by === session ? parts : alone, by, script),
  );
}

const tooManyShown = ({ server }: Session, walletId: number) =>
  new PaygateError(
    'unavailable',
    `${server.label} alone names more than ${maxShown} used addresses of wallet ${walletId}, and no block proves ` +
      'them: name a second server in --electrum, which must report the same',
  );

/** Indexes checked at once. */
const maxAskedAtOnce = 20;

/**
 * Checks indexes that count as used by another program again, when the operator asks for it. Issues
 * those again that neither a second server nor a block confirms.
 * @throws PaygateError unavailable when the session ends; the next session begins it again
 */
export async function recheckUsedIndexes(
  parts: WalletParts,
  session: Session,
  walletId: number,
): Promise<void> {
  const { records, world, isStopped, subscriptions } = parts;
  const { addresses, state, database } = records;
  if (!state.rechecks.read().includes(walletId)) return;
  let takenBack = 0;
  let from = 0;
  for (;;) {
    const marked = addresses.foreignFrom(walletId, from, maxAskedAtOnce);
    const last = marked.at(-1);
    if (last === undefined) break;
    if (isStopped()) return;
    const asked = await Promise.all(marked.map((each) => unusedAs(parts, session, each)));
    const unused = asked.flatMap((each) => each ?? []);
    await database.write((tx) => addresses.unmark(tx, unused));
    const freed = new Set(unused.map(({ id }) => id));
    const returned = marked.filter(({ id }) => freed.has(id));
    await subscriptions.addLookahead(returned.map(({ scripthash }) => scripthash));
    takenBack += unused.length;
    from = last.derivationIndex + 1;
  }
  await database.write((tx) => {
    addresses.returnLeftOut(tx, walletId);
    state.rechecks.write(
      tx,
      state.rechecks.read().filter((id) => id !== walletId),
    );
  });
  world.log.info('indexes that were marked as used were checked again', { walletId, takenBack });
}

/** Undefined where it is used indeed, or no server answers now. */
async function unusedAs(
  parts: WalletParts,
  session: Session,
  { id, scripthash, statusHash }: AddressPlace,
): Promise<Unused | undefined> {
  const script = { scripthash, script: parts.records.addresses.scriptOf(id) };
  const use = await useOf(parts, session, script).catch((error: unknown) => {
    if (isNoAnswer(error)) return 'open' as const;
    throw error;
  });
  if (use === 'used' || use === 'open') return undefined;
  return { id, statusHash: use === 'none' ? null : (statusHash ?? incompleteStatus) };
}
