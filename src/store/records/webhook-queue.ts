// The queue of events to webhooks: claims, attempts and old rows (event-records.ts appends). It
// sends nothing and knows no schedule. Events of an address never overlap on their way. The oldest
// due event of an address goes first.

// An `order.paid` waits while a block of its payments is off our best chain. Either the block comes
// back, or `order.reversed` supersedes it. An `order.updated` waits as well, because it may hold
// the status `paid`, at which shops ship.

import { eq, type SQL, sql } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import { type EventState, events, webhookAttempts } from '../db/order-schema.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { createDeliveryCounts, type DeliveryCounts } from '../views/delivery-counts.ts';
import { createEventView, type EventView } from '../views/event-view.ts';
import type { AttemptRecord, NextAttempt } from './attempts.ts';
import {
  type ClaimedRow,
  type Claims,
  createClaims,
  type QueueTable,
  senderColumns,
} from './delivery-claims.ts';
import { isTakenBack } from './event-records.ts';
import { createFailingShops, type FailingShop } from './failing-shops.ts';

export interface WebhookQueue extends Claims<ClaimedEvent>, DeliveryCounts, EventView {
  /**
   * Records an attempt and ends its lease. A failed event is `owed` again at `next.at`, or
   * exhausted without one. It is superseded if a newer event took its place meanwhile. If it was
   * resent while the request was in flight, it keeps the new schedule.
   */
  record(
    tx: Tx,
    now: number,
    claimed: ClaimedRow,
    attempt: AttemptRecord,
    next: NextAttempt,
  ): EventState;
  /** Deletes attempts and events from before a time, some thousand at once. */
  fold(tx: Tx, before: number): boolean;
  /** Stores with pending events whose shop did not receive its last one, and since when. */
  failingShops(): FailingShop[];
  /**
   * Makes an event due now, with a new schedule and the same id.
   * @throws PaygateError not_found; conflict without a webhook, or if a newer event took its place
   */
  resend(tx: Tx, now: number, id: number): void;
  /**
   * Resends exhausted events of a store and those that wait after a failure.
   * @returns how many
   */
  resendFailed(tx: Tx, now: number, storeId: number): number;
}

const isReceiving = sql`${stores.webhookUrl} is not null and ${stores.callbacksStopped} = 0`;

const claimedColumns = {
  ...senderColumns,
  id: events.id,
  addressId: events.addressId,
  storeId: events.storeId,
  eventId: events.publicId,
  type: events.type,
  body: events.body,
  state: events.state,
  attemptCount: events.attemptCount,
  step: events.step,
  dueAt: sql<number>`${events.dueAt}`,
  createdAt: events.createdAt,
  url: sql<string>`${stores.webhookUrl}`,
};

/** An event to be sent now, with all that sending it takes. */
export type ClaimedEvent = NonNullable<ReturnType<ReturnType<typeof prepareRow>['get']>>;

const prepareRow = (orm: Orm, id: SQL) =>
  orm
    .select(claimedColumns)
    .from(events)
    .innerJoin(stores, eq(stores.id, events.storeId))
    .where(sql`${events.id} = ${id}`)
    .prepare();

/** Whether no block of the address's payments is off our best chain, if the event needs that. */
const stands = (alias: 'c' | 'd'): SQL => {
  const of = sql.raw(alias);
  return sql`(${of}.type not in ('order.paid', 'order.updated') or not exists (select 1 from payments p
    left join headers h on h.hash = p.block_hash where p.address_id = ${of}.address_id
      and p.block_hash is not null and p.state <> 'dropped' and h.on_best is not 1))`;
};

const eventQueue: QueueTable<ClaimedEvent> = {
  name: 'events',
  table: events,
  url: sql<string>`${stores.webhookUrl}`,
  isReceiving,
  stands,
  prepareRow,
};

/** How many old rows go in one transaction. */
const foldLimit = 2_000;

export function createWebhookQueue(orm: Orm): WebhookQueue {
  const statements = prepare(orm);
  const shops = createFailingShops(orm, eventQueue);
  const view = createEventView(orm);
  return {
    ...view,
    ...createDeliveryCounts(orm, eventQueue),
    ...createClaims(orm, eventQueue),
    releaseLeases() {
      statements.supersedeLeased.run();
      statements.releaseLeases.run();
    },
    record(_tx, now, claimed, attempt, next) {
      const { id } = claimed;
      shops.note(claimed.storeId, attempt);
      const phases = JSON.stringify(attempt.phases);
      statements.insertAttempt.run({ ...attempt, eventId: id, phases });
      const row = statements.scheduleOf.get({ id });
      const settled =
        attempt.outcome === 'delivered' ? delivered : afterFailure(row, claimed, next);
      const { state, step = next.step, at = null } = settled;
      statements.settle.run({ id, state, step, at, settledAt: state === 'owed' ? null : now });
      return state;
    },
    fold(_tx, before) {
      const range = { before, limit: foldLimit };
      const folded = statements.foldAttempts.run(range).changes;
      return folded === foldLimit || statements.foldEvents.run(range).changes === foldLimit;
    },
    failingShops: shops.list,
    resend(_tx, now, id) {
      checkResend(statements, view.event(id));
      statements.resend.run({ id, now });
    },
    resendFailed(_tx, now, storeId) {
      checkWebhook(statements, storeId);
      const resent = [statements.resendExhausted, statements.resendRetrying];
      return resent.reduce((sum, each) => sum + each.run({ storeId, now }).changes, 0);
    },
  };
}

