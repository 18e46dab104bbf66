// One attempt at a claimed delivery: sends it, then records what came of it. The dispatcher decides
// when, and when the delivery is due again.

import { reasonOf } from '../lib/errors.ts';
import type { StoreEvents } from '../store/db/store-events.ts';
import type { ClaimedDelivery } from '../store/delivery/delivery-claims.ts';
import type { NextAttempt } from '../store/delivery/delivery-records.ts';
import type { Notifications } from '../store/delivery/notification-queue.ts';
import type { Database } from '../store/file/database.ts';
import type { World } from '../world/world.ts';
import type { DeliveryChannel } from './delivery-channel.ts';
import { type Attempt, unsentAttempt } from './sender.ts';

export interface AttemptParts {
  readonly world: World;
  readonly database: Pick<Database, 'write'>;
  readonly channel: DeliveryChannel;
  readonly notifications: Pick<Notifications, 'deliveryFailed'>;
  /** Receives `attemptRecorded`. */
  readonly events?: StoreEvents;
}

/**
 * Never rejects: an internal error counts as a failed attempt.
 * @returns undefined if the signal aborted the attempt
 */
export async function makeAttempt(
  { world, channel }: AttemptParts,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const startedAt = world.now();
  try {
    return await channel.send(delivery, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    const reason = 'an internal error of paygate; see its log';
    world.log.error(`${channel.noun} attempt failed inside paygate`, {
      ...channel.idsOf(delivery),
      reason: reasonOf(error),
    });
    return { ...unsentAttempt, startedAt, durationMs: 0, outcome: 'internal', reason };
  }
}

/**
 * Never rejects: if the record fails, the delivery is sent again when its lease ends.
 * @returns whether the record was committed
 */
export async function recordAttempt(
  { world, database, channel, notifications, events }: AttemptParts,
  delivery: ClaimedDelivery,
  attempt: Attempt,
  next: NextAttempt,
): Promise<boolean> {
  const { outcome, httpStatus, durationMs, doubt, reason } = attempt;
  const { noun, queue } = channel;
  const ids = channel.idsOf(delivery);
  const fields = {
    ...ids,
    attempt: delivery.attemptCount + 1,
    outcome,
    httpStatus,
    durationMs,
    ...(reason !== null && { reason }),
    ...(doubt !== null && { doubt }),
  };
  try {
    const now = world.now();
    const state = await database.write((tx) => {
      const { storeId, eventId } = delivery;
      const recorded = queue.record(tx, now, delivery, attempt, next);
      if (recorded === 'exhausted') {
        notifications.deliveryFailed(tx, now, { storeId, noun, eventId, reason });
      }
      return recorded;
    });
    world.log[outcome === 'delivered' ? 'info' : 'warn'](`${noun} attempted`, fields);
    const isFirst = outcome === 'delivered' && delivery.state !== 'delivered';
    const deliveredAfterMs = isFirst ? now - delivery.createdAt : undefined;
    events?.emit('attemptRecorded', { noun, outcome, durationMs, state, deliveredAfterMs });
    if (state === 'exhausted') world.log.warn(`${noun} exhausted`, ids);
    return true;
  } catch (error) {
    world.log.error(`${noun} attempt not recorded`, { ...fields, fault: reasonOf(error) });
    return false;
  }
}
