// Issues left-out indexes that turned out to be unused, before the counter rises on. Their number
// is a second counter in the high-water mark, which detects an older copy of the file. A copy
// issues none, because its original can have issued them.

import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import type { StatusHash } from '../../domain/payment/script-history.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import type { FileState, ReturnedState } from '../file/file-state.ts';
import { addresses } from '../schema/schema.ts';
import { type AddressPlace, addressPlace, onBranch } from './address-row.ts';
import type { Catalog, WalletRow } from './catalog.ts';

/** A row that a server was asked about again. */
export interface Unused {
  readonly id: number;
  /** Null where no server names a history. */
  readonly statusHash: StatusHash | null;
}

export interface ReturnedIndexes {
  returnedCount(walletId: number): number;
  /**
   * Sets that number to the one in the mark file. Which indexes they are is unknown, so no more are
   * issued.
   */
  setReturnedCount(tx: Tx, walletId: number, count: number): void;
  /** Keeps left-out indexes below an index from being issued: another file may have issued them. */
  withholdBelow(tx: Tx, walletId: number, index: number): void;
  /** Indexes that are marked as used by another program, from an index on, in ascending order. */
  foreignFrom(walletId: number, index: number, limit: number): AddressPlace[];
  unmark(tx: Tx, unused: readonly Unused[]): void;
  /** From now on, left-out indexes below the wallet's counter are issued first. */
  returnLeftOut(tx: Tx, walletId: number): void;
}

/** So many pending indexes do not hide the ones behind them. */
const maxPending = 20;

type Raise = (tx: Tx, wallet: WalletRow, from: number, to: number) => void;

export function createReturnedIndexes(
  orm: Orm,
  catalog: Catalog,
  state: Pick<FileState, 'returned'>,
  raise: Raise,
): ReturnedIndexes & {
  takeBack(
    tx: Tx,
    wallet: WalletRow,
    max: number,
    isPending?: (scripthash: Scripthash) => boolean,
  ): AddressPlace[];
} {
  const statements = prepare(orm);

  const stateOf = (walletId: number): ReturnedState => state.returned(walletId).read();

  const put = (tx: Tx, walletId: number, change: Partial<ReturnedState>): void =>
    state.returned(walletId).write(tx, { ...stateOf(walletId), ...change });

  const withheldBelow = (walletId: number): number => stateOf(walletId).withheldBelow ?? 0;

  const withholdBelow: ReturnedIndexes['withholdBelow'] = (tx, walletId, index) =>
    put(tx, walletId, { until: 0, withheldBelow: index });

  return {
    takeBack(tx, wallet, max, isPending = () => false) {
      const walletId = wallet.id;
      const { until, count } = stateOf(walletId);
      if (until === 0) return [];
      const limit = max + maxPending;
      const near = statements.leftOut.all({
        walletId,
        from: withheldBelow(walletId),
        until,
        limit,
      });
      const back = near.filter(({ scripthash }) => !isPending(scripthash)).slice(0, max);
      if (back.length === 0) return [];
      raise(tx, wallet, count, count + back.length);
      put(tx, walletId, { count: count + back.length });
      return back;
    },
    returnedCount: (walletId) => stateOf(walletId).count,
    setReturnedCount(tx, walletId, count) {
      put(tx, walletId, { count });
      withholdBelow(tx, walletId, catalog.wallet(walletId).nextIndex);
    },
    withholdBelow,
    foreignFrom: (walletId, index, limit) =>
      statements.foreign.all({ walletId, from: Math.max(index, withheldBelow(walletId)), limit }),
    unmark(_tx, unused) {
      for (const each of unused) statements.unmark.run({ ...each });
    },
    returnLeftOut: (tx, walletId) =>
      put(tx, walletId, { until: catalog.wallet(walletId).nextIndex }),
  };
}

function prepare(orm: Orm) {
  const from = gte(addresses.derivationIndex, placeholder('from'));
  const rows = (condition: ReturnType<typeof and>) =>
    prepared(() =>
      orm
        .select(addressPlace)
        .from(addresses)
        .where(and(onBranch(), from, condition))
        .orderBy(asc(addresses.derivationIndex))
        .limit(sql.placeholder('limit')),
    );
  return {
    leftOut: rows(
      and(
        eq(addresses.origin, 'ahead'),
        sql`${addresses.statusHash} is null`,
        lt(addresses.derivationIndex, placeholder('until')),
      ),
    ),
    foreign: rows(eq(addresses.origin, 'foreign')),
    unmark: prepared(() =>
      orm
        .update(addresses)
        .set({ origin: 'ahead', statusHash: placeholder('statusHash') })
        .where(and(equals(addresses.id, 'id'), eq(addresses.origin, 'foreign'))),
    ),
  };
}
