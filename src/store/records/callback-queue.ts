// The queue of callbacks, as claims and counts see it.

import { eq, type SQL, sql } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import { callbacks, stores } from '../db/schema.ts';
import { isCalled, stands } from './callback-conditions.ts';
import { type QueueTable, senderColumns } from './delivery-claims.ts';

const claimedColumns = {
  ...senderColumns,
  id: callbacks.id,
  paymentId: callbacks.paymentId,
  addressId: sql<number>`${callbacks.addressId}`,
  storeId: callbacks.storeId,
  eventId: callbacks.eventId,
  query: callbacks.query,
  state: callbacks.state,
  attemptCount: callbacks.attemptCount,
  step: callbacks.step,
  dueAt: sql<number>`${callbacks.dueAt}`,
  createdAt: callbacks.createdAt,
  url: stores.callbackUrl,
};

/** A callback to be sent now, with all that sending it takes. */
export type ClaimedCallback = NonNullable<ReturnType<ReturnType<typeof prepareRow>['get']>>;

const prepareRow = (orm: Orm, id: SQL) =>
  orm
    .select(claimedColumns)
    .from(callbacks)
    .innerJoin(stores, eq(stores.id, callbacks.storeId))
    .where(sql`${callbacks.id} = ${id}`)
    .prepare();

export const callbackQueue: QueueTable<ClaimedCallback> = {
  name: 'callbacks',
  table: callbacks,
  url: sql<string>`${stores.callbackUrl}`,
  isReceiving: isCalled,
  stands,
  prepareRow,
};
