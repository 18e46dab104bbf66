// What people see of events and their delivery: a list, and one event with every attempt.

import { and, asc, eq, getTableColumns, gt, gte, lt, type SQL, sql } from 'drizzle-orm';
import type { Txid } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import { type EventState, type EventType, events, webhookAttempts } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { stores } from '../db/schema.ts';
import type { EventRow } from '../records/event-records.ts';

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
export type ListedEvent = ReturnType<typeof list>[number];
export type WebhookAttemptRow = typeof webhookAttempts.$inferSelect;

export interface EventView {
  /** Newest first. */
  list(filter: EventFilter): ListedEvent[];
  /** By its row or its public id. @throws PaygateError not_found */
  event(id: number | string): ListedEvent;
  byPublicId(publicId: string): EventRow | undefined;
  /** The oldest first. */
  after(query: EventQuery): EventRow[];
  /** Oldest first; those that were folded are missing. */
  attempts(id: number): WebhookAttemptRow[];
}

export const createEventView = (orm: Orm): EventView => ({
  byPublicId: (publicId) => orm.select().from(events).where(eq(events.publicId, publicId)).get(),
  after: createEventsAfter(orm),
  list: (filter) => list(orm, filter),
  event(id) {
    const which = typeof id === 'number' ? eq(events.id, id) : eq(events.publicId, id);
    const [row] = list(orm, { limit: 1 }, which);
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
});

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

function list(orm: Orm, filter: EventFilter, which?: SQL) {
  const { publicId, storeId, state, type, orderId, beforeId, since, until, limit } = filter;
  const ofOrders = ordersOf(filter);
  // A plus keeps SQLite from all other indexes than that of the orders.
  const hold = sql.raw(ofOrders === undefined ? '' : '+');
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
    .where(
      and(
        which,
        ofOrders && sql`${events.orderId} in (${ofOrders})`,
        publicId === undefined ? undefined : eq(events.publicId, publicId),
        state === undefined ? undefined : stateIs(state),
        storeId === undefined ? undefined : sql`${hold}${events.storeId} = ${storeId}`,
        type === undefined ? undefined : eq(events.type, type),
        orderId === undefined ? undefined : eq(events.orderId, orderId),
        beforeId === undefined ? undefined : sql`${hold}${events.id} < ${beforeId}`,
        since === undefined ? undefined : gte(events.createdAt, since),
        until === undefined ? undefined : lt(events.createdAt, until),
      ),
    )
    .orderBy(sql`${hold}${events.id} desc`)
    .limit(limit)
    .all();
}

/** Selects the orders of a reference or a transaction by an index. */
function ordersOf({ reference, txid }: EventFilter): SQL | undefined {
  if (txid !== undefined) {
    return sql`select o.id from payments p join orders o on o.address_id = p.address_id
      where p.txid = ${txid}`;
  }
  return reference === undefined
    ? undefined
    : sql`select o.id from orders o where o.reference = ${reference}`;
}

/** Pending and failed ones have partial indexes, which SQLite uses for a literal only. */
const stateIs = (state: EventState): SQL =>
  state === 'owed' || state === 'exhausted'
    ? sql`${events.state} = ${sql.raw(`'${state}'`)}`
    : eq(events.state, state);
