// Orders, deliveries and addresses as CSV, with the filters of their lists. The columns have the
// names and values of the JSON; times are in UTC.

import { csvDecimal } from '../../lib/csv.ts';
import type { ListPlace } from '../../lib/row-pages.ts';
import { labelFile, labelLines } from '../../store/orders/label-lines.ts';
import { fileResponse } from '../../web/file-response.ts';
import {
  addressFields,
  callbackFields,
  csvColumns,
  eventFields,
  utcOfSeconds,
} from '../../web/list-fields.ts';
import type { Page, PageRequest } from '../page.ts';
import { type CsvList, csvFile } from '../parts/csv-file.ts';
import { callbackSearch } from './deliveries/callbacks-page.tsx';
import { eventSearch } from './deliveries/events-page.tsx';
import { addressSearch } from './sales/addresses-page.tsx';
import { orderSearch } from './sales/orders-page.tsx';

export const ordersExportPage: Page = {
  path: '/orders/export',
  viewers: [],
  show: (request) => csvFile(request, ordersFile(request)),
};

/** Labels of orders for another wallet, with the filters of the list. */
export const labelsExportPage: Page = {
  path: '/orders/labels/export',
  viewers: [],
  show(request) {
    const lines = labelLines(request.parts.records.orderView, orderSearch(request));
    return fileResponse(labelFile.name, labelFile.type, lines);
  },
};

/** @throws PaygateError invalid */
function ordersFile(request: PageRequest) {
  const { orderView } = request.parts.records;
  const search = orderSearch(request);
  const read = (place: ListPlace) => {
    const { rows, goesOnAt } = search(place);
    const orders = rows.map((row) => ({ id: row.id, order: orderView.json(row, request.now) }));
    return { rows: orders, goesOnAt };
  };
  type Row = ReturnType<typeof read>['rows'][number];
  const columns: CsvList<Row>['columns'] = {
    id: ({ order }) => order.id,
    store_id: ({ order }) => order.store_id,
    link_id: ({ order }) => order.link_id,
    status: ({ order }) => order.status,
    late: ({ order }) => String(order.late),
    amount: ({ order }) => csvDecimal(order.amount),
    currency: ({ order }) => order.currency,
    adjust_percent: ({ order }) => csvDecimal(String(order.adjust_percent)),
    amount_due: ({ order }) => csvDecimal(order.amount_due),
    amount_sat: ({ order }) => order.amount_sat,
    received_sat: ({ order }) => order.received_sat,
    confirmed_sat: ({ order }) => order.confirmed_sat,
    missing_sat: ({ order }) => order.missing_sat,
    excess_sat: ({ order }) => order.excess_sat,
    address: ({ order }) => order.address,
    page_url: ({ order }) => order.page_url,
    reference: ({ order }) => order.reference,
    description: ({ order }) => order.description,
    created_at: ({ order }) => utcOfSeconds(order.created_at),
    expires_at: ({ order }) => utcOfSeconds(order.expires_at),
    paid_at: ({ order }) => utcOfSeconds(order.paid_at),
    canceled_at: ({ order }) => utcOfSeconds(order.canceled_at),
    accepted_at: ({ order }) => utcOfSeconds(order.accepted_at),
  };
  return { name: 'orders.csv', columns, read };
}

export const callbacksExportPage: Page = {
  path: '/callbacks/export',
  show(request) {
    const columns = csvColumns(callbackFields);
    return csvFile(request, { name: 'callbacks.csv', columns, read: callbackSearch(request) });
  },
};

export const eventsExportPage: Page = {
  path: '/events/export',
  show(request) {
    const columns = csvColumns(eventFields);
    return csvFile(request, { name: 'events.csv', columns, read: eventSearch(request) });
  },
};

export const addressesExportPage: Page = {
  path: '/addresses/export',
  show(request) {
    const columns = csvColumns(addressFields(request.parts.records.orderView));
    return csvFile(request, { name: 'addresses.csv', columns, read: addressSearch(request) });
  },
};
