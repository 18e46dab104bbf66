// The two channels to a shop. A channel is a queue, how a delivery of it is sent, and its name in
// the log. The dispatcher serves either.

import { queryFacts } from '../domain/delivery/callback.ts';
import { emptyDoubt } from '../domain/delivery/callback-answer.ts';
import { invoiceDeliveryBody } from '../domain/order/invoice-event.ts';
import type { ClaimedDelivery, Claims } from '../store/delivery/delivery-claims.ts';
import type { DeliveryCounts } from '../store/delivery/delivery-counts.ts';
import type { DeliveryRecords } from '../store/delivery/delivery-records.ts';
import type { Outbox } from '../store/delivery/outbox.ts';
import type { WebhookQueue } from '../store/delivery/webhook-queue.ts';
import type { Channel } from '../store/schema/delivery-schema.ts';
import type { World } from '../world/world.ts';
import type { Attempt, Sender } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** A queue of the database, as a dispatcher uses it. */
export interface DeliveryQueue
  extends Claims,
    Pick<DeliveryRecords, 'record' | 'fold'>,
    Pick<DeliveryCounts, 'owing' | 'owedByStore'> {}

export interface DeliveryChannel {
  /** In log messages and reasons; plural with an s. */
  readonly noun: Channel;
  readonly queue: DeliveryQueue;
  /** Makes one attempt. Rejects with the signal's reason if the signal aborted. */
  send(delivery: ClaimedDelivery, signal: AbortSignal): Promise<Attempt>;
  /** The fields of log lines that name the delivery. */
  idsOf(delivery: ClaimedDelivery): Record<string, unknown>;
}

interface ChannelParts {
  readonly world: Pick<World, 'now'>;
  readonly sender: Sender;
}

export const callbackChannel = (
  outbox: Outbox,
  { world, sender }: ChannelParts,
): DeliveryChannel => ({
  noun: 'callback',
  queue: outbox,
  async send({ url, callbackCa, content, ...callback }, signal) {
    const ca = callbackCa ?? undefined;
    const webhookSecrets = signingSecrets(callback, world.now());
    const outgoing = { ...callback, query: content, callbackUrl: url, ca, webhookSecrets };
    const attempt = await sender.send(outgoing, signal);
    const isDoubtful = attempt.verdict === 'empty' && outbox.hasAccepted(callback.storeId);
    return isDoubtful ? { ...attempt, doubt: emptyDoubt } : attempt;
  },
  idsOf: ({ id, storeId, eventId, content }) => ({
    callbackId: id,
    storeId,
    eventId,
    ...queryFacts(content),
  }),
});

export const webhookChannel = (
  webhooks: WebhookQueue,
  { world, sender }: ChannelParts,
): DeliveryChannel => ({
  noun: 'webhook',
  queue: webhooks,
  send({ url, callbackCa, content, webhook, invoice, ...event }, signal) {
    const common = { ...event, webhookUrl: url, ca: callbackCa ?? undefined };
    const { publicId: webhookId = '', format = 'standard', secret = null } = webhook ?? {};
    const body =
      format === 'standard'
        ? content
        : invoiceDeliveryBody({ ...event, webhookId, content, invoice });
    const webhookSecrets = secret === null ? signingSecrets(event, world.now()) : [secret];
    return sender.post({ ...common, format, body, webhookSecrets }, signal);
  },
  idsOf: ({ storeId, eventId, type }) => ({ storeId, eventId, type }),
});
