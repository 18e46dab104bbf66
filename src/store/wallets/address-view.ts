// What people see of addresses: lists by page, one of them, and which another program has used.
// Reads alone.

import { and, desc, eq, getTableColumns, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { Scripthash } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { type Orm, prepared } from '../db/orm.ts';
import { maxRowsRead } from '../db/searched-list.ts';
import { addresses, isGivenOut, isOfStore, stores, wallets } from '../schema/schema.ts';

export interface AddressFilter {
  readonly scripthash?: Scripthash | undefined;
  readonly storeId?: number | null | undefined;
  readonly paid?: boolean | undefined;
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export type AddressEntry = ReturnType<typeof list>[number];

export interface AddressPage {
  readonly rows: readonly AddressEntry[];
  /**
   * The last row that was read, unless it is the oldest or the page is full. The next page begins
   * before it.
   */
  readonly goesOnAt: number | undefined;
}

export type AddressView = ReturnType<typeof createAddressView>;

const countOf = (condition: string) =>
  sql<number>`(select count(*) from addresses a
    where a.wallet_id = ${wallets}.id and ${sql.raw(condition)})`;
const foreignCount = countOf("a.origin = 'foreign'");
const claimedCount = countOf("a.origin = 'ahead' and a.status_hash is not null");

export function createAddressView(orm: Orm) {
  const statements = {
    foreign: prepared(() =>
      orm
        .select({ walletId: wallets.id, count: foreignCount, claimed: claimedCount })
        .from(wallets),
    ),
  };
  return {
    list(filter: AddressFilter): AddressPage {
      const until = isOfAKind(filter) ? lastRowRead(orm, filter.beforeId) : undefined;
      const rows = list(orm, { ...filter, until });
      return { rows, goesOnAt: rows.length < filter.limit ? until : undefined };
    },
    address(id: number): AddressEntry {
      const [row] = list(orm, { limit: 1, id });
      if (row === undefined) throw new PaygateError('not_found', `there is no address ${id}`);
      return row;
    },
    /** By wallet, what another program used; `claimed`: what only one server reports. */
    foreignUses: () => statements.foreign.all().filter(({ count, claimed }) => count + claimed > 0),
  };
}

/** Which each is looked at for; one by its script, and those of no store, are found by an index. */
const isOfAKind = ({ scripthash, paid, storeId }: AddressFilter): boolean =>
  scripthash === undefined && (paid !== undefined || typeof storeId === 'number');

/**
 * In the order in which they were given out, those of one moment by number: each wallet has rows in
 * advance.
 */
const order = sql`(${addresses.issuedAt}, ${addresses.id})`;
const placeOf = (id: number): SQL =>
  sql`((select given.issued_at from addresses given where given.id = ${id}), ${id})`;
const isBehind = (id: number): SQL => sql`${order} < ${placeOf(id)}`;

function lastRowRead(orm: Orm, beforeId: number | undefined): number | undefined {
  return orm
    .select({ id: addresses.id })
    .from(addresses)
    .where(
      and(isNotNull(addresses.issuedAt), beforeId === undefined ? undefined : isBehind(beforeId)),
    )
    .orderBy(desc(addresses.issuedAt), desc(addresses.id))
    .limit(1)
    .offset(maxRowsRead - 1)
    .get()?.id;
}

interface AddressSearch extends AddressFilter {
  readonly id?: number;
  readonly until?: number | undefined;
}

function list(orm: Orm, filter: AddressSearch) {
  const { id, scripthash, storeId, paid, beforeId, until, limit } = filter;
  const isPaid = sql<number>`exists (select 1 from payments p
    where p.address_id = addresses.id and p.state <> 'dropped')`;
  // A plus keeps SQLite from the index of that order where few are meant.
  const issuedAt = sql`${sql.raw(storeId === null ? '+' : '')}${addresses.issuedAt}`;
  return orm
    .select({
      ...getTableColumns(addresses),
      storeName: stores.name,
      isPaid: isPaid.mapWith(Boolean),
    })
    .from(addresses)
    .leftJoin(stores, eq(stores.id, addresses.storeId))
    .where(
      and(
        isGivenOut,
        // SQLite uses the index of that order only with this condition.
        isNotNull(addresses.issuedAt),
        id === undefined ? undefined : eq(addresses.id, id),
        scripthash === undefined ? undefined : eq(addresses.scripthash, scripthash),
        storeId === undefined ? undefined : isOfStore(storeId),
        paid === undefined ? undefined : paid ? isPaid : sql`not ${isPaid}`,
        beforeId === undefined ? undefined : isBehind(beforeId),
        until === undefined ? undefined : sql`${order} >= ${placeOf(until)}`,
      ),
    )
    .orderBy(desc(issuedAt), desc(addresses.id))
    .limit(limit)
    .all();
}
