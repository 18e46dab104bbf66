// One attempt to deliver a claimed callback: sends it, then records what came of it. The dispatcher
// decides when, and when the callback is due again.

import { emptyDoubt } from '../domain/callback-answer.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Database } from '../store/db/database.ts';
import type { NextAttempt } from '../store/records/attempts.ts';
import type { ClaimedCallback } from '../store/records/callback-claims.ts';
import type { Outbox } from '../store/records/outbox.ts';
import type { StoreEvents } from '../store/store-events.ts';
import type { World } from '../world/world.ts';
import { type Attempt, type Sender, unsentAttempt } from './sender.ts';
import { signingSecrets } from './signature.ts';

export interface AttemptParts {
  readonly world: World;
  readonly database: Pick<Database, 'write'>;
  readonly outbox: Outbox;
  readonly sender: Sender;
  /** Receives `attemptRecorded`. */
  readonly events?: StoreEvents;
}

/**
 * Never rejects: an internal error counts as a failed attempt.
 * @returns undefined if the signal aborted the attempt
 */
export async function makeAttempt(
  { world, sender, outbox }: AttemptParts,
  callback: ClaimedCallback,
  signal: AbortSignal,
): Promise<Attempt | undefined> {
  const startedAt = world.now();
  try {
    const { callbackCa, ...outgoing } = callback;
    const ca = callbackCa ?? undefined;
    const webhookSecrets = signingSecrets(callback, startedAt);
    const attempt = await sender.send({ ...outgoing, ca, webhookSecrets }, signal);
    const isDoubtful = attempt.verdict === 'empty' && outbox.hasAccepted(callback.storeId);
    return isDoubtful ? { ...attempt, doubt: emptyDoubt } : attempt;
  } catch (error) {
    if (signal.aborted) return undefined;
    const reason = 'an internal error of paygate; see its log';
    world.log.error('callback attempt failed inside paygate', {
      ...idsOf(callback),
      reason: reasonOf(error),
    });
    return { ...unsentAttempt, startedAt, durationMs: 0, outcome: 'internal', reason };
  }
}

/**
 * Never rejects: if the record fails, the callback is sent again when its lease ends.
 * @returns whether the record was committed
 */
export async function recordAttempt(
  { world, database, outbox, events }: AttemptParts,
  callback: ClaimedCallback,
  attempt: Attempt,
  next: NextAttempt,
): Promise<boolean> {
  const { outcome, httpStatus, durationMs, doubt, reason } = attempt;
  const fields = {
    ...idsOf(callback),
    attempt: callback.attemptCount + 1,
    outcome,
    httpStatus,
    durationMs,
    ...(reason !== null && { reason }),
    ...(doubt !== null && { doubt }),
  };
  try {
    const now = world.now();
    const state = await database.write((tx) => outbox.record(tx, now, callback, attempt, next));
    world.log[outcome === 'delivered' ? 'info' : 'warn']('callback attempted', fields);
    const isFirst = outcome === 'delivered' && callback.state !== 'delivered';
    const deliveredAfterMs = isFirst ? now - callback.createdAt : undefined;
    events?.emit('attemptRecorded', { outcome, durationMs, state, deliveredAfterMs });
    if (state === 'exhausted') world.log.warn('callback exhausted', idsOf(callback));
    return true;
  } catch (error) {
    world.log.error('callback attempt not recorded', { ...fields, fault: reasonOf(error) });
    return false;
  }
}

const idsOf = ({ callbackId, storeId, eventId }: ClaimedCallback): Record<string, unknown> => ({
  callbackId,
  storeId,
  eventId,
});
