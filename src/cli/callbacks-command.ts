// `paygate callbacks list|show|resend|resend-failed|test`: what is owed to shops, what was delivered,
// what was given up, and what a shop makes of a callback.

import { Command, Option } from 'commander';
import { networks } from '../bitcoin/network.ts';
import { maxMoneySat } from '../bitcoin/transaction.ts';
import { readConfig } from '../config.ts';
import { createSender } from '../delivery/sender.ts';
import { testCallback } from '../delivery/test-callback.ts';
import { hasReachedReceiver } from '../domain/callback-answer.ts';
import type { CallbackStatus } from '../domain/payment.ts';
import { parseProxy } from '../electrum/server-address.ts';
import { PaygateError } from '../lib/errors.ts';
import { version } from '../lib/version.ts';
import type { CallbackState } from '../store/db/schema.ts';
import { noteTested, testedAt } from '../store/records/settings.ts';
import type { SocksProxy } from '../world/world.ts';
import * as text from './callback-text.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  noteChange,
  parseDuration,
  print,
  wholeNumber,
  withStore,
  world,
} from './command.ts';

const states: readonly CallbackState[] = ['owed', 'held', 'delivered', 'superseded', 'exhausted'];

export function callbacksCommand(): Command {
  return new Command('callbacks')
    .description('callbacks to shops')
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
    .option('--store <id>', 'of one store', anyId)
    .addOption(new Option('--state <state>', 'in one state').choices(states))
    .option('--doubtful', 'delivered, but the last answer is doubtful')
    .option('--newer-than <time>', 'enqueued within this time, such as 24h', parseDuration)
    .option('--older-than <time>', 'enqueued longer ago than this', parseDuration)
    .option('--before <id>', 'only those before this one: the next page', anyId)
    .option('--limit <n>', 'how many at most', wholeNumber(1, 10_000), 100)
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
    .argument('<id>', 'of the callback', anyId)
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
  return fileCommand('resend', 'owe a callback again, now, with a schedule that begins anew')
    .argument('<id>', 'of the callback', anyId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ outbox, database, audit }) => {
        await database.write((tx) => {
          outbox.resend(tx, world.now(), id);
          noteChange({ audit }, tx, 'callback.resend', { ids: [id] });
        });
        print(given, text.describe(outbox.callback(id)), () => text.promised(1));
      }),
    );
}

interface ResendFailedOptions extends FileOptions {
  readonly store: number;
  readonly doubtful?: boolean;
  readonly newerThan?: number;
}

function resendFailedCommand(): Command {
  return fileCommand('resend-failed', 'resend what was given up or waits after a failure')
    .requiredOption('--store <id>', 'of this store', anyId)
    .option('--doubtful', 'resend delivered ones instead, whose last answer is doubtful')
    .option('--newer-than <time>', 'enqueued within this time, such as 7d', parseDuration)
    .action((given: ResendFailedOptions) =>
      withStore(given, async ({ outbox, database, audit }) => {
        const now = world.now();
        const since = given.newerThan === undefined ? 0 : now - given.newerThan;
        const { store, doubtful = false } = given;
        const resend = doubtful ? outbox.resendDoubtful : outbox.resendFailed;
        const action = `callback.resend-${doubtful ? 'doubtful' : 'failed'}`;
        const resent = await database.write((tx) => {
          const count = resend(tx, now, store, since);
          noteChange({ audit }, tx, action, { count }, store);
          return count;
        });
        print(given, { resent }, () => text.promised(resent, doubtful));
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
  return fileCommand('test', 'send a test callback of no payment, and show the exchange')
    .requiredOption('--store <id>', 'to the callback URL of this store', anyId)
    .addOption(
      new Option('--status <status>', 'what it says').choices(['-1', '0', '1', '2']).default('0'),
    )
    .option('--value <sat>', 'the amount that it says', wholeNumber(1, maxMoneySat), 10_000)
    .option('--proxy <url>', 'SOCKS5, as serve has it: the way to a .onion address', parseProxy)
    .option('--rbf', 'status 0 says that the transaction can be replaced')
    .option('--secrets', 'show the callback URL as it is')
    .action((given: TestOptions) =>
      withStore(given, async ({ catalog, network, database }) => {
        if (given.rbf && given.status !== '0') {
          throw new PaygateError('invalid', '--rbf: only a callback of status 0 says it');
        }
        const row = catalog.store(given.store);
        const order = testCallback(row, world.now(), {
          network: networks[network],
          status: Number(given.status) as CallbackStatus,
          valueSat: given.value,
          rbf: given.rbf ?? false,
          randomBytes: world.randomBytes,
        });
        // Where a server with the same environment would listen.
        const { listen, proxy } = readConfig({}, process.env);
        const sender = createSender(world, {
          version: version.split('.').slice(0, 2).join('.'),
          listeners: () => [listen],
          proxy: given.proxy ?? proxy,
        });
        const attempt = await sender.send(order, new AbortController().signal);
        const url = text.requestUrl(row.callbackUrl, order.query, given.secrets ?? false);
        print(given, text.describeTest(attempt, url), () => text.renderTest(attempt, url));
        if (attempt.outcome !== 'delivered') process.exitCode = 1;
        else if (hasReachedReceiver(attempt.verdict) && testedAt(catalog) === undefined) {
          // The dashboard asks for one until then.
          await database.write((tx) => noteTested(tx, catalog, world.now()));
        }
      }),
    );
}
