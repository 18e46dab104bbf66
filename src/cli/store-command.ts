// `paygate store add|list|set|show|rotate-secret|remove`: the merchant's stores. `wallet` stands in store-wallet-command.ts.

import { Command } from 'commander';
import { firstAddresses, type WalletKey } from '../bitcoin/keychain.ts';
import { maxMoneySat } from '../bitcoin/transaction.ts';
import { newWebhookSecret, rotated, signingSecrets } from '../delivery/signature.ts';
import { redactUrl } from '../domain/callback.ts';
import type { CallbackFlags } from '../domain/callback-url-policy.ts';
import {
  type Band,
  checkPolicy,
  defaultConfirmations,
  mostConfirmations,
  parseBand,
  readBands,
  writeBands,
} from '../domain/confirmation-policy.ts';
import { parseCurrency } from '../domain/currency.ts';
import { showTime } from '../domain/format.ts';
import { severalStores } from '../domain/store-choice.ts';
import { parseStoreName } from '../domain/store-name.ts';
import { trimUrl } from '../domain/url-text.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { NewStore, StoreChange, StoreRow, WalletRow } from '../store/records/catalog.ts';
import { requireOwnUrl, setUpShop } from '../store/records/store-setup.ts';
import { readAuthorities } from './authorities.ts';
import { checkTypedUrl, notesOn, withNotes } from './callback-url.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  print,
  seconds,
  table,
  wholeNumber,
  withNewStore,
  withStore,
  world,
} from './command.ts';
import { again } from './repeat-command.ts';
import { storeRecheckCommand } from './store-recheck-command.ts';
import { removeCommand, restoreCommand } from './store-remove-command.ts';
import { storeWalletCommand } from './store-wallet-command.ts';
import {
  compareWith,
  depthOption,
  type KeyOptions,
  readWalletKey,
  scriptOption,
  startIndexOption,
  xpubOption,
} from './wallet-key.ts';

interface AddOptions extends FileOptions, KeyOptions, Partial<CallbackFlags> {
  readonly name: string;
  readonly startIndex?: number;
  readonly callbackUrl: string;
  readonly confirmations: number;
}

const confirmations = [
  '--confirmations <n>',
  'depth from which a payment is final',
  wholeNumber(1, mostConfirmations),
] as const;

