// Callbacks to shops, from the enqueueing commit to the last attempt (docs/callbacks.md). This
// module sends nothing and knows no schedule.

// A payment has at most one callback that is `owed`, `exhausted` or `held`, and it is the newest.
// Thus no status is sent after the one that superseded it.

// No callback is claimed while the chain contradicts it. Status 1 or 2 waits while its block is not
// on our best chain. All but -1 is `held` while the payment is dropped. It is not superseded,
// because a payment that returns with the same status enqueues no new callback.

// A lease marks a callback whose request is in flight. Meanwhile no other callback of that address
// is claimed, because shop plugins read and write an order without a lock. The earliest due event
// of an address goes first. See docs/decisions/001.

// A delivered callback with a doubtful answer is due again at `confirm_at`, unless a newer one of
// its payment is enqueued. It stays delivered in any case.

import { sql } from 'drizzle-orm';
import {
  type CallbackFacts,
  callbackQuery,
  type EventFacts,
  eventId,
} from '../../domain/delivery/callback.ts';
import { type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import type { Database } from '../file/database.ts';
import { type CallbackState, deliveries, nextId } from '../schema/delivery-schema.ts';
import { callbackQueue, prepareNewest } from './callback-queue.ts';
import { createResends } from './callback-resends.ts';
import { createCallbackView } from './callback-view.ts';
import { createClaims } from './delivery-claims.ts';
import { createDeliveryCounts } from './delivery-counts.ts';
import { createDeliveryRecords, type DeliveryRecords } from './delivery-records.ts';
import { createDoubtfulAnswers } from './doubtful-answers.ts';

export interface NewCallback extends CallbackFacts, EventFacts {
  readonly paymentId: number;
  readonly storeId: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

const isOpen = (state: CallbackState): boolean => state !== 'delivered' && state !== 'superseded';

export function createOutbox({ orm }: Pick<Database, 'orm'>) {
  const statements = prepare(orm);
  const view = createCallbackView(orm);
  const records = createDeliveryRecords(orm, callbackQueue);
  const doubts = createDoubtfulAnswers(orm);
  return {
    ...view,
    ...createResends(orm, view),
    ...createDeliveryCounts(orm, callbackQueue),
    ...createClaims(orm, callbackQueue),
    ...records,
    record(...recorded: Parameters<DeliveryRecords['record']>) {
      const [, , claimed, attempt] = recorded;
      doubts.note(claimed.storeId, attempt);
      return records.record(...recorded);
    },
    /** Stores whose last answer of 200 was doubtful: since when. */
    doubtfulAnswers: doubts.list,
    /** Whether a store has ever taken a callback with other than an empty answer. */
    hasAccepted: doubts.hasAccepted,
    /** Adds a callback that is due now. It supersedes the pending one of the payment. */
    enqueue(_tx: Tx, now: number, callback: NewCallback): void {
      const { paymentId } = callback;
      // Only the newest can be open: each supersedes the one before, and no older one is resent.
      const newest = statements.newestOfPayment.get({ paymentId });
      const isSent = newest && (isOpen(newest.state) || newest.confirmAt !== null);
      if (isSent) statements.supersede.run({ paymentId, now });
      const facts = { eventId: eventId(callback), query: callbackQuery(callback) };
      statements.insert.run({ ...callback, ...facts, version: (newest?.version ?? 0) + 1, now });
    },
    /** Suspends the pending or exhausted callback of a payment that was dropped. */
    hold: (_tx: Tx, paymentId: number): void => void statements.hold.run({ paymentId }),
    /** Resumes the suspended callback of a payment that returned, with the rest of its schedule. */
    release: (_tx: Tx, paymentId: number): void => void statements.release.run({ paymentId }),
    hasCallback: (paymentId: number): boolean =>
      statements.newestOfPayment.get({ paymentId }) !== undefined,
  };
}

function prepare(orm: Orm) {
  const ofPayment = sql`${deliveries.paymentId} = ${placeholder('paymentId')}`;
  return {
    newestOfPayment: prepareNewest(orm),
    insert: prepared(() =>
      orm.insert(deliveries).values({
        channel: 'callback',
        id: nextId('callback'),
        paymentId: placeholder('paymentId'),
        addressId: sql`(select address_id from payments where id = ${placeholder('paymentId')})`,
        ...placeholders('storeId', 'version', 'eventId', 'status'),
        content: placeholder('query'),
        state: 'owed',
        nextAttemptAt: placeholder('now'),
        createdAt: placeholder('now'),
      }),
    ),
    supersede: prepared(() =>
      orm
        .update(deliveries)
        .set({
          state: sql`case state when 'delivered' then state else 'superseded' end`,
          settledAt: sql`case state when 'delivered' then settled_at else ${placeholder('now')} end`,
          confirmAt: null,
        })
        .where(
          sql`${ofPayment} and (${deliveries.state} in ('owed', 'exhausted', 'held')
          or ${deliveries.confirmAt} is not null)`,
        ),
    ),
    hold: prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'held', settledAt: null })
        .where(sql`${ofPayment} and ${deliveries.state} in ('owed', 'exhausted')`),
    ),
    release: prepared(() =>
      orm
        .update(deliveries)
        .set({ state: 'owed' })
        .where(sql`${ofPayment} and ${deliveries.state} = 'held'`),
    ),
  };
}
