// Which indexes of a wallet are used. That one server names transactions of an address is not
// enough: each index that is left out takes the merchant's wallet nearer to the end of its gap limit. A second server
// must say the same, or a transaction in a block of our chain pays the address. The funds may be spent long ago; what brought
// them stands in the history all the same, at its beginning.

import type { Scripthash } from '../bitcoin/ids.ts';
import { type DerivedAddress, deriveAddress } from '../bitcoin/keychain.ts';
import { minSkip, scanGap } from '../domain/allocation.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import { isNoAnswer, isUnknownTransaction, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import { type AddressPlace, external, unfinished } from '../store/records/address-statements.ts';
import type { WalletRow } from '../store/records/catalog.ts';
import type { Observation } from '../store/records/ledger.ts';
import type { Unused } from '../store/records/returned-indexes.ts';
import { asksForRecheck, endRecheck } from '../store/records/settings.ts';
import type { World } from '../world/world.ts';
import type { Subject } from './evidence.ts';
import { type Fallback, withFallback } from './other-servers.ts';
import { Lie, type Proofs } from './proofs.ts';

interface ProofParts {
  readonly proofs: Pick<Proofs, 'output' | 'prove'>;
}

export interface AddressUseParts extends ProofParts {
  /** Another server whose word counts. */
  readonly elsewhere: (session: Session) => Session | undefined;
}

export interface UnissuedParts extends ProofParts {
  readonly session: Session;
  readonly store: Pick<Store, 'addresses'>;
  readonly elsewhere: Fallback;
}

type ScriptOfAddress = Pick<DerivedAddress, 'script' | 'scripthash'>;

/** Transactions of a history that are asked for: in a mempool the first may be the one that spends. */
const maxAsked = 3;

export type AddressUse =
  /** It has no history. */
  | 'none'
  /** A second server names a history too, or a transaction in a block of our chain pays the address. */
  | 'used'
  /** One server alone says so, and a second one says nothing, or says no. */
  | 'claimed'
  /** One server shows a transaction that pays the address, and there is no second server. */
  | 'shown'
  /** The history names a block whose header has not come yet. */
  | 'open';

/** What a server said of an address. */
export interface IndexUse {
  readonly use: AddressUse;
  readonly by: Session;
}

/** Ahead of the counter, or used by another program. */
export const isUnissued = ({ origin }: Subject['address']): boolean =>
  origin === 'ahead' || origin === 'foreign';

/** What a history says of an address that is ahead of the counter, as the ledger takes it. */
export async function observeUnissued(
  { session, store, elsewhere, proofs }: UnissuedParts,
  { address, history, status }: Pick<Subject, 'address' | 'history' | 'status'>,
): Promise<Observation> {
  const { id: addressId, origin, scripthash } = address;
  const observation = { addressId, origin, seen: [], gone: [], statusHash: status };
  if (origin === 'foreign' || history.length === 0) return observation;
  const script = { scripthash, script: store.addresses.scriptOf(addressId) };
  // Billed: a server that names thousands must not spend what the other one forgives.
  const second = elsewhere.askOther(session, (another) => hasHistoryAt(another, scripthash));
  if (await second) return observation;
  const found = await proofOf({ proofs }, session, script, history).catch((error: unknown) => {
    if (error instanceof ServerError) return 'none' as const;
    throw error;
  });
  if (found === 'proven') return observation;
  const statusHash = found === 'open' ? undefined : status;
  return { ...observation, statusHash, isUnproven: true };
}

/** What a server and, where there is one, a second server say of an address. */
export async function useOf(
  parts: AddressUseParts,
  session: Session,
  script: ScriptOfAddress,
): Promise<AddressUse> {
  const history = await session.history(script.scripthash);
  if (history.length === 0) return useByOther(parts, session, script);
  const agrees = await hasHistoryAtOther(parts, session, script);
  if (agrees) return 'used';
  const found = await proofOf(parts, session, script, history);
  if (found === 'proven') return 'used';
  return found === 'shown' && agrees === undefined ? 'shown' : 'claimed';
}

