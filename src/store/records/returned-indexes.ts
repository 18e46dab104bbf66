// Indexes below a wallet's counter that were left out, and that nobody uses after all: they are given out before the
// counter rises on. How many were so is a counter of its own in the mark, beside the wallet's, so that an older copy of the
// file, which does not know of them, is recognised as one. A copy gives none of them out: its original may have done so.

import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import type { StatusHash } from '../../domain/script-history.ts';
import type { Orm } from '../db/orm.ts';
import { given } from '../db/placeholder.ts';
import { addresses } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { type AddressPlace, addressPlace, external } from './address-statements.ts';
import type { Catalog, WalletRow } from './catalog.ts';
import { copiedAt } from './settings.ts';

/** What is known of a row that a server was asked about again. */
export interface Unused {
  readonly id: number;
  /** Null where no server names a history. */
  readonly statusHash: StatusHash | null;
}

export interface GivenBack {
  /** How many indexes of a wallet were given out after they had been left out. */
  givenBackCount(walletId: number): number;
  /** Sets how many there were at least, by the mark. Nobody knows which, so no more are given out. */
  setGivenBack(tx: Tx, walletId: number, count: number): void;
  /** None of what lies below an index is ever given out again: another file may have done so. */
  keepBelow(tx: Tx, walletId: number, index: number): void;
  /** Marked as used by another program, from an index on, in the order of their indexes. */
  foreignFrom(walletId: number, index: number, limit: number): AddressPlace[];
  /** Takes that mark back. */
  unmark(tx: Tx, unused: readonly Unused[]): void;
  /** What was left out below the wallet's counter is given out first from now on. */
  giveBack(tx: Tx, walletId: number): void;
}

/** The setting of a wallet. */
interface State {
  /** Indexes below are given out where they were left out. */
  readonly until: number;
  readonly count: number;
  /** But none below this one. */
  readonly keptBelow?: number;
}

/** So many that are being looked at do not hide what lies behind them. */
const passedOver = 20;

const nameOf = (walletId: number): string => `given_back:${walletId}`;

type Raise = (tx: Tx, wallet: WalletRow, from: number, to: number) => void;

/** @param raise tells the mark how many there are */
export function createGivenBack(
  orm: Orm,
  catalog: Catalog,
  raise: Raise,
): GivenBack & {
  /** To be given out: what was left out, and is nobody's after all, at most so many. */
  takeBack(
    tx: Tx,
    wallet: WalletRow,
    most: number,
    isPending?: (scripthash: Scripthash) => boolean,
  ): AddressPlace[];
} {
  const statements = prepare(orm);

  function stateOf(walletId: number): State {
    const text = catalog.setting(nameOf(walletId));
    return text === undefined ? { until: 0, count: 0 } : (JSON.parse(text) as State);
  }

  const put = (tx: Tx, walletId: number, change: Partial<State>): void =>
    catalog.putSetting(tx, nameOf(walletId), JSON.stringify({ ...stateOf(walletId), ...change }));

  /** A file that was found to be a copy before this was noted says nothing of what its original gave out. */
  function keptBelow(walletId: number): number {
    const unknown = copiedAt(catalog) > 0 ? catalog.wallet(walletId).nextIndex : 0;
    return stateOf(walletId).keptBelow ?? unknown;
  }

  const keepBelow: GivenBack['keepBelow'] = (tx, walletId, index) =>
    put(tx, walletId, { until: 0, keptBelow: index });

  return {
    takeBack(tx, wallet, most, isPending = () => false) {
      const walletId = wallet.id;
      const { until, count } = stateOf(walletId);
      if (until === 0) return [];
      const limit = most + passedOver;
      const near = statements.leftOut.all({ walletId, from: keptBelow(walletId), until, limit });
      const back = near.filter(({ scripthash }) => !isPending(scripthash)).slice(0, most);
      if (back.length === 0) return [];
      raise(tx, wallet, count, count + back.length);
      put(tx, walletId, { count: count + back.length });
      return back;
    },
    givenBackCount: (walletId) => stateOf(walletId).count,
    setGivenBack(tx, walletId, count) {
      put(tx, walletId, { count });
      keepBelow(tx, walletId, catalog.wallet(walletId).nextIndex);
    },
    keepBelow,
    foreignFrom: (walletId, index, limit) =>
      statements.foreign.all({ walletId, from: Math.max(index, keptBelow(walletId)), limit }),
    unmark(_tx, unused) {
      for (const each of unused) statements.unmark.run({ ...each });
    },
    giveBack: (tx, walletId) => put(tx, walletId, { until: catalog.wallet(walletId).nextIndex }),
  };
}

function prepare(orm: Orm) {
  const from = gte(addresses.derivationIndex, given('from'));
  const ofWallet = and(eq(addresses.walletId, given('walletId')), eq(addresses.branch, external));
  const rows = (condition: ReturnType<typeof and>) =>
    orm
      .select(addressPlace)
      .from(addresses)
      .where(and(ofWallet, from, condition))
      .orderBy(asc(addresses.derivationIndex))
      .limit(sql.placeholder('limit'))
      .prepare();
  return {
    leftOut: rows(
      and(
        eq(addresses.origin, 'ahead'),
        sql`${addresses.statusHash} is null`,
        lt(addresses.derivationIndex, given('until')),
      ),
    ),
    foreign: rows(eq(addresses.origin, 'foreign')),
    unmark: orm
      .update(addresses)
      .set({ origin: 'ahead', statusHash: given('statusHash') })
      .where(and(eq(addresses.id, given('id')), eq(addresses.origin, 'foreign')))
      .prepare(),
  };
}
