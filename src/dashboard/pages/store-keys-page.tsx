// API keys of one store with fewer rights, and the window in which a plugin may set up its store.

import { type KeyScope, keyScopes } from '../../domain/key-scope.ts';
import { PaygateError } from '../../lib/errors.ts';
import { isPluginOpen, type Key, requireMerchantKey } from '../../store/records/api-keys.ts';
import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { readRefusedChange } from '../../store/records/settings.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { choiceValue, wholeNumber } from '../form-fields.ts';
import { chosenBefore, Form, Select } from '../form-parts.tsx';
import { type ActionResult, base, idIn, type PageRequest } from '../page.ts';
import { SecretPage } from './shown-secret.tsx';

const pluginWindowMs = 15 * 60_000;

const scopeTexts: Readonly<Record<KeyScope, string>> = {
  payments: 'everything that a shop needs',
  'address-only': 'new addresses and orders only',
  read: 'read only',
};

interface StoreKeysProps {
  readonly request: PageRequest;
  readonly row: StoreRow;
}

export const StoreKeys = ({ request, row }: StoreKeysProps) => (
  <>
    <section aria-labelledby="keys">
      <h2 id="keys">API keys of this store</h2>
      <p>A key for this store only, for programs that should not have the key of all stores.</p>
      <ul class="plain">
        {keysOf(request, row).map((key) => (
          <li class="row">
            <span>
              Key {key.id}: {scopeTexts[key.scope]}, since <Time at={key.createdAt} />
            </span>
            <Form
              request={request}
              action="revoke-key"
              button="Revoke"
              isDangerous
              label={`Revoke key ${key.id}`}
            >
              <input type="hidden" name="key" value={key.id} />
            </Form>
          </li>
        ))}
      </ul>
      <Form request={request} action="add-key" button="Create a key" needsPassword>
        <Select
          name="scope"
          label="Permissions"
          options={keyScopes.map((scope) => [scope, scopeTexts[scope]] as const)}
          chosen={chosenBefore(request, 'add-key', 'scope')}
        />
      </Form>
    </section>
    <ConnectPlugin request={request} row={row} />
  </>
);

const keysOf = ({ parts, now }: PageRequest, row: StoreRow): Key[] =>
  parts.store.keys.list(now).filter(({ storeId }) => storeId === row.id);

/** Keys that can write; the merchant key is the first. */
const pluginKeys = (request: PageRequest, row: StoreRow): Key[] => [
  requireMerchantKey(request.parts.store.keys, request.now),
  ...keysOf(request, row).filter(({ scope }) => scope === 'payments'),
];

const ConnectPlugin = ({ request, row }: StoreKeysProps) => {
  const keys = pluginKeys(request, row);
  const open = keys.find((key) => isPluginOpen(key, request.now));
  return (
    <section aria-labelledby="plugin">
      <h2 id="plugin">Connect a plugin</h2>
      <p>
        A shop plugin can set its own Callback URL through the API. Allow it here for one key; it
        ends after 15 minutes. No API key can ever change the key of a wallet.
      </p>
      <RefusedChange request={request} keys={[...keys, ...keysOf(request, row)]} />
      {open === undefined ? null : (
        <div class="note">
          <p>
            Allowed for {keyText(open)} until <Time at={open.pluginUntil ?? 0} />
            {' ('}
            <span data-until={open.pluginUntil ?? 0}>
              {minutesLeft(open, request.now)} minutes left
            </span>
            {').'}
          </p>
          <Form request={request} action="shut-plugin" button="Close now">
            <input type="hidden" name="key" value={open.id} />
          </Form>
        </div>
      )}
      <Form request={request} action="allow-plugin" button="Allow for 15 minutes" needsPassword>
        <Select
          name="key"
          label="For"
          options={keys.map((key) => [key.id, keyText(key)] as const)}
          chosen={chosenBefore(request, 'allow-plugin', 'key')}
        />
      </Form>
    </section>
  );
};

