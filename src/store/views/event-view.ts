// What people see of events and their delivery: a list, and one event with every attempt.

import { and, asc, desc, eq, getTableColumns, gt, lt, type SQL, sql } from 'drizzle-orm';
import type { Txid } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import {
  type EventState,
  type EventType,
  events,
  orders,
  webhookAttempts,
} from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { stores } from '../db/schema.ts';
import type { EventRow } from '../records/event-records.ts';
import {
  type Candidates,
  findIds,
  inMemory,
  maxRowsRead,
  readAll,
  type SearchedPage,
} from './searched-list.ts';

/** A list takes one of `publicId`, `orderId`, `txid` and `reference`, the first that is there. */
export interface EventFilter {
  /** `evt_…` */
  readonly publicId?: string | undefined;
  readonly storeId?: number | undefined;
  readonly state?: EventState | undefined;
  readonly type?: EventType | undefined;
  /** Only events of this order. */
  readonly orderId?: number | undefined;
  /** Only events of orders with this reference. */
  readonly reference?: string | undefined;
  /** Only events of orders that this transaction paid. */
  readonly txid?: Txid | undefined;
  /** Only older ones than this row: the next page. */
  readonly beforeId?: number | undefined;
  /** Created at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Created before this time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface EventQuery {
  readonly storeId?: number | undefined;
  readonly type?: EventType | undefined;
  /** Only events after this row. */
  readonly afterId?: number | undefined;
  readonly limit: number;
}

/** An event as it is listed, with the outcome of its last attempt. */
export type ListedEvent = NonNullable<ReturnType<ReturnType<typeof prepareEntry>['get']>>;
export type WebhookAttemptRow = typeof webhookAttempts.$inferSelect;

export interface EventView {
  /** Newest first. A page may end early, and says where the next one begins. */
  page(filter: EventFilter): SearchedPage<ListedEvent>;
  /** Newest first, all that match up to the limit. It may read the whole table, page by page. */
  list(filter: EventFilter): ListedEvent[];
  /** By its row or its public id. @throws PaygateError not_found */
  event(id: number | string): ListedEvent;
  byPublicId(publicId: string): EventRow | undefined;
  /** The oldest first. */
  after(query: EventQuery): EventRow[];
  /** Oldest first; those that were folded are missing. */
  attempts(id: number): WebhookAttemptRow[];
}

export function createEventView(orm: Orm): EventView {
  const entry = prepareEntry(orm);
  const candidates = createCandidates(orm);
  const byPublicId: EventView['byPublicId'] = (publicId) =>
    orm.select().from(events).where(eq(events.publicId, publicId)).get();

  const page: EventView['page'] = (filter) => {
    const { ids, goesOnAt } = findIds(candidates(filter), filter.limit);
    return { rows: ids.flatMap((id) => entry.get({ id }) ?? []), goesOnAt };
  };

  return {
    byPublicId,
    after: createEventsAfter(orm),
    page,
    list: (filter) => readAll((place) => page({ ...filter, ...place }), filter),
    event(id) {
      const rowId = typeof id === 'number' ? id : byPublicId(id)?.id;
      const row = rowId === undefined ? undefined : entry.get({ id: rowId });
      if (row === undefined) throw new PaygateError('not_found', `there is no event ${id}`);
      return row;
    },
    attempts: (id) =>
      orm
        .select()
        .from(webhookAttempts)
        .where(eq(webhookAttempts.eventId, id))
        .orderBy(asc(webhookAttempts.id))
        .all(),
  };
}

function prepareEntry(orm: Orm) {
  const ofLastAttempt = (column: string): SQL<string | null> =>
    sql`(select a.${sql.raw(column)} from webhook_attempts a where a.event_id = events.id
      order by a.id desc limit 1)`;
  return orm
    .select({
      ...getTableColumns(events),
      outcome: ofLastAttempt('outcome'),
      reason: ofLastAttempt('reason'),
    })
    .from(events)
    .where(eq(events.id, placeholder('id')))
    .prepare();
}

/** Reads each store by an index of its own. */
function createEventsAfter(orm: Orm): EventView['after'] {
  const after = (...conditions: SQL[]) =>
    orm
      .select()
      .from(events)
      .where(
        and(
          eq(events.storeId, placeholder('storeId')),
          ...conditions,
          gt(events.id, placeholder('afterId')),
        ),
      )
      .orderBy(asc(events.id))
      .limit(sql.placeholder('limit'))
      .prepare();
  const all = after();
  const ofType = after(eq(events.type, placeholder('type')));
  const storesOf = orm.select({ id: stores.id }).from(stores).prepare();
  return ({ storeId, type, afterId = 0, limit }) => {
    const statement = type === undefined ? all : ofType;
    const storeIds = storeId === undefined ? storesOf.all().map(({ id }) => id) : [storeId];
    const lists = storeIds.map(
      (of): ReadList<EventRow> =>
        (last, size) =>
          statement.all({ storeId: of, type, afterId: last?.id ?? afterId, limit: size }),
    );
    return mergeLists(lists, (one, other) => one.id - other.id, limit);
  };
}

/** What the filters compare of an event. */
type Candidate = ReturnType<Statements['byPublicId']['all']>[number];

/** Events of more orders with one reference are compared one by one. */
const maxOrders = 200;

