// The addresses that are watched, read page by page: which of them, and in what order. What a page
// costs does not depend on how many addresses there are.

import { and, count, desc, eq, gt, isNotNull, lt, max, type SQL, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import type { StatusHash } from '../../domain/payment/script-history.ts';
import { columnsOf, type Orm, placeholder, prepared } from '../db/orm.ts';
import { addresses, payments, wallets } from '../schema/schema.ts';

export interface Watched {
  readonly id: number;
  readonly scripthash: Scripthash;
  readonly statusHash: StatusHash | null;
  /** Null for what no customer holds. */
  readonly issuedAt: number | null;
}

export type GivenOut = Pick<Watched, 'id' | 'issuedAt'>;

/** Newest first. */
export type WatchedPages = ReturnType<typeof createWatchedPages>;

export function createWatchedPages(orm: Orm) {
  const statements = prepare(orm);
  return {
    /**
     * Addresses ahead, `count` of each wallet's next ones. None of a wallet that waits for its
     * scan: the scan can find that others issued them, and payments to them then count.
     */
    upcoming: (count: number): Watched[] => statements.upcoming.all({ count }),
    /** Used by another program before we could issue them, below an id. */
    foreign: (beforeId: number, limit: number): Watched[] =>
      statements.foreign.all({ beforeId, limit }),
    count: (): number => statements.count.get()?.count ?? 0,
    /** What customers may hold or another program uses, below an id. */
    notAhead: (beforeId: number, limit: number): Watched[] =>
      statements.notAhead.all({ beforeId, limit }),
    /** Given out after a time, behind a row or a time. */
    recent: (since: number, behind: GivenOut | undefined, limit: number): Watched[] =>
      statements.recent.all({
        since,
        issuedAt: behind?.issuedAt ?? Number.MAX_SAFE_INTEGER,
        id: behind?.id ?? 0,
        limit,
      }),
    countRecent: (since: number): number => statements.countRecent.get({ since })?.count ?? 0,
    /** With a payment that may still change, below an id; recent ones too. */
    unsettled: (beforeId: number, limit: number): Watched[] =>
      statements.unsettled.all({ beforeId, limit }),
    countUnsettled: (): number => statements.countUnsettled.get()?.count ?? 0,
  };
}

function prepare(orm: Orm) {
  const fields = columnsOf(addresses, 'id', 'scripthash', 'statusHash', 'issuedAt');
  const isBefore = lt(addresses.id, placeholder('beforeId'));
  const isRecent = gt(addresses.issuedAt, placeholder('since'));
  // As in the index, else SQLite does not use it.
  const isUnsettled = sql`${payments.state} in ('unconfirmed', 'confirming', 'confirmed')`;
  const page = (condition: SQL) =>
    prepared(() =>
      orm
        .select(fields)
        .from(addresses)
        .where(and(isBefore, condition))
        .orderBy(desc(addresses.id))
        .limit(sql.placeholder('limit')),
    );
  return {
    upcoming: prepared(() =>
      orm
        .select(fields)
        .from(wallets)
        // SQLite keeps this order. It would rather go through all addresses, whose number it does
        // not know.
        .crossJoin(addresses)
        .where(
          and(
            isNotNull(wallets.scannedAt),
            eq(addresses.walletId, wallets.id),
            eq(addresses.origin, 'ahead'),
            lt(addresses.derivationIndex, sql`${wallets.nextIndex} + ${placeholder('count')}`),
          ),
        )
        .orderBy(desc(addresses.id)),
    ),
    foreign: page(sql`${addresses.origin} = 'foreign'`),
    notAhead: page(sql`${addresses.origin} <> 'ahead'`),
    // No row is ever deleted: the newest id is their number.
    count: prepared(() => orm.select({ count: max(addresses.id) }).from(addresses)),
    recent: prepared(() =>
      orm
        .select(fields)
        .from(addresses)
        .where(
          and(
            isRecent,
            sql`(${addresses.issuedAt}, ${addresses.id}) < (${placeholder('issuedAt')}, ${placeholder('id')})`,
          ),
        )
        .orderBy(desc(addresses.issuedAt), desc(addresses.id))
        .limit(sql.placeholder('limit')),
    ),
    countRecent: prepared(() => orm.select({ count: count() }).from(addresses).where(isRecent)),
    unsettled: prepared(() =>
      orm
        .select(fields)
        // Named, because SQLite would rather collect and sort all of them by another one.
        .from(sql`${payments} indexed by payments_unsettled`)
        .innerJoin(addresses, eq(addresses.id, payments.addressId))
        .where(and(isUnsettled, lt(payments.addressId, placeholder('beforeId'))))
        .groupBy(payments.addressId)
        .orderBy(desc(payments.addressId))
        .limit(sql.placeholder('limit')),
    ),
    countUnsettled: prepared(() =>
      orm.select({ count: count() }).from(payments).where(isUnsettled),
    ),
  };
}
