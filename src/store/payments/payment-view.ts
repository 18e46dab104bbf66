// Payments for people: lists by page, one with its callbacks. Reads alone, and only of addresses
// that customers can have. A list shows what was first seen last. Payments of one address or
// transaction go by their id.

// A page reads candidates by an index: few columns of the payments that can match, in the order of
// the list. A store has no index of its own, so it is compared row by row, for so many rows a page.

import { and, asc, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { PaymentState } from '../../domain/payment/payment.ts';
import { PaygateError } from '../../lib/errors.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import {
  type Candidates,
  type FoundIds,
  findIds,
  inMemory,
  listBegin,
  maxRowsRead,
  newestFirst,
  readAll,
  rowsBehind,
  type SearchedPage,
  type TimedPlace,
} from '../db/searched-list.ts';
import { isCallback } from '../delivery/callback-queue.ts';
import { callbackColumns, deliveries } from '../schema/delivery-schema.ts';
import {
  addresses,
  isGivenOut,
  isReversedSince,
  payments,
  stores,
  wallets,
} from '../schema/schema.ts';

export interface PaymentFilter {
  /** Only these payments. */
  readonly ids?: readonly number[] | undefined;
  /** Only those that a transaction pays. */
  readonly isOnChain?: true;
  readonly scripthash?: Scripthash | undefined;
  readonly txid?: Txid | undefined;
  readonly storeId?: number | null | undefined;
  readonly states?: readonly PaymentState[] | undefined;
  /** Taken back after this time, and after the shop received 1 or 2. */
  readonly reversedSince?: number | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export type PaymentEntry = NonNullable<ReturnType<ReturnType<typeof prepareEntry>['get']>>;

export type PaymentPage = SearchedPage<PaymentEntry>;

const allStates: readonly PaymentState[] = [
  'unconfirmed',
  'confirming',
  'confirmed',
  'settled',
  'dropped',
];

export type PaymentView = ReturnType<typeof createPaymentView>;

export function createPaymentView(orm: Orm) {
  const entry = prepareEntry(orm);
  const search = createCandidateSearch(orm);

  function page(filter: PaymentFilter): PaymentPage {
    const { ids, goesOnAt } = search(filter);
    return { rows: ids.flatMap((id) => entry.get({ id }) ?? []), goesOnAt };
  }

  return {
    /** Newest first. A page may end early, and says where the next one begins. */
    page,
    /** Newest first, all that match up to the limit. It may read the whole table, page by page. */
    list: (filter: PaymentFilter): PaymentEntry[] =>
      readAll((place) => page({ ...filter, ...place }), filter),
    /** @throws PaygateError not_found */
    payment(id: number): PaymentEntry {
      const row = entry.get({ id });
      if (row === undefined) throw new PaygateError('not_found', `there is no payment ${id}`);
      return row;
    },
    callbacksOf: (paymentId: number) =>
      orm
        .select(callbackColumns)
        .from(deliveries)
        .where(and(isCallback, eq(deliveries.paymentId, paymentId)))
        .orderBy(asc(deliveries.version))
        .all(),
  };
}

const prepareEntry = (orm: Orm) =>
  prepared(() =>
    orm
      .select({
        ...getTableColumns(payments),
        ...columnsOf(addresses, 'address', 'storeId', 'orderId'),
        storeName: stores.name,
      })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(stores, eq(stores.id, addresses.storeId))
      .where(and(isGivenOut, equals(payments.id, 'id'))),
  );

interface Candidate extends TimedPlace {
  readonly state: PaymentState;
  readonly scripthash: Scripthash;
  readonly storeId: number | null;
  readonly preimage: string | null;
}

interface CandidateList {
  /** Sorted by the time, not by the id alone. */
  readonly isTimed: boolean;
  read(begin: TimedPlace, limit: number): readonly Candidate[];
}

function createCandidateSearch(orm: Orm): (filter: PaymentFilter) => FoundIds {
  const statements = prepareCandidates(orm);

  /** The place before which a list begins; undefined if the row of the page before is unknown. */
  function beginOf({ beforeId, until }: PaymentFilter, isTimed: boolean): TimedPlace | undefined {
    const begin = { ...listBegin, at: until ?? listBegin.at };
    if (beforeId === undefined) return begin;
    const last = statements.place.get({ id: beforeId });
    if (last === undefined) return undefined;
    return isTimed && newestFirst(begin, last) > 0 ? begin : last;
  }

  return (filter) => {
    const { scripthash, txid, storeId, states, since = 0, until, reversedSince, limit } = filter;
    const { isTimed, read } = listOf(statements, filter);
    const begin = beginOf(filter, isTimed);
    if (begin === undefined) return { ids: [], goesOnAt: undefined };
    const isWhole = states === undefined && since === 0 && until === undefined;
    const isNamedTwice =
      scripthash !== undefined && (txid !== undefined || reversedSince !== undefined);
    const isExact =
      !filter.isOnChain && storeId === undefined && (isTimed || (isWhole && !isNamedTwice));
    const candidates: Candidates<Candidate> = {
      read: (last, size) => read(last ?? begin, size),
      matches: isExact ? undefined : (row) => matches(row, filter),
      isOver: (row) => isTimed && row.at < since,
    };
    return findIds(candidates, limit);
  };
}

function matches(
  row: Candidate,
  { isOnChain, scripthash, storeId, states, since = 0, until = listBegin.at }: PaymentFilter,
): boolean {
  return (
    (!isOnChain || row.preimage === null) &&
    (scripthash === undefined || row.scripthash === scripthash) &&
    (storeId === undefined || row.storeId === storeId) &&
    (states === undefined || states.includes(row.state)) &&
    row.at >= since &&
    row.at < until
  );
}

type CandidateStatements = ReturnType<typeof prepareCandidates>;

function listOf(statements: CandidateStatements, filter: PaymentFilter): CandidateList {
  const { ids, txid, scripthash, storeId, states = allStates, reversedSince } = filter;
  if (ids !== undefined) {
    const named = JSON.stringify(ids);
    return byId((values) => statements.ofIds.all({ ...values, ids: named }));
  }
  if (reversedSince !== undefined) {
    const reversed = statements.reversed.all({ since: reversedSince, limit: maxRowsRead });
    const rows = reversed.filter((row) => txid === undefined || row.txid === txid);
    return {
      isTimed: false,
      read: ({ id }, limit) => inMemory(rows, id || undefined)(undefined, limit),
    };
  }
  if (txid !== undefined) return byId((values) => statements.ofTxid.all({ ...values, txid }));
  if (scripthash !== undefined) {
    return byId((values) => statements.ofAddress.all({ ...values, scripthash }));
  }
  if (storeId === null) return byId((values) => statements.ofNoStore.all(values));
  return {
    isTimed: true,
    read: (begin, limit) =>
      mergeLists(
        states.map((state): ReadList<Candidate> => {
          const { inState } = statements;
          return (last, size) => rowsBehind(inState, { state }, last ?? begin, size);
        }),
        newestFirst,
        limit,
      ),
  };
}

const byId = (
  read: (values: { readonly id: number; readonly limit: number }) => readonly Candidate[],
): CandidateList => ({
  isTimed: false,
  // No row has the id 0.
  read: ({ id }, limit) => read({ id: id || Number.MAX_SAFE_INTEGER, limit }),
});

function prepareCandidates(orm: Orm) {
  const columns = {
    id: payments.id,
    at: payments.firstSeenAt,
    ...columnsOf(payments, 'state', 'txid', 'preimage'),
    ...columnsOf(addresses, 'scripthash', 'storeId'),
  };
  const limit = sql.placeholder('limit');
  const isBefore = lt(payments.id, placeholder('id'));
  const rows = (order: readonly SQL[], ...conditions: SQL[]) =>
    prepared(() =>
      orm
        .select(columns)
        .from(payments)
        .innerJoin(addresses, eq(addresses.id, payments.addressId))
        .where(and(isGivenOut, ...conditions))
        .orderBy(...order)
        .limit(limit),
    );
  const newestId = [desc(payments.id)];
  const newest = [desc(payments.firstSeenAt), desc(payments.id)];
  const isInState = equals(payments.state, 'state');
  const at = placeholder('at');
  return {
    place: prepared(() =>
      orm
        .select({ at: payments.firstSeenAt, id: payments.id })
        .from(payments)
        .where(equals(payments.id, 'id')),
    ),
    inState: {
      sameMoment: rows(newest, isInState, eq(payments.firstSeenAt, at), isBefore),
      older: rows(newest, isInState, lt(payments.firstSeenAt, at)),
    },
    ofIds: rows(
      newestId,
      sql`${payments.id} in (select value from json_each(${placeholder('ids')}))`,
      isBefore,
    ),
    ofTxid: rows(newestId, equals(payments.txid, 'txid'), isBefore),
    ofAddress: rows(newestId, equals(addresses.scripthash, 'scripthash'), isBefore),
    reversed: rows([desc(payments.changedAt)], isReversedSince(placeholder('since'))),
    // In this order, by an index: of a file that was never a copy there is none.
    ofNoStore: prepared(() =>
      orm
        .select(columns)
        .from(wallets)
        .crossJoin(addresses)
        .crossJoin(payments)
        .where(
          sql`${addresses.walletId} = ${wallets.id} and ${addresses.origin} = 'skipped'
          and ${addresses.storeId} is null and ${payments.addressId} = ${addresses.id}
          and ${payments.id} < ${placeholder('id')}`,
        )
        .orderBy(...newestId)
        .limit(limit),
    ),
  };
}