/** Finds the rows that can match, by an index where there is one, the newest first. */
function createCandidates(orm: Orm): (filter: EventFilter) => Candidates<Candidate> {
  const statements = prepareCandidates(orm);

  function ofStores({ storeId, state, type, beforeId }: EventFilter): ReadList<Candidate> {
    const statement = isOpen(state)
      ? statements[state]
      : type === undefined
        ? statements.ofStore
        : statements.ofType;
    const storeIds =
      storeId === undefined ? statements.stores.all().map(({ id }) => id) : [storeId];
    return (last, limit) =>
      mergeLists(
        storeIds.map((ofStore): ReadList<Candidate> => {
          const before = last?.id ?? beforeId ?? Number.MAX_SAFE_INTEGER;
          return (own, size) =>
            statement.all({ storeId: ofStore, type, id: own?.id ?? before, limit: size });
        }),
        (one, other) => other.id - one.id,
        limit,
      );
  }

  /** Undefined if the orders of the reference are many. */
  function ofReference(reference: string, id: number): readonly Candidate[] | undefined {
    const rows = statements.ordersNamed.all({ reference, limit: maxOrders + 1 });
    if (rows.length > maxOrders) return undefined;
    const orderIds = JSON.stringify(rows.map((row) => row.id));
    return statements.ofOrders.all({ orderIds, id, limit: maxRowsRead });
  }

  return (filter) => {
    const { publicId, orderId, txid, reference } = filter;
    const before = filter.beforeId ?? Number.MAX_SAFE_INTEGER;
    const matches = (row: Candidate) => isMatch(row, filter);
    if (publicId !== undefined) {
      return { read: inMemory(statements.byPublicId.all({ publicId }), before), matches };
    }
    if (orderId !== undefined) {
      const read: ReadList<Candidate> = (last, limit) =>
        statements.ofOrder.all({ orderId, id: last?.id ?? before, limit });
      return { read, matches };
    }
    if (txid !== undefined) {
      const rows = statements.ofTxid.all({ txid, id: before, limit: maxRowsRead });
      return { read: inMemory(rows), matches };
    }
    const read = ofStores(filter);
    if (reference === undefined) {
      return { read, matches: isIndexed(filter) ? undefined : matches };
    }
    const rows = ofReference(reference, before);
    if (rows !== undefined) return { read: inMemory(rows), matches };
    const isNamed = (id: number | null) =>
      id !== null && statements.referenceOf.get({ id })?.reference === reference;
    return { read, matches: (row) => matches(row) && isNamed(row.orderId) };
  };
}

const isOpen = (state: EventState | undefined): state is 'owed' | 'exhausted' =>
  state === 'owed' || state === 'exhausted';

/** Whether an index of the stores has all that the filter names. */
const isIndexed = ({ state, type, since, until }: EventFilter): boolean =>
  since === undefined &&
  until === undefined &&
  (state === undefined || (isOpen(state) && type === undefined));

function isMatch(
  row: Candidate,
  { storeId, state, type, orderId, since = 0, until = Number.MAX_SAFE_INTEGER }: EventFilter,
): boolean {
  return (
    (orderId === undefined || row.orderId === orderId) &&
    (storeId === undefined || row.storeId === storeId) &&
    (state === undefined || row.state === state) &&
    (type === undefined || row.type === type) &&
    row.createdAt >= since &&
    row.createdAt < until
  );
}

type Statements = ReturnType<typeof prepareCandidates>;

function prepareCandidates(orm: Orm) {
  const columns = {
    id: events.id,
    storeId: events.storeId,
    orderId: events.orderId,
    state: events.state,
    type: events.type,
    createdAt: events.createdAt,
  };
  const limit = sql.placeholder('limit');
  const rows = (...conditions: SQL[]) =>
    orm
      .select(columns)
      .from(events)
      .where(and(...conditions, lt(events.id, placeholder('id'))))
      .orderBy(desc(events.id))
      .limit(limit)
      .prepare();
  const isOfStore = eq(events.storeId, placeholder('storeId'));
  return {
    byPublicId: orm
      .select(columns)
      .from(events)
      .where(eq(events.publicId, placeholder('publicId')))
      .prepare(),
    ofOrder: rows(eq(events.orderId, placeholder('orderId'))),
    ofStore: rows(isOfStore),
    ofType: rows(isOfStore, eq(events.type, placeholder('type'))),
    // SQLite uses the index of a state for a literal only.
    owed: rows(isOfStore, sql`${events.state} = 'owed'`),
    exhausted: rows(isOfStore, sql`${events.state} = 'exhausted'`),
    stores: orm.select({ id: stores.id }).from(stores).prepare(),
    /** SQLite sorts the events of a transaction's orders, and those of listed orders. */
    ofTxid: rows(
      sql`${events.orderId} in (select o.id from payments p join orders o
        on o.address_id = p.address_id where p.txid = ${placeholder('txid')})`,
    ),
    ofOrders: rows(
      sql`${events.orderId} in (select value from json_each(${placeholder('orderIds')}))`,
    ),
    ordersNamed: orm
      .select({ id: orders.id })
      .from(stores)
      // In this order, because the index of references begins with the store.
      .crossJoin(orders)
      .where(
        sql`${orders.storeId} = ${stores.id} and ${orders.reference} = ${placeholder('reference')}`,
      )
      .limit(limit)
      .prepare(),
    referenceOf: orm
      .select({ reference: orders.reference })
      .from(orders)
      .where(eq(orders.id, placeholder('id')))
      .prepare(),
  };
}
