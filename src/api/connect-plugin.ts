// Changes that a plugin may make while "Connect a plugin" is open for its key (wire §3): stores,
// their callback URLs, and which wallets they use. It never changes an extended key or another
// setting. Each change is in the audit log, in the same transaction.

import { isDeepStrictEqual } from 'node:util';
import type { Context } from 'hono';
import * as z from 'zod';
import { checkCallbackUrl } from '../domain/delivery/callback.ts';
import {
  checkStoreSettings,
  defaultStoreSettings,
  storeSettings,
} from '../domain/store/store-settings.ts';
import { encodeBars } from '../domain/text/url-text.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { AuditAction } from '../store/access/audit.ts';
import type { Tx } from '../store/db/writer.ts';
import type { StoreChange, StoreRow } from '../store/wallets/catalog.ts';
import { requireOwnUrl, twinOf } from '../store/wallets/store-setup.ts';
import { clientAddressOf } from '../web/limits/request-origin.ts';
import type { ApiOptions } from './api-parts.ts';
import { type Operation, operation } from './operation.ts';
import {
  describeStore,
  id,
  storeData,
  storeOf,
  storesOf,
  walletOf,
  walletsNamed,
} from './store-list.ts';

const callback = z.string().overwrite(encodeBars);
const newFields = z.object({ name: z.string().optional(), http_callback: callback });
const fields = newFields.partial({ http_callback: true });
const params = z.object({ id });

type Writer = { readonly key: Key; readonly context: Context };

interface Change {
  readonly action: AuditAction;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly apply: (tx: Tx) => StoreRow;
}

async function write(
  options: ApiOptions,
  { key, context }: Writer,
  { action, detail: given, apply }: Change,
): Promise<z.infer<typeof storeData>> {
  const { records, now, proxies } = options;
  const detail = { ...given, client: clientAddressOf(context, proxies) };
  const row = await records.database.write((tx) => {
    const before = records.catalog.stores();
    const row = apply(tx);
    // Plugins also send values that are set already.
    if (before.some((each) => isDeepStrictEqual(each, row))) return row;
    records.audit.note(tx, now(), { keyId: key.id, action, storeId: row.id, detail });
    return row;
  });
  return { data: describeStore(options, key, row) };
}

/** @throws PaygateError conflict; a key of one store sees no name of another store */
function refuseTaken(
  { records }: ApiOptions,
  key: Key,
  callbackUrl: string,
  before: StoreRow,
): void {
  if (key.storeId === null) requireOwnUrl(records.catalog, callbackUrl, before);
  else if (twinOf(records.catalog, callbackUrl, before) !== undefined) {
    throw new PaygateError(
      'conflict',
      'Another store has this callback URL already: use one of its own, such as with another secret',
    );
  }
}

function changeOf(
  { surroundings }: ApiOptions,
  given: z.infer<typeof fields>,
  before: StoreRow,
): StoreChange {
  const { name, http_callback: callbackUrl } = given;
  const change = {
    ...(name !== undefined && { name: storeSettings.name.parse(name) }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
  // Only the merchant may leave a store without a Callback URL.
  if (callbackUrl === '') checkCallbackUrl(callbackUrl, before);
  checkStoreSettings(change, before, surroundings());
  return change;
}

const changeStore = (
  options: ApiOptions,
  writer: Writer,
  storeId: number,
  given: z.infer<typeof fields>,
) =>
  write(options, writer, {
    action: 'store.change',
    detail: given,
    apply: (tx) => {
      const { key } = writer;
      const before = storeOf(options.records, key, storeId);
      const change = changeOf(options, given, before);
      refuseTaken(options, key, change.callbackUrl ?? before.callbackUrl, before);
      return options.records.catalog.changeStore(tx, storeId, change);
    },
  });

/** The store of an earlier, equal set-up: `match_callback` could not distinguish two of them. */
const storeAt = ({ records }: ApiOptions, callbackUrl: string): StoreRow | undefined =>
  records.catalog.stores().find((row) => callbackUrl !== '' && row.callbackUrl === callbackUrl);

function addNew(
  { records, now, newWebhookSecret, surroundings }: ApiOptions,
  tx: Tx,
  { name, http_callback: callbackUrl }: Readonly<Record<'name' | 'http_callback', string>>,
): StoreRow {
  const settings = {
    ...defaultStoreSettings,
    name: storeSettings.name.parse(name),
    callbackUrl,
  };
  checkStoreSettings(settings, undefined, surroundings());
  return records.catalog.addStore(tx, now(), {
    ...settings,
    walletId: null,
    webhookSecret: newWebhookSecret(),
  });
}

const addStore = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['POST'],
    path: '/v2/stores',
    summary:
      'Adds a store, without a wallet; where one has this callback URL already, answers that',
    writes: true,
    conflict: 'Another store has this callback URL',
    body: newFields,
    answer: storeData,
    async run({ body, ...writer }) {
      if (writer.key.storeId !== null) {
        throw new PaygateError('forbidden', 'A key of one store cannot add another store');
      }
      const { http_callback, name = URL.parse(http_callback)?.host ?? '' } = body;
      const detail = { name, http_callback };
      return write(options, writer, {
        action: 'store.add',
        detail,
        apply: (tx) => storeAt(options, http_callback) ?? addNew(options, tx, detail),
      });
    },
  });

