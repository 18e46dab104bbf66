// `paygate callbacks list|show|resend|resend-failed|test`: callbacks with their attempts, resending
// them, and test callbacks.

import { Command, Option } from 'commander';
import { networks } from '../bitcoin/network.ts';
import { maxMoneySat } from '../bitcoin/transaction.ts';
import { testCallback } from '../delivery/test-callback.ts';
import { hasReachedReceiver } from '../domain/callback-answer.ts';
import type { CallbackStatus } from '../domain/payment.ts';
import { parseProxy } from '../electrum/server-address.ts';
import { PaygateError } from '../lib/errors.ts';
import type { CallbackState } from '../store/db/schema.ts';
import { noteTested, testedAt } from '../store/records/settings.ts';
import type { SocksProxy } from '../world/world.ts';
import * as text from './callback-text.ts';
import { cliSender } from './cli-sender.ts';
import {
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  recordChange,
  rowId,
  wholeNumber,
  withStore,
  world,
} from './command.ts';

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
        const rows = found.slice(0, limit);
        print(given, rows.map(text.describe), () =>
          text.renderList(rows, found.length > rows.length),
        );
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
        const url = text.requestUrl(callbackUrl, row.query, given.secrets ?? false);
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
        print(given, text.describe(outbox.callback(id)), () => text.resendText(1));
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
        print(given, { resent }, () => text.resendText(resent, doubtful));
      }),
    );
}

interface TestOptions extends SecretsOption {
  readonly store: number;
  readonly status: string;
  readonly value: number;
  readonly rbf?: boolean;
  readonly proxy?: SocksProxy;
}

function testCommand(): Command {
  return fileCommand('test', 'send a test callback without a payment, and show the exchange')
    .requiredOption('--store <id>', 'the store whose callback URL is called', rowId)
    .addOption(
      new Option('--status <status>', 'status in the callback')
        .choices(['-1', '0', '1', '2'])
        .default('0'),
    )
    .option('--value <sat>', 'amount in the callback', wholeNumber(1, maxMoneySat), 10_000)
    .option('--proxy <url>', 'SOCKS5 proxy of serve, needed for a .onion address', parseProxy)
    .option('--rbf', 'mark the transaction as replaceable (only with status 0)')
    .option('--secrets', 'show the callback URL as it is')
    .action((given: TestOptions) =>
      withStore(given, async ({ catalog, network, database }) => {
        if (given.rbf && given.status !== '0') {
          throw new PaygateError(
            'invalid',
            '--rbf needs --status 0: no other callback has that parameter',
          );
        }
        const row = catalog.store(given.store);
        const order = testCallback(row, world.now(), {
          network: networks[network],
          status: Number(given.status) as CallbackStatus,
          valueSat: given.value,
          rbf: given.rbf ?? false,
          randomBytes: world.randomBytes,
        });
        const attempt = await cliSender(given.proxy).send(order, new AbortController().signal);
        const url = text.requestUrl(row.callbackUrl, order.query, given.secrets ?? false);
        print(given, text.describeTest(attempt, url), () => text.renderTest(attempt, url));
        if (attempt.outcome !== 'delivered') process.exitCode = 1;
        else if (hasReachedReceiver(attempt.verdict) && testedAt(catalog) === undefined) {
          // The dashboard asks for a test callback until one has reached a shop.
          await database.write((tx) => noteTested(tx, catalog, world.now()));
        }
      }),
    );
}
