// What people see of callbacks: a list, and one callback.

import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { AttemptOutcome } from '../../domain/delivery/retry.ts';
import { PaygateError } from '../../lib/errors.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { type Candidates, inMemory, maxRowsRead } from '../db/searched-list.ts';
import {
  attempts,
  type CallbackState,
  callbackColumns,
  deliveries,
} from '../schema/delivery-schema.ts';
import { addresses, payments } from '../schema/schema.ts';
import { isAnswerDoubtful, isCallback } from './callback-queue.ts';
import {
  type Candidate,
  candidateColumns,
  createDeliveryList,
  type DeliveryFilter,
  isBefore,
  newestFirst,
  ofLastAttempt,
} from './delivery-list.ts';

export interface CallbackFilter extends DeliveryFilter {
  readonly state?: CallbackState | undefined;
  readonly id?: number | undefined;
  readonly scripthash?: Scripthash | undefined;
  readonly txid?: Txid | undefined;
  readonly doubted?: boolean | undefined;
}

export type CallbackRow = NonNullable<ReturnType<ReturnType<typeof prepareEntry>['get']>>;

export type CallbackView = ReturnType<typeof createCallbackView>;

export function createCallbackView(orm: Orm) {
  const entry = prepareEntry(orm);
  return {
    ...createDeliveryList(orm, 'callback', {
      entry: (id) => entry.get({ id }),
      named: createNamed(orm),
    }),
    /** @throws PaygateError not_found */
    callback(id: number): CallbackRow {
      const row = entry.get({ id });
      if (row === undefined) throw new PaygateError('not_found', `there is no callback ${id}`);
      return row;
    },
  };
}

function prepareEntry(orm: Orm) {
  return prepared(() =>
    orm
      .select({
        ...callbackColumns,
        address: addresses.address,
        ...columnsOf(payments, 'txid', 'valueSat'),
        outcome: ofLastAttempt<AttemptOutcome>('outcome'),
        reason: ofLastAttempt<string>('reason'),
        doubt: ofLastAttempt<string>('doubt'),
      })
      .from(deliveries)
      .innerJoin(payments, eq(payments.id, deliveries.paymentId))
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .where(and(isCallback, equals(deliveries.id, 'id'))),
  );
}

/** Finds what a filter names by its number, transaction or address, and doubtful ones. */
function createNamed(orm: Orm) {
  const statements = prepare(orm);
  return (filter: CallbackFilter, before: number): Partial<Candidates<Candidate>> => {
    const { id, scripthash, txid, doubted } = filter;
    const isDoubted = (row: Candidate) => statements.doubtful.get({ id: row.id }) !== undefined;
    if (id !== undefined || txid !== undefined || scripthash !== undefined) {
      const place = { id: before, limit: maxRowsRead };
      const rows =
        id !== undefined
          ? statements.byId.all({ id })
          : txid !== undefined
            ? statements.ofTxid.all({ ...place, txid })
            : statements.ofAddress.all({ ...place, scripthash });
      const isNamed = (row: (typeof rows)[number]) =>
        (txid === undefined || row.txid === txid) &&
        (scripthash === undefined || row.scripthash === scripthash);
      const named = new Set(rows.filter(isNamed).map((row) => row.id));
      return {
        read: inMemory<Candidate>(rows, before),
        matches: (row) => named.has(row.id) && (!doubted || isDoubted(row)),
      };
    }
    if (!doubted) return {};
    return {
      read: (last, limit) => statements.doubted.all({ id: last?.id ?? before, limit }),
      matches: isDoubted,
    };
  };
}

function prepare(orm: Orm) {
  const limit = sql.placeholder('limit');
  const named = (...conditions: SQL[]) =>
    orm
      .select({ ...candidateColumns, txid: payments.txid, scripthash: addresses.scripthash })
      .from(deliveries)
      .innerJoin(payments, eq(payments.id, deliveries.paymentId))
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .where(and(...conditions));
  /** SQLite sorts those of one transaction or one address. Only callbacks have a payment. */
  const newestNamed = (which: SQL) =>
    prepared(() => named(which, isBefore).orderBy(newestFirst).limit(limit));
  return {
    byId: prepared(() => named(isCallback, equals(deliveries.id, 'id'))),
    ofTxid: newestNamed(equals(payments.txid, 'txid')),
    ofAddress: newestNamed(equals(addresses.scripthash, 'scripthash')),
    /** Some answer of each of them was doubtful, by the index of these answers. */
    doubted: prepared(() =>
      orm
        .select(candidateColumns)
        .from(attempts)
        .innerJoin(deliveries, and(isCallback, eq(deliveries.id, attempts.deliveryId)))
        .where(
          sql`${attempts.channel} = 'callback' and ${attempts.doubt} is not null
          and ${attempts.deliveryId} < ${placeholder('id')}`,
        )
        .groupBy(attempts.deliveryId)
        .orderBy(desc(attempts.deliveryId))
        .limit(limit),
    ),
    doubtful: prepared(() =>
      orm
        .select({ id: deliveries.id })
        .from(deliveries)
        .where(and(equals(deliveries.id, 'id'), isAnswerDoubtful)),
    ),
  };
}
