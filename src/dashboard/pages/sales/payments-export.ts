// Payments as CSV. With `format` it is a file for accounts. Without it, the file has the columns of
// the first version, because spreadsheets read them.

import {
  type AccountFormat,
  accountCsv,
  accountFileName,
  accountFormatNames,
  accountFormats,
  checkSeparator,
  currenciesOf,
  fileCurrency,
} from '../../../domain/payment/account-formats.ts';
import { parseCurrency } from '../../../domain/payment/currency.ts';
import { csvDecimal } from '../../../lib/csv.ts';
import { confirmationsOf } from '../../../store/payments/confirmations.ts';
import type { PaymentEntry } from '../../../store/payments/payment-view.ts';
import type { Page, PageRequest } from '../../page.ts';
import { type CsvList, csvFile, csvResponse, separatorIn } from '../../parts/csv-file.ts';
import { priceText, worthIn } from '../../parts/fiat-worth.tsx';
import { queryChoice, queryText, zoneOf } from '../../parts/listing.tsx';
import { filterOf, idsIn } from './payments-page.tsx';

export const paymentsExportPage: Page = {
  path: '/payments/export',
  viewers: [],
  show: (request) => {
    const name = queryChoice(request, 'format', accountFormatNames);
    return name === undefined
      ? csvFile(request, confirmationsFile(request))
      : csvResponse(
          accountFileName(name, queryText(request, 'from'), queryText(request, 'to')),
          accountText(request, accountFormats[name]),
        );
  },
};

/** @throws PaygateError invalid */
function accountText(request: PageRequest, format: AccountFormat): AsyncIterable<string> {
  const { accountView, catalog } = request.parts.records;
  const filter = { ...filterOf(request), ids: idsIn(request) };
  const asked = queryText(request, 'currency');
  const currency = fileCurrency(
    format,
    asked && parseCurrency(asked),
    currenciesOf(catalog.stores({ archived: true }), filter.storeId),
  );
  const pages = accountView.pages(filter, request.now);
  const separator = separatorIn(request);
  checkSeparator(format, separator);
  return accountCsv(pages, format, { currency, separator, zone: zoneOf(request) });
}

/** @throws PaygateError invalid */
function confirmationsFile(request: PageRequest): CsvList<PaymentEntry> {
  const { records } = request.parts;
  const filter = { ...filterOf(request), ids: idsIn(request) };
  return {
    name: 'payments.csv',
    columns: {
      id: (row) => row.id,
      first_seen: (row) => new Date(row.firstSeenAt).toISOString(),
      store: (row) => row.storeName,
      address: (row) => row.address,
      txid: (row) => row.txid,
      satoshi: (row) => row.valueSat,
      state: (row) => row.state,
      confirmations: (row) => (row.preimage === null ? confirmationsOf(records, row) : null),
      height: (row) => row.height,
      replaced_by: (row) => row.replacedBy,
      currency: (row) => row.currency,
      worth_when_seen: (row) => csvDecimal(worthIn(row) ?? null),
      price_when_seen: (row) =>
        csvDecimal(row.priceCents === null ? null : priceText(row.priceCents)),
    },
    read: (place) => records.paymentView.page({ ...filter, ...place }),
  };
}
