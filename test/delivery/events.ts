// A shop's file with events for its webhook, put into the file as they are appended.

import { and, eq } from 'drizzle-orm';
import {
  deliveries,
  type EventState,
  type EventType,
  isOf,
  nextId,
} from '../../src/store/schema/delivery-schema.ts';
import { openShop, type Shop } from '../support/ledger.ts';
import { now } from '../support/store.ts';

export interface NewEventRow {
  readonly addressId?: number;
  readonly orderId?: number | null;
  readonly type?: EventType;
  readonly state?: EventState;
  readonly createdAt?: number;
  readonly nextAttemptAt?: number;
  readonly attemptCount?: number;
  readonly leasedUntil?: number | null;
}

/** A store whose webhook is at a URL, with some addresses. */
export async function openWebhook(
  webhookUrl: string | null = 'https://shop.example/hook',
  addressCount = 4,
): Promise<Shop> {
  const shop = await openShop({
    ...{ webhookUrl, allowPrivateCallback: true, allowHttpCallback: true },
    webhookEvents: 'order,payment',
  });
  for (let count = 0; count < addressCount; count += 1) await shop.issue();
  return shop;
}

/** Adds an event of the first address; answers its id. */
export function addEvent({ database }: Shop, event: NewEventRow = {}): number {
  const type = event.type ?? 'payment.seen';
  const { orm } = database;
  const addressId = event.addressId ?? 1;
  const row = orm
    .insert(deliveries)
    .values({
      ...{ channel: 'webhook', id: nextId('webhook'), storeId: 1, webhookId: 1, addressId },
      ...{ type, state: 'owed', createdAt: now, nextAttemptAt: now },
      content: JSON.stringify({ type, timestamp: '2025-11-20T14:53:32Z', data: { addressId } }),
      ...event,
      eventId: 'evt_',
    })
    .returning()
    .get();
  const eventId = `evt_${String(row.id).padStart(22, '1')}`;
  orm
    .update(deliveries)
    .set({ eventId })
    .where(and(isOf('webhook'), eq(deliveries.id, row.id)))
    .run();
  return row.id;
}
