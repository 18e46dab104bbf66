// Lists of deliveries for people, newest first: what the channels have in common.

import { and, desc, lt, type SQL, sql } from 'drizzle-orm';
import type { DeliveryState } from '../../domain/order/state-words.ts';
import { mergeLists, type ReadList } from '../../lib/merged-lists.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import {
  type Candidates,
  createStoreIds,
  findIds,
  readAll,
  type SearchedPage,
} from '../db/searched-list.ts';
import { type Channel, deliveries, type EventType, isOf } from '../schema/delivery-schema.ts';

export interface DeliveryFilter {
  readonly storeId?: number | undefined;
  readonly state?: DeliveryState | undefined;
  readonly type?: EventType | undefined;
  readonly beforeId?: number | undefined;
  /** Made at this time or later, epoch milliseconds. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface DeliveryList<Filter extends DeliveryFilter, Row> {
  /** Newest first. A page may end early, and says where the next one begins. */
  page(filter: Filter): SearchedPage<Row>;
  /** Newest first, all that match up to the limit. It may read the whole table, page by page. */
  list(filter: Filter): Row[];
}

export type Candidate = ReturnType<ReturnType<typeof prepareList>['all']>[number];

/** What is particular to the list of a channel. */
interface ListTerms<Filter, Row> {
  readonly entry: (id: number) => Row | undefined;
  /** How the channel's own filters find rows; without `read`, those of the stores are compared. */
  readonly named: (filter: Filter, before: number) => Partial<Candidates<Candidate>>;
}

export function createDeliveryList<Filter extends DeliveryFilter, Row>(
  orm: Orm,
  channel: Channel,
  { entry, named }: ListTerms<Filter, Row>,
): DeliveryList<Filter, Row> {
  const statements = prepare(orm, channel);
  const storeIds = createStoreIds(orm);

  function ofStores({ storeId, state, type }: Filter, before: number): ReadList<Candidate> {
    const statement = isOpen(state)
      ? statements[state]
      : type === undefined
        ? statements.ofStore
        : statements.ofType;
    const ids = storeIds(storeId);
    return (last, limit) =>
      mergeLists(
        ids.map(
          (ofStore): ReadList<Candidate> =>
            (own, size) =>
              statement.all({
                storeId: ofStore,
                type,
                limit: size,
                id: own?.id ?? last?.id ?? before,
              }),
        ),
        (one, other) => other.id - one.id,
        limit,
      );
  }

  function candidates(filter: Filter): Candidates<Candidate> {
    const before = filter.beforeId ?? Number.MAX_SAFE_INTEGER;
    const { read, matches } = named(filter, before);
    const isAll = read === undefined && matches === undefined && isIndexed(filter);
    return {
      read: read ?? ofStores(filter, before),
      matches: isAll ? undefined : (row) => isMatch(row, filter) && (matches?.(row) ?? true),
    };
  }

  const page = (filter: Filter): SearchedPage<Row> => {
    const { ids, goesOnAt } = findIds(candidates(filter), filter.limit);
    return { rows: ids.flatMap((id) => entry(id) ?? []), goesOnAt };
  };
  return { page, list: (filter) => readAll((place) => page({ ...filter, ...place }), filter) };
}

const isOpen = (state: DeliveryState | undefined): state is 'owed' | 'exhausted' =>
  state === 'owed' || state === 'exhausted';

/** Whether an index of the stores has all that the filter names. */
const isIndexed = ({ state, type, since, until }: DeliveryFilter): boolean =>
  since === undefined &&
  until === undefined &&
  (state === undefined || (isOpen(state) && type === undefined));

function isMatch(
  row: Candidate,
  { storeId, state, type, since = 0, until = Number.MAX_SAFE_INTEGER }: DeliveryFilter,
): boolean {
  return (
    (storeId === undefined || row.storeId === storeId) &&
    (state === undefined || row.state === state) &&
    (type === undefined || row.type === type) &&
    row.createdAt >= since &&
    row.createdAt < until
  );
}

export const candidateColumns = columnsOf(
  deliveries,
  'id',
  'storeId',
  'orderId',
  'state',
  'type',
  'createdAt',
);

/** Takes `id` and `limit`: the newest before a delivery, in the order of an index. */
export const prepareList = (orm: Orm, channel: Channel, ...conditions: SQL[]) =>
  prepared(() =>
    orm
      .select(candidateColumns)
      .from(deliveries)
      .where(and(isOf(channel), ...conditions, lt(deliveries.id, placeholder('id'))))
      .orderBy(desc(deliveries.id))
      .limit(sql.placeholder('limit')),
  );

/** The same for few that SQLite sorts. The plus keeps it from walking all of the channel. */
export const isBefore = sql`+${deliveries.id} < ${placeholder('id')}`;
export const newestFirst = sql`+${deliveries.id} desc`;

function prepare(orm: Orm, channel: Channel) {
  const isOfStore = equals(deliveries.storeId, 'storeId');
  return {
    ofStore: prepareList(orm, channel, isOfStore),
    ofType: prepareList(orm, channel, isOfStore, equals(deliveries.type, 'type')),
    // SQLite uses the index of a state for a literal only.
    owed: prepareList(orm, channel, isOfStore, sql`${deliveries.state} = 'owed'`),
    exhausted: prepareList(orm, channel, isOfStore, sql`${deliveries.state} = 'exhausted'`),
  };
}

export const ofLastAttempt = <T>(column: 'outcome' | 'reason' | 'doubt'): SQL<T | null> =>
  sql`(select a.${sql.raw(column)} from attempts a where a.channel = deliveries.channel
    and a.delivery_id = deliveries.id order by a.id desc limit 1)`;
