// The window in which a plugin may set up its store, and what the plugin asks for.

import { shortApiKey } from '../../../domain/access/api-key.ts';
import type { KeyPlugin } from '../../../domain/access/key-scope.ts';
import { isPluginOpen, type Key, requireMerchantKey } from '../../../store/access/api-keys.ts';
import type { Tx } from '../../../store/db/writer.ts';
import { requireRunning, type StoreRow } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { chosenBefore, Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote } from '../../parts/layout.tsx';
import { inWordsOfPages } from '../../parts/page-words.ts';
import { platforms } from './plugin-platforms.ts';
import { keysOf, sentKey } from './store-keys-page.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';

const pluginWindowMs = 15 * 60_000;
const section = '/plugin';

export const storePluginPage: Page = {
  path: `/stores/:id${section}`,
  show: (request) => storeMarkup(request, section, (props) => <ConnectPlugin {...props} />),
  actions: { 'allow-plugin': allowPlugin, 'shut-plugin': closePlugin },
};

/** Keys that can write; the merchant key is the first. */
const pluginKeys = ({ request, row }: StoreProps): Key[] => [
  requireMerchantKey(request.parts.records.keys, request.now),
  ...keysOf(request, row).filter(({ scope }) => scope === 'payments'),
];

/** The key that may change this store now. */
export const openKey = (props: StoreProps): Key | undefined =>
  pluginKeys(props).find((key) => isPluginOpen(key, props.request.now));

const ConnectPlugin = (props: StoreProps) => {
  const { request, row } = props;
  const keys = pluginKeys(props);
  const open = openKey(props);
  return (
    <section aria-labelledby="plugin">
      <h2 id="plugin">Connect a plugin</h2>
      <p>
        A shop plugin can set its own Callback URL through the API. Allow it here for one key; it
        ends after 15 minutes. No API key can ever change the key of a wallet.
      </p>
      <DoneNote request={request} />
      <p>Which platform is the shop? A plugin for BTCPay Server works as it is:</p>
      <ul>
        {Object.entries(platforms).map(([name, platform]) => (
          <li>
            <a href={storePath(row.id, `${section}/${name}`)}>{platform.name}</a>
          </li>
        ))}
      </ul>
      <p>
        The second choice is a plugin for Blockonomics whose archive <code>paygate plugin</code> has
        rewritten. These are its settings:
      </p>
      {open === undefined ? null : (
        <div class="note">
          <p>
            Allowed for {keyText(open)}; it ends <Time at={open.pluginUntil ?? 0} />
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
      <PluginFields {...props} open={open} />
      <RefusedChange request={request} keys={[...keys, ...keysOf(request, row)]} />
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

/** What a merchant enters in the plugin. */
const PluginFields = ({ request, row, open }: StoreProps & { readonly open: Key | undefined }) => {
  const origin = request.parts.publicUrl ?? request.transport.origins[0] ?? '';
  return (
    <dl class="facts">
      <dt>URL for the plugin</dt>
      <dd>
        <code>{origin}</code>, or <code>{`${origin}/api`}</code> if it asks for the URL of the API
      </dd>
      <dt>API key for the plugin</dt>
      <dd>
        {open === undefined || open.storeId === null ? (
          <>
            the <a href={`${base}/stores#api-key`}>API key of all stores</a>, or a{' '}
            <a href={storePath(row.id, '/keys')}>key of this store</a>
          </>
        ) : (
          `key ${open.id}, which was shown when you created it`
        )}
      </dd>
      <dt>Callback URL</dt>
      <dd>
        the one that the plugin shows; it must equal the one under{' '}
        <a href={storePath(row.id, '/callbacks')}>Callbacks</a>
      </dd>
    </dl>
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
  const refused = request.parts.records.state.refusedChange.read();
  const key = keys.find(({ id }) => id === refused?.keyId);
  if (refused === undefined || key === undefined) return null;
  if (Math.abs(request.now - refused.at) > refusedShownMs) return null;
  return (
    <p class="note" data-refused-change="">
      Last refused change: <Time at={refused.at} />, for {keyText(key)},{' '}
      <code>/api{refused.path}</code>: {inWordsOfPages(refused.reason)}
    </p>
  );
}

const keyText = (key: Key): string =>
  key.storeId === null ? 'the API key of all stores' : `key ${key.id}`;

const minutesLeft = ({ pluginUntil }: Key, now: number): number =>
  Math.ceil(((pluginUntil ?? 0) - now) / 60_000);

async function allowPlugin(request: PageRequest): Promise<ActionResult> {
  const row = storeOf(request);
  const key = sentKey(request, pluginKeys({ request, row }));
  await requireRecentPassword(request);
  await request.parts.records.database.write((tx) => openWindow(request, tx, key.id, row));
  return { to: `${storePath(row.id, section)}?done=opened` };
}

/**
 * Adds a key of one store for a plugin, and opens the window for it. Returns the short form of the
 * key, which every plugin accepts.
 * @param shop who gets it, for the audit log
 */
export function addPluginKey(
  request: PageRequest,
  tx: Tx,
  row: StoreRow,
  plugin: KeyPlugin,
  shop: Readonly<Record<string, string>>,
): string {
  const { now, parts } = request;
  const { catalog, keys } = parts.records;
  const scope = 'payments';
  requireRunning(catalog.store(row.id));
  const secret = parts.world.randomBytes(32);
  const text = keys.add(tx, now, { storeId: row.id, scope, plugin, secret });
  const { id } = keys.find(text, now) as Key;
  recordChange(request, tx, 'key.add', { key: id, scope, ...shop }, row.id);
  openWindow(request, tx, id, row);
  return shortApiKey(text);
}

function openWindow(request: PageRequest, tx: Tx, key: number, row: StoreRow): void {
  const { now, parts } = request;
  parts.records.keys.allowPlugin(tx, now, key, now + pluginWindowMs);
  recordChange(request, tx, 'plugin.allow', { key, minutes: pluginWindowMs / 60_000 }, row.id);
}

/** Requires no password, because an attack may be in progress. */
async function closePlugin(request: PageRequest): Promise<ActionResult> {
  const { keys, database } = request.parts.records;
  const row = storeOf(request);
  const key = sentKey(request, pluginKeys({ request, row }));
  await database.write((tx) => {
    // Another click or the time limit has already closed it.
    if (!keys.list(request.now).some((each) => isPluginOpen(each, request.now))) return;
    keys.allowPlugin(tx, request.now, key.id, request.now);
    recordChange(request, tx, 'plugin.shut', { key: key.id }, row.id);
  });
  return { to: `${storePath(row.id, section)}?done=shut` };
}
