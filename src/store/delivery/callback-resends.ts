// Sends callbacks again by hand. It never lets an older status follow a newer one: only the newest
// callback of a payment is resent.

import { eq, sql } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import { type Orm, placeholder } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { deliveries } from '../schema/delivery-schema.ts';
import { headers, payments, stores } from '../schema/schema.ts';
import { callbackQueue, isDoubtful, prepareNewest } from './callback-queue.ts';
import type { CallbackRow, CallbackView } from './callback-view.ts';
import { createResendFailed, prepareResend } from './delivery-records.ts';

export type Resends = ReturnType<typeof createResends>;

export function createResends(orm: Orm, { callback }: Pick<CallbackView, 'callback'>) {
  const one = prepareResend(orm, callbackQueue, sql`${deliveries.id} = ${placeholder('id')}`);
  const failed = createResendFailed(orm, callbackQueue);
  const doubtful = prepareResend(
    orm,
    callbackQueue,
    sql`${isDoubtful} and ${deliveries.storeId} = ${placeholder('storeId')}
      and ${deliveries.createdAt} >= ${placeholder('since')} and not ${callbackQueue.isReplaced}
      and ${callbackQueue.stands('deliveries')}`,
  );
  return {
    /**
     * Makes a callback due now, with a new schedule and the same event id.
     * @throws PaygateError not_found; conflict if a newer status was decided on, or the chain
     * contradicts it
     */
    resend(_tx: Tx, now: number, id: number): void {
      checkResend(orm, callback(id));
      one.run({ now, id });
    },
    /**
     * Resends exhausted callbacks of a store and those that wait after a failure, if they were
     * enqueued at `since` or later.
     * @returns how many
     */
    resendFailed(_tx: Tx, now: number, storeId: number, since: number): number {
      checkCalled(orm, storeId);
      return failed(now, storeId, since);
    },
    /**
     * The same of what was delivered, but whose last answer of 200 is doubtful, where it is the
     * newest of its payment.
     */
    resendDoubtful(_tx: Tx, now: number, storeId: number, since: number): number {
      checkCalled(orm, storeId);
      return doubtful.run({ now, storeId, since }).changes;
    },
  };
}

function checkResend(orm: Orm, row: CallbackRow): void {
  const { id, paymentId, storeId, version } = row;
  checkCalled(orm, storeId);
  const newest = prepareNewest(orm).get({ paymentId });
  if (newest === undefined || newest.version === version) {
    checkStands(orm, row);
    return;
  }
  throw new PaygateError(
    'conflict',
    `callback ${id} is superseded; resend ${newest.id}, the newest of its payment`,
  );
}

/** @throws PaygateError conflict for a status that the chain has taken back */
function checkStands(orm: Orm, { id, paymentId, status }: CallbackRow): void {
  const payment = orm
    .select({ state: payments.state, onBest: headers.onBest })
    .from(payments)
    .leftJoin(headers, eq(headers.hash, payments.blockHash))
    .where(eq(payments.id, paymentId))
    .get();
  const why =
    status !== -1 && payment?.state === 'dropped'
      ? 'its payment is gone; paygate sends the held callback if the payment returns'
      : status > 0 && !payment?.onBest
        ? 'the block of its payment has left the chain; its new state is known within a minute'
        : undefined;
  if (why === undefined) return;
  throw new PaygateError('conflict', `callback ${id} has status ${status}, but ${why}`);
}

/** @throws PaygateError not_found, or conflict for a store that is not called any more */
function checkCalled(orm: Orm, storeId: number): void {
  const store = orm
    .select({ stopped: stores.callbacksStopped, callbackUrl: stores.callbackUrl })
    .from(stores)
    .where(eq(stores.id, storeId))
    .get();
  if (store === undefined) throw new PaygateError('not_found', `there is no store ${storeId}`);
  if (store.stopped) {
    throw new PaygateError('conflict', `the callbacks of store ${storeId} were stopped`);
  }
  if (store.callbackUrl === '') {
    throw new PaygateError('conflict', `store ${storeId} has no Callback URL`);
  }
}
