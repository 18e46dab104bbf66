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
} from '../../domain/callback.ts';
import type { Database } from '../db/database.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { type CallbackState, callbacks } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { type CallbackView, createCallbackView } from '../views/callback-view.ts';
import { createDeliveryCounts, type DeliveryCounts } from '../views/delivery-counts.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { prepareNewest } from './callback-conditions.ts';
import { type ClaimedCallback, callbackQueue } from './callback-queue.ts';
import { createResends, type Resends } from './callback-resends.ts';
import { type Claims, createClaims } from './delivery-claims.ts';

export interface NewCallback extends CallbackFacts, EventFacts {
  readonly paymentId: number;
  readonly storeId: number;
}

export interface Outbox
  extends CallbackView,
    DeliveryCounts,
    Claims<ClaimedCallback>,
    Attempts,
    Resends {
  /** Adds a callback that is due now. It supersedes the pending one of the payment. */
  enqueue(tx: Tx, now: number, callback: NewCallback): void;
  /** Suspends the pending or exhausted callback of a payment that was dropped. */
  hold(tx: Tx, paymentId: number): void;
  /** Resumes the suspended callback of a payment that returned, with the rest of its schedule. */
  release(tx: Tx, paymentId: number): void;
  /** Whether a callback was ever enqueued for a payment. */
  hasCallback(paymentId: number): boolean;
}

/** Whether the callback can still be sent. */
const isOpen = (state: CallbackState): boolean => state !== 'delivered' && state !== 'superseded';

export function createOutbox({ orm }: Pick<Database, 'orm'>): Outbox {
  const statements = prepare(orm);
  const view = createCallbackView(orm);
  const claims = createClaims(orm, callbackQueue);
  return {
    ...view,
    ...createResends(orm, view),
    ...createDeliveryCounts(orm, callbackQueue),
    ...claims,
    ...createAttempts(orm),
    recall(tx, now, maxWaits, leaseMs) {
      claims.recall(tx, now, maxWaits, leaseMs);
      statements.recallConfirmations.run({ now, latest: now + maxWaits.confirmMs });
    },
    enqueue(_tx, now, callback) {
      const { paymentId } = callback;
      // Only the newest can be open: each supersedes the one before, and no older one is resent.
      const newest = statements.newestOfPayment.get({ paymentId });
      const isSent = newest && (isOpen(newest.state) || newest.confirmAt !== null);
      if (isSent) statements.supersede.run({ paymentId, now });
      const facts = { eventId: eventId(callback), query: callbackQuery(callback) };
      statements.insert.run({ ...callback, ...facts, version: (newest?.version ?? 0) + 1, now });
    },
    hold: (_tx, paymentId) => void statements.hold.run({ paymentId }),
    release: (_tx, paymentId) => void statements.release.run({ paymentId }),
    hasCallback: (paymentId) => statements.newestOfPayment.get({ paymentId }) !== undefined,
  };
}

const prepare = (orm: Orm) => ({
  newestOfPayment: prepareNewest(orm),
  insert: orm
    .insert(callbacks)
    .values({
      paymentId: placeholder('paymentId'),
      addressId: sql`(select address_id from payments where id = ${placeholder('paymentId')})`,
      storeId: placeholder('storeId'),
      version: placeholder('version'),
      eventId: placeholder('eventId'),
      status: placeholder('status'),
      query: placeholder('query'),
      state: 'owed',
      nextAttemptAt: placeholder('now'),
      createdAt: placeholder('now'),
    })
    .prepare(),
  ...prepareTurns(orm),
});

/** Changes of a callback by a newer one, by its payment, or by a clock. */
function prepareTurns(orm: Orm) {
  const ofPayment = sql`${callbacks.paymentId} = ${placeholder('paymentId')}`;
  return {
    supersede: orm
      .update(callbacks)
      .set({
        state: sql`case state when 'delivered' then state else 'superseded' end`,
        settledAt: sql`case state when 'delivered' then settled_at else ${placeholder('now')} end`,
        confirmAt: null,
      })
      .where(
        sql`${ofPayment} and (${callbacks.state} in ('owed', 'exhausted', 'held')
          or ${callbacks.confirmAt} is not null)`,
      )
      .prepare(),
    recallConfirmations: orm
      .update(callbacks)
      .set({ confirmAt: placeholder('now') })
      .where(
        sql`${callbacks.dueAt} > ${placeholder('latest')} and ${callbacks.state} = 'delivered'`,
      )
      .prepare(),
    hold: orm
      .update(callbacks)
      .set({ state: 'held', settledAt: null })
      .where(sql`${ofPayment} and ${callbacks.state} in ('owed', 'exhausted')`)
      .prepare(),
    release: orm
      .update(callbacks)
      .set({ state: 'owed' })
      .where(sql`${ofPayment} and ${callbacks.state} = 'held'`)
      .prepare(),
  };
}
