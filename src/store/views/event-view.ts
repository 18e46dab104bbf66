// Events of orders and payments as they are listed: reads alone.

import { and, asc, eq, gt } from 'drizzle-orm';
import { type EventType, events } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import type { EventRow } from '../records/event-records.ts';

export interface EventQuery {
  readonly storeId: number;
  readonly type?: EventType | undefined;
  /** Only events after this row. */
  readonly afterId?: number | undefined;
  readonly limit: number;
}

export interface EventView {
  byPublicId(publicId: string): EventRow | undefined;
  /** The oldest first. */
  list(query: EventQuery): EventRow[];
}

export function createEventView(orm: Orm): EventView {
  const byPublicId = orm
    .select()
    .from(events)
    .where(eq(events.publicId, placeholder('publicId')))
    .prepare();
  return {
    byPublicId: (publicId) => byPublicId.get({ publicId }),
    list: ({ storeId, type, afterId, limit }) =>
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
  };
}
