// The table of notifications to people and machines (schema.ts has the others, and the units).

import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { NoticeType } from '../../domain/delivery/notice.ts';
import { stores } from './schema.ts';

/**
 * One mail to one recipient, or one request to one webhook. The commit of its cause writes it. Old
 * ones are deleted.
 */
export const notifications = sqliteTable(
  'notifications',
  {
    id: integer('id').primaryKey(),
    /** `ntf_…`, a hash of cause and recipient: a cause has one row for each recipient. */
    publicId: text('public_id').notNull().unique(),
    /** Whose settings it follows: those of a store, or null for the operator. */
    storeId: integer('store_id').references(() => stores.id),
    channel: text('channel').$type<NotificationChannel>().notNull(),
    /** A mail address; empty for a webhook and a customer, which are looked up when it is sent. */
    recipient: text('recipient').notNull(),
    type: text('type').$type<NoticeType>().notNull(),
    /** JSON: the notice (domain/delivery/notice.ts). */
    notice: text('notice').notNull(),
    createdAt: integer('created_at').notNull(),
    state: text('state').$type<NotificationState>().notNull().default('owed'),
    attemptCount: integer('attempt_count').notNull().default(0),
    nextAttemptAt: integer('next_attempt_at').notNull(),
    /** Why the last attempt failed; null without one that failed. */
    reason: text('reason'),
    settledAt: integer('settled_at'),
  },
  (table) => [
    index('notifications_due').on(table.nextAttemptAt).where(sql`state = 'owed'`),
    index('notifications_failed').on(table.settledAt).where(sql`state = 'failed'`),
    index('notifications_recipient').on(table.channel, table.recipient, table.settledAt),
    index('notifications_age').on(table.createdAt),
  ],
);

export type NotificationChannel = 'mail' | 'webhook';

/** `dropped`: the settings or the order no longer name its recipient. */
export type NotificationState = 'owed' | 'sent' | 'failed' | 'dropped';
