// `paygate store`: the merchant's stores. A removed store is archived, never deleted.

import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command, Option } from 'commander';
import { firstAddresses, type WalletKey } from '../../bitcoin/keychain.ts';
import { newWebhookSecret, rotatedSecrets, signingSecrets } from '../../delivery/signature.ts';
import { redactUrl } from '../../domain/delivery/callback.ts';
import { defaultConfirmations, readBands } from '../../domain/payment/confirmation-policy.ts';
import { type MoneyWay, moneyWays } from '../../domain/store/money-way.ts';
import { severalStoresAdvice, sharedWalletAdvice } from '../../domain/store/store-choice.ts';
import { defaultStoreSettings, storeSettingNames } from '../../domain/store/store-settings.ts';
import { formatCount, formatTime, verbOf } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import type { Records } from '../../store/open-records.ts';
import {
  type NewStore,
  requireRunning,
  type StoreChange,
  type StoreRow,
  type WalletRow,
} from '../../store/wallets/catalog.ts';
import { requireOwnUrl, restoreShop, setUpShop } from '../../store/wallets/store-setup.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  table,
  withNewStore,
  withStore,
  world,
} from '../command.ts';
import { commandLine } from '../own-program.ts';
import { readCallbackCa } from './callback-ca.ts';
import { lightningCommand } from './lightning-command.ts';
import {
  callbackUrlNotes,
  checkSettings,
  type SettingOptions,
  settingOffOption,
  settingOption,
  settingsIn,
  withNotes,
} from './setting-options.ts';
import {
  compareWith,
  depthOption,
  type KeyOptions,
  readWalletKey,
  scriptOption,
  startIndexOption,
  xpubOption,
} from './wallet-key-options.ts';

interface AddOptions extends FileOptions, KeyOptions {
  readonly startIndex?: number;
  readonly way?: MoneyWay;
}

/** What the setup of each way goes on with. */
const nextSteps: Readonly<Record<MoneyWay, string>> = {
  links: 'Make a payment link: `paygate links add`, or Links and tills in the dashboard.',
  plugin: 'Connect the plugin: open the store in the dashboard, then Plugin.',
  program: 'Make an order with the API key: /docs/quickstart of this paygate shows how.',
};

