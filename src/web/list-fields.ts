// The fields of listed rows: the JSON of the command line and the columns of CSV files. A name that
// ends with `_at` has Unix seconds, in CSV a time in UTC.

import type { CsvCell } from '../lib/csv.ts';
import { unixSeconds } from '../lib/time-units.ts';
import type { CallbackRow } from '../store/delivery/callback-view.ts';
import type { ListedEvent } from '../store/delivery/event-view.ts';
import type { OrderView } from '../store/orders/order-view.ts';
import type { AddressEntry } from '../store/wallets/address-view.ts';

type Fields<Row> = Readonly<Record<string, (row: Row) => string | number | boolean | null>>;

/** `2026-11-21T16:26:00Z` */
export const utcOfSeconds = (at: number | null): string | null =>
  at === null ? null : `${new Date(at * 1000).toISOString().slice(0, 19)}Z`;

export const callbackFields = {
  id: (row) => row.id,
  event_id: (row) => row.eventId,
  store_id: (row) => row.storeId,
  addr: (row) => row.address,
  txid: (row) => row.txid,
  value: (row) => row.valueSat,
  status: (row) => row.status,
  state: (row) => row.state,
  attempts: (row) => row.attemptCount,
  created_at: (row) => unixSeconds(row.createdAt),
  next_attempt_at: (row) => unixSeconds(row.state === 'owed' ? row.nextAttemptAt : null),
  confirm_at: (row) => unixSeconds(row.confirmAt),
  settled_at: (row) => unixSeconds(row.settledAt),
  last_outcome: (row) => row.outcome,
  last_reason: (row) => row.reason,
  last_doubt: (row) => row.doubt,
} satisfies Fields<CallbackRow>;

export const eventFields = {
  id: (row) => row.publicId,
  type: (row) => row.type,
  store_id: (row) => row.storeId,
  state: (row) => row.state,
  attempts: (row) => row.attemptCount,
  created_at: (row) => unixSeconds(row.createdAt),
  next_attempt_at: (row) => unixSeconds(row.state === 'owed' ? row.nextAttemptAt : null),
  settled_at: (row) => unixSeconds(row.settledAt),
  last_outcome: (row) => row.outcome,
  last_reason: (row) => row.reason,
} satisfies Fields<ListedEvent>;

export const addressFields = (orderView: Pick<OrderView, 'byAddressId'>) =>
  ({
    id: (row) => row.id,
    address: (row) => row.address,
    store_id: (row) => row.storeId,
    wallet_id: (row) => row.walletId,
    index: (row) => row.derivationIndex,
    order_id: (row) =>
      row.orderId === null ? null : (orderView.byAddressId(row.id)?.publicId ?? null),
    paid: (row) => row.isPaid,
    issued_at: (row) => unixSeconds(row.issuedAt),
  }) satisfies Fields<AddressEntry>;

export const jsonOf = <Row>(fields: Fields<Row>, row: Row) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field(row)]));

export const csvColumns = <Row>(fields: Fields<Row>): Record<string, (row: Row) => CsvCell> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, (row: Row) => csvCell(name, field(row))]),
  );

function csvCell(name: string, value: string | number | boolean | null): CsvCell {
  if (typeof value === 'number' && name.endsWith('_at')) return utcOfSeconds(value);
  return typeof value === 'boolean' ? String(value) : value;
}
