// Whether stores have anything that receives callbacks or events. A store without it is whole: its
// links and its till need no program of a shop.

import type { Catalog, StoreRow } from '../wallets/catalog.ts';
import type { WebhookRecords } from './webhook-records.ts';

interface ReceiverRecords {
  readonly catalog: Pick<Catalog, 'stores'>;
  readonly webhookRecords: Pick<WebhookRecords, 'list'>;
}

/** Whether the store receives events, at its own URL or by the webhook of a plugin. */
export const hasWebhook = (
  { webhookRecords }: Pick<ReceiverRecords, 'webhookRecords'>,
  { id, webhookUrl }: Pick<StoreRow, 'id' | 'webhookUrl'>,
): boolean => webhookUrl !== null || webhookRecords.list(id).length > 0;

/** Whether any store has a receiver, also a removed one. */
export const hasReceivers = (records: ReceiverRecords): boolean =>
  records.catalog
    .stores({ archived: true })
    .some((row) => row.callbackUrl !== '' || hasWebhook(records, row));
