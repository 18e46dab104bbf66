// A test event, with which a merchant tries a webhook. It is of no order: its type is `test`, and
// its id is random.

import { eventBody } from '../domain/delivery/event-body.ts';
import { idBytes, idOf } from '../domain/order/order-id.ts';
import { PaygateError } from '../lib/errors.ts';
import type { StoreRow } from '../store/wallets/catalog.ts';
import type { OutgoingEvent } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** A test event to a store, ready to send. @throws PaygateError conflict without a webhook URL */
export function testEvent(
  row: StoreRow,
  now: number,
  randomBytes: (length: number) => Uint8Array,
): OutgoingEvent {
  const { id, webhookUrl, allowPrivateCallback, allowHttpCallback } = row;
  if (webhookUrl === null) throw new PaygateError('conflict', `store ${id} has no webhook URL`);
  return {
    webhookUrl,
    body: eventBody('test', now, { store_id: id }),
    eventId: idOf('evt', randomBytes(idBytes)),
    allowPrivateCallback,
    allowHttpCallback,
    webhookSecrets: signingSecrets(row, now),
    ca: row.callbackCa ?? undefined,
  };
}
