// A list of many rows, read page by page: a reader never holds more than one page.

import { nextTurn } from './next-turn.ts';

/** Few enough rows that other requests do not wait for long. */
const rowsPerPage = 100;

/** The place of a page in a list that shows the newest first. */
export interface ListPlace {
  readonly beforeId: number | undefined;
  readonly limit: number;
}

interface RowPage<Row> {
  readonly rows: readonly Row[];
  /** The last row that was searched, if a partial page may have older matches. */
  readonly goesOnAt?: number | undefined;
}

export type ReadPage<Row> = (place: ListPlace) => RowPage<Row>;

/** All pages that have rows. Each is read in a turn of the event loop. */
export async function* pagesOf<Row extends { readonly id: number }>(
  read: ReadPage<Row>,
): AsyncGenerator<readonly Row[], void> {
  let beforeId: number | undefined;
  do {
    // Without this turn, a fast reader would take the event loop until the last row.
    await nextTurn();
    const { rows, goesOnAt } = read({ beforeId, limit: rowsPerPage });
    if (rows.length > 0) yield rows;
    beforeId = rows.length < rowsPerPage ? goesOnAt : rows.at(-1)?.id;
  } while (beforeId !== undefined);
}