export function storeCommand(): Command {
  return new Command('store')
    .description('manage stores, each with a wallet')
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(setCommand())
    .addCommand(storeWalletCommand())
    .addCommand(lightningCommand())
    .addCommand(storeRecheckCommand())
    .addCommand(showCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(removeWebhookCommand())
    .addCommand(removeCommand())
    .addCommand(restoreCommand());
}

function addCommand(): Command {
  const command = fileCommand('add', 'add a store; links, the till and BTCPay plugins need no URL')
    .addOption(settingOption('name').makeOptionMandatory())
    .addOption(xpubOption())
    .addOption(scriptOption())
    .addOption(
      new Option(
        '--way <kind>',
        'how the money comes: by links, a plugin, or your own program',
      ).choices(Object.keys(moneyWays)),
    )
    .addOption(settingOption('currency'))
    .addOption(settingOption('callbackUrl'))
    .addOption(settingOption('webhookUrl'))
    .addOption(settingOption('webhookEvents'))
    .addOption(startIndexOption());
  command.addOption(settingOption('requiredConfirmations').default(defaultConfirmations));
  for (const name of ['allowPrivateCallback', 'allowHttpCallback'] as const) {
    command.addOption(settingOption(name));
  }
  return command
    .addOption(depthOption())
    .action((given: AddOptions & SettingOptions) => add(given));
}

function add(given: AddOptions & SettingOptions): Promise<void> {
  const settings = { ...defaultStoreSettings, name: '', callbackUrl: '', ...settingsIn(given) };
  checkSettings(settings, undefined);
  const fields = { ...settings, webhookSecret: newWebhookSecret(world.randomBytes) };
  return withNewStore(
    given,
    (network) => readWalletKey(given, network),
    (records, key, isNew) => addTo(records, given, key, fields, isNew),
  );
}

async function addTo(
  records: Records,
  given: AddOptions,
  key: WalletKey,
  fields: Omit<NewStore, 'walletId'>,
  isNew: boolean,
): Promise<void> {
  const { startIndex } = given;
  const secret = world.randomBytes(32);
  const { row, wallet, apiKey } = await records.database.write((tx) => {
    const shop = setUpShop(records, tx, world.now(), { key, startIndex, fields, secret });
    const detail = { name: shop.row.name, wallet: shop.wallet.id, way: given.way };
    if (given.way !== undefined) records.state.moneyWay(shop.row.id).write(tx, given.way);
    recordChange(records, tx, 'store.add', detail, shop.row.id);
    return shop;
  });
  const isSecond = records.catalog.choices().length > 1;
  const notes = [
    ...(given.way === undefined ? [] : [nextSteps[given.way]]),
    ...(isSecond ? [severalStoresAdvice] : []),
    ...sharedWalletAdvice(records.catalog.sharing(row)),
    ...callbackUrlNotes(row.callbackUrl),
    ...currencyNotes(row.currency),
  ];
  const answer = {
    ...describe(row, wallet),
    first_addresses: firstAddresses(key),
    api_key: apiKey,
    webhook_secret: row.webhookSecret,
  };
  const place = isNew ? ` in the new database ${resolve(records.database.path)}` : '';
  print(
    given,
    withNotes(answer, notes),
    () => `Store ${row.id} "${row.name}" is set up${place}.

${compareWith(answer.first_addresses)}
If they differ, remove the store and choose another --script:
  ${commandLine(`store remove ${row.id}`, { db: records.database.path })}

API key         ${apiKey}
Webhook secret  ${row.webhookSecret}${notes.map((note) => `\n\n${note}`).join('')}`,
  );
}

/** Which option prices depend on, after a currency was set. */
const currencyNotes = (currency: string | null): string[] =>
  currency === null
    ? []
    : [
        `Orders and payments in ${currency} need prices. \`paygate serve\` asks public sources for them ` +
          'unless it runs with --price off; --price own asks only the sources that you name.',
      ];

function describe(row: StoreRow, wallet: WalletRow | null) {
  return {
    id: row.id,
    name: row.name,
    http_callback: row.callbackUrl,
    wallet: wallet && { id: wallet.id, script: wallet.scriptType, account: wallet.account },
  };
}

function detail(records: Records, row: StoreRow) {
  const wallet = row.walletId === null ? null : records.catalog.wallet(row.walletId);
  return {
    ...describe(row, wallet),
    plugin_store_id: row.publicId,
    confirmations: row.requiredConfirmations,
    confirmations_above: readBands(row.confirmationBands).map(({ aboveSat, confirmations }) => ({
      above: aboveSat,
      confirmations,
    })),
    reversal_callback: row.reversalCallback,
    minimum: row.minimumSat,
    currency: row.currency,
    rbf_parameter: !row.omitRbf,
    webhook_url: row.webhookUrl,
    webhook_events: row.webhookEvents.split(','),
    plugin_webhooks: records.webhookRecords.list(row.id).map((each) => ({
      id: each.publicId,
      url: each.url,
      events: each.events.split(',').filter(Boolean),
      enabled: each.isEnabled,
    })),
    late: row.latePolicy,
    order_expires: row.orderSeconds,
    quote_seconds: row.quoteSeconds,
    tolerance_percent: row.toleranceBasisPoints / 100,
    adjust_percent: row.adjustBasisPoints / 100,
    return_url: row.returnUrl,
    auto_return: row.autoReturn,
    receipt_address: row.receiptAddress,
    contact: row.contact,
    language: row.language,
    embed: row.embedOrigins.split(' ').filter(Boolean),
    allow_private_callback: row.allowPrivateCallback,
    allow_http_callback: row.allowHttpCallback,
    own_callback_ca: row.callbackCa !== null,
    next_index: wallet?.nextIndex ?? null,
    scanned: wallet !== null && wallet.scannedAt !== null,
    created_at: unixSeconds(row.createdAt),
    archived_at: unixSeconds(row.archivedAt),
    callbacks_stopped: row.callbacksStopped,
  };
}

interface SetOptions extends FileOptions {
  readonly callbackCa?: string | false;
}

function setCommand(): Command {
  const command = fileCommand('set', 'change a store; callbacks already sent stay as they are');
  command.argument('<id>', 'of the store', rowId);
  for (const name of storeSettingNames) {
    command.addOption(settingOption(name));
    const off = settingOffOption(name);
    if (off !== undefined) command.addOption(off);
  }
  return command
    .option(
      '--callback-ca <file>',
      'only trusted authorities for the callback URL, as PEM; - reads standard input',
    )
    .option('--no-callback-ca', 'trust the usual authorities again')
    .action((id: number, given: SetOptions & SettingOptions) => set(id, given));
}

function set(id: number, given: SetOptions & SettingOptions): Promise<void> {
  return withStore(given, async (records) => {
    refuseNoChange(given);
    const callbackCa = readCallbackCa(given.callbackCa);
    const settings = settingsIn(given);
    const row = await records.database.write((tx) => {
      const before = records.catalog.store(id);
      const change = {
        ...settings,
        ...(callbackCa !== undefined && { callbackCa }),
      };
      checkSettings(settings, before);
      requireOwnUrl(records.catalog, settings.callbackUrl ?? before.callbackUrl, before);
      const after = records.catalog.changeStore(tx, id, change);
      if (!isDeepStrictEqual(before, after)) {
        recordChange(records, tx, 'store.change', detailOf(change), id);
      }
      return after;
    });
    const notes = [
      ...(settings.callbackUrl === undefined ? [] : callbackUrlNotes(row.callbackUrl)),
      ...currencyNotes(settings.currency ?? null),
    ];
    print(given, withNotes(detail(records, row), notes), () =>
      [`Store ${row.id} "${row.name}" is changed.`, ...notes].join('\n\n'),
    );
  });
}

/** The change for the audit log, with the names that the dashboard and the API write. */
const detailOf = ({ callbackUrl, callbackCa, ...rest }: StoreChange) => ({
  ...rest,
  ...(callbackCa !== undefined && { own_callback_ca: callbackCa !== null }),
  ...(callbackUrl !== undefined && { http_callback: callbackUrl }),
});

/** @throws PaygateError invalid if no option names a change */
function refuseNoChange({ db, network, json, ...changes }: SetOptions): void {
  if (Object.keys(changes).length > 0) return;
  throw new PaygateError('invalid', 'no change is given; name an option (`--help` lists them)');
}

function listCommand(): Command {
  return fileCommand('list', 'list stores')
    .option('--archived', 'also list removed stores')
    .action((given: FileOptions & { archived?: boolean }) =>
      withStore(given, async (records) => {
        const rows = records.catalog.stores({ archived: given.archived ?? false });
        const stores = rows.map((row) => detail(records, row));
        print(given, stores, () => {
          if (stores.length === 0) {
            return `There is no store yet: ${commandLine('store add', { db: records.database.path })} …`;
          }
          const lines = rows.map((row, index) => [
            String(row.id),
            row.name,
            stores[index]?.wallet?.script ?? '-',
            redactUrl(row.callbackUrl) || '-',
            ...(given.archived ? [showRemoved(row)] : []),
          ]);
          const head = ['id', 'name', 'script', 'callback URL'];
          return table([[...head, ...(given.archived ? ['removed'] : [])], ...lines]);
        });
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show a store and its webhook secret')
    .argument('<id>', 'of the store, or its name')
    .action((id: string, given: FileOptions) =>
      withStore(given, async (records) => {
        const row = storeNamed(records, id);
        const [webhookSecret, previous] = signingSecrets(row, world.now());
        const ends = previous === undefined ? null : (row.previousSecretUntil ?? 0);
        const answer = {
          ...detail(records, row),
          webhook_secret: webhookSecret,
          old_webhook_secret: previous ?? null,
          old_secret_ends_at: unixSeconds(ends),
        };
        print(given, answer, () =>
          table([
            ['name', answer.name],
            ['id for plugins', row.publicId],
            ['callback URL', answer.http_callback || 'none'],
            ...(row.webhookUrl === null
              ? []
              : [['webhook', `${row.webhookUrl} (${row.webhookEvents})`]]),
            ...answer.plugin_webhooks.map(({ id: webhook, url, events }) => [
              `webhook ${webhook}`,
              `${url} (${events.join() || 'all events'})`,
            ]),
            ['confirmations', showPolicy(row)],
            ['wallet', showWallet(answer)],
            ['orders', showOrderTerms(row)],
            ...(row.embedOrigins === '' ? [] : [['frames', row.embedOrigins]]),
            ...(row.minimumSat === null ? [] : [['minimum', `${row.minimumSat} sat`]]),
            ...(row.currency === null ? [] : [['currency', row.currency]]),
            ...(row.omitRbf ? [['rbf parameter', 'omitted']] : []),
            ...(row.reversalCallback ? [['status -1', 'sent']] : []),
            ['next index', answer.scanned ? String(answer.next_index) : 'not scanned yet'],
            ['webhook secret', row.webhookSecret],
            ...(ends === null ? [] : [['old secret', `${previous} until ${formatTime(ends)}`]]),
            ...(row.callbackCa === null ? [] : [['authorities', 'its own (--callback-ca)']]),
            ['created', formatTime(row.createdAt)],
            ...(row.archivedAt === null ? [] : [['removed', showRemoved(row)]]),
          ]),
        );
      }),
    );
}

/** The store with a number, or with a name in any case. @throws PaygateError not_found, invalid */
function storeNamed({ catalog }: Records, text: string): StoreRow {
  if (/^\d{1,15}$/.test(text)) return catalog.store(Number(text));
  const all = catalog.stores({ archived: true });
  const isNamed = ({ name }: StoreRow): boolean => name.toLowerCase() === text.toLowerCase();
  const running = all.filter((row) => isNamed(row) && row.archivedAt === null);
  const found = running.length > 0 ? running : all.filter(isNamed);
  const [only, second] = found;
  if (only !== undefined && second === undefined) return only;
  if (only === undefined) {
    throw new PaygateError(
      'not_found',
      `no store has the name '${text}'; \`paygate store list\` shows the numbers and names`,
    );
  }
  const numbers = found.map(({ id }) => id).join(', ');
  throw new PaygateError('invalid', `several stores have this name; use a number: ${numbers}`);
}

const showRemoved = ({ archivedAt, callbacksStopped }: StoreRow): string =>
  archivedAt === null
    ? ''
    : `${formatTime(archivedAt)}${callbacksStopped ? ', its callbacks are stopped' : ''}`;

const showWallet = ({ wallet }: ReturnType<typeof detail>): string =>
  wallet === null ? 'none' : `${wallet.id} (${wallet.script}) ${wallet.account}`;

function rotateSecretCommand(): Command {
  return fileCommand(
    'rotate-secret',
    'make a new webhook secret; the old one signs for 7 more days',
  )
    .argument('<id>', 'of the store', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ catalog, database, audit }) => {
        const fresh = newWebhookSecret(world.randomBytes);
        const row = await database.write((tx) => {
          recordChange({ audit }, tx, 'secret.rotate', {}, id);
          return catalog.changeStore(tx, id, rotatedSecrets(catalog.store(id), fresh, world.now()));
        });
        const until = row.previousSecretUntil ?? 0;
        const answer = { webhook_secret: fresh, old_secret_ends_at: unixSeconds(until) };
        print(
          given,
          answer,
          () => `${fresh}\nThe old secret also signs until ${formatTime(until)}.`,
        );
      }),
    );
}

function removeWebhookCommand(): Command {
  return fileCommand(
    'remove-webhook',
    'remove a webhook that a plugin added; its shop hears no more',
  )
    .argument('<id>', 'of the store', rowId)
    .argument('<webhook>', 'of the webhook, as `store show` lists it')
    .action((id: number, publicId: string, given: FileOptions) =>
      withStore(given, async (records) => {
        const { webhookRecords } = records;
        await records.database.write((tx) => {
          const webhook = webhookRecords.of(id, publicId);
          webhookRecords.remove(tx, world.now(), webhook.id);
          const detail = { webhook: publicId, url: redactUrl(webhook.url ?? '') };
          recordChange(records, tx, 'webhook.remove', detail, id);
        });
        print(given, { removed: publicId }, () => `Webhook ${publicId} is removed.`);
      }),
    );
}

const adjustmentText = ({ adjustBasisPoints }: StoreRow): string =>
  `${adjustBasisPoints < 0 ? 'discount' : 'surcharge'} ${Math.abs(adjustBasisPoints) / 100} %`;

const showOrderTerms = (row: StoreRow): string =>
  [
    row.orderSeconds === 0 ? 'never expire' : `expire after ${row.orderSeconds} s`,
    `quotes of ${row.quoteSeconds} s`,
    `tolerance ${row.toleranceBasisPoints / 100} %`,
    ...(row.adjustBasisPoints === 0 ? [] : [adjustmentText(row)]),
    ...(row.latePolicy === 'ask' ? ['late money counts once you accept it'] : []),
    ...(row.returnUrl === null
      ? []
      : [`back to ${row.returnUrl}${row.autoReturn ? ' by itself' : ''}`]),
    ...(row.receiptAddress === null ? [] : [`receipts of ${row.receiptAddress}`]),
    ...(row.contact === null ? [] : [`contact ${row.contact}`]),
    ...(row.language === null ? [] : [`language ${row.language}`]),
  ].join(', ');

const showPolicy = (row: StoreRow): string =>
  [
    String(row.requiredConfirmations),
    ...readBands(row.confirmationBands).map(
      ({ aboveSat, confirmations }) => `${confirmations} above ${aboveSat} sat`,
    ),
  ].join(', ');

interface WalletOptions extends FileOptions, KeyOptions {
  readonly startIndex?: number;
}

function storeWalletCommand(): Command {
  return fileCommand('wallet', 'set the wallet of a store; issued addresses stay with the old one')
    .argument('<id>', 'of the store', rowId)
    .addOption(xpubOption())
    .addOption(scriptOption())
    .addOption(startIndexOption())
    .addOption(depthOption())
    .action((id: number, given: WalletOptions) => giveWallet(id, given));
}

/** @throws PaygateError conflict for a start index of a wallet that exists already */
function giveWallet(id: number, given: WalletOptions): Promise<void> {
  return withStore(given, async ({ network, database, catalog, audit }) => {
    const key = await readWalletKey(given, network);
    const { row, wallet } = await database.write((tx) => {
      requireRunning(catalog.store(id));
      const wallet = catalog.ensureWallet(tx, world.now(), key, given.startIndex);
      recordChange({ audit }, tx, 'store.attach', { wallet_id: wallet.id }, id);
      return { row: catalog.changeStore(tx, id, { walletId: wallet.id }), wallet };
    });
    const notes = sharedWalletAdvice(catalog.sharing(row));
    const answer = {
      id,
      wallet: { id: wallet.id, script: wallet.scriptType, account: wallet.account },
      first_addresses: firstAddresses(key),
    };
    print(
      given,
      withNotes(answer, notes),
      () => `Store ${id} "${row.name}" issues from wallet ${wallet.id} from now on.

${compareWith(answer.first_addresses)}
If they differ, set the wallet again with another --script.${notes.map((note) => `\n\n${note}`).join('')}`,
    );
  });
}

function removeCommand(): Command {
  return fileCommand('remove', 'archive a store: no more addresses; issued ones stay watched')
    .argument('<id>', 'of the store', rowId)
    .option('--stop-callbacks', 'also stop its callbacks')
    .action((id: number, given: FileOptions & { stopCallbacks?: boolean }) =>
      withStore(given, async (records) => {
        const stop = given.stopCallbacks ?? false;
        const row = await records.database.write((tx) => {
          recordChange(records, tx, 'store.remove', { stop_callbacks: stop }, id);
          return records.catalog.archiveStore(tx, world.now(), id, stop);
        });
        const back = commandLine(`store restore ${row.id}`, { db: records.database.path });
        print(given, detail(records, row), () =>
          [
            stop
              ? `Store ${row.id} "${row.name}" is removed; its callbacks are stopped.`
              : `Store ${row.id} "${row.name}" is removed; payments to its addresses are still called back.`,
            `To use it again: ${back}`,
          ].join('\n'),
        );
      }),
    );
}

function restoreCommand(): Command {
  return fileCommand('restore', 'use a removed store again; its API keys stay revoked')
    .argument('<id>', 'of the store', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (records) => {
        const { row, changed } = await records.database.write((tx) => {
          const restored = restoreShop(records, tx, id);
          if (restored.changed) recordChange(records, tx, 'store.restore', {}, id);
          return restored;
        });
        print(given, detail(records, row), () =>
          changed
            ? `Store ${row.id} "${row.name}" is in use again.`
            : `Store ${row.id} "${row.name}" is already in use.`,
        );
      }),
    );
}

