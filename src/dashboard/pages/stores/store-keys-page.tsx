// API keys of one store with fewer rights, and the secret that signs what its shop receives.

import { type KeyScope, keyScopes } from '../../../domain/access/key-scope.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { Key } from '../../../store/access/api-keys.ts';
import { requireRunning, type StoreRow } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { ActionResult, Page, PageRequest } from '../../page.ts';
import { choiceValue, wholeNumber } from '../../parts/form-fields.ts';
import { chosenBefore, Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote } from '../../parts/layout.tsx';
import { SecretPage } from '../../parts/shown-secret.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';
import { revealSecret, SigningSecret } from './store-secret-page.tsx';

const scopeTexts: Readonly<Record<KeyScope, string>> = {
  payments: 'everything that a shop needs',
  'address-only': 'new addresses and orders only',
  read: 'read only',
};

export const storeKeysPage: Page = {
  path: '/stores/:id/keys',
  show: (request) => storeMarkup(request, '/keys', (props) => <StoreKeys {...props} />),
  actions: { 'add-key': addKey, 'revoke-key': revokeKey, 'reveal-secret': revealSecret },
};

const StoreKeys = ({ request, row }: StoreProps) => (
  <>
    <section aria-labelledby="keys">
      <h2 id="keys">API keys of this store</h2>
      <p>A key for this store only, for programs that should not have the key of all stores.</p>
      <DoneNote request={request} />
      <ul class="plain">
        {keysOf(request, row).map((key) => (
          <li class="row">
            <span>
              Key {key.id}: {scopeTexts[key.scope]}, made <Time at={key.createdAt} />
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
    <SigningSecret request={request} row={row} />
  </>
);

export const keysOf = ({ parts, now }: PageRequest, row: StoreRow): Key[] =>
  parts.records.keys.list(now).filter(({ storeId }) => storeId === row.id);

async function addKey(request: PageRequest): Promise<ActionResult> {
  const scope = choiceValue(request, 'scope', keyScopes);
  await requireRecentPassword(request);
  const { parts, now } = request;
  const { catalog, keys, database } = parts.records;
  const row = storeOf(request);
  const secret = parts.world.randomBytes(32);
  const key = await database.write((tx) => {
    requireRunning(catalog.store(row.id));
    recordChange(request, tx, 'key.add', { scope }, row.id);
    return keys.add(tx, now, { storeId: row.id, scope, secret });
  });
  return {
    show: (
      <SecretPage title="New API key" secret={key} back={storePath(row.id, '/keys')}>
        For {row.name}: {scopeTexts[scope]}. It is shown only once.
      </SecretPage>
    ),
  };
}

/** The key that the form names, if it is one of `keys`. @throws PaygateError not_found */
export function sentKey(request: PageRequest, keys: readonly Key[]): Key {
  const id = wholeNumber(request, 'key', 1, Number.MAX_SAFE_INTEGER);
  const found = keys.find((key) => key.id === id);
  if (found === undefined) throw new PaygateError('not_found', 'This key no longer exists.');
  return found;
}

async function revokeKey(request: PageRequest): Promise<ActionResult> {
  const { keys, database } = request.parts.records;
  const row = storeOf(request);
  const key = sentKey(request, keysOf(request, row));
  await database.write((tx) => {
    keys.revoke(tx, request.now, key.id);
    recordChange(request, tx, 'key.revoke', { key: key.id }, row.id);
  });
  return { to: `${storePath(row.id, '/keys')}?done=revoked` };
}
