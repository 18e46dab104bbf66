// The queue of events to webhooks: claims, attempts and old rows (event-records.ts appends). It
// sends nothing and knows no schedule. Events of an address never overlap on their way. The oldest
// due event of an address goes first.

// An `order.paid` waits while a block of its payments is off our best chain. Either the block comes
// back, or `order.reversed` supersedes it. An `order.updated` waits as well, because it may hold
// the status `paid`, at which shops ship.

import { type SQL, sql } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { deliveries } from '../schema/delivery-schema.ts';
import { isReceiving, stores, webhooks } from '../schema/schema.ts';
import { lastOldRow } from './attempts.ts';
import { type ChannelTerms, createClaims } from './delivery-claims.ts';
import { createDeliveryCounts } from './delivery-counts.ts';
import { createDeliveryRecords, createResendFailed, prepareResend } from './delivery-records.ts';
import { isEvent, isTakenBack } from './event-records.ts';
import { createEventView, type EventView } from './event-view.ts';

export type WebhookQueue = ReturnType<typeof createWebhookQueue>;

const receivers = sql`${webhooks} join ${stores} on ${stores.id} = ${webhooks.storeId}`;

/**
 * Whether no block of the address's payments is off our best chain, if the event needs that. The
 * events of an invoice wait for each other.
 */
const stands: ChannelTerms['stands'] = (alias) => {
  const of = sql.raw(alias);
  return sql`(${of}.type not in ('order.paid', 'order.updated', 'InvoicePaymentSettled', 'InvoiceSettled')
    or not exists (select 1 from payments p
    left join headers h on h.hash = p.block_hash where p.address_id = ${of}.address_id
      and p.block_hash is not null and p.state <> 'dropped' and h.on_best is not 1))
    and (${of}.type not like 'Invoice%' or not exists (select 1 from deliveries e
      where e.channel = ${of}.channel and e.address_id = ${of}.address_id and e.id < ${of}.id
        and e.receiver_id = ${of}.receiver_id and e.due_at is not null and e.state = 'owed'))`;
};

const eventQueue: ChannelTerms = {
  channel: 'webhook',
  receivers,
  receiverId: sql.raw('webhooks.id') as SQL<number>,
  url: sql.raw('webhooks.url') as SQL<string>,
  isReceiving,
  stands,
  isReplaced: isTakenBack,
  lostAttempts: 1,
};

const foldLimit = 2_000;

export function createWebhookQueue(orm: Orm) {
  const statements = prepare(orm);
  const view = createEventView(orm);
  const records = createDeliveryRecords(orm, eventQueue);
  const failed = createResendFailed(orm, eventQueue);
  return {
    ...view,
    ...createDeliveryCounts(orm, eventQueue),
    ...createClaims(orm, eventQueue),
    ...records,
    fold: (tx: Tx, before: number): boolean =>
      records.fold(tx, before) ||
      statements.foldEvents.run({ before, limit: foldLimit }).changes > 0,
    /** With the same id. @throws PaygateError not_found; conflict without a webhook, or if newer */
    resend(_tx: Tx, now: number, id: number): void {
      checkResend(statements, view.event(id));
      statements.resend.run({ id, now });
    },
    /** Exhausted events, and those that wait after a failure. @returns how many */
    resendFailed(_tx: Tx, now: number, storeId: number): number {
      checkWebhook(statements, storeId);
      return failed(now, storeId, 0);
    },
  };
}

/** @throws PaygateError conflict for an event that another one replaces, or without a webhook */
function checkResend(statements: Statements, { id, storeId, publicId, webhookId }: EventRow): void {
  checkWebhook(statements, storeId, webhookId);
  if (statements.replaced.get({ id }) === undefined) return;
  throw new PaygateError(
    'conflict',
    `event ${publicId} is superseded: a newer event of its order says what is true now`,
  );
}

/**
 * @param webhookId one of them; without it, any of the store
 * @throws PaygateError not_found, or conflict if it receives nothing
 */
function checkWebhook(statements: Statements, storeId: number, webhookId?: number | null): void {
  const webhookIds = statements.receiving.all({ storeId }).map(({ id }) => id);
  if (webhookId == null ? webhookIds.length > 0 : webhookIds.includes(webhookId)) return;
  if (statements.store.get({ storeId }) === undefined) {
    throw new PaygateError('not_found', `there is no store ${storeId}`);
  }
  throw new PaygateError('conflict', `store ${storeId} has no webhook URL, or was stopped`);
}

type Statements = ReturnType<typeof prepare>;
type EventRow = ReturnType<EventView['event']>;

function prepare(orm: Orm) {
  const byId = equals(deliveries.id, 'id');
  return {
    receiving: prepared(() =>
      orm
        .select({ id: eventQueue.receiverId })
        .from(receivers)
        .where(sql`${stores.id} = ${placeholder('storeId')} and ${isReceiving}`),
    ),
    store: prepared(() =>
      orm.select({ id: stores.id }).from(stores).where(equals(stores.id, 'storeId')),
    ),
    replaced: prepared(() =>
      orm
        .select({ id: deliveries.id })
        .from(deliveries)
        .where(sql`${isEvent} and ${byId} and ${isTakenBack}`),
    ),
    resend: prepareResend(orm, eventQueue, byId),
    /** A pending event stays while its store receives events. */
    foldEvents: prepared(() =>
      orm.delete(deliveries).where(
        sql`${isEvent} and ${deliveries.id} <= ${lastOldRow('deliveries', 'created_at', "channel = 'webhook'")}
          and ${deliveries.type} is not null
          and (${deliveries.state} <> 'owed' or ${deliveries.receiverId} not in
            (select ${webhooks.id} from ${receivers} where ${isReceiving}))`,
      ),
    ),
  };
}
