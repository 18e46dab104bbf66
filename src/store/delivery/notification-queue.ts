// Notifications: the commit of a cause writes a row for each recipient. notify/ sends them. A mail
// address that the operator and a store both name receives one mail.

import { and, sql } from 'drizzle-orm';
import { type CustomerNews, customerNotice } from '../../domain/delivery/customer-notice.ts';
import {
  type AskedRefund,
  deliveryNotice,
  type FailedDelivery,
  findingsNotice,
  type Notice,
  type NoticedFinding,
  type OrderChange,
  orderNotice,
  refundNotice,
} from '../../domain/delivery/notice.ts';
import { notificationIdFor } from '../../domain/order/order-id.ts';
import type { OrderJson } from '../../domain/order/order-json.ts';
import { dayOf } from '../../domain/text/time-zone.ts';
import { dayMs, minuteMs } from '../../lib/time-units.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import type { FileState, TargetOwner } from '../file/file-state.ts';
import {
  type NotificationChannel,
  type NotificationState,
  notifications,
} from '../schema/notification-schema.ts';
import type { Catalog } from '../wallets/catalog.ts';

export type NotificationRow = typeof notifications.$inferSelect;

/** Rows that are sent one after the other: all mails, or all requests to one webhook. */
export interface NotificationLane {
  readonly channel: NotificationChannel;
  /** The store of a webhook, or 0 for the operator. Always 0 for mails. */
  readonly owner: number;
}

export interface NotificationResult {
  readonly state: NotificationState;
  /** When it is due again, epoch milliseconds; undefined once it is settled. */
  readonly at?: number;
  readonly reason: string | null;
}

/** Recipients that missed notifications and have received none since. */
export interface MissedNotifications {
  readonly count: number;
  readonly channel: NotificationChannel;
  readonly recipient: string;
  readonly reason: string | null;
}

/** Facts without the name of their store, which the file has. */
type Unnamed<T extends { readonly storeName: string }> = Omit<T, 'storeName'>;

export type Notifications = ReturnType<typeof createNotifications>;

const maxAgeMs = 4 * dayMs;
/** No wait of the schedule is longer. */
const maxWaitMs = 2 * dayMs;
const missedShownMs = 7 * dayMs;
const retentionMs = 30 * dayMs;
/** A recipient has at most one mail of a kind of orders in this time. */
const mailEveryMs = 15 * minuteMs;

type Statements = ReturnType<typeof prepare>;

function createDebts(statements: Statements, state: FileState) {
  /** When a mail may be sent: with one that waits, or so long after the last one. */
  function mailAt(now: number, mail: MailKind): number {
    if (!isSummed(mail.type)) return now;
    const waiting = statements.mailDue.get(mail)?.at ?? undefined;
    if (waiting !== undefined) return Math.max(now, waiting);
    const sent = statements.mailSent.get({ ...mail, since: now - mailEveryMs })?.at;
    return sent == null ? now : Math.max(now, sent + mailEveryMs);
  }

  function owe(now: number, owner: TargetOwner, notice: Notice, cause: string): void {
    const { recipients, kinds, webhookUrl } = state.notifyTarget(owner).read();
    if (!(kinds as readonly string[]).includes(notice.type)) return;
    const { type } = notice;
    const row = { storeId: owner, type, notice: JSON.stringify(notice), now };
    const add = (channel: NotificationChannel, recipient: string): void => {
      const place = channel === 'mail' ? recipient : String(owner ?? 'operator');
      const publicId = notificationIdFor([cause, channel, place]);
      const at = channel === 'mail' ? mailAt(now, { storeId: owner, type, recipient }) : now;
      statements.insert.run({ ...row, channel, recipient, publicId, at });
    };
    if (webhookUrl !== null) add('webhook', '');
    if (recipients.length === 0 || state.mailServer.read() === undefined) return;
    for (const recipient of recipients) add('mail', recipient);
  }

  /** One of each type for an order. The row has no address, so that an order can forget it. */
  function oweCustomer(now: number, order: OrderJson, notice: Notice | undefined): void {
    if (notice === undefined || state.mailServer.read() === undefined) return;
    const { type } = notice;
    statements.insert.run({
      publicId: notificationIdFor([order.id, type]),
      storeId: order.store_id,
      channel: 'mail',
      recipient: '',
      type,
      notice: JSON.stringify(notice),
      now,
      at: now,
    });
  }

  return { owe, oweCustomer };
}

