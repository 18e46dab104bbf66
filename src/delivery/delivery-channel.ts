// The two channels to a shop. A channel is a queue, how a delivery of it is sent, and its name in
// the log. The dispatcher serves either.

import { queryFacts } from '../domain/callback.ts';
import { emptyDoubt } from '../domain/callback-answer.ts';
import type { EventState } from '../store/db/order-schema.ts';
import type { CallbackState } from '../store/db/schema.ts';
import type { Tx } from '../store/db/writer.ts';
import type { AttemptRecord, NextAttempt } from '../store/records/attempts.ts';
import type { ClaimedCallback } from '../store/records/callback-queue.ts';
import type { ClaimedDelivery, Claims } from '../store/records/delivery-claims.ts';
import type { Outbox } from '../store/records/outbox.ts';
import type { ClaimedEvent, WebhookQueue } from '../store/records/webhook-queue.ts';
import type { DeliveryCounts } from '../store/views/delivery-counts.ts';
import type { World } from '../world/world.ts';
import type { Attempt, Sender } from './sender.ts';
import { signingSecrets } from './signature.ts';

/** A queue of the database, as a dispatcher uses it. */
export interface DeliveryQueue<T extends ClaimedDelivery>
  extends Claims<T>,
    Pick<DeliveryCounts, 'owing' | 'owedByStore'> {
  /** Records an attempt and ends its lease. Returns the state of the row. */
  record(
    tx: Tx,
    now: number,
    claimed: T,
    attempt: AttemptRecord,
    next: NextAttempt,
  ): CallbackState | EventState;
  /** Deletes old rows, some thousand at once; whether there may be more. */
  fold(tx: Tx, before: number): boolean;
}

export interface DeliveryChannel<T extends ClaimedDelivery> {
  /** In log messages and reasons; plural with an s. */
  readonly noun: 'callback' | 'webhook';
  readonly queue: DeliveryQueue<T>;
  /** Makes one attempt. Rejects with the signal's reason if the signal aborted. */
  send(delivery: T, signal: AbortSignal): Promise<Attempt>;
  /** The fields of log lines that name the delivery. */
  idsOf(delivery: T): Record<string, unknown>;
}

interface ChannelParts {
  readonly world: Pick<World, 'now'>;
  readonly sender: Sender;
}

export const callbackChannel = (
  outbox: Outbox,
  { world, sender }: ChannelParts,
): DeliveryChannel<ClaimedCallback> => ({
  noun: 'callback',
  queue: outbox,
  async send({ url, callbackCa, ...callback }, signal) {
    const ca = callbackCa ?? undefined;
    const webhookSecrets = signingSecrets(callback, world.now());
    const outgoing = { ...callback, callbackUrl: url, ca, webhookSecrets };
    const attempt = await sender.send(outgoing, signal);
    const isDoubtful = attempt.verdict === 'empty' && outbox.hasAccepted(callback.storeId);
    return isDoubtful ? { ...attempt, doubt: emptyDoubt } : attempt;
  },
  idsOf: ({ id, storeId, eventId, query }) => ({
    ...{ callbackId: id, storeId, eventId },
    ...queryFacts(query),
  }),
});

export const webhookChannel = (
  webhooks: WebhookQueue,
  { world, sender }: ChannelParts,
): DeliveryChannel<ClaimedEvent> => ({
  noun: 'webhook',
  queue: webhooks,
  send({ url, callbackCa, ...event }, signal) {
    const ca = callbackCa ?? undefined;
    const webhookSecrets = signingSecrets(event, world.now());
    return sender.post({ ...event, webhookUrl: url, ca, webhookSecrets }, signal);
  },
  idsOf: ({ storeId, eventId, type }) => ({ storeId, eventId, type }),
});
