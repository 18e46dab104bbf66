// `paygate notify show|mail|set|test`: who receives mails and webhook requests about orders,
// deliveries and alarms. A running paygate uses a change from its next notification on.

import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { readConfig } from '../../config.ts';
import { newWebhookSecret } from '../../delivery/signature.ts';
import { noticeKinds, storeNoticeKinds } from '../../domain/delivery/notice.ts';
import {
  checkTarget,
  type MailSecurity,
  type MailServer,
  mailPorts,
  mailSecurities,
  mailServerFault,
  type NotifyTarget,
  parseKinds,
  parseMailAddress,
  parseMailHost,
  parseMailText,
  parseRecipients,
  targetForAudit,
} from '../../domain/delivery/notification-settings.ts';
import { publicUrlOf } from '../../domain/delivery/public-endpoint.ts';
import { trimUrl } from '../../domain/text/url-text.ts';
import { PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';
import { createNotificationSender } from '../../notify/notification-sender.ts';
import type { TargetOwner } from '../../store/file/file-state.ts';
import type { Records } from '../../store/open-records.ts';
import { cliSender } from '../cli-sender.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  table,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { readAuthorities } from './callback-ca.ts';
import { withOptionName } from './setting-options.ts';

interface OwnerOptions extends FileOptions {
  readonly store?: number;
}

export function notifyCommand(): Command {
  return new Command('notify')
    .description('set up, show and test mails and webhooks about orders and alarms')
    .addCommand(showCommand())
    .addCommand(mailCommand())
    .addCommand(setCommand())
    .addCommand(testCommand());
}

const ownerCommand = (name: string, description: string): Command =>
  fileCommand(name, description).option(
    '--store <id>',
    'of this store; of the operator without it',
    rowId,
  );

/** @throws PaygateError not_found */
function ownerOf({ catalog }: Records, { store }: OwnerOptions): TargetOwner {
  return store === undefined ? null : catalog.store(store).id;
}

function showCommand(): Command {
  return ownerCommand('show', 'show the mail server, recipients and what waits').action(
    (given: OwnerOptions) =>
      withStore(given, async (records) => {
        const answer = describe(records, ownerOf(records, given));
        print(given, answer, () => textOf(answer));
      }),
  );
}

function describe({ state, notifications }: Records, owner: TargetOwner) {
  const server = state.mailServer.read();
  const target = state.notifyTarget(owner).read();
  const { count, reason } = notifications.waiting();
  const kinds = owner === null ? noticeKinds : storeNoticeKinds;
  return {
    store_id: owner,
    mail: server === undefined ? null : mailJson(server),
    recipients: target.recipients,
    kinds: kinds.filter((kind) => target.kinds.includes(kind)),
    webhook_url: target.webhookUrl,
    webhook_secret: target.webhookSecret,
    allow_private_callback: target.allowPrivateCallback,
    allow_http_callback: target.allowHttpCallback,
    waiting: count,
    last_reason: reason,
    failed: notifications
      .missed(world.now())
      .map(({ channel, recipient, count, reason }) => ({ channel, recipient, count, reason })),
  };
}

/** Without the password. */
const mailJson = ({ host, port, security, user, from, ca }: MailServer) => ({
  server: host,
  port,
  security,
  user,
  from,
  own_ca: ca !== null,
});

type Described = ReturnType<typeof describe>;

function textOf(answer: Described): string {
  const { mail, recipients, kinds, waiting, last_reason: reason, failed } = answer;
  return table([
    ['mail server', mail === null ? 'none' : `${mail.server}:${mail.port} (${mail.security})`],
    ...(mail === null
      ? []
      : [
          ['user', mail.user ?? 'none'],
          ['sender', mail.from],
        ]),
    ['recipients', recipients.join(', ') || 'none'],
    ['kinds', kinds.join(', ') || 'none'],
    ['webhook', answer.webhook_url ?? 'none'],
    ...(answer.webhook_secret === null ? [] : [['webhook secret', answer.webhook_secret]]),
    ['waiting', `${waiting}${reason === null ? '' : ` (${reason})`}`],
    ...failed.map(({ recipient, count, reason: why }) => [
      'failed',
      `${count} to ${recipient || 'a webhook'} (${why ?? 'no attempt'})`,
    ]),
  ]);
}

interface MailOptions extends FileOptions {
  readonly server?: string;
  readonly port?: number;
  readonly security?: MailSecurity;
  readonly user?: string | false;
  readonly passwordFile?: string;
  readonly from?: string;
  readonly ca?: string | false;
  readonly off?: boolean;
}

function mailCommand(): Command {
  return fileCommand('mail', 'set the mail server; what is left out stays')
    .option('--server <host>', 'name of the mail server', withOptionName(parseMailHost))
    .option('--port <n>', '465 for tls, 587 for starttls by default', wholeNumber(1, 65_535))
    .addOption(new Option('--security <kind>', 'of the connection').choices(mailSecurities))
    .option('--user <name>', 'often the mail address', withOptionName(parseMailText))
    .option('--no-user', 'the server asks for no password')
    .option('--password-file <file>', 'file with the password; - reads standard input')
    .option('--from <address>', 'address that mails come from', withOptionName(parseMailAddress))
    .option(
      '--ca <file>',
      'only trusted authorities for the server, as PEM; - reads standard input',
    )
    .option('--no-ca', 'trust the usual authorities again')
    .option('--off', 'send no mail')
    .action((given: MailOptions) => setMail(given));
}

function setMail(given: MailOptions): Promise<void> {
  return withStore(given, async (records) => {
    const { state, database } = records;
    const ca = readAuthorities('--ca', given.ca);
    const server = given.off ? undefined : changedServer(given, state.mailServer.read(), ca);
    await database.write((tx) => {
      state.mailServer.write(tx, server);
      if (server === undefined) recordChange(records, tx, 'notify.mail-off');
      else recordChange(records, tx, 'notify.mail', mailJson(server));
    });
    print(given, { mail: server === undefined ? null : mailJson(server) }, () =>
      server === undefined
        ? 'No mail is sent any more.'
        : `Mails go by ${server.host}:${server.port}. Verify it with \`paygate doctor\`.`,
    );
  });
}

/** @throws PaygateError invalid */
function changedServer(
  given: MailOptions,
  before: MailServer | undefined,
  ca: string | null | undefined,
): MailServer {
  const host = given.server ?? before?.host ?? throwInvalid('--server: name the mail server');
  const from = given.from ?? before?.from ?? throwInvalid('--from: name the sender');
  const security = given.security ?? before?.security ?? 'tls';
  const user = given.user === undefined ? (before?.user ?? null) : given.user || null;
  // The stored password goes to no other server than the one that it was given for.
  const isSame = before?.host === host && before.user === user;
  const storedPassword = isSame ? before.password : null;
  const password =
    given.passwordFile === undefined ? storedPassword : readPassword(given.passwordFile);
  const isSameSecurity = before?.security === security;
  const port = given.port ?? (isSameSecurity ? before.port : mailPorts[security]);
  const trusted = ca === undefined && before?.host === host ? before.ca : (ca ?? null);
  const server = { host, port, security, user, password, from, ca: trusted };
  const fault = mailServerFault(server);
  if (fault !== undefined) throwInvalid(`${flags[fault.field]}: ${fault.text}`);
  return server;
}

const flags = {
  host: '--server',
  security: '--security',
  user: '--user',
  password: '--password-file',
} as const;

/** The first row of the file. @throws PaygateError invalid */
function readPassword(file: string): string | null {
  try {
    const [row = ''] = readFileSync(file === '-' ? 0 : file, 'utf8').split(/\r?\n/);
    return parseMailText(row) ?? throwInvalid('is empty');
  } catch (error) {
    throw new PaygateError('invalid', `--password-file: ${file}: ${reasonOf(error)}`);
  }
}

interface SetOptions extends OwnerOptions {
  readonly to?: NotifyTarget['recipients'] | false;
  readonly kinds?: NotifyTarget['kinds'];
  readonly webhookUrl?: string | false;
  readonly allowPrivateCallback?: boolean;
  readonly allowHttpCallback?: boolean;
}

function setCommand(): Command {
  return ownerCommand('set', 'set who receives what; what is left out stays')
    .option('--to <addresses>', 'mail addresses, with commas', withOptionName(parseRecipients))
    .option('--no-to', 'no mail')
    .option('--kinds <kinds>', `with commas: ${noticeKinds.join(', ')}`, withOptionName(parseKinds))
    .option('--webhook-url <url>', 'receives the same as JSON', withOptionName(trimUrl))
    .option('--no-webhook-url', 'no webhook')
    .option('--allow-private-callback', 'the webhook may be at a private address')
    .option('--no-allow-private-callback', 'the webhook must be at a public address')
    .option('--allow-http-callback', 'the webhook may be plain http')
    .option('--no-allow-http-callback', 'the webhook must be https')
    .action((given: SetOptions) => setTarget(given));
}

function setTarget(given: SetOptions): Promise<void> {
  return withStore(given, async (records) => {
    const { state, database } = records;
    const owner = ownerOf(records, given);
    const target = changedTarget(given, state.notifyTarget(owner).read());
    checkTarget(target, { ownAddresses: world.ownAddresses() });
    await database.write((tx) => {
      state.notifyTarget(owner).write(tx, target);
      recordChange(records, tx, 'notify.recipients', targetForAudit(target), owner);
    });
    const answer = describe(records, owner);
    print(given, answer, () => textOf(answer));
  });
}

function changedTarget(given: SetOptions, before: NotifyTarget): NotifyTarget {
  const { to, kinds, webhookUrl, allowPrivateCallback, allowHttpCallback } = given;
  const url = webhookUrl === undefined ? before.webhookUrl : webhookUrl || null;
  const secret = before.webhookSecret ?? newWebhookSecret(world.randomBytes);
  return {
    recipients: to === undefined ? before.recipients : to || [],
    kinds: kinds ?? before.kinds,
    webhookUrl: url,
    webhookSecret: url === null ? null : secret,
    allowPrivateCallback: allowPrivateCallback ?? before.allowPrivateCallback,
    allowHttpCallback: allowHttpCallback ?? before.allowHttpCallback,
  };
}

function testCommand(): Command {
  return ownerCommand('test', 'send a test to each recipient').action((given: OwnerOptions) =>
    withStore(given, async (records) => {
      const config = readConfig({}, process.env);
      const sender = createNotificationSender({
        world,
        records,
        proxy: config.proxy,
        publicUrl: publicUrlOf(config),
        sender: cliSender(undefined),
      });
      const results = await sender.test(ownerOf(records, given), new AbortController().signal);
      print(given, results, () =>
        table(results.map(({ to, reason }) => [to, reason ?? 'accepted'])),
      );
      if (results.some(({ reason }) => reason !== null)) process.exitCode = 1;
    }),
  );
}
