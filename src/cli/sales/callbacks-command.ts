// `paygate callbacks list|show|resend|resend-failed|test`: callbacks with their attempts, resending
// them, and test callbacks.

import { Command, Option } from 'commander';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { type SentTest, sendTestCallback, type TestParts } from '../../delivery/test-callback.ts';
import { sendTestPayment } from '../../delivery/test-payment.ts';
import type { CallbackStatus } from '../../domain/payment/payment.ts';
import { pastedAddress } from '../../domain/text/pasted-text.ts';
import { parseProxy } from '../../electrum/server-address.ts';
import { throwInvalid } from '../../lib/errors.ts';
import { commandClient } from '../../store/access/audit.ts';
import type { Records } from '../../store/open-records.ts';
import type { CallbackState } from '../../store/schema/delivery-schema.ts';
import type { SocksProxy } from '../../world/world.ts';
import { cliSender } from '../cli-sender.ts';
import {
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  printPage,
  recordChange,
  rowId,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import * as text from './callback-text.ts';

const states: readonly CallbackState[] = ['owed', 'held', 'delivered', 'superseded', 'exhausted'];

export function callbacksCommand(): Command {
  return new Command('callbacks')
    .description('list, resend and test callbacks to shops')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(resendCommand())
    .addCommand(resendFailedCommand())
    .addCommand(testCommand());
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: CallbackState;
  readonly doubtful?: boolean;
  readonly newerThan?: number;
  readonly olderThan?: number;
  readonly before?: number;
  readonly limit: number;
}

function listCommand(): Command {
  return fileCommand('list', 'list callbacks, newest first')
    .option('--store <id>', 'only of this store', rowId)
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--doubtful', 'only delivered ones with a doubtful last answer')
    .option('--newer-than <time>', 'only enqueued within this time, such as 24h', parseDuration)
    .option('--older-than <time>', 'only enqueued longer ago than this', parseDuration)
    .option('--before <id>', 'only older than this callback: the next page', rowId)
    .option('--limit <n>', 'maximum number of callbacks', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async ({ outbox }) => {
        const { store: storeId, state, doubtful: doubted, before: beforeId, limit } = given;
        const { newerThan, olderThan } = given;
        const since = newerThan === undefined ? undefined : world.now() - newerThan;
        const until = olderThan === undefined ? undefined : world.now() - olderThan;
        const filter = { storeId, state, doubted, beforeId, since, until };
        const found = outbox.list({ ...filter, limit: limit + 1 });
        printPage(given, found, text.callbackList);
      }),
    );
}

interface SecretsOption extends FileOptions {
  readonly secrets?: boolean;
}

function showCommand(): Command {
  return fileCommand('show', 'show a callback with every attempt')
    .argument('<id>', 'of the callback', rowId)
    .option('--secrets', 'show the callback URL as it is')
    .action((id: number, given: SecretsOption) =>
      withStore(given, async ({ outbox, catalog }) => {
        const row = outbox.callback(id);
        const attempts = outbox.attempts(id);
        const { callbackUrl } = catalog.store(row.storeId);
        const url = text.requestUrl(callbackUrl, row.query, given.secrets);
        print(given, { ...text.describe(row), url, log: attempts.map(text.describeAttempt) }, () =>
          text.renderCallback(row, url, attempts),
        );
      }),
    );
}

function resendCommand(): Command {
  return fileCommand('resend', 'send a callback again, with a new retry schedule')
    .argument('<id>', 'of the callback', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ outbox, database, audit }) => {
        await database.write((tx) => {
          outbox.resend(tx, world.now(), id);
          recordChange({ audit }, tx, 'callback.resend', { ids: [id] });
        });
        print(given, text.describe(outbox.callback(id)), () => text.resendText('callback', 1));
      }),
    );
}

interface ResendFailedOptions extends FileOptions {
  readonly store: number;
  readonly doubtful?: boolean;
  readonly newerThan?: number;
}

function resendFailedCommand(): Command {
  return fileCommand('resend-failed', 'resend callbacks that are exhausted or wait after a failure')
    .requiredOption('--store <id>', 'the store', rowId)
    .option('--doubtful', 'resend delivered callbacks with a doubtful last answer instead')
    .option('--newer-than <time>', 'only enqueued within this time, such as 7d', parseDuration)
    .action((given: ResendFailedOptions) =>
      withStore(given, async ({ outbox, database, audit }) => {
        const now = world.now();
        const since = given.newerThan === undefined ? 0 : now - given.newerThan;
        const { store, doubtful = false } = given;
        const resend = doubtful ? outbox.resendDoubtful : outbox.resendFailed;
        const action = `callback.resend-${doubtful ? 'doubtful' : 'failed'}` as const;
        const resent = await database.write((tx) => {
          const count = resend(tx, now, store, since);
          recordChange({ audit }, tx, action, { count }, store);
          return count;
        });
        print(given, { resent }, () => text.resendText('callback', resent, doubtful));
      }),
    );
}

interface TestOptions extends SecretsOption {
  readonly store?: number;
  readonly addr?: string;
  readonly status: '-1' | '0' | '1' | '2';
  readonly value?: number;
  readonly rbf?: boolean;
  readonly proxy?: SocksProxy;
}

/** The amount of a test callback without an order. */
const testValueSat = 10_000;

function testCommand(): Command {
  return fileCommand(
    'test',
    'send a test callback or a test payment; exits with 1 if the shop would not accept it',
  )
    .addOption(
      new Option('--store <id>', 'the store whose Callback URL is called')
        .argParser(rowId)
        .conflicts('addr'),
    )
    .option(
      '--addr <address>',
      'test payment to this unpaid address: at status 2 the shop treats its order as paid',
      pastedAddress,
    )
    .addOption(
      new Option('--status <status>', 'status in the callback')
        .choices(['-1', '0', '1', '2'])
        .default('0'),
    )
    .option(
      '--value <sat>',
      `amount in the callback (default: that of the open order of --addr; without --addr, ${testValueSat})`,
      wholeNumber(1, maxMoneySat),
    )
    .option('--proxy <url>', 'SOCKS5 proxy of serve, needed for a .onion address', parseProxy)
    .option('--rbf', 'mark the transaction as replaceable (only with status 0)')
    .option('--secrets', 'show the callback URL as it is')
    .action((given: TestOptions) =>
      withStore(given, async (records) => {
        if (given.rbf && given.status !== '0') {
          throwInvalid('--rbf needs --status 0: no other callback has that parameter');
        }
        const sent = await sendTest({ records, sender: cliSender(given.proxy), world }, given);
        const url = text.requestUrl(sent.row.callbackUrl, sent.callback.query, given.secrets);
        print(given, text.describeTest(sent, url), () => text.renderTest(sent, url));
        if (!sent.result.accepts) process.exitCode = 1;
      }),
    );
}

function sendTest(
  parts: TestParts & { readonly records: Records },
  { store: storeId, addr: address, status, value: valueSat, rbf }: TestOptions,
): Promise<SentTest> {
  const number = Number(status) as CallbackStatus;
  if (address !== undefined) {
    if (number === -1) throwInvalid('--addr needs --status 0, 1 or 2');
    return sendTestPayment(parts, commandClient, { address, status: number, valueSat, rbf });
  }
  const row = parts.records.catalog.store(storeId ?? throwInvalid(noTargetText));
  return sendTestCallback(parts, row, { status: number, valueSat: valueSat ?? testValueSat, rbf });
}

const noTargetText = 'name what to test: --store ID, or --addr ADDRESS of an order';