const refusedShownMs = 86_400_000;

/** The last refused change of a plugin, because the plugin shows its user little about it. */
function RefusedChange({
  request,
  keys,
}: {
  readonly request: PageRequest;
  readonly keys: readonly Key[];
}) {
  const refused = readRefusedChange(request.parts.store.catalog);
  const key = keys.find(({ id }) => id === refused?.keyId);
  if (refused === undefined || key === undefined) return null;
  if (Math.abs(request.now - refused.at) > refusedShownMs) return null;
  return (
    <p class="note" data-refused-change="">
      Last refused change: <Time at={refused.at} />, for {keyText(key)},{' '}
      <code>/api{refused.path}</code>: {refused.reason}
    </p>
  );
}

const keyText = (key: Key): string =>
  key.storeId === null ? 'the API key of all stores' : `key ${key.id}`;

const minutesLeft = ({ pluginUntil }: Key, now: number): number =>
  Math.ceil(((pluginUntil ?? 0) - now) / 60_000);

export async function addKey(request: PageRequest): Promise<ActionResult> {
  const scope = choiceValue(request, 'scope', keyScopes);
  await requireRecentPassword(request);
  const { parts, now } = request;
  const { catalog, keys, database } = parts.store;
  const row = catalog.store(idIn(request));
  const secret = parts.world.randomBytes(32);
  const key = await database.write((tx) => {
    requireRunning(catalog.store(row.id));
    recordChange(request, tx, 'key.add', { scope }, row.id);
    return keys.add(tx, now, { storeId: row.id, scope, secret });
  });
  return {
    show: (
      <SecretPage title="New API key" secret={key} row={row}>
        For {row.name}: {scopeTexts[scope]}. It is shown only once.
      </SecretPage>
    ),
  };
}

/** The key that the form names, if it is one of `keys`. @throws PaygateError not_found */
function sentKey(request: PageRequest, keys: readonly Key[]): Key {
  const id = wholeNumber(request, 'key', 1, Number.MAX_SAFE_INTEGER);
  const found = keys.find((key) => key.id === id);
  if (found === undefined) throw new PaygateError('not_found', 'This key no longer exists.');
  return found;
}

export async function revokeKey(request: PageRequest): Promise<ActionResult> {
  const { catalog, keys, database } = request.parts.store;
  const row = catalog.store(idIn(request));
  const key = sentKey(request, keysOf(request, row));
  await database.write((tx) => {
    keys.revoke(tx, request.now, key.id);
    recordChange(request, tx, 'key.revoke', { key: key.id }, row.id);
  });
  return { to: `${base}/stores/${row.id}?done=saved` };
}

export async function allowPlugin(request: PageRequest): Promise<ActionResult> {
  const { catalog, keys, database } = request.parts.store;
  const row = catalog.store(idIn(request));
  const key = sentKey(request, pluginKeys(request, row));
  await requireRecentPassword(request);
  await database.write((tx) => {
    keys.allowPlugin(tx, request.now, key.id, request.now + pluginWindowMs);
    recordChange(
      request,
      tx,
      'plugin.allow',
      { key: key.id, minutes: pluginWindowMs / 60_000 },
      row.id,
    );
  });
  return { to: `${base}/stores/${row.id}?done=opened` };
}

/** Requires no password, because an attack may be in progress. */
export async function closePlugin(request: PageRequest): Promise<ActionResult> {
  const { catalog, keys, database } = request.parts.store;
  const row = catalog.store(idIn(request));
  const key = sentKey(request, pluginKeys(request, row));
  await database.write((tx) => {
    // Another click or the time limit has already closed it.
    if (!keys.list(request.now).some((each) => isPluginOpen(each, request.now))) return;
    keys.allowPlugin(tx, request.now, key.id, request.now);
    recordChange(request, tx, 'plugin.shut', { key: key.id }, row.id);
  });
  return { to: `${base}/stores/${row.id}?done=shut` };
}