/** Asks another server if the first one names nothing: it may hide what another one can prove. */
async function useByOther(
  { proofs, elsewhere }: AddressUseParts,
  session: Session,
  script: ScriptOfAddress,
): Promise<AddressUse> {
  const other = elsewhere(session);
  if (other === undefined) return 'none';
  try {
    const history = await other.history(script.scripthash);
    if (history.length === 0) return 'none';
    const found = await proofOf({ proofs }, other, script, history);
    return found === 'proven' ? 'used' : 'claimed';
  } catch (error) {
    if (error instanceof PaygateError) return 'none';
    throw error;
  }
}

const hasHistoryAt = async (session: Session, scripthash: Scripthash): Promise<boolean> =>
  (await session.history(scripthash)).length > 0;

/** Undefined where there is no other server, or it does not say. */
async function hasHistoryAtOther(
  { elsewhere }: AddressUseParts,
  session: Session,
  { scripthash }: ScriptOfAddress,
): Promise<boolean | undefined> {
  const other = elsewhere(session);
  if (other === undefined) return undefined;
  try {
    return await hasHistoryAt(other, scripthash);
  } catch (error) {
    if (error instanceof PaygateError) return undefined;
    throw error;
  }
}

/** How far a transaction of a history that pays the script was shown, and proven to be in a block. */
async function proofOf(
  { proofs }: ProofParts,
  session: Session,
  { script }: ScriptOfAddress,
  history: readonly HistoryItem[],
): Promise<'proven' | 'open' | 'shown' | 'none'> {
  let found: 'open' | 'shown' | 'none' = 'none';
  for (const { txid, position } of history.slice(0, maxAsked)) {
    try {
      if ((await proofs.output(session, txid, script)) === undefined) continue;
      if (found === 'none') found = 'shown';
      if (position.kind === 'mempool') continue;
      const { kind } = await proofs.prove(session, txid, position.height);
      if (kind === 'proven') return 'proven';
      if (kind === 'ahead') found = 'open';
    } catch (error) {
      // That there is none, and another one in its place, is no reason to leave an index out.
      const isNone = error instanceof ServerError && isUnknownTransaction(error);
      if (!isNone && !(error instanceof Lie)) throw error;
    }
  }
  return found;
}

export interface WalletParts extends AddressUseParts {
  readonly world: World;
  readonly store: Store;
  /** Up to which index each wallet is watched ahead, as far as this process saw to it; its reserve aside. */
  readonly watchedUntil: Map<number, number>;
  /** What servers said of the indexes of each wallet whose scan has not ended: whether they are used. */
  readonly scanned: Map<number, Map<number, IndexUse>>;
  /** Has new addresses subscribed. */
  readonly watch: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** The same of what lies in reserve: behind everything else, and where there is room. */
  readonly watchReserve: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** A server refuses what a scan needs, or does not answer it. */
  readonly onRefusal: (session: Session, reason: string) => void;
  /** Paygate is to end: what takes long goes on at the next start. */
  readonly isStopped: () => boolean;
}

/** Indexes skipped in one commit, which derives them: a derivation takes up to 1.3 ms. */
const maxSkippedAtOnce = 5;
/** How often a long scan says how far it is. */
const progressEvery = 200;
/** Used addresses that one server alone shows, in one scan: what it shows costs nothing to invent. */
const maxShown = 1_000;
/** Addresses that a server may refuse to tell of in one scan: their histories are too long for it. */
const maxRefused = 5;

export async function skipToFloor(parts: WalletParts, { id, nextIndex }: WalletRow): Promise<void> {
  const floor = parts.store.addresses.floor(id);
  if (nextIndex >= floor) return;
  const skipped = { walletId: id, from: nextIndex, to: floor };
  parts.world.log.warn('a wallet is back that had issued, indexes are skipped', skipped);
  await skipTo(parts, id, floor);
}

