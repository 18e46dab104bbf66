// What people see of events and their delivery: a list, and one event.

import { and, asc, gt, type SQL, sql } from 'drizzle-orm';
import type { Txid } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import { type Candidates, createStoreIds, inMemory, maxRowsRead } from '../db/searched-list.ts';
import {
  deliveries,
  type EventState,
  type EventType,
  eventColumns,
} from '../schema/delivery-schema.ts';
import { orders } from '../schema/order-schema.ts';
import { stores } from '../schema/schema.ts';
import {
  type Candidate,
  candidateColumns,
  createDeliveryList,
  type DeliveryFilter,
  type DeliveryList,
  isBefore,
  newestFirst,
  ofLastAttempt,
  prepareList,
} from './delivery-list.ts';
import { isEvent } from './event-records.ts';

/** A list takes one of `publicId`, `orderId`, `txid` and `reference`, the first that is there. */
export interface EventFilter extends DeliveryFilter {
  readonly state?: EventState | undefined;
  readonly publicId?: string | undefined;
  readonly orderId?: number | undefined;
  readonly reference?: string | undefined;
  readonly txid?: Txid | undefined;
}

export interface EventQuery {
  readonly storeId?: number | undefined;
  readonly type?: EventType | undefined;
  readonly afterId?: number | undefined;
  readonly limit: number;
}

export type EventRow = NonNullable<ReturnType<ReturnType<typeof prepareEvent>['get']>>;

/** An event as it is listed, with the outcome of its last attempt. */
export type ListedEvent = NonNullable<ReturnType<ReturnType<typeof prepareEntry>['get']>>;

export interface EventView extends DeliveryList<EventFilter, ListedEvent> {
  /** By its row or its public id. @throws PaygateError not_found */
  event(id: number | string): ListedEvent;
  byPublicId(publicId: string): EventRow | undefined;
  after(query: EventQuery): EventRow[];
}

export function createEventView(orm: Orm): EventView {
  const entry = prepareEntry(orm);
  const named = prepareEvent(orm);
  const byPublicId: EventView['byPublicId'] = (publicId) => named.get({ publicId });
  return {
    ...createDeliveryList(orm, 'webhook', {
      entry: (id) => entry.get({ id }),
      named: createNamed(orm, byPublicId),
    }),
    byPublicId,
    after: createEventsAfter(orm),
    event(id) {
      const rowId = typeof id === 'number' ? id : byPublicId(id)?.id;
      const row = rowId === undefined ? undefined : entry.get({ id: rowId });
      if (row === undefined) throw new PaygateError('not_found', `there is no event ${id}`);
      return row;
    },
  };
}

const prepareEvent = (orm: Orm) =>
  prepared(() =>
    orm
      .select(eventColumns)
      .from(deliveries)
      // The type, because the index is of events only.
      .where(
        sql`${isEvent} and ${deliveries.type} is not null
        and ${deliveries.eventId} = ${placeholder('publicId')}`,
      ),
  );

const prepareEntry = (orm: Orm) =>
  prepared(() =>
    orm
      .select({
        ...eventColumns,
        /** As its webhook has it now; null without one. */
        url: sql<
          string | null
        >`(select w.url from webhooks w where w.id = ${deliveries.webhookId})`,
        outcome: ofLastAttempt<string>('outcome'),
        reason: ofLastAttempt<string>('reason'),
      })
      .from(deliveries)
      .where(and(isEvent, equals(deliveries.id, 'id'))),
  );

/** What paygate's own API lists, without the same change in the format of BTCPay Server. */
const isOwnFormat = sql`${deliveries.type} not like 'Invoice%'`;

function createEventsAfter(orm: Orm): EventView['after'] {
  const after = (...conditions: SQL[]) =>
    prepared(() =>
      orm
        .select(eventColumns)
        .from(deliveries)
        .where(
          and(
            isEvent,
            isOwnFormat,
            equals(deliveries.storeId, 'storeId'),
            ...conditions,
            gt(deliveries.id, placeholder('afterId')),
          ),
        )
        .orderBy(asc(deliveries.id))
        .limit(sql.placeholder('limit')),
    );
  const all = after();
  const ofType = after(equals(deliveries.type, 'type'));
  const storeIds = createStoreIds(orm);
  return ({ storeId, type, afterId = 0, limit }) => {
    const statement = type === undefined ? all : ofType;
    const lists = storeIds(storeId).map(
      (of): ReadList<EventRow> =>
        (last, size) =>
          statement.all({ storeId: of, type, afterId: last?.id ?? afterId, limit: size }),
    );
    return mergeLists(lists, (one, other) => one.id - other.id, limit);
  };
}

/** Events of more orders with one reference are compared one by one. */
const maxOrders = 200;

function createNamed(orm: Orm, byPublicId: EventView['byPublicId']) {
  const statements = prepare(orm);

  function ofReference(reference: string, id: number): readonly Candidate[] | undefined {
    const rows = statements.ordersNamed.all({ reference, limit: maxOrders + 1 });
    if (rows.length > maxOrders) return undefined;
    const orderIds = JSON.stringify(rows.map((row) => row.id));
    return statements.ofOrders.all({ orderIds, id, limit: maxRowsRead });
  }

  return (filter: EventFilter, before: number): Partial<Candidates<Candidate>> => {
    const { publicId, orderId, txid, reference } = filter;
    if (publicId !== undefined) {
      const row = byPublicId(publicId);
      return {
        read: inMemory<Candidate>(row === undefined ? [] : [row], before),
        matches: orderId === undefined ? undefined : (each) => each.orderId === orderId,
      };
    }
    if (orderId !== undefined) {
      return {
        read: (last, limit) => statements.ofOrder.all({ orderId, id: last?.id ?? before, limit }),
      };
    }
    if (txid !== undefined) {
      return { read: inMemory(statements.ofTxid.all({ txid, id: before, limit: maxRowsRead })) };
    }
    if (reference === undefined) return {};
    const rows = ofReference(reference, before);
    if (rows !== undefined) return { read: inMemory(rows) };
    const isNamed = (id: number | null) =>
      id !== null && statements.referenceOf.get({ id })?.reference === reference;
    return { matches: (row) => isNamed(row.orderId) };
  };
}

function prepare(orm: Orm) {
  const ofOrders = (which: SQL) =>
    prepared(() =>
      orm
        .select(candidateColumns)
        .from(deliveries)
        .where(and(isEvent, which, isBefore))
        .orderBy(newestFirst)
        .limit(sql.placeholder('limit')),
    );
  return {
    ofOrder: prepareList(orm, 'webhook', equals(deliveries.orderId, 'orderId')),
    ofTxid: ofOrders(
      sql`${deliveries.orderId} in (select o.id from payments p join orders o
      on o.address_id = p.address_id where p.txid = ${placeholder('txid')})`,
    ),
    ofOrders: ofOrders(
      sql`${deliveries.orderId} in (select value from json_each(${placeholder('orderIds')}))`,
    ),
    ordersNamed: prepared(() =>
      orm
        .select({ id: orders.id })
        .from(stores)
        // In this order, because the index of references begins with the store.
        .crossJoin(orders)
        .where(
          sql`${orders.storeId} = ${stores.id} and ${orders.reference} = ${placeholder('reference')}`,
        )
        .limit(sql.placeholder('limit')),
    ),
    referenceOf: prepared(() =>
      orm.select({ reference: orders.reference }).from(orders).where(equals(orders.id, 'id')),
    ),
  };
}