/** What becomes of a row: `at` says when it is sent again. */
interface Settled {
  readonly state: EventState;
  readonly step?: number;
  readonly at?: number | undefined;
}

const delivered: Settled = { state: 'delivered' };

type Schedule = NonNullable<ReturnType<Statements['scheduleOf']['get']>>;

/** @param row its row by now; undefined where it is gone */
function afterFailure(
  row: Schedule | undefined,
  { step, dueAt }: ClaimedRow,
  next: NextAttempt,
): Settled {
  const state = next.at === undefined ? 'exhausted' : 'owed';
  if (row === undefined) return { ...next, state };
  if (row.state !== 'owed') return { ...row, at: row.nextAttemptAt };
  if (row.isSuperseded) return { state: 'superseded' };
  const isResent = row.step !== step || row.nextAttemptAt !== dueAt;
  return isResent ? { ...row, at: row.nextAttemptAt } : { ...next, state };
}

/** @throws PaygateError conflict for an event that another one replaces, or without a webhook */
function checkResend(statements: Statements, { id, storeId, publicId }: EventRow): void {
  checkWebhook(statements, storeId);
  if (!statements.scheduleOf.get({ id })?.isSuperseded) return;
  throw new PaygateError(
    'conflict',
    `event ${publicId} is superseded: a newer event of its order says what is true now`,
  );
}

/** @throws PaygateError not_found, or conflict for a store whose webhook receives nothing */
function checkWebhook(statements: Statements, storeId: number): void {
  const store = statements.webhookOf.get({ storeId });
  if (store === undefined) throw new PaygateError('not_found', `there is no store ${storeId}`);
  if (store.isReceiving) return;
  throw new PaygateError('conflict', `store ${storeId} has no webhook URL, or was stopped`);
}

type Statements = ReturnType<typeof prepare>;
type EventRow = ReturnType<EventView['event']>;

const prepare = (orm: Orm) => ({ ...prepareResends(orm), ...prepareRecords(orm) });

function prepareResends(orm: Orm) {
  const resend = (which: SQL) =>
    orm
      .update(events)
      .set({ state: 'owed', step: 0, nextAttemptAt: placeholder('now'), settledAt: null })
      .where(which)
      .prepare();
  const ofStore = sql`${events.storeId} = ${placeholder('storeId')}`;
  return {
    webhookOf: orm
      .select({ isReceiving: sql<number>`(${isReceiving})` })
      .from(stores)
      .where(eq(stores.id, placeholder('storeId')))
      .prepare(),
    resend: resend(sql`${events.id} = ${placeholder('id')}`),
    // The plus keeps SQLite from the index of all events of the store.
    resendExhausted: resend(
      sql`${events.state} = 'exhausted' and +${ofStore} and not ${isTakenBack('events')}`,
    ),
    resendRetrying: resend(sql`${events.state} = 'owed' and ${events.step} > 0 and ${ofStore}`),
  };
}

function prepareRecords(orm: Orm) {
  const byId = eq(events.id, placeholder('id'));
  return {
    scheduleOf: orm
      .select({
        state: events.state,
        step: events.step,
        nextAttemptAt: events.nextAttemptAt,
        isSuperseded: sql<number>`${isTakenBack('events')}`,
      })
      .from(events)
      .where(byId)
      .prepare(),
    settle: orm
      .update(events)
      .set({
        state: placeholder('state'),
        attemptCount: sql`attempt_count + 1`,
        step: placeholder('step'),
        nextAttemptAt: sql`coalesce(${placeholder('at')}, next_attempt_at)`,
        settledAt: placeholder('settledAt'),
        leasedUntil: null,
      })
      .where(byId)
      .prepare(),
    /** In flight when the process ended: the event that took its place did not supersede it. */
    supersedeLeased: orm
      .update(events)
      .set({ state: 'superseded', settledAt: sql`${events.leasedUntil}` })
      .where(
        sql`${events.leasedUntil} is not null and ${events.state} = 'owed'
          and ${isTakenBack('events')}`,
      )
      .prepare(),
    /** The attempt counts although its record is lost: the shop may have received the event. */
    releaseLeases: orm
      .update(events)
      .set({ leasedUntil: null, attemptCount: sql`attempt_count + 1` })
      .where(sql`${events.leasedUntil} is not null`)
      .prepare(),
    insertAttempt: orm
      .insert(webhookAttempts)
      .values({
        eventId: placeholder('eventId'),
        startedAt: placeholder('startedAt'),
        durationMs: placeholder('durationMs'),
        phases: placeholder('phases'),
        address: placeholder('address'),
        outcome: placeholder('outcome'),
        httpStatus: placeholder('httpStatus'),
        reason: placeholder('reason'),
        body: placeholder('body'),
      })
      .prepare(),
    /** Rows are in order of time: only the first ones are looked at, by their key (`id > 0`). */
    foldAttempts: orm
      .delete(webhookAttempts)
      .where(
        sql`${webhookAttempts.id} in (select id from webhook_attempts where id > 0 order by id
            limit ${placeholder('limit')})
          and ${webhookAttempts.startedAt} < ${placeholder('before')}`,
      )
      .prepare(),
    /** A pending event stays while its store receives events. */
    foldEvents: orm
      .delete(events)
      .where(
        sql`${events.id} in (select e.id from events e where e.created_at < ${placeholder('before')}
          and (e.state <> 'owed' or e.store_id not in (select id from stores where ${isReceiving}))
          order by e.created_at limit ${placeholder('limit')})`,
      )
      .prepare(),
  };
}
