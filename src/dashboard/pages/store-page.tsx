// One store: its wallet, settings, secret and API keys, the test callback, and its removal.

import { type StoreSettings, storeSettingsOf } from '../../domain/store-settings.ts';
import { PaygateError } from '../../lib/errors.ts';
import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { requireOwnUrl } from '../../store/records/store-setup.ts';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { isOutdated, versionOf } from '../form-fields.ts';
import { Form, FormVersion } from '../form-parts.tsx';
import { DoneNote, Layout } from '../layout.tsx';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../page.ts';
import { StoreFields, storeSettingsIn } from './store-fields.tsx';
import { addKey, allowPlugin, closePlugin, revokeKey, StoreKeys } from './store-keys-page.tsx';
import { RemovedStore, restoreStore } from './store-remove-page.tsx';
import { revealSecret, rotateSecret, SigningSecret } from './store-secret-page.tsx';
import { sendTest, sendTestEvent, TestCallback, TestEvent } from './store-test-page.tsx';

export const storePage: Page = {
  path: '/stores/:id',
  show: (request) => storeMarkup(request),
  actions: {
    change: changeSettings,
    restore: restoreStore,
    'reveal-secret': revealSecret,
    'rotate-secret': rotateSecret,
    'add-key': addKey,
    'revoke-key': revokeKey,
    'allow-plugin': allowPlugin,
    'shut-plugin': closePlugin,
    'send-test': sendTest,
    'send-event': sendTestEvent,
  },
};

/** The store of the page. @throws PaygateError not_found */
const storeOf = (request: PageRequest): StoreRow =>
  request.parts.store.catalog.store(idIn(request));

function storeMarkup(request: PageRequest) {
  const row = storeOf(request);
  return (
    <Layout request={request} title={row.name}>
      <DoneNote request={request} />
      {row.archivedAt === null ? (
        <ActiveStore request={request} row={row} />
      ) : (
        <RemovedStore request={request} row={row} />
      )}
    </Layout>
  );
}

interface StoreProps {
  readonly request: PageRequest;
  readonly row: StoreRow;
}

const ActiveStore = ({ request, row }: StoreProps) => (
  <>
    <StoreWallet request={request} row={row} />
    {row.callbackUrl === '' ? null : <TestCallback request={request} row={row} />}
    {row.webhookUrl === null ? null : <TestEvent request={request} row={row} />}
    <section aria-labelledby="change">
      <h2 id="change">Settings of the store</h2>
      <p>Callbacks that were already sent stay as they are.</p>
      <Form request={request} action="change" button="Save" needsPassword>
        <FormVersion request={request} form="change" value={storeSettingsOf(row)} />
        <StoreFields request={request} form="change" row={row} />
      </Form>
    </section>
    <SigningSecret request={request} row={row} />
    <StoreKeys request={request} row={row} />
    <section aria-labelledby="remove">
      <h2 id="remove">Remove the store</h2>
      <p>
        <a href={`${base}/stores/${row.id}/remove`}>Remove this store…</a>
      </p>
    </section>
  </>
);

function StoreWallet({ request, row }: StoreProps) {
  const { catalog } = request.parts.store;
  if (row.walletId === null) {
    return (
      <p class="alarm">
        This store has no wallet, so it issues no addresses. <WalletLink row={row} />
      </p>
    );
  }
  const wallet = catalog.wallet(row.walletId);
  return (
    <section aria-labelledby="wallet">
      <h2 id="wallet">Wallet {wallet.id}</h2>
      <dl class="facts">
        <dt>Key</dt>
        <dd>
          <code>{wallet.account}</code>
        </dd>
        <dt>Address type</dt>
        <dd>{wallet.scriptType}</dd>
        <dt>Next index</dt>
        <dd>{wallet.scannedAt === null ? 'scanning the chain' : wallet.nextIndex}</dd>
      </dl>
      <p>
        <WalletLink row={row} />
      </p>
    </section>
  );
}

const WalletLink = ({ row }: { readonly row: StoreRow }) => (
  <a href={`${base}/stores/${row.id}/wallet`}>
    {row.walletId === null ? 'Choose a wallet' : 'Use another wallet'}
  </a>
);

async function changeSettings(request: PageRequest): Promise<ActionResult> {
  const row = storeOf(request);
  const fields = storeSettingsIn(request, row);
  await requireRecentPassword(request);
  const { catalog, database } = request.parts.store;
  const isSaved = await database.write((tx) => {
    const before = requireRunning(catalog.store(row.id));
    if (isConflict(request, before, fields)) return false;
    if (versionOf(storeSettingsOf(before)) === versionOf(fields)) return true;
    requireOwnUrl(catalog, fields.callbackUrl, before);
    catalog.changeStore(tx, row.id, fields);
    const { callbackUrl: http_callback, ...rest } = fields;
    recordChange(request, tx, 'store.change', { ...rest, http_callback }, row.id);
    return true;
  });
  if (!isSaved) throw conflict(request);
  request.parts.store.events.emit('catalogChanged');
  return { to: `${base}/stores/${row.id}?done=saved` };
}

/** Whether saving would undo a change that this page has never shown. */
function isConflict(request: PageRequest, row: StoreRow, fields: StoreSettings): boolean {
  const now = storeSettingsOf(row);
  return isOutdated(request, now) && versionOf(now) !== versionOf(fields);
}

function conflict({ form }: PageRequest): PaygateError {
  // The page comes back with the current values, not with the ones that were typed.
  for (const name of [...form.keys()]) form.delete(name);
  return new PaygateError(
    'conflict',
    'Nothing was saved: a plugin or another page has changed this store since you opened it. ' +
      'The page shows the store as it is now; make your change again.',
  );
}
