// `paygate events list|show|resend|resend-failed|test`: events with their attempts, resending them,
// and test events.

import { Command, Option } from 'commander';
import { testEvent } from '../../delivery/test-event.ts';
import { eventTypes } from '../../domain/delivery/event-body.ts';
import { parseProxy } from '../../electrum/server-address.ts';
import type { EventState, EventType } from '../../store/schema/delivery-schema.ts';
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
import { describeAttempt, resendText } from './callback-text.ts';
import * as text from './event-text.ts';

const states: readonly EventState[] = ['unsent', 'owed', 'delivered', 'superseded', 'exhausted'];

export function eventsCommand(): Command {
  return new Command('events')
    .description('list, resend and test events for webhooks')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(resendCommand())
    .addCommand(resendFailedCommand())
    .addCommand(testCommand());
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly state?: EventState;
  readonly type?: EventType;
  readonly newerThan?: number;
  readonly olderThan?: number;
  readonly before?: string;
  readonly limit: number;
}

function listCommand(): Command {
  return fileCommand('list', 'list events, newest first')
    .option('--store <id>', 'only of this store', rowId)
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .addOption(new Option('--type <type>', 'only of this type').choices(eventTypes))
    .option('--newer-than <time>', 'only created within this time, such as 24h', parseDuration)
    .option('--older-than <time>', 'only created longer ago than this', parseDuration)
    .option('--before <id>', 'only older than this event: the next page')
    .option('--limit <n>', 'maximum number of events', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async ({ webhooks }) => {
        const { store: storeId, state, type, newerThan, olderThan, before, limit } = given;
        const now = world.now();
        const found = webhooks.list({
          storeId,
          state,
          type,
          limit: limit + 1,
          beforeId: before === undefined ? undefined : webhooks.event(before).id,
          since: newerThan === undefined ? undefined : now - newerThan,
          until: olderThan === undefined ? undefined : now - olderThan,
        });
        printPage(given, found, text.eventList);
      }),
    );
}

interface SecretsOption extends FileOptions {
  readonly secrets?: boolean;
}

function showCommand(): Command {
  return fileCommand('show', 'show an event with its body and every attempt')
    .argument('<id>', 'of the event, such as evt_…')
    .option('--secrets', 'show the webhook URL as it is')
    .action((id: string, given: SecretsOption) =>
      withStore(given, async ({ webhooks }) => {
        const row = webhooks.event(id);
        const attempts = webhooks.attempts(row.id);
        const url = text.shownUrl(row.url, given.secrets ?? false);
        const body = JSON.parse(row.body) as unknown;
        const answer = { ...text.describe(row), url, body, log: attempts.map(describeAttempt) };
        print(given, answer, () => text.renderEvent(row, url, attempts));
      }),
    );
}

function resendCommand(): Command {
  return fileCommand('resend', 'send an event again, with a new retry schedule')
    .argument('<id>', 'of the event, such as evt_…')
    .action((id: string, given: FileOptions) =>
      withStore(given, async ({ webhooks, database, audit }) => {
        await database.write((tx) => {
          const row = webhooks.event(id);
          webhooks.resend(tx, world.now(), row.id);
          recordChange({ audit }, tx, 'event.resend', { ids: [id] }, row.storeId);
        });
        print(given, text.describe(webhooks.event(id)), () => resendText('event', 1));
      }),
    );
}

function resendFailedCommand(): Command {
  return fileCommand('resend-failed', 'resend events that are exhausted or wait after a failure')
    .requiredOption('--store <id>', 'the store', rowId)
    .action((given: FileOptions & { readonly store: number }) =>
      withStore(given, async ({ webhooks, database, audit }) => {
        const resent = await database.write((tx) => {
          const count = webhooks.resendFailed(tx, world.now(), given.store);
          recordChange({ audit }, tx, 'event.resend-failed', { count }, given.store);
          return count;
        });
        print(given, { resent }, () => resendText('event', resent));
      }),
    );
}

interface TestOptions extends SecretsOption {
  readonly store: number;
  readonly proxy?: SocksProxy;
}

function testCommand(): Command {
  return fileCommand('test', 'send a test event without a payment, and show the exchange')
    .requiredOption('--store <id>', 'the store whose webhook receives it', rowId)
    .option('--proxy <url>', 'SOCKS5 proxy of serve, needed for a .onion address', parseProxy)
    .option('--secrets', 'show the webhook URL as it is')
    .action((given: TestOptions) =>
      withStore(given, async ({ catalog }) => {
        const row = catalog.store(given.store);
        const event = testEvent(row, world.now(), world.randomBytes);
        const attempt = await cliSender(given.proxy).post(event, new AbortController().signal);
        const url = text.shownUrl(row.webhookUrl, given.secrets ?? false);
        print(given, text.describeTest(event, attempt, url), () =>
          text.renderTest(event, attempt, url),
        );
        if (attempt.outcome !== 'delivered') process.exitCode = 1;
      }),
    );
}
