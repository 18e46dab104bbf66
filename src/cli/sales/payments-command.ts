// `paygate payments list|show|export`: payments to issued addresses, in the shape of events.

import { Command, InvalidArgumentError, Option } from 'commander';
import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import { parseTxid, type Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import type { PaymentState } from '../../domain/payment/payment.ts';
import { pastedAddress, withoutInvisible } from '../../domain/text/pasted-text.ts';
import {
  type FileOptions,
  fileCommand,
  parseTime,
  print,
  printPage,
  rowId,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { describePayments, paymentList, renderPayment } from './payment-text.ts';
import { exportCommand } from './payments-export-command.ts';

const states: readonly PaymentState[] = [
  'unconfirmed',
  'confirming',
  'confirmed',
  'settled',
  'dropped',
];

export function paymentsCommand(): Command {
  return new Command('payments')
    .description('list, show and export payments')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(exportCommand());
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: PaymentState;
  readonly address?: string;
  readonly txid?: Txid;
  readonly seenAfter?: number;
  readonly seenBefore?: number;
  readonly after?: number;
  readonly limit: number;
}

function txidOf(text: string): Txid {
  try {
    return parseTxid(withoutInvisible(text).toLowerCase());
  } catch {
    throw new InvalidArgumentError('Give the 64 hexadecimal digits of a transaction id.');
  }
}

function listCommand(): Command {
  return fileCommand('list', 'list payments, newest first')
    .option('--store <id>', 'only to this store', rowId)
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--address <address>', 'only to this address', pastedAddress)
    .option('--txid <txid>', 'only by this transaction', txidOf)
    .option('--seen-after <time>', 'only first seen from this UTC time or age on', parseTime)
    .option('--seen-before <time>', 'only first seen before this UTC time or age', parseTime)
    .option('--after <id>', 'only older than this payment: the next page', rowId)
    .option('--limit <n>', 'maximum number of payments', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async (records) => {
        const { store: storeId, state, address, txid, limit } = given;
        const { seenAfter: since, seenBefore: until, after: beforeId } = given;
        const network = networks[records.network];
        const script = address === undefined ? undefined : addressToScript(address, network);
        const states = state === undefined ? undefined : [state];
        const filter = { storeId, states, txid, since, until, beforeId };
        const found = records.paymentView.list({
          ...filter,
          scripthash: script && scripthash(script),
          limit: limit + 1,
        });
        printPage(given, describePayments(records, found, world.now()), paymentList);
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show a payment with its callbacks')
    .argument('<id>', 'of the payment, as it is listed', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (records) => {
        const entry = records.paymentView.payment(id);
        const callbacks = records.paymentView
          .callbacksOf(id)
          .map(({ id, status, state }) => ({ id, status, state }));
        for (const payment of describePayments(records, [entry], world.now())) {
          print(given, { ...payment, callbacks }, () => renderPayment(payment, callbacks));
        }
      }),
    );
}
