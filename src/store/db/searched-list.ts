// Lists for people. With filters that no index holds, a page compares so many rows one by one. It
// says where the next page goes on, because of a million rows none may match.

// Some lists show the newest first, by a time and then by the id. SQLite searches no index by a
// pair of columns that ends with the id. Therefore the rows of one moment are read apart.

import type { ReadList } from '../../lib/merged-lists.ts';
import { stores } from '../schema/schema.ts';
import { type Orm, prepared } from './orm.ts';

export const maxRowsRead = 5_000;
const readAtOnce = 500;

export interface Candidates<Row> {
  readonly read: ReadList<Row>;
  readonly matches?: ((row: Row) => boolean) | undefined;
  readonly isOver?: (row: Row) => boolean;
}

export interface FoundIds {
  readonly ids: readonly number[];
  /** The last row that was compared, if a page that is not full may have more matches behind it. */
  readonly goesOnAt: number | undefined;
}

/** A page of a list: rows, and where the next page goes on if this one ends early. */
export interface SearchedPage<Row> {
  readonly rows: readonly Row[];
  readonly goesOnAt: number | undefined;
}

export function findIds<Row extends { readonly id: number }>(
  { read, matches, isOver = () => false }: Candidates<Row>,
  limit: number,
): FoundIds {
  const size = matches === undefined ? limit : readAtOnce;
  const ids: number[] = [];
  let last: Row | undefined;
  for (let compared = 0; compared < maxRowsRead; compared += size) {
    const part = read(last, size);
    for (const row of part) {
      if (isOver(row)) return { ids, goesOnAt: undefined };
      if (matches?.(row) ?? true) ids.push(row.id);
      if (ids.length === limit) return { ids, goesOnAt: undefined };
    }
    last = part.at(-1);
    if (part.length < size) return { ids, goesOnAt: undefined };
  }
  return { ids, goesOnAt: last?.id };
}

/** All rows of a list up to a limit. It may read the whole table, page by page. */
export function readAll<Row>(
  page: (place: { beforeId: number | undefined; limit: number }) => SearchedPage<Row>,
  { beforeId, limit }: { readonly beforeId?: number | undefined; readonly limit: number },
): Row[] {
  const found: Row[] = [];
  let before = beforeId;
  do {
    const { rows, goesOnAt } = page({ beforeId: before, limit: limit - found.length });
    found.push(...rows);
    before = goesOnAt;
  } while (before !== undefined);
  return found;
}

export function inMemory<Row extends { readonly id: number }>(
  rows: readonly Row[],
  beforeId = Number.MAX_SAFE_INTEGER,
): ReadList<Row> {
  const sorted = rows.toSorted((one, other) => other.id - one.id);
  return (last, limit) => sorted.filter(({ id }) => id < (last?.id ?? beforeId)).slice(0, limit);
}

export interface TimedPlace {
  readonly at: number;
  readonly id: number;
}

export const listBegin: TimedPlace = { at: Number.MAX_SAFE_INTEGER, id: 0 };

export const newestFirst = (one: TimedPlace, other: TimedPlace): number =>
  other.at - one.at || other.id - one.id;

/** Reads rows by prepared statements that take `at`, `id` and `limit`, the newest first. */
export interface TimedStatements<Row> {
  readonly sameMoment: { all(values: Record<string, unknown>): Row[] };
  readonly older: { all(values: Record<string, unknown>): Row[] };
}

/** At most `limit` rows behind a place. @param values the other values of the statements */
export function rowsBehind<Row>(
  { sameMoment, older }: TimedStatements<Row>,
  values: Readonly<Record<string, unknown>>,
  { at, id }: TimedPlace,
  limit: number,
): Row[] {
  // No row has the id 0.
  const same = id === 0 ? [] : sameMoment.all({ ...values, at, id, limit });
  const left = limit - same.length;
  return left === 0 ? same : [...same, ...older.all({ ...values, at, id, limit: left })];
}

/** The stores that a list goes through, because the indexes of lists begin with the store. */
export function createStoreIds(orm: Orm) {
  const all = prepared(() => orm.select({ id: stores.id }).from(stores));
  return (storeId?: number): readonly number[] =>
    storeId === undefined ? all.all().map(({ id }) => id) : [storeId];
}
