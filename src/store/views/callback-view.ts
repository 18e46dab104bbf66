// What people see of callbacks: a list, and one callback with every attempt.

import { and, asc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { AttemptOutcome } from '../../domain/retry.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import { addresses, attempts, type CallbackState, callbacks, payments } from '../db/schema.ts';
import { isDoubtful, isExhausted, isOwed } from '../records/callback-conditions.ts';

export interface CallbackFilter {
  readonly id?: number | undefined;
  /** Only of payments to this address. */
  readonly scripthash?: Scripthash | undefined;
  /** Only of payments by this transaction. */
  readonly txid?: Txid | undefined;
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
  };
}

function list(orm: Orm, filter: CallbackFilter) {
  const { id, scripthash, txid, storeId, state, doubted, beforeId, since, until, limit } = filter;
  // Open ones are few and have indexes of their own, that of exhausted ones by id. A payment has
  // few, too. A plus keeps SQLite from the larger indexes.
  const isOfPayments = scripthash !== undefined || txid !== undefined;
  const hold = sql.raw(isOfPayments || state === 'owed' ? '+' : '');
  const holdStore = sql.raw(isOfPayments || state === 'owed' || state === 'exhausted' ? '+' : '');
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
        scripthash === undefined ? undefined : eq(addresses.scripthash, scripthash),
        txid === undefined ? undefined : eq(payments.txid, txid),
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

const stateIs = (state: CallbackState): SQL =>
  state === 'owed' ? isOwed : state === 'exhausted' ? isExhausted : eq(callbacks.state, state);
