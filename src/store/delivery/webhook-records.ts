// The webhooks that plugins add to a store, in the format of BTCPay Server.

import { and, eq, isNull } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { webhooks } from '../schema/schema.ts';

export type WebhookRow = typeof webhooks.$inferSelect;
export type WebhookFields = Pick<WebhookRow, 'url' | 'events' | 'secret' | 'isEnabled'>;
export type WebhookRecords = ReturnType<typeof createWebhookRecords>;

const maxWebhooks = 10;

export function createWebhookRecords(orm: Orm) {
  const isListed = and(eq(webhooks.format, 'btcpay'), isNull(webhooks.removedAt));
  const list = (storeId: number): WebhookRow[] =>
    orm
      .select()
      .from(webhooks)
      .where(and(eq(webhooks.storeId, storeId), isListed))
      .all();
  const change = (id: number, values: Partial<WebhookRow>): WebhookRow =>
    orm.update(webhooks).set(values).where(eq(webhooks.id, id)).returning().get();
  return {
    list,
    /** One of a store, by the id that plugins know. @throws PaygateError not_found */
    of(storeId: number, publicId: string): WebhookRow {
      const row = list(storeId).find((each) => each.publicId === publicId);
      if (row !== undefined) return row;
      throw new PaygateError('not_found', `store ${storeId} has no webhook ${publicId}`);
    },
    /**
     * Replaces one of the same URL and events: a shop that is connected again knows the newest
     * secret alone, and refuses the others.
     * @throws PaygateError conflict if the store has as many as it may have
     */
    add(_tx: Tx, now: number, storeId: number, fields: WebhookFields): WebhookRow {
      const before = list(storeId);
      const twins = before.filter(
        ({ url, events }) => url === fields.url && events === fields.events,
      );
      for (const { id } of twins) change(id, { removedAt: now });
      if (before.length - twins.length >= maxWebhooks) {
        throw new PaygateError(
          'conflict',
          `the store has ${maxWebhooks} webhooks: delete one first`,
        );
      }
      const format = 'btcpay';
      return orm
        .insert(webhooks)
        .values({ ...fields, storeId, format })
        .returning()
        .get();
    },
    change: (_tx: Tx, id: number, fields: Partial<WebhookFields>) => change(id, fields),
    remove: (_tx: Tx, now: number, id: number) => change(id, { removedAt: now }),
  };
}