export function createNotifications(orm: Orm, catalog: Catalog, state: FileState) {
  const statements = prepare(orm);
  const { owe, oweCustomer } = createDebts(statements, state);

  return {
    orderChanged(
      _tx: Tx,
      now: number,
      change: Unnamed<OrderChange> & Unnamed<CustomerNews>,
      eventId: string,
    ): void {
      const { name: storeName } = catalog.store(change.order.store_id);
      oweCustomer(now, change.order, customerNotice({ ...change, storeName }));
      const notice = orderNotice({ ...change, storeName });
      if (notice === undefined) return;
      owe(now, change.order.store_id, notice, eventId);
      owe(now, null, notice, eventId);
    },
    /** The customer typed the address of a refund, which has it once. */
    refundAddressed(_tx: Tx, now: number, refundId: number, asked: Unnamed<AskedRefund>): void {
      const storeId = asked.order.store_id;
      const notice = refundNotice({ ...asked, storeName: catalog.store(storeId).name });
      // The number of a refund that was withdrawn is used again.
      const cause = `refund ${refundId} ${now}`;
      owe(now, storeId, notice, cause);
      owe(now, null, notice, cause);
    },
    /** At most one a day for a store and a channel. */
    deliveryFailed(_tx: Tx, now: number, failed: Unnamed<FailedDelivery>): void {
      const { storeId, noun } = failed;
      const notice = deliveryNotice({ ...failed, storeName: catalog.store(storeId).name });
      const cause = `failed ${storeId} ${noun} ${dayOf(now, state.zone())}`;
      owe(now, storeId, notice, cause);
      owe(now, null, notice, cause);
    },
    findingsChanged(
      _tx: Tx,
      now: number,
      began: readonly NoticedFinding[],
      ended: readonly NoticedFinding[],
    ): void {
      const codes = [...began, ...ended].map(({ code, subject }) => `${code} ${subject ?? ''}`);
      owe(now, null, findingsNotice(began, ended), ['findings', now, ...codes].join(' '));
    },
    /** One a day for each recipient. @param day as of `dayOf` */
    dayEnded(_tx: Tx, now: number, owner: TargetOwner, notice: Notice, day: number): void {
      owe(now, owner, notice, `day ${owner ?? 'operator'} ${day}`);
    },
    lanesDue: (now: number): NotificationLane[] => statements.lanes.all({ now }),
    /** What is due first; of mails about orders, all of its kind that are due. */
    next(lane: NotificationLane, now: number): NotificationRow[] {
      const row = statements.next.get({ ...lane, now });
      if (row === undefined) return [];
      const isAlone = row.channel !== 'mail' || !isSummed(row.type);
      return isAlone ? [row] : statements.together.all({ ...row, now });
    },
    record(_tx: Tx, now: number, id: number, { state, at, reason }: NotificationResult): void {
      const settledAt = state === 'owed' ? null : now;
      statements.settle.run({ id, state, at: at ?? null, reason, settledAt });
    },
    /**
     * Corrects due times of a clock that was ahead, ends old rows, deletes very old ones.
     * @param passed the latest time that has certainly passed
     */
    tidy(_tx: Tx, now: number, passed: number = now): void {
      statements.recall.run({ now, latest: now + maxWaitMs });
      statements.giveUp.run({ now, before: passed - maxAgeMs });
      statements.forget.run({ before: passed - retentionMs });
    },
    /** What failed in the last days, by recipient, newest first. */
    missed: (now: number): MissedNotifications[] =>
      statements.missed.all({ since: now - missedShownMs }),
    waiting: (): { readonly count: number; readonly reason: string | null } =>
      statements.waiting.get() ?? { count: 0, reason: null },
  };
}

type MailKind = Pick<NotificationRow, 'storeId' | 'type' | 'recipient'>;

/** Notices about orders are many at a busy shop. */
const isSummed = (type: NotificationRow['type']): boolean => type.startsWith('order.');

const isOfKind = sql`+${notifications.channel} = 'mail'
  and +${notifications.recipient} = ${placeholder('recipient')}
  and ${notifications.type} = ${placeholder('type')}
  and ${notifications.storeId} is ${placeholder('storeId')}`;

/** Mails share one lane; each webhook has its own. */
const ownerOf = sql<number>`case channel when 'mail' then 0 else coalesce(store_id, 0) end`;
/** Mails to customers come after the others, and a wrong address of them is no alarm. */
const isForCustomer = sql`(${notifications.type} like 'customer.%')`;
const isOwed = sql`${notifications.state} = 'owed'`;
const isDue = sql`${isOwed} and ${notifications.nextAttemptAt} <= ${placeholder('now')}`;