const editStore = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['POST'],
    path: '/v2/stores/{id}',
    summary: 'Changes the name or the callback URL of a store',
    writes: true,
    conflict: 'Another store has this callback URL',
    params,
    body: fields,
    answer: storeData,
    run: ({ params, body, ...writer }) => changeStore(options, writer, params.id, body),
  });

const removeStore = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['DELETE'],
    path: '/v2/stores/{id}',
    summary: 'Removes a store: no more addresses, what was issued stays watched',
    writes: true,
    conflict: 'Another store has this callback URL',
    params,
    answer: storeData,
    run: ({ params, ...writer }) =>
      write(options, writer, {
        action: 'store.remove',
        detail: {},
        apply: (tx) => {
          const { id } = storeOf(options.records, writer.key, params.id);
          return options.records.catalog.archiveStore(tx, options.now(), id, false);
        },
      }),
  });

const attachWallet = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['POST'],
    path: '/v2/stores/{id}/wallets',
    summary: 'Gives a store one of the wallets',
    writes: true,
    conflict: 'Another store has this callback URL',
    params,
    body: z.object({ wallet_id: id }),
    answer: storeData,
    run: ({ params, body, ...writer }) =>
      write(options, writer, {
        action: 'store.attach',
        detail: body,
        apply: (tx) => {
          const { id: storeId } = storeOf(options.records, writer.key, params.id);
          const { id: walletId } = walletOf(options.records, writer.key, body.wallet_id);
          return options.records.catalog.changeStore(tx, storeId, { walletId });
        },
      }),
  });

const detachWallet = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['DELETE'],
    path: '/v2/stores/{id}/wallets/{wid}',
    summary: 'Takes the wallet from a store; the wallet and its addresses stay',
    writes: true,
    conflict: 'Another store has this callback URL',
    params: params.extend({ wid: id }),
    answer: storeData,
    run: ({ params, ...writer }) =>
      write(options, writer, {
        action: 'store.detach',
        detail: { wallet_id: params.wid },
        apply: (tx) => {
          const { id: storeId, walletId } = storeOf(options.records, writer.key, params.id);
          if (walletId !== params.wid) {
            throw new PaygateError('not_found', `Store ${storeId} has no wallet ${params.wid}`);
          }
          return options.records.catalog.changeStore(tx, storeId, { walletId: null });
        },
      }),
  });

const updateCallback = (options: ApiOptions): Operation =>
  operation({
    tag: 'Stores',
    methods: ['POST'],
    path: '/update_callback',
    summary: 'Changes the callback URL of the store that uses an extended public key',
    writes: true,
    conflict: 'Another store has this callback URL',
    body: z.object({ callback, xpub: z.string() }),
    answer: storeData,
    async run({ body, ...writer }) {
      const { records } = options;
      const { key } = writer;
      const wallets = walletsNamed(records, key, body.xpub.trim()).map(({ id }) => id);
      const users = storesOf(records, key).filter(
        ({ walletId }) => walletId !== null && wallets.includes(walletId),
      );
      const [only, second] = users;
      if (only === undefined) throw new PaygateError('not_found', 'No store uses this xpub');
      if (second !== undefined) {
        const names = users.map(({ id, name }) => `${id} ${JSON.stringify(name)}`).join(', ');
        throw new PaygateError('invalid', `Several stores use this xpub: change one of ${names}`);
      }
      return changeStore(options, writer, only.id, { http_callback: body.callback });
    },
  });

export const connectOperations = (options: ApiOptions): Operation[] => [
  addStore(options),
  editStore(options),
  removeStore(options),
  attachWallet(options),
  detachWallet(options),
  updateCallback(options),
];
