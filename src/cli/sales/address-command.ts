// `paygate address check|list`: the addresses of a key, before any money depends on them, and those
// that were issued. Both are also commands of `paygate addresses`.

import { Command, Option } from 'commander';
import { firstAddresses } from '../../bitcoin/keychain.ts';
import { defaultNetwork } from '../../bitcoin/network.ts';
import { options } from '../../config.ts';
import { formatTime } from '../../domain/text/format.ts';
import type { Records } from '../../store/open-records.ts';
import type { AddressEntry, AddressFilter } from '../../store/wallets/address-view.ts';
import { addressFields, jsonOf } from '../../web/list-fields.ts';
import {
  type FileOptions,
  fileCommand,
  networkNamed,
  print,
  printPage,
  rowId,
  type TextList,
  wholeNumber,
  withStore,
} from '../command.ts';
import {
  depthOption,
  type KeyOptions,
  readWalletKey,
  scriptOption,
  xpubOption,
} from '../stores/wallet-key-options.ts';

interface CheckOptions extends KeyOptions {
  readonly network?: string;
  readonly count: number;
  readonly json?: boolean;
}

export function addressCommand(): Command {
  const check = new Command('check')
    .description("print a key's first receive addresses, to compare with the merchant's wallet")
    .addOption(xpubOption())
    .addOption(scriptOption())
    .option('--count <n>', 'number of addresses', wholeNumber(1, 1000), 5)
    .option(
      `${options.network.flag} <name>`,
      `mainnet, testnet3, testnet4, signet or regtest (default: ${defaultNetwork})`,
    )
    .addOption(depthOption())
    .option('--json', 'print JSON')
    .action(async (given: CheckOptions) => {
      const key = await readWalletKey(given, networkNamed(given) ?? defaultNetwork);
      const addresses = firstAddresses(key, given.count);
      const { scriptType: script, network } = key;
      print(given, { network, script, addresses }, () =>
        addresses.map((address, index) => `${index}  ${address}`).join('\n'),
      );
    });
  return new Command('address')
    .alias('addresses')
    .description('print addresses of a key, and list issued addresses')
    .addCommand(check)
    .addCommand(addressListCommand());
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: 'paid' | 'unpaid';
  readonly after?: number;
  readonly limit: number;
}

function addressListCommand(): Command {
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
        printPage(given, findAddresses(records, filter), addressList(records));
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

function addressList({ orderView }: Records): TextList<AddressEntry> {
  const fields = addressFields(orderView);
  return {
    none: 'No address matches.',
    columns: {
      id: fields.id,
      issued: (row) => (row.issuedAt === null ? '-' : formatTime(row.issuedAt)),
      store: (row) => row.storeId ?? '-',
      wallet: fields.wallet_id,
      index: fields.index,
      paid: (row) => (row.isPaid ? 'yes' : 'no'),
      address: fields.address,
      order: fields.order_id,
    },
    next: ({ id }) => `--after ${id}`,
    json: (row) => jsonOf(fields, row),
  };
}
