// Keys that are for one store alone and may do less, and the window in which a plugin may set its store up.

import { type KeyScope, keyScopes } from '../../domain/key-scope.ts';
import { PaygateError } from '../../lib/errors.ts';
import { isPluginOpen, type Key, requireMerchantKey } from '../../store/records/api-keys.ts';
import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { readRefusedChange } from '../../store/records/settings.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { choice, wholeNumber } from '../form-fields.ts';
import { Form, Select, sentChoice, Time } from '../layout.tsx';
import { base, idIn, type Outcome, type Visit } from '../page.ts';
import { ShownSecret } from './shown-secret.tsx';

const pluginMs = 15 * 60_000;

const meanings: Readonly<Record<KeyScope, string>> = {
  payments: 'everything that a shop does',
  'address-only': 'new addresses alone',
  read: 'reading alone',
};

interface Props {
  readonly visit: Visit;
  readonly row: StoreRow;
}

export const Keys = ({ visit, row }: Props) => (
  <>
    <section aria-labelledby="keys">
      <h2 id="keys">Keys of this store</h2>
      <p>A key for this store alone, for programs that should not hold the one of all stores.</p>
      <ul class="plain">
        {keysOf(visit, row).map((key) => (
          <li class="row">
            <span>
              Key {key.id}: {meanings[key.scope]}, since <Time at={key.createdAt} />
            </span>
            <Form visit={visit} does="revoke-key" button="End it" grave label={`End key ${key.id}`}>
              <input type="hidden" name="key" value={key.id} />
            </Form>
          </li>
        ))}
      </ul>
      <Form visit={visit} does="add-key" button="Make a key" confirm>
        <Select
          name="scope"
          label="It may do"
          options={keyScopes.map((scope) => [scope, meanings[scope]] as const)}
          chosen={sentChoice(visit, 'add-key', 'scope')}
        />
      </Form>
    </section>
    <Plugin visit={visit} row={row} />
  </>
);

const keysOf = ({ parts, now }: Visit, row: StoreRow): Key[] =>
  parts.store.keys.list(now).filter(({ storeId }) => storeId === row.id);

/** Those that can write, *the* merchant key first. */
const pluginKeys = (visit: Visit, row: StoreRow): Key[] => [
  requireMerchantKey(visit.parts.store.keys, visit.now),
  ...keysOf(visit, row).filter(({ scope }) => scope === 'payments'),
];

const Plugin = ({ visit, row }: Props) => {
  const keys = pluginKeys(visit, row);
  const open = keys.find((key) => isPluginOpen(key, visit.now));
  return (
    <section aria-labelledby="plugin">
      <h2 id="plugin">Connect a plugin</h2>
      <p>
        Shop plugins set their Callback URL by themselves. That is shut but for the 15 minutes after
        you open it here, for one key. No key can ever change a wallet’s key.
      </p>
      <Refused visit={visit} keys={[...keys, ...keysOf(visit, row)]} />
      {open === undefined ? null : (
        <div class="note">
          <p>
            Open for {nameOf(open)} until <Time at={open.pluginUntil ?? 0} />
            {' ('}
            <span data-until={open.pluginUntil ?? 0}>
              {minutesLeft(open, visit.now)} minutes left
            </span>
            {').'}
          </p>
          <Form visit={visit} does="shut-plugin" button="Shut it now">
            <input type="hidden" name="key" value={open.id} />
          </Form>
        </div>
      )}
      <Form visit={visit} does="allow-plugin" button="Open it for 15 minutes" confirm>
        <Select
          name="key"
          label="For"
          options={keys.map((key) => [key.id, nameOf(key)] as const)}
          chosen={sentChoice(visit, 'allow-plugin', 'key')}
        />
      </Form>
    </section>
  );
};

const refusedShownMs = 86_400_000;

/** What a plugin was refused last, which shows its user little of it. */
function Refused({ visit, keys }: { readonly visit: Visit; readonly keys: readonly Key[] }) {
  const refused = readRefusedChange(visit.parts.store.catalog);
  const key = keys.find(({ id }) => id === refused?.keyId);
  if (refused === undefined || key === undefined) return null;
  if (Math.abs(visit.now - refused.at) > refusedShownMs) return null;
  return (
    <p class="note" data-refused-change="">
      The last change that was refused: <Time at={refused.at} />, for {nameOf(key)},{' '}
      <code>/api{refused.path}</code>: {refused.reason}
    </p>
  );
}

const nameOf = (key: Key): string =>
  key.storeId === null ? 'the API key of all stores' : `key ${key.id}`;

const minutesLeft = ({ pluginUntil }: Key, now: number): number =>
  Math.ceil(((pluginUntil ?? 0) - now) / 60_000);

export async function addKey(visit: Visit): Promise<Outcome> {
  const scope = choice(visit, 'scope', keyScopes);
  await requireFresh(visit);
  const { parts, now } = visit;
  const { catalog, keys, database } = parts.store;
  const row = catalog.store(idIn(visit));
  const secret = parts.world.randomBytes(32);
  const key = await database.write((tx) => {
    requireRunning(catalog.store(row.id));
    note(visit, tx, 'key.add', { scope }, row.id);
    return keys.add(tx, now, { storeId: row.id, scope, secret });
  });
  return {
    show: (
      <ShownSecret title="A new key" secret={key} row={row}>
        For {row.name}: {meanings[scope]}. It is shown this once.
      </ShownSecret>
    ),
  };
}

/** The key that a form names, which must be one of these. @throws PaygateError not_found */
function keyIn(visit: Visit, keys: readonly Key[]): Key {
  const id = wholeNumber(visit, 'key', 1, Number.MAX_SAFE_INTEGER);
  const found = keys.find((key) => key.id === id);
  if (found === undefined) throw new PaygateError('not_found', 'There is no such key any more.');
  return found;
}

export async function revokeKey(visit: Visit): Promise<Outcome> {
  const { catalog, keys, database } = visit.parts.store;
  const row = catalog.store(idIn(visit));
  const key = keyIn(visit, keysOf(visit, row));
  await database.write((tx) => {
    keys.revoke(tx, visit.now, key.id);
    note(visit, tx, 'key.revoke', { key: key.id }, row.id);
  });
  return { to: `${base}/stores/${row.id}?done=saved` };
}

export async function allowPlugin(visit: Visit): Promise<Outcome> {
  const { catalog, keys, database } = visit.parts.store;
  const row = catalog.store(idIn(visit));
  const key = keyIn(visit, pluginKeys(visit, row));
  await requireFresh(visit);
  await database.write((tx) => {
    keys.allowPlugin(tx, visit.now, key.id, visit.now + pluginMs);
    note(visit, tx, 'plugin.allow', { key: key.id, minutes: pluginMs / 60_000 }, row.id);
  });
  return { to: `${base}/stores/${row.id}?done=opened` };
}

/** Asks for no password: what it ends may be going on. */
export async function shutPlugin(visit: Visit): Promise<Outcome> {
  const { catalog, keys, database } = visit.parts.store;
  const row = catalog.store(idIn(visit));
  const key = keyIn(visit, pluginKeys(visit, row));
  await database.write((tx) => {
    // Another click, or its time, was quicker.
    if (!keys.list(visit.now).some((each) => isPluginOpen(each, visit.now))) return;
    keys.allowPlugin(tx, visit.now, key.id, visit.now);
    note(visit, tx, 'plugin.shut', { key: key.id }, row.id);
  });
  return { to: `${base}/stores/${row.id}?done=shut` };
}