/** Each part is skipped as it is derived: one that was watched before would be taken for foreign. */
export async function skipTo(
  { world, store, watch, isStopped }: WalletParts,
  walletId: number,
  to: number,
): Promise<void> {
  let until = store.catalog.wallet(walletId).nextIndex;
  while (until < to && !isStopped()) {
    until = Math.min(until + maxSkippedAtOnce, to);
    const next = until;
    await watch(
      await store.database.write((tx) => store.addresses.skip(tx, world.now(), walletId, next)),
    );
  }
}

export async function scanWallet(
  parts: WalletParts,
  session: Session,
  wallet: WalletRow,
): Promise<void> {
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
  const known = parts.scanned.get(wallet.id) ?? new Map<number, IndexUse>();
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
    if (shown.length > maxShown) throw tooManyShown(session, wallet.id);
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
  function isSettled({ use, by }: IndexUse): boolean {
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
      if (error instanceof ServerError && refused <= maxRefused) return true;
      if (!(error instanceof PaygateError)) throw error;
      // Another server may know what this one does not say.
      if (!session.closed) parts.onRefusal(session, error.message);
      throw new PaygateError('unavailable', `${session.server.label}: ${error.message}`);
    }
  }
}

const isLeftOut = (use: AddressUse): boolean => use === 'used' || use === 'shown';

/** Waits for all of them: what is answered beside a failure is kept. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** By another server where this one refuses or does not answer in time. */
function useAnywhere(
  parts: WalletParts,
  session: Session,
  script: DerivedAddress,
): Promise<AddressUse> {
  const alone = { ...parts, elsewhere: () => undefined };
  return withFallback(session, parts.elsewhere, (by) =>
    useOf(by === session ? parts : alone, by, script),
  );
}

const tooManyShown = ({ server }: Session, walletId: number) =>
  new PaygateError(
    'unavailable',
    `${server.label} alone names more than ${maxShown} used addresses of wallet ${walletId}, and no block proves ` +
      'them: name a second server in --electrum, which must say the same',
  );

interface RecheckParts extends AddressUseParts {
  readonly world: Pick<World, 'log'>;
  readonly store: Store;
  readonly watchReserve: (scripthashes: readonly Scripthash[]) => Promise<void>;
  readonly isStopped: () => boolean;
}

/** Asked about at once. */
const maxAskedAtOnce = 20;

/** @throws PaygateError unavailable when the session ends: it is begun again with the next one */
export async function recheckUsedIndexes(
  parts: RecheckParts,
  session: Session,
  walletId: number,
): Promise<void> {
  const { store, world, isStopped, watchReserve } = parts;
  const { addresses, catalog, database } = store;
  if (!asksForRecheck(catalog, walletId)) return;
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
    await watchReserve(marked.filter(({ id }) => freed.has(id)).map((each) => each.scripthash));
    takenBack += unused.length;
    from = last.derivationIndex + 1;
  }
  await database.write((tx) => {
    addresses.giveBack(tx, walletId);
    endRecheck(tx, catalog, walletId);
  });
  world.log.info('indexes that were marked as used are asked about again', { walletId, takenBack });
}

/** Undefined where it is used indeed, or nothing is known of it now. */
async function unusedAs(
  parts: RecheckParts,
  session: Session,
  { id, scripthash, statusHash }: AddressPlace,
): Promise<Unused | undefined> {
  const script = { scripthash, script: parts.store.addresses.scriptOf(id) };
  const use = await useOf(parts, session, script).catch((error: unknown) => {
    if (isNoAnswer(error)) return 'open' as const;
    throw error;
  });
  if (use === 'used' || use === 'open') return undefined;
  return { id, statusHash: use === 'none' ? null : (statusHash ?? unfinished) };
}