function prepare(orm: Orm) {
  return {
    insert: prepared(() =>
      orm
        .insert(notifications)
        .values({
          ...placeholders('publicId', 'storeId', 'channel', 'recipient', 'type', 'notice'),
          createdAt: placeholder('now'),
          nextAttemptAt: placeholder('at'),
        })
        .onConflictDoNothing(),
    ),
    lanes: prepared(() =>
      orm
        .selectDistinct({ channel: notifications.channel, owner: ownerOf })
        .from(notifications)
        .where(isDue),
    ),
    // A plus keeps SQLite from an index that has what was sent: it reads what is due alone.
    next: prepared(() =>
      orm
        .select()
        .from(notifications)
        .where(
          and(
            isDue,
            sql`+${notifications.channel} = ${placeholder('channel')}`,
            sql`${ownerOf} = ${placeholder('owner')}`,
          ),
        )
        .orderBy(isForCustomer, sql`+${notifications.id}`)
        .limit(1),
    ),
    ...prepareMails(orm),
    ...prepareChanges(orm),
    missed: prepared(() =>
      orm
        .select({
          count: sql<number>`count(*)`,
          channel: notifications.channel,
          recipient: notifications.recipient,
          // SQLite takes the bare column from the row that has the maximum.
          reason: notifications.reason,
          newestId: sql<number>`max(${notifications.id})`,
        })
        .from(notifications)
        .where(
          sql`${notifications.state} = 'failed' and ${notifications.settledAt} > ${placeholder('since')}
          and not ${isForCustomer}
          and not exists (select 1 from notifications n where n.channel = ${notifications.channel}
            and n.recipient = ${notifications.recipient} and n.store_id is ${notifications.storeId}
            and n.state = 'sent' and n.settled_at >= ${notifications.settledAt})`,
        )
        .groupBy(notifications.channel, notifications.recipient, notifications.storeId)
        .orderBy(sql`max(${notifications.id}) desc`),
    ),
    waiting: prepared(() =>
      orm
        .select({
          count: sql<number>`count(*)`,
          reason: sql<string | null>`(select f.reason from notifications f
          where f.state = 'owed' and f.reason is not null order by f.next_attempt_at desc limit 1)`,
        })
        .from(notifications)
        .where(isOwed),
    ),
  };
}

const prepareMails = (orm: Orm) => ({
  together: prepared(() =>
    orm.select().from(notifications).where(and(isDue, isOfKind)).orderBy(sql`+${notifications.id}`),
  ),
  mailDue: prepared(() =>
    orm
      .select({ at: sql<number | null>`max(${notifications.nextAttemptAt})` })
      .from(notifications)
      .where(and(isOwed, isOfKind)),
  ),
  mailSent: prepared(() =>
    orm
      .select({ at: sql<number | null>`max(${notifications.settledAt})` })
      .from(notifications)
      .where(
        sql`${notifications.channel} = 'mail'
        and ${notifications.recipient} = ${placeholder('recipient')}
        and ${notifications.settledAt} > ${placeholder('since')}
        and ${notifications.state} = 'sent' and ${notifications.type} = ${placeholder('type')}
        and ${notifications.storeId} is ${placeholder('storeId')}`,
      ),
  ),
});

const prepareChanges = (orm: Orm) => ({
  settle: prepared(() =>
    orm
      .update(notifications)
      .set({
        state: placeholder('state'),
        attemptCount: sql`attempt_count + 1`,
        nextAttemptAt: sql`coalesce(${placeholder('at')}, next_attempt_at)`,
        ...placeholders('reason', 'settledAt'),
      })
      .where(equals(notifications.id, 'id')),
  ),
  recall: prepared(() =>
    orm
      .update(notifications)
      .set({ nextAttemptAt: placeholder('now') })
      .where(sql`${isOwed} and ${notifications.nextAttemptAt} > ${placeholder('latest')}`),
  ),
  giveUp: prepared(() =>
    orm
      .update(notifications)
      .set({ state: 'failed', settledAt: placeholder('now') })
      .where(sql`${isOwed} and +${notifications.createdAt} < ${placeholder('before')}`),
  ),
  forget: prepared(() =>
    orm
      .delete(notifications)
      .where(
        sql`${notifications.createdAt} < ${placeholder('before')} and ${notifications.state} <> 'owed'`,
      ),
  ),
});
