// Lists that show the newest first, by a time and then by the id. SQLite searches no index by a
// pair of columns that ends with the id. Therefore the rows of one moment are read apart.

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
