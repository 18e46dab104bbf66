// A list as a file of CSV, read and sent page by page.

import {
  byteOrderMark,
  type CsvCell,
  type CsvSeparator,
  csvRow,
  csvSeparators,
} from '../../lib/csv.ts';
import { pagesOf, type ReadPage } from '../../lib/row-pages.ts';
import { fileResponse } from '../../web/file-response.ts';
import type { PageRequest } from '../page.ts';
import { queryChoice, separatorQuery } from './listing.tsx';

export interface CsvList<Row> {
  readonly name: string;
  readonly columns: Readonly<Record<string, (row: Row) => CsvCell>>;
  readonly read: ReadPage<Row>;
}

export const csvFile = <Row extends { readonly id: number }>(
  request: PageRequest,
  list: CsvList<Row>,
): Response => csvResponse(list.name, csvText(list, separatorIn(request)));

/** @throws PaygateError invalid */
export const separatorIn = (request: PageRequest): CsvSeparator =>
  queryChoice(request, separatorQuery, csvSeparators) ?? 'comma';

export const csvResponse = (name: string, text: AsyncIterable<string>): Response =>
  fileResponse(name, 'text/csv', text);

async function* csvText<Row extends { readonly id: number }>(
  { columns, read }: CsvList<Row>,
  separator: CsvSeparator,
): AsyncGenerator<string, void> {
  const cells = Object.values(columns);
  yield byteOrderMark + csvRow(Object.keys(columns), separator);
  for await (const rows of pagesOf(read)) {
    const texts = rows.map((row) =>
      csvRow(
        cells.map((cell) => cell(row)),
        separator,
      ),
    );
    yield texts.join('');
  }
}
