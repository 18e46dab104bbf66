// What people see of events and their delivery: a list, and one event with every attempt.

import { and, asc, desc, eq, getTableColumns, gt, gte, lt, type SQL, sql } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import { type EventState, type EventType, events, webhookAttempts } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import type { EventRow } from '../records/event-records.ts';

export interface EventFilter {
  readonly storeId?: number | undefined;
  readonly state?: EventState | undefined;
  readonly type?: EventType | undefined;
  /** Only events of this order. */
  readonly orderId?: number | undefined;
  /** Only older ones than this row: the next page. */
  readonly beforeId?: number | undefined;
  /** Created at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Created before this time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface EventQuery {
  readonly storeId: number;
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
  /** Events of a store, the oldest first. */
  after(query: EventQuery): EventRow[];
  /** Oldest first; those that were folded are missing. */
  attempts(id: number): WebhookAttemptRow[];
}

export const createEventView = (orm: Orm): EventView => ({
  byPublicId: (publicId) => orm.select().from(events).where(eq(events.publicId, publicId)).get(),
  after: ({ storeId, type, afterId, limit }) =>
    orm
      .select()
      .from(events)
      .where(
        and(
          eq(events.storeId, storeId),
          afterId === undefined ? undefined : gt(events.id, afterId),
          type === undefined ? undefined : eq(events.type, type),
        ),
      )
      .orderBy(asc(events.id))
      .limit(limit)
      .all(),
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

function list(
  orm: Orm,
  { storeId, state, type, orderId, beforeId, since, until, limit }: EventFilter,
  which?: SQL,
) {
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
        state === undefined ? undefined : stateIs(state),
        storeId === undefined ? undefined : eq(events.storeId, storeId),
        type === undefined ? undefined : eq(events.type, type),
        orderId === undefined ? undefined : eq(events.orderId, orderId),
        beforeId === undefined ? undefined : lt(events.id, beforeId),
        since === undefined ? undefined : gte(events.createdAt, since),
        until === undefined ? undefined : lt(events.createdAt, until),
      ),
    )
    .orderBy(desc(events.id))
    .limit(limit)
    .all();
}

/** Pending and failed ones have partial indexes, which SQLite uses for a literal only. */
const stateIs = (state: EventState): SQL =>
  state === 'owed' || state === 'exhausted'
    ? sql`${events.state} = ${sql.raw(`'${state}'`)}`
    : eq(events.state, state);
