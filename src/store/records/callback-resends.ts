// Sends callbacks again by hand. It never lets an older status follow a newer one: only the newest
// callback of a payment is resent.

import { eq, type SQL, sql } from 'drizzle-orm';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import { callbacks, headers, payments, stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import type { CallbackRow, CallbackView } from '../views/callback-view.ts';
import { isDoubtful, isExhausted, isOwed, prepareNewest, stands } from './callback-conditions.ts';

export interface Resends {
  /**
   * Makes a callback due now, with a new schedule and the same event id.
   * @throws PaygateError not_found; conflict if a newer status was decided on, or the chain
   * contradicts it
   */
  resend(tx: Tx, now: number, id: number): void;
  /**
   * Resends exhausted callbacks of a store and those that wait after a failure, if they were
   * enqueued at `since` or later.
   * @returns how many
   */
  resendFailed(tx: Tx, now: number, storeId: number, since: number): number;
  /**
   * The same of what was delivered, but whose last answer of 200 is doubtful, where it is the
   * newest of its payment.
   */
  resendDoubtful(tx: Tx, now: number, storeId: number, since: number): number;
}

export const createResends = (orm: Orm, { callback }: Pick<CallbackView, 'callback'>): Resends => ({
  resend(_tx, now, id) {
    checkResend(orm, callback(id));
    orm.update(callbacks).set(owedAnew(now)).where(eq(callbacks.id, id)).run();
  },
  resendFailed(_tx, now, storeId, since) {
    const failed = [isExhausted, sql`${isOwed} and ${callbacks.step} > 0`];
    return resendAll(orm, now, { storeId, since, which: failed });
  },
  resendDoubtful: (_tx, now, storeId, since) =>
    resendAll(orm, now, {
      ...{ storeId, since },
      which: [sql`${isDoubtful} and ${isNewest} and ${stands('callbacks')}`],
    }),
});

interface Bulk {
  readonly storeId: number;
  readonly since: number;
  readonly which: readonly SQL[];
}

function resendAll(orm: Orm, now: number, { storeId, since, which }: Bulk): number {
  checkCalled(orm, storeId);
  return which
    .map((each) =>
      orm
        .update(callbacks)
        .set(owedAnew(now))
        .where(
          sql`${each} and ${callbacks.storeId} = ${storeId} and ${callbacks.createdAt} >= ${since}`,
        )
        .run(),
    )
    .reduce((sum, { changes }) => sum + changes, 0);
}

const owedAnew = (now: number) =>
  ({ state: 'owed', step: 0, nextAttemptAt: now, confirmAt: null, settledAt: null }) as const;

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

const isNewest = sql`not exists (select 1 from callbacks n
  where n.payment_id = ${callbacks.paymentId} and n.version > ${callbacks.version})`;
