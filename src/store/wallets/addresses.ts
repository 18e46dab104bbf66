// Addresses of the wallets' external branches: derived ahead, issued once, never recycled. Every
// rise of a wallet's counter goes through `advance`, which announces it to the high-water mark.

import { and, eq, gte, lt, max, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import { type DerivedAddress, deriveAddress, type WalletKey } from '../../bitcoin/keychain.ts';
import { scanGap } from '../../domain/store/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import type { FileState } from '../file/file-state.ts';
import { type AddressOrigin, addresses, isGivenOut, wallets } from '../schema/schema.ts';
import {
  type AddressPlace,
  addressPlace,
  external,
  type IssuedAddress,
  incompleteStatus,
  issuedOf,
  onBranch,
} from './address-row.ts';
import { type Catalog, onlyStoreOf, type WalletRow } from './catalog.ts';
import { raisesTo } from './counter-raise.ts';
import { createReturnedIndexes, type ReturnedIndexes } from './returned-indexes.ts';
import { createUnpaidAddresses, type IsPending, type UnpaidAddresses } from './unpaid-addresses.ts';
import { createWatchedPages, type WatchedPages } from './watched-addresses.ts';

export interface DerivedIndex extends DerivedAddress {
  readonly index: number;
}

export interface Addresses extends WatchedPages, UnpaidAddresses, ReturnedIndexes {
  /**
   * Issues the wallet's next unused addresses, one for each entry of `storeIds`.
   * @param isPending whether a server announced a history that is not processed yet; then the
   * address is left out. See docs/decisions/021.
   * @throws PaygateError unavailable before the first scan, and below the wallet's floor
   */
  issueEach(
    tx: Tx,
    now: number,
    walletId: number,
    storeIds: readonly number[],
    isPending?: IsPending,
  ): IssuedAddress[];
  issue(
    tx: Tx,
    now: number,
    walletId: number,
    storeId: number,
    isPending?: IsPending,
  ): IssuedAddress;
  issuedAs(id: number): IssuedAddress | undefined;
  /** Derives addresses up to (not including) an index. @returns the new ones */
  deriveAhead(tx: Tx, walletId: number, until: number): Scripthash[];
  keepAhead(tx: Tx, walletId: number, derived: readonly DerivedIndex[]): void;
  /** Addresses ahead, from one index up to (not including) another. */
  ahead(walletId: number, from: number, until: number): Scripthash[];
  /** The first index without an address. */
  derivedUntil(walletId: number): number;
  /**
   * Marks indexes as issued by the file that this one is a copy of. They are watched, and never
   * issued.
   * @returns scripts to watch from now on
   */
  skip(tx: Tx, now: number, walletId: number, to: number): Scripthash[];
  /**
   * The index up to which the high-water mark says the wallet issued, if the file did not know;
   * else 0.
   */
  floor(walletId: number): number;
  /**
   * Whether a counter is lower than at the last call, or a wallet is missing. Then an older copy
   * was put over the file.
   */
  isSetBack(): boolean;
  /**
   * Stops issuing until every wallet was scanned: how far the original of this copy issued is
   * unknown.
   */
  requireScan(tx: Tx): void;
  finishScan(tx: Tx, now: number, walletId: number, nextIndex: number): void;
  isUsed(walletId: number): boolean;
  byScripthash(scripthash: Scripthash): AddressPlace | undefined;
  scriptOf(id: number): Uint8Array;
}

/** Among this many indexes below the counter, at most a gap limit may be left out. */
const leftOutWithin = 100;
/**
 * At most this many of them because of a single server's report: unpaid indexes need the rest of
 * the gap.
 */
const maxClaimed = 5;
/** @param floorOf see `Addresses.floor`; takes the name of the wallet in the high-water mark */
export function createAddresses(
  orm: Orm,
  catalog: Catalog,
  state: FileState,
  floorOf: (wallet: string) => number,
): Addresses {
  const statements = prepare(orm);
  const { floor, raise, raiseGivenBack, isSetBack } = raisesTo(floorOf);
  const { takeBack, ...givenBack } = createReturnedIndexes(orm, catalog, state, raiseGivenBack);

  const isUsed = (walletId: number): boolean =>
    statements.firstUsed.get({ walletId }) !== undefined;

  function advance(tx: Tx, wallet: WalletRow, to: number): void {
    if (to <= wallet.nextIndex) return;
    // The first skip of a copy comes before the mark file is begun for the copy. It must not raise
    // the mark file of the original, because the next start would trust that.
    if (wallet.scannedAt !== null || wallet.nextIndex < floor(wallet)) raise(tx, wallet, to);
    statements.setNextIndex.run({ walletId: wallet.id, nextIndex: to });
  }

  function skip(tx: Tx, now: number, walletId: number, to: number): Scripthash[] {
    const wallet = catalog.wallet(walletId);
    const storeId = onlyStoreOf(orm, walletId, state.copied.read().at);
    const skipped: Scripthash[] = [];
    for (let index = wallet.nextIndex; index < to; index += 1) {
      const row = rowAt(statements, catalog, walletId, index);
      if (row?.origin !== 'ahead') continue;
      statements.skip.run({ id: row.id, storeId, now });
      skipped.push(row.scripthash);
    }
    advance(tx, wallet, to);
    return skipped;
  }

  const issueEach: Addresses['issueEach'] = (tx, now, walletId, storeIds, isPending) => {
    const wallet = catalog.wallet(walletId);
    if (wallet.scannedAt === null) throw notYet('is scanned for used addresses first');
    if (wallet.nextIndex < floor(wallet)) {
      throw notYet('first skips the addresses that it issued before');
    }
    const back = takeBack(tx, wallet, storeIds.length, isPending);
    const next = unusedFrom(statements, catalog, wallet, storeIds.length - back.length, isPending);
    const handed = storeIds.map((storeId, at) => ({ storeId, row: back[at] ?? next() }));
    // Before any address is issued, because it throws if none may be.
    advance(tx, wallet, (handed.at(-1)?.row.derivationIndex ?? -1) + 1);
    return handed.map(({ storeId, row }) => {
      statements.issue.run({ id: row.id, storeId, now });
      return issuedOf({ ...row, issuedAt: now }, wallet);
    });
  };

  return {
    issueEach,
    issue(tx, now, walletId, storeId, isPending) {
      const [issued] = issueEach(tx, now, walletId, [storeId], isPending) as [IssuedAddress];
      return issued;
    },
    skip,
    floor: (walletId) => floor(catalog.wallet(walletId)),
    isSetBack: () => isSetBack(catalog.wallets(), givenBack.returnedCount),
    requireScan: () => void orm.update(wallets).set({ scannedAt: null }).run(),
    finishScan(tx, now, walletId, found) {
      const wallet = catalog.wallet(walletId);
      // A copy can have skipped further meanwhile, and a counter never falls.
      const nextIndex = Math.max(wallet.nextIndex, found);
      if (isUsed(walletId)) raise(tx, wallet, nextIndex);
      const scanned = { scannedAt: now, nextIndex };
      orm.update(wallets).set(scanned).where(eq(wallets.id, walletId)).run();
      givenBack.withholdBelow(tx, walletId, nextIndex);
    },
    isUsed,
    ...givenBack,
    ...derivingOf(statements, catalog),
    ...readersOf(statements, catalog),
    ...createUnpaidAddresses(orm, catalog),
    ...createWatchedPages(orm),
  };
}

const derivingOf = (statements: AddressStatements, catalog: Catalog) =>
  ({
    deriveAhead(_tx, walletId, until) {
      const key = catalog.walletKey(walletId);
      const derived: Scripthash[] = [];
      for (let index = derivedUntil(statements, catalog, walletId); index < until; index += 1) {
        const scripthash = insertDerived(statements, key, walletId, index);
        if (scripthash !== undefined) derived.push(scripthash);
      }
      return derived;
    },
    keepAhead(_tx, walletId, derived) {
      for (const each of derived) insert(statements, walletId, each);
    },
    derivedUntil: (walletId) => derivedUntil(statements, catalog, walletId),
  }) satisfies Partial<Addresses>;

const readersOf = (statements: AddressStatements, catalog: Catalog) =>
  ({
    issuedAs(id) {
      const row = statements.byId.get({ id });
      return row && issuedOf(row, catalog.wallet(row.walletId));
    },
    ahead: (walletId, from, until) =>
      statements.ahead.all({ walletId, from, until }).map(({ scripthash }) => scripthash),
    byScripthash: (scripthash) => statements.byScripthash.get({ scripthash }),
    scriptOf(id) {
      const row = statements.script.get({ id });
      if (row === undefined) throw new Error(`there is no address ${id}`);
      return row.script;
    },
  }) satisfies Partial<Addresses>;

/** The row of an index, derived now if it is missing; undefined if the key has no such child. */
function rowAt(
  statements: AddressStatements,
  catalog: Catalog,
  walletId: number,
  index: number,
): AddressPlace | undefined {
  const found = statements.atIndex.get({ walletId, index });
  if (found !== undefined) return found;
  insertDerived(statements, catalog.walletKey(walletId), walletId, index);
  return statements.atIndex.get({ walletId, index });
}

/** @returns a function that returns the next unused row; `count` rows are read at once */
function unusedFrom(
  statements: AddressStatements,
  catalog: Catalog,
  { id: walletId, nextIndex }: WalletRow,
  count: number,
  isPending: IsPending = () => false,
): () => AddressPlace {
  const derived = statements.between.all({ walletId, from: nextIndex, until: nextIndex + count });
  const near = new Map(derived.map((row) => [row.derivationIndex, row]));
  let index = nextIndex;
  let leftOut: number | undefined;

  /** A single server must not drive the counter beyond the wallet's gap limit. */
  function mayBeLeftOut(max: number): boolean {
    const from = nextIndex - leftOutWithin;
    leftOut ??= statements.ahead.all({ walletId, from, until: nextIndex }).length;
    if (leftOut >= max) return false;
    leftOut += 1;
    return true;
  }

  return () => {
    for (;;) {
      const row = near.get(index) ?? rowAt(statements, catalog, walletId, index);
      index += 1;
      if (row?.origin !== 'ahead') continue;
      const isLeftOut =
        row.statusHash === null
          ? isPending(row.scripthash) && mayBeLeftOut(scanGap)
          : mayBeLeftOut(maxClaimed);
      if (!isLeftOut) return row;
    }
  };
}

function derivedUntil(statements: AddressStatements, catalog: Catalog, walletId: number): number {
  const last = statements.lastIndex.get({ walletId })?.last ?? -1;
  return Math.max(last + 1, catalog.wallet(walletId).nextIndex);
}

function insertDerived(
  statements: AddressStatements,
  key: WalletKey,
  walletId: number,
  index: number,
): Scripthash | undefined {
  const derived = deriveAddress(key, external, index);
  if (derived === undefined) return undefined;
  insert(statements, walletId, { ...derived, index });
  return derived.scripthash;
}

function insert({ insert }: AddressStatements, walletId: number, derived: DerivedIndex): void {
  const { index, address, script, scripthash } = derived;
  insert.run({ walletId, index, address, script: Buffer.from(script), scripthash });
}

const notYet = (what: string) =>
  new PaygateError(
    'unavailable',
    `This wallet ${what}; ask again in a moment, /healthz says what it waits for`,
    {
      retryAfterSeconds: 5,
    },
  );

function prepare(orm: Orm) {
  return {
    atIndex: prepared(() =>
      orm
        .select(addressPlace)
        .from(addresses)
        .where(and(onBranch(), equals(addresses.derivationIndex, 'index'))),
    ),
    between: prepared(() =>
      orm
        .select(addressPlace)
        .from(addresses)
        .where(
          and(
            onBranch(),
            gte(addresses.derivationIndex, placeholder('from')),
            lt(addresses.derivationIndex, placeholder('until')),
          ),
        ),
    ),
    ...prepareRow(orm),
    lastIndex: prepared(() =>
      orm
        .select({ last: max(addresses.derivationIndex) })
        .from(addresses)
        .where(onBranch()),
    ),
    firstUsed: prepared(() =>
      orm.select({ id: addresses.id }).from(addresses).where(and(ofWallet(), isGivenOut)).limit(1),
    ),
    insert: prepared(() =>
      orm
        .insert(addresses)
        .values({
          walletId: placeholder('walletId'),
          branch: external,
          derivationIndex: placeholder('index'),
          ...placeholders('address', 'script', 'scripthash'),
          origin: 'ahead',
        })
        // A request can have needed the index before its row was derived ahead.
        .onConflictDoNothing({
          target: [addresses.walletId, addresses.branch, addresses.derivationIndex],
        }),
    ),
    ahead: prepared(() =>
      orm
        .select({ scripthash: addresses.scripthash })
        .from(addresses)
        .where(
          and(
            ofWallet(),
            eq(addresses.origin, 'ahead'),
            gte(addresses.derivationIndex, placeholder('from')),
            lt(addresses.derivationIndex, placeholder('until')),
          ),
        ),
    ),
    issue: prepared(() => orm.update(addresses).set(takenAs('issued')).where(rowId())),
    skip: prepared(() => orm.update(addresses).set(takenAs('skipped')).where(rowId())),
    setNextIndex: prepared(() =>
      orm.update(wallets).set(placeholders('nextIndex')).where(equals(wallets.id, 'walletId')),
    ),
  };
}

type AddressStatements = ReturnType<typeof prepare>;

const prepareRow = (orm: Orm) => ({
  byId: prepared(() => orm.select(addressPlace).from(addresses).where(rowId())),
  byScripthash: prepared(() =>
    orm.select(addressPlace).from(addresses).where(equals(addresses.scripthash, 'scripthash')),
  ),
  script: prepared(() => orm.select({ script: addresses.script }).from(addresses).where(rowId())),
});

const ofWallet = () => equals(addresses.walletId, 'walletId');

const rowId = () => equals(addresses.id, 'id');

/** A history that a single server reported before the address was issued is checked again. */
const takenAs = (origin: AddressOrigin) => ({
  origin,
  statusHash: sql`case when ${addresses.statusHash} is null then null else ${incompleteStatus} end`,
  storeId: placeholder('storeId'),
  issuedAt: placeholder('now'),
});
