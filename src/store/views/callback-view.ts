// What people see of callbacks, and what they do by hand: list, show with every attempt, send
// again. It never lets an older status follow a newer one: only the newest callback of a payment is
// resent.

import { and, asc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { AttemptOutcome } from '../../domain/retry.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import {
  addresses,
  attempts,
  type CallbackState,
  callbacks,
  headers,
  payments,
  stores,
} from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import { isExhausted, isOwed, prepareNewest, stands } from '../records/callback-conditions.ts';

export interface CallbackFilter {
  readonly storeId?: number | undefined;
  readonly state?: CallbackState | undefined;
  /** Only delivered ones whose last answer of 200 is doubtful. */
  readonly doubted?: boolean | undefined;
  /** Only older ones than this id: the next page. */
  readonly beforeId?: number | undefined;
  /** Enqueued at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  /** Enqueued before this time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

/** A callback as it is listed, with the outcome of its last attempt. */
export type CallbackRow = ReturnType<typeof list>[number];
/** An attempt as it was recorded. */
export type AttemptRow = typeof attempts.$inferSelect;

export interface CallbackView {
  /** Newest first. */
  list(filter: CallbackFilter): CallbackRow[];
  /** @throws PaygateError not_found */
  callback(id: number): CallbackRow;
  /** Oldest first; those that were folded are missing. */
  attempts(callbackId: number): AttemptRow[];
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

export function createCallbackView(orm: Orm): CallbackView {
  function callback(id: number): CallbackRow {
    const [row] = list(orm, { limit: 1, id });
    if (row === undefined) throw new PaygateError('not_found', `there is no callback ${id}`);
    return row;
  }
  return {
    list: (filter) => list(orm, filter),
    callback,
    attempts: (callbackId) =>
      orm
        .select()
        .from(attempts)
        .where(eq(attempts.callbackId, callbackId))
        .orderBy(asc(attempts.id))
        .all(),
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
  };
}

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
    `callback ${id} tells a status that was overtaken; resend ${newest.id}, the newest of its payment`,
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
      ? 'its payment is gone; what is held goes out by itself should the payment return'
      : status > 0 && !payment?.onBest
        ? 'the block of its payment has left the chain; what became of it is known in a minute'
        : undefined;
  if (why === undefined) return;
  throw new PaygateError('conflict', `callback ${id} tells status ${status}, but ${why}`);
}

/** @throws PaygateError not_found, or conflict for a store that is not called any more */
function checkCalled(orm: Orm, storeId: number): void {
  const store = orm
    .select({ stopped: stores.callbacksStopped })
    .from(stores)
    .where(eq(stores.id, storeId))
    .get();
  if (store === undefined) throw new PaygateError('not_found', `there is no store ${storeId}`);
  if (store.stopped) {
    throw new PaygateError('conflict', `the callbacks of store ${storeId} were stopped`);
  }
}

function list(
  orm: Orm,
  { id, storeId, state, doubted, beforeId, since, until, limit }: CallbackFilter & { id?: number },
) {
  // Open ones are few and have indexes of their own, that of exhausted ones by id; a plus keeps
  // SQLite from the larger ones.
  const hold = sql.raw(state === 'owed' ? '+' : '');
  const holdStore = sql.raw(state === 'owed' || state === 'exhausted' ? '+' : '');
  const ofLastAttempt = <T>(column: string): SQL<T | null> =>
    sql`(select a.${sql.raw(column)} from attempts a where a.callback_id = callbacks.id
      order by a.id desc limit 1)`;
  return orm
    .select({
      ...getTableColumns(callbacks),
      address: addresses.address,
      txid: payments.txid,
      valueSat: payments.valueSat,
      outcome: ofLastAttempt<AttemptOutcome>('outcome'),
      reason: ofLastAttempt<string>('reason'),
      doubt: ofLastAttempt<string>('doubt'),
    })
    .from(callbacks)
    .innerJoin(payments, eq(payments.id, callbacks.paymentId))
    .innerJoin(addresses, eq(addresses.id, payments.addressId))
    .where(
      and(
        id === undefined ? undefined : eq(callbacks.id, id),
        state === undefined ? undefined : stateIs(state),
        doubted ? isDoubtful : undefined,
        storeId === undefined ? undefined : sql`${holdStore}${callbacks.storeId} = ${storeId}`,
        beforeId === undefined ? undefined : sql`${hold}${callbacks.id} < ${beforeId}`,
        since === undefined ? undefined : sql`${callbacks.createdAt} >= ${since}`,
        until === undefined ? undefined : sql`${callbacks.createdAt} < ${until}`,
      ),
    )
    .orderBy(sql`${hold}${callbacks.id} desc`)
    .limit(limit)
    .all();
}

/** An answer that was none (a 503) takes no doubt away. */
const isDoubtful = sql`${callbacks.state} = 'delivered'
  and ${callbacks.id} in (select callback_id from attempts where doubt is not null)
  and (select a.doubt from attempts a where a.callback_id = ${callbacks.id} and a.outcome = 'delivered'
    order by a.id desc limit 1) is not null`;

const isNewest = sql`not exists (select 1 from callbacks n
  where n.payment_id = ${callbacks.paymentId} and n.version > ${callbacks.version})`;

const stateIs = (state: CallbackState): SQL =>
  state === 'owed' ? isOwed : state === 'exhausted' ? isExhausted : eq(callbacks.state, state);