export function storeCommand(): Command {
  return new Command('store')
    .description('stores: a wallet and a callback URL')
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(setCommand())
    .addCommand(storeWalletCommand())
    .addCommand(storeRecheckCommand())
    .addCommand(showCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(removeCommand(detail))
    .addCommand(restoreCommand(detail));
}

function addCommand(): Command {
  return fileCommand('add', 'add a store')
    .requiredOption('--name <text>', 'its name, for people')
    .addOption(xpubOption())
    .addOption(scriptOption())
    .requiredOption('--callback-url <url>', 'where payments are told to', trimUrl)
    .addOption(startIndexOption())
    .option(...confirmations, defaultConfirmations)
    .option(
      '--allow-private-callback',
      'the callback URL may lead to a private or loopback address',
    )
    .option('--allow-http-callback', 'the callback URL may be plain http on the public internet')
    .addOption(depthOption())
    .action((given: AddOptions) => add(given));
}

function add(given: AddOptions): Promise<void> {
  const fields = fieldsOf(given);
  return withNewStore(
    given,
    (network) => readWalletKey(given, network),
    (store, key) => addTo(store, given, key, fields),
  );
}

function fieldsOf(given: AddOptions): Omit<NewStore, 'walletId'> {
  const { callbackUrl, allowPrivateCallback = false, allowHttpCallback = false } = given;
  checkTypedUrl(callbackUrl, { allowPrivateCallback, allowHttpCallback });
  return {
    name: parseStoreName(given.name),
    callbackUrl,
    requiredConfirmations: given.confirmations,
    allowPrivateCallback,
    allowHttpCallback,
    webhookSecret: newWebhookSecret(world.randomBytes),
  };
}

async function addTo(
  store: Store,
  given: AddOptions,
  key: WalletKey,
  fields: Omit<NewStore, 'walletId'>,
): Promise<void> {
  const { startIndex } = given;
  const secret = world.randomBytes(32);
  const { row, wallet, apiKey } = await store.database.write((tx) =>
    setUpShop(store, tx, world.now(), { key, startIndex, fields, secret }),
  );
  const isSecond = store.catalog.choices().length > 1;
  const notes = [...(isSecond ? [severalStores] : []), ...notesOn(row.callbackUrl)];
  const answer = {
    ...describe(row, wallet),
    first_addresses: firstAddresses(key),
    api_key: apiKey,
    webhook_secret: row.webhookSecret,
  };
  print(
    given,
    withNotes(answer, notes),
    () => `Store ${row.id} "${row.name}" is set up.

${compareWith(answer.first_addresses)}
If they differ, remove the store and choose another --script:
  ${again(`store remove ${row.id}`, { db: store.database.path })}

API key         ${apiKey}
Webhook secret  ${row.webhookSecret}${notes.map((note) => `\n\n${note}`).join('')}`,
  );
}

function describe(row: StoreRow, wallet: WalletRow | null) {
  return {
    id: row.id,
    name: row.name,
    http_callback: row.callbackUrl,
    wallet: wallet && { id: wallet.id, script: wallet.scriptType, account: wallet.account },
  };
}

function detail(store: Store, row: StoreRow) {
  const wallet = row.walletId === null ? null : store.catalog.wallet(row.walletId);
  return {
    ...describe(row, wallet),
    confirmations: row.requiredConfirmations,
    confirmations_above: readBands(row.confirmationBands).map(({ aboveSat, confirmations }) => ({
      above: aboveSat,
      confirmations,
    })),
    reversal_callback: row.reversalCallback,
    minimum: row.minimumSat,
    currency: row.currency,
    rbf_parameter: !row.omitRbf,
    allow_private_callback: row.allowPrivateCallback,
    allow_http_callback: row.allowHttpCallback,
    own_callback_ca: row.callbackCa !== null,
    next_index: wallet?.nextIndex ?? null,
    scanned: wallet !== null && wallet.scannedAt !== null,
    created_at: seconds(row.createdAt),
    archived_at: seconds(row.archivedAt),
    callbacks_stopped: row.callbacksStopped,
  };
}

interface SetOptions extends FileOptions, Partial<CallbackFlags> {
  readonly name?: string;
  readonly callbackUrl?: string;
  readonly confirmations?: number;
  readonly confirmationsAbove?: readonly Band[] | false;
  readonly reversalCallback?: boolean;
  readonly minimum?: number | false;
  readonly currency?: string | false;
  readonly rbfParameter?: boolean;
  readonly callbackCa?: string | false;
}

function setCommand(): Command {
  return fileCommand('set', 'change a store; what was told already is not taken back')
    .argument('<id>', 'of the store', anyId)
    .option('--name <text>', 'its name, for people')
    .option('--callback-url <url>', 'where payments are told to', trimUrl)
    .option(...confirmations)
    .option(
      '--confirmations-above <sat:n>',
      'more of them above an amount, such as 5000000:6; repeatable',
      // False after --no-confirmations-above: then these take the place of what there was.
      (text: string, before: readonly Band[] | false | undefined) => [
        ...(before || []),
        parseBand(text),
      ],
    )
    .option('--no-confirmations-above', 'the same depth for every amount')
    .option('--reversal-callback', 'tell status -1 of a payment that vanished after 1 or 2')
    .option('--no-reversal-callback', 'never tell -1')
    .option(
      '--minimum <sat>',
      'a payment of less is recorded, but not told from now on',
      wholeNumber(1, maxMoneySat),
    )
    .option('--no-minimum', 'every payment is told')
    .option(
      '--currency <code>',
      'ISO 4217, such as EUR: what a payment is worth in it is kept when it is first seen',
      parseCurrency,
    )
    .option('--no-currency', 'no price is asked for when a payment is seen')
    .option('--rbf-parameter', 'tell rbf=1 of a payment that can be replaced (the default)')
    .option('--no-rbf-parameter', 'leave rbf out, for plugins that do not count such payments')
    .option('--allow-private-callback', 'the callback URL may lead to a private address')
    .option('--no-allow-private-callback', 'it may not')
    .option('--allow-http-callback', 'the callback URL may be plain http on the public internet')
    .option('--no-allow-http-callback', 'it may not')
    .option(
      '--callback-ca <file>',
      'PEM: the only authorities that may vouch for the callback URL; - reads standard input',
    )
    .option('--no-callback-ca', 'those that are trusted everywhere')
    .action((id: number, given: SetOptions) =>
      withStore(given, async (store) => {
        refuseNothing(given);
        const authorities = readAuthorities(given.callbackCa);
        const row = await store.database.write((tx) =>
          store.catalog.changeStore(tx, id, {
            ...changeOf(given, store.catalog.store(id), store.catalog),
            ...(authorities !== undefined && { callbackCa: authorities }),
          }),
        );
        const notes = given.callbackUrl === undefined ? [] : notesOn(row.callbackUrl);
        print(given, withNotes(detail(store, row), notes), () =>
          [`Store ${row.id} "${row.name}" is changed.`, ...notes].join('\n\n'),
        );
      }),
    );
}

/** @throws PaygateError invalid where nothing is to be changed */
function refuseNothing({ db, network, json, ...changes }: SetOptions): void {
  if (Object.keys(changes).length > 0) return;
  throw new PaygateError('invalid', 'nothing is changed: name an option (`--help` lists them)');
}

function changeOf(given: SetOptions, before: StoreRow, catalog: Store['catalog']): StoreChange {
  const {
    callbackUrl = before.callbackUrl,
    allowPrivateCallback = before.allowPrivateCallback,
    allowHttpCallback = before.allowHttpCallback,
  } = given;
  checkTypedUrl(callbackUrl, { allowPrivateCallback, allowHttpCallback }, before);
  requireOwnUrl(catalog, callbackUrl, before);
  const { minimum, currency } = given;
  const bands = given.confirmationsAbove === false ? [] : given.confirmationsAbove;
  if (given.confirmations !== undefined || bands !== undefined) {
    checkPolicy({
      confirmations: given.confirmations ?? before.requiredConfirmations,
      bands: bands ?? readBands(before.confirmationBands),
    });
  }
  return {
    callbackUrl,
    allowPrivateCallback,
    allowHttpCallback,
    ...(given.name !== undefined && { name: parseStoreName(given.name) }),
    ...(given.confirmations !== undefined && { requiredConfirmations: given.confirmations }),
    ...(bands !== undefined && { confirmationBands: writeBands(bands) }),
    ...(given.reversalCallback !== undefined && { reversalCallback: given.reversalCallback }),
    ...(minimum !== undefined && { minimumSat: minimum === false ? null : minimum }),
    ...(currency !== undefined && { currency: currency === false ? null : currency }),
    ...(given.rbfParameter !== undefined && { omitRbf: !given.rbfParameter }),
  };
}

function listCommand(): Command {
  return fileCommand('list', 'list the stores')
    .option('--archived', 'also those that were removed')
    .action((given: FileOptions & { archived?: boolean }) =>
      withStore(given, async (store) => {
        const rows = store.catalog.stores({ archived: given.archived ?? false });
        const stores = rows.map((row) => detail(store, row));
        print(given, stores, () => {
          if (stores.length === 0) {
            return `There is no store yet: ${again('store add', { db: store.database.path })} …`;
          }
          const lines = rows.map((row, index) => [
            String(row.id),
            row.name,
            stores[index]?.wallet?.script ?? '-',
            redactUrl(row.callbackUrl),
            ...(given.archived ? [showRemoved(row)] : []),
          ]);
          const head = ['id', 'name', 'script', 'callback URL'];
          return table([[...head, ...(given.archived ? ['removed'] : [])], ...lines]);
        });
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show a store, with its webhook secret')
    .argument('<id>', 'of the store', anyId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async (store) => {
        const row = store.catalog.store(id);
        const [webhookSecret, previous] = signingSecrets(row, world.now());
        const ends = previous === undefined ? null : (row.previousSecretUntil ?? 0);
        const answer = {
          ...detail(store, row),
          webhook_secret: webhookSecret,
          old_webhook_secret: previous ?? null,
          old_secret_ends_at: seconds(ends),
        };
        print(given, answer, () =>
          table([
            ['name', answer.name],
            ['callback URL', answer.http_callback],
            ['confirmations', showPolicy(row)],
            ['wallet', showWallet(answer)],
            ...(row.minimumSat === null ? [] : [['minimum', `${row.minimumSat} sat`]]),
            ...(row.currency === null ? [] : [['currency', row.currency]]),
            ...(row.omitRbf ? [['rbf parameter', 'left out']] : []),
            ...(row.reversalCallback ? [['status -1', 'told']] : []),
            ['next index', answer.scanned ? String(answer.next_index) : 'not scanned yet'],
            ['webhook secret', row.webhookSecret],
            ...(ends === null ? [] : [['the one before', `${previous} until ${showTime(ends)}`]]),
            ...(row.callbackCa === null ? [] : [['authorities', 'its own (--callback-ca)']]),
            ['created', showTime(row.createdAt)],
            ...(row.archivedAt === null ? [] : [['removed', showRemoved(row)]]),
          ]),
        );
      }),
    );
}

const showRemoved = ({ archivedAt, callbacksStopped }: StoreRow): string =>
  archivedAt === null
    ? ''
    : `${showTime(archivedAt)}${callbacksStopped ? ', its callbacks have ended' : ''}`;

const showWallet = ({ wallet }: ReturnType<typeof detail>): string =>
  wallet === null ? 'none' : `${wallet.id} (${wallet.script}) ${wallet.account}`;

function rotateSecretCommand(): Command {
  return fileCommand('rotate-secret', 'make a new webhook secret; the old one signs 7 days more')
    .argument('<id>', 'of the store', anyId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ catalog, database }) => {
        const fresh = newWebhookSecret(world.randomBytes);
        const row = await database.write((tx) =>
          catalog.changeStore(tx, id, rotated(catalog.store(id), fresh, world.now())),
        );
        const until = row.previousSecretUntil ?? 0;
        const answer = { webhook_secret: fresh, old_secret_ends_at: Math.floor(until / 1000) };
        print(given, answer, () => `${fresh}\nThe old secret signs too until ${showTime(until)}.`);
      }),
    );
}

const showPolicy = (row: StoreRow): string =>
  [
    String(row.requiredConfirmations),
    ...readBands(row.confirmationBands).map(
      ({ aboveSat, confirmations }) => `${confirmations} above ${aboveSat} sat`,
    ),
  ].join(', ');
