// `paygate address list`: the addresses that were issued.

import { type Command, Option } from 'commander';
import { formatTime } from '../../domain/text/format.ts';
import type { Records } from '../../store/open-records.ts';
import type { AddressEntry, AddressFilter } from '../../store/wallets/address-view.ts';
import {
  type FileOptions,
  fileCommand,
  printPage,
  rowId,
  seconds,
  type TextList,
  wholeNumber,
  withStore,
} from '../command.ts';

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: 'paid' | 'unpaid';
  readonly after?: number;
  readonly limit: number;
}

export function addressListCommand(): Command {
  return fileCommand('list', 'list issued addresses, newest first')
    .option('--store <id>', 'only of this store', rowId)
    .addOption(
      new Option('--state <state>', 'only with a payment, or without one').choices([
        'paid',
        'unpaid',
      ]),
    )
    .option('--after <id>', 'only older than this address: the next page', rowId)
    .option('--limit <n>', 'maximum number of addresses', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async (records) => {
        const { store: storeId, state, after: beforeId, limit } = given;
        const paid = state === undefined ? undefined : state === 'paid';
        const filter = { storeId, paid, beforeId, limit: limit + 1 };
        const found = findAddresses(records, filter);
        const addresses = found.map((row) => describe(records, row));
        printPage(given, addresses, addressList);
      }),
    );
}

/** Reads page after page, because each page searches only so many rows. */
function findAddresses({ addressView }: Records, filter: AddressFilter): AddressEntry[] {
  const found: AddressEntry[] = [];
  let beforeId = filter.beforeId;
  do {
    const page = addressView.list({ ...filter, beforeId, limit: filter.limit - found.length });
    found.push(...page.rows);
    beforeId = page.goesOnAt;
  } while (beforeId !== undefined);
  return found;
}

type AddressAnswer = ReturnType<typeof describe>;

function describe({ orderView }: Records, row: AddressEntry) {
  return {
    id: row.id,
    address: row.address,
    store_id: row.storeId,
    wallet_id: row.walletId,
    index: row.derivationIndex,
    order_id: row.orderId === null ? null : (orderView.byAddressId(row.id)?.publicId ?? null),
    paid: row.isPaid,
    issued_at: seconds(row.issuedAt),
  };
}

const addressList: TextList<AddressAnswer> = {
  none: 'No address matches.',
  columns: {
    id: (each) => each.id,
    issued: (each) => (each.issued_at === null ? '-' : formatTime(each.issued_at * 1000)),
    store: (each) => each.store_id ?? '-',
    wallet: (each) => each.wallet_id,
    index: (each) => each.index,
    paid: (each) => (each.paid ? 'yes' : 'no'),
    address: (each) => each.address,
    order: (each) => each.order_id,
  },
  next: ({ id }) => `--after ${id}`,
};
