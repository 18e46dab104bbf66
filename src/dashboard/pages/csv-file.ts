// A list as a file of CSV, read and sent page by page: paygate never holds more than one page.

import {
  byteOrderMark,
  type CsvCell,
  type CsvSeparator,
  csvRow,
  csvSeparators,
} from '../../lib/csv.ts';
import { nextTurn } from '../../lib/next-turn.ts';
import type { PageRequest } from '../page.ts';
import { queryChoice, separatorQuery } from './listing.tsx';

/** Few enough rows that other requests do not wait for long. */
const rowsPerRead = 100;

/** The place of a page in a list that shows the newest first. */
export interface ListPlace {
  readonly beforeId: number | undefined;
  readonly limit: number;
}

interface ReadPage<Row> {
  readonly rows: readonly Row[];
  /** The last row that was searched, if a partial page may have older matches. */
  readonly goesOnAt?: number | undefined;
}

export interface CsvList<Row> {
  readonly name: string;
  readonly columns: Readonly<Record<string, (row: Row) => CsvCell>>;
  read(place: ListPlace): ReadPage<Row>;
}

export const csvFile = <Row extends { readonly id: number }>(
  request: PageRequest,
  list: CsvList<Row>,
): Response => csvResponse(list.name, csvText(list, separatorIn(request)));

/** @throws PaygateError invalid */
export const separatorIn = (request: PageRequest): CsvSeparator =>
  queryChoice(request, separatorQuery, csvSeparators) ?? 'comma';

/** Each piece of text is made when the client has taken what came before. */
export const csvResponse = (name: string, text: AsyncIterable<string>): Response =>
  new Response(ReadableStream.from(text).pipeThrough(new TextEncoderStream()), {
    headers: {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${name}"`,
    },
  });

async function* csvText<Row extends { readonly id: number }>(
  { columns, read }: CsvList<Row>,
  separator: CsvSeparator,
): AsyncGenerator<string, void> {
  const cells = Object.values(columns);
  yield byteOrderMark + csvRow(Object.keys(columns), separator);
  let beforeId: number | undefined;
  do {
    // Without this turn, a fast client would take the event loop until the last row.
    await nextTurn();
    const { rows, goesOnAt } = read({ beforeId, limit: rowsPerRead });
    const texts = rows.map((row) =>
      csvRow(
        cells.map((cell) => cell(row)),
        separator,
      ),
    );
    if (rows.length > 0) yield texts.join('');
    beforeId = rows.length < rowsPerRead ? goesOnAt : rows.at(-1)?.id;
  } while (beforeId !== undefined);
}
