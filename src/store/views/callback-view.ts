// What people see of callbacks: a list, and one callback with every attempt.

import { and, asc, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { AttemptOutcome } from '../../domain/retry.ts';
import { PaygateError } from '../../lib/errors.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import {
  addresses,
  attempts,
  type CallbackState,
  callbacks,
  payments,
  stores,
} from '../db/schema.ts';
import { isAnswerDoubtful, isExhausted, isOwed } from '../records/callback-conditions.ts';
import {
  type Candidates,
  findIds,
  inMemory,
  maxRowsRead,
  readAll,
  type SearchedPage,
} from './searched-list.ts';

export interface CallbackFilter {
  readonly id?: number | undefined;
  /** Only of payments to this address. */
  readonly scripthash?: Scripthash | undefined;
  /** Only of payments by this transaction. */
  readonly txid?: Txid | undefined;
  readonly storeId?: number | undefined;
  readonly state?: CallbackState | undefined;
  /** Only delivered ones whose last answer of 200 is doubtful. */
  readonly doubted?: boolean | undefined;
  /** Only older ones than this id: the next page. */
  readonly beforeId?: number | undefined;
  /** Enqueued at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Enqueued before this time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

/** A callback as it is listed, with the outcome of its last attempt. */
export type CallbackRow = NonNullable<ReturnType<ReturnType<typeof prepareEntry>['get']>>;
/** An attempt as it was recorded. */
export type AttemptRow = typeof attempts.$inferSelect;

export interface CallbackView {
  /** Newest first. A page may end early, and says where the next one begins. */
  page(filter: CallbackFilter): SearchedPage<CallbackRow>;
  /** Newest first, all that match up to the limit. It may read the whole table, page by page. */
  list(filter: CallbackFilter): CallbackRow[];
  /** @throws PaygateError not_found */
  callback(id: number): CallbackRow;
  /** Oldest first; those that were folded are missing. */
  attempts(callbackId: number): AttemptRow[];
}

export function createCallbackView(orm: Orm): CallbackView {
  const entry = prepareEntry(orm);
  const candidates = createCandidates(orm);

  const page: CallbackView['page'] = (filter) => {
    const { ids, goesOnAt } = findIds(candidates(filter), filter.limit);
    return { rows: ids.flatMap((id) => entry.get({ id }) ?? []), goesOnAt };
  };

  return {
    page,
    list: (filter) => readAll((place) => page({ ...filter, ...place }), filter),
    callback(id) {
      const row = entry.get({ id });
      if (row === undefined) throw new PaygateError('not_found', `there is no callback ${id}`);
      return row;
    },
    attempts: (callbackId) =>
      orm
        .select()
        .from(attempts)
        .where(eq(attempts.callbackId, callbackId))
        .orderBy(asc(attempts.id))
        .all(),
  };
}

function prepareEntry(orm: Orm) {
  const ofLastAttempt = <T>(column: string): SQL<T | null> =>
    sql`(select a.${sql.raw(column)} from attempts a where a.callback_id = callbacks.id
      order by a.id desc limit 1)`;
  return orm
    .select({
      ...getTableColumns(callbacks),
      address: addresses.address,
      txid: payments.txid,
      valueSat: payments.valueSat,
      outcome: ofLastAttempt<AttemptOutcome>('outcome'),
      reason: ofLastAttempt<string>('reason'),
      doubt: ofLastAttempt<string>('doubt'),
    })
    .from(callbacks)
    .innerJoin(payments, eq(payments.id, callbacks.paymentId))
    .innerJoin(addresses, eq(addresses.id, payments.addressId))
    .where(eq(callbacks.id, placeholder('id')))
    .prepare();
}

/** What the filters compare of a callback. */
interface Candidate {
  readonly id: number;
  readonly storeId: number;
  readonly state: CallbackState;
  readonly createdAt: number;
}

/** Finds the rows that can match, by an index where there is one, the newest first. */
function createCandidates(orm: Orm): (filter: CallbackFilter) => Candidates<Candidate> {
  const statements = prepareCandidates(orm);

  function ofStores({ storeId, state, beforeId }: CallbackFilter): ReadList<Candidate> {
    const statement = isOpen(state) ? statements[state] : statements.ofStore;
    const storeIds =
      storeId === undefined ? statements.stores.all().map(({ id }) => id) : [storeId];
    return (last, limit) =>
      mergeLists(
        storeIds.map((ofStore): ReadList<Candidate> => {
          const before = last?.id ?? beforeId ?? Number.MAX_SAFE_INTEGER;
          return (own, size) =>
            statement.all({ storeId: ofStore, id: own?.id ?? before, limit: size });
        }),
        (one, other) => other.id - one.id,
        limit,
      );
  }

  return (filter) => {
    const { id, scripthash, txid, doubted } = filter;
    const before = filter.beforeId ?? Number.MAX_SAFE_INTEGER;
    const isDoubted = (row: Candidate) =>
      !doubted || statements.doubtful.get({ id: row.id }) !== undefined;
    const matches = (row: Candidate) => isMatch(row, filter) && isDoubted(row);
    if (id !== undefined || txid !== undefined || scripthash !== undefined) {
      const place = { id: before, limit: maxRowsRead };
      const rows =
        id !== undefined
          ? statements.byId.all({ id })
          : txid !== undefined
            ? statements.ofTxid.all({ ...place, txid })
            : statements.ofAddress.all({ ...place, scripthash });
      const isNamed = (row: NamedCandidate) =>
        (txid === undefined || row.txid === txid) &&
        (scripthash === undefined || row.scripthash === scripthash);
      const named = new Set(rows.filter(isNamed).map((row) => row.id));
      return {
        read: inMemory<Candidate>(rows, before),
        matches: (row) => named.has(row.id) && matches(row),
      };
    }
    if (doubted) {
      const read: ReadList<Candidate> = (last, limit) =>
        statements.doubted.all({ id: last?.id ?? before, limit });
      return { read, matches };
    }
    return { read: ofStores(filter), matches: isIndexed(filter) ? undefined : matches };
  };
}

const isOpen = (state: CallbackState | undefined): state is 'owed' | 'exhausted' =>
  state === 'owed' || state === 'exhausted';

/** Whether an index of the stores has all that the filter names. */
const isIndexed = ({ state, since, until }: CallbackFilter): boolean =>
  since === undefined && until === undefined && (state === undefined || isOpen(state));

function isMatch(
  row: Candidate,
  { storeId, state, since = 0, until = Number.MAX_SAFE_INTEGER }: CallbackFilter,
): boolean {
  return (
    (storeId === undefined || row.storeId === storeId) &&
    (state === undefined || row.state === state) &&
    row.createdAt >= since &&
    row.createdAt < until
  );
}

interface NamedCandidate extends Candidate {
  readonly txid: Txid;
  readonly scripthash: Scripthash;
}

function prepareCandidates(orm: Orm) {
  const columns = {
    id: callbacks.id,
    storeId: callbacks.storeId,
    state: callbacks.state,
    createdAt: callbacks.createdAt,
  };
  const limit = sql.placeholder('limit');
  const isBefore = lt(callbacks.id, placeholder('id'));
  const rows = (...conditions: SQL[]) =>
    orm
      .select(columns)
      .from(callbacks)
      .where(and(eq(callbacks.storeId, placeholder('storeId')), ...conditions, isBefore))
      .orderBy(desc(callbacks.id))
      .limit(limit)
      .prepare();
  const named = (...conditions: SQL[]) =>
    orm
      .select({ ...columns, txid: payments.txid, scripthash: addresses.scripthash })
      .from(callbacks)
      .innerJoin(payments, eq(payments.id, callbacks.paymentId))
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .where(and(...conditions));
  /** SQLite sorts those of one transaction or one address. */
  const newestNamed = (which: SQL) =>
    named(which, isBefore).orderBy(desc(callbacks.id)).limit(limit).prepare();
  return {
    byId: named(eq(callbacks.id, placeholder('id'))).prepare(),
    ofTxid: newestNamed(eq(payments.txid, placeholder('txid'))),
    ofAddress: newestNamed(eq(addresses.scripthash, placeholder('scripthash'))),
    ofStore: rows(),
    owed: rows(isOwed),
    exhausted: rows(isExhausted),
    /** Some answer of each of them was doubtful, by the index of these answers. */
    doubted: orm
      .select(columns)
      .from(attempts)
      .innerJoin(callbacks, eq(callbacks.id, attempts.callbackId))
      .where(sql`${attempts.doubt} is not null and ${attempts.callbackId} < ${placeholder('id')}`)
      .groupBy(attempts.callbackId)
      .orderBy(desc(attempts.callbackId))
      .limit(limit)
      .prepare(),
    doubtful: orm
      .select({ id: callbacks.id })
      .from(callbacks)
      .where(and(eq(callbacks.id, placeholder('id')), isAnswerDoubtful))
      .prepare(),
    stores: orm.select({ id: stores.id }).from(stores).prepare(),
  };
}
