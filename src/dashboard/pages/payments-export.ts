// Payments as CSV, read and sent page by page. With `format` it is a file for accounts. Without it,
// the file has the columns of the first version, because spreadsheets read them.

import {
  type AccountFormat,
  accountCsv,
  accountFormatNames,
  accountFormats,
  currenciesOf,
  fileCurrency,
} from '../../domain/account-formats.ts';
import type { AccountRow } from '../../domain/account-row.ts';
import { parseCurrency } from '../../domain/currency.ts';
import { byteOrderMark, type CsvCell, csvRow } from '../../lib/csv.ts';
import { nextTurn } from '../../lib/next-turn.ts';
import type { Store } from '../../store/open-store.ts';
import { confirmationsOf } from '../../store/views/confirmations.ts';
import type { PaymentEntry } from '../../store/views/payment-view.ts';
import { priceText, worthIn } from '../fiat-worth.tsx';
import type { Page, PageRequest } from '../page.ts';
import { queryChoice, queryText } from './listing.tsx';
import { filterOf, searchOf } from './payments-page.tsx';

/** Few enough rows that other requests do not wait for long. */
const rowsPerQuery = 100;
const columns = [
  'id',
  'first_seen',
  'store',
  'address',
  'txid',
  'satoshi',
  'state',
  'confirmations',
  'height',
  'replaced_by',
  'currency',
  'worth_when_seen',
  'price_when_seen',
];

export const paymentsExportPage: Page = {
  path: '/payments/export',
  show: (request) => {
    const name = queryChoice(request, 'format', accountFormatNames);
    return name === undefined
      ? csvResponse('payments.csv', csvStream(request))
      : csvResponse(`payments-${name}.csv`, accountStream(request, accountFormats[name]));
  },
};

const csvResponse = (name: string, body: ReadableStream<Uint8Array>): Response =>
  new Response(body, {
    headers: {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${name}"`,
    },
  });

/** @throws PaygateError invalid */
function accountStream(request: PageRequest, format: AccountFormat): ReadableStream<Uint8Array> {
  const { accountView, catalog } = request.parts.store;
  const filter = filterOf(request);
  const search = searchOf(request);
  const asked = queryText(request, 'currency');
  const currency = fileCurrency(
    format,
    asked && parseCurrency(asked),
    currenciesOf(catalog.stores({ archived: true }), filter.storeId),
  );
  const pages =
    search === undefined ? noPages() : accountView.pages({ ...filter, ...search }, request.now);
  const text = accountCsv(pages, format, currency);
  // Read when the client has taken what came before.
  return ReadableStream.from(text).pipeThrough(new TextEncoderStream());
}

async function* noPages(): AsyncGenerator<readonly AccountRow[], void> {}

function csvStream(request: PageRequest): ReadableStream<Uint8Array> {
  const { store } = request.parts;
  const filter = filterOf(request);
  const search = searchOf(request);
  const encoder = new TextEncoder();
  let beforeId: number | undefined;
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(byteOrderMark + csvRow(columns))),
    // Called when the stream has space, so that a slow client buffers only one page of rows.
    async pull(controller) {
      // Without this turn, a fast client would take the event loop until the last row.
      await nextTurn();
      const rows =
        search === undefined
          ? []
          : store.paymentView.list({ ...filter, ...search, beforeId, limit: rowsPerQuery });
      beforeId = rows.at(-1)?.id;
      const text = rows.map((row) => csvRow(cellsOf(store, row))).join('');
      if (rows.length > 0) controller.enqueue(encoder.encode(text));
      if (rows.length < rowsPerQuery) controller.close();
    },
  });
}

const cellsOf = (store: Store, row: PaymentEntry): CsvCell[] => [
  row.id,
  new Date(row.firstSeenAt).toISOString(),
  row.storeName,
  row.address,
  row.txid,
  row.valueSat,
  row.state,
  confirmationsOf(store, row),
  row.height,
  row.replacedBy,
  row.currency,
  worthIn(row) ?? null,
  row.priceCents === null ? null : priceText(row.priceCents),
];