const recheckAbout = `
A dishonest server can make paygate leave out addresses, as used by another program. Remove that server
from --electrum first. \`paygate serve\` then checks each address again. An address whose use neither a
second server nor a block confirms is issued again before new ones. No address is issued twice.`;

function storeRecheckCommand(): Command {
  return fileCommand('recheck-used', 'check again which addresses another program has used')
    .argument('<id>', 'of the store', rowId)
    .addHelpText('after', recheckAbout)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ state, catalog, database, addressView, audit }) => {
        const { walletId } = catalog.store(id);
        if (walletId === null) throw new PaygateError('conflict', `store ${id} has no wallet yet`);
        const [use] = addressView.foreignUses().filter((each) => each.walletId === walletId);
        const marked = use?.count ?? 0;
        await database.write((tx) => {
          state.rechecks.write(tx, [...new Set([...state.rechecks.read(), walletId])]);
          recordChange({ audit }, tx, 'wallet.recheck-used', { wallet: walletId, marked }, id);
        });
        print(
          given,
          { id, wallet_id: walletId, marked },
          () =>
            `${formatCount(marked, 'address', 'addresses')} of wallet ${walletId} ${verbOf(marked, 'counts', 'count')} as used by another program. ` +
            'A running paygate checks each again with its servers, and logs the result.',
        );
      }),
    );
}
