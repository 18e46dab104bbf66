// Callbacks owed to shops: enqueued in the transaction of the payment they tell of, claimed by the
// dispatcher, settled by what an attempt brought (wire §4). It sends nothing and knows no schedule.
//
// A payment has at most one row that is owed, exhausted or held, and that is its newest: no status can be
// sent after one that overtook it. None is claimed that the chain has taken back: what tells of a block waits
// while that is not on our chain, and of a payment that is gone all but its -1 is held. It is not superseded: a
// payment that returns with the status it had owes no new one. A lease marks a row whose request is under way; while it lasts,
// nothing else of that address is claimed: shop plugins read and write the order of an address without a lock. The
// earliest event among the due callbacks of an address goes first. A delivered one whose answer was doubtful is due again at
// `confirm_at`, unless a newer one of its payment is enqueued; whatever comes of that, it stays delivered. What a claim costs never depends on what was delivered.

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
import { type CallbackCounts, createCallbackCounts } from '../views/callback-counts.ts';
import { type CallbackView, createCallbackView } from '../views/callback-view.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { type Claims, createClaims } from './callback-claims.ts';
import { prepareNewest } from './callback-conditions.ts';

export interface NewCallback extends CallbackFacts, EventFacts {
  readonly paymentId: number;
  readonly storeId: number;
}

export interface Outbox extends CallbackView, CallbackCounts, Claims, Attempts {
  /** Owes the shop a callback from now on; what it was owed before of this payment is superseded. */
  enqueue(tx: Tx, now: number, callback: NewCallback): void;
  /** What the payment is still owed, or was given up on, waits: it is gone. */
  hold(tx: Tx, paymentId: number): void;
  /** The payment has returned: what was held is owed again, with the rest of its schedule. */
  release(tx: Tx, paymentId: number): void;
  /** Whether a callback was ever owed for a payment. */
  hasCallback(paymentId: number): boolean;
}

/** Whether it may be sent still, now or later. */
const isOpen = (state: CallbackState): boolean => state !== 'delivered' && state !== 'superseded';

export function createOutbox({ orm }: Pick<Database, 'orm'>): Outbox {
  const statements = prepare(orm);
  return {
    ...createCallbackView(orm),
    ...createCallbackCounts(orm),
    ...createClaims(orm),
    ...createAttempts(orm),
    enqueue(_tx, now, callback) {
      const { paymentId } = callback;
      // No other than the newest is open: each supersedes the one before, and no older one is resent.
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

/** What becomes of a payment's callback by another one, or by what became of the payment. */
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
