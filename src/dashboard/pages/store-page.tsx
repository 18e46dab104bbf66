// One store: what it is, what of it can be changed, and what can be tried.

import { type StoreSettings, storeSettingsOf } from '../../domain/store-settings.ts';
import { PaygateError } from '../../lib/errors.ts';
import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { requireOwnUrl } from '../../store/records/store-setup.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { isOvertaken, markOf } from '../form-fields.ts';
import { Before, Form, Layout, Note } from '../layout.tsx';
import { base, idIn, type Outcome, type Page, type Visit } from '../page.ts';
import { StoreFields, storeSettingsIn } from './store-fields.tsx';
import { addKey, allowPlugin, Keys, revokeKey, shutPlugin } from './store-keys-page.tsx';
import { RemovedStore, restoreStore } from './store-remove-page.tsx';
import { revealSecret, rotateSecret, Secret } from './store-secret-page.tsx';
import { sendTest, TestCallback } from './store-test-page.tsx';

export const storePage: Page = {
  path: '/stores/:id',
  show: (visit) => storeMarkup(visit),
  actions: {
    change,
    restore: restoreStore,
    'reveal-secret': revealSecret,
    'rotate-secret': rotateSecret,
    'add-key': addKey,
    'revoke-key': revokeKey,
    'allow-plugin': allowPlugin,
    'shut-plugin': shutPlugin,
    'send-test': sendTest,
  },
};

/** The store that the page is of. @throws PaygateError not_found */
const storeOf = (visit: Visit): StoreRow => visit.parts.store.catalog.store(idIn(visit));

function storeMarkup(visit: Visit) {
  const row = storeOf(visit);
  return (
    <Layout visit={visit} title={row.name}>
      <Note visit={visit} />
      {row.archivedAt === null ? (
        <Running visit={visit} row={row} />
      ) : (
        <RemovedStore visit={visit} row={row} />
      )}
    </Layout>
  );
}

interface Props {
  readonly visit: Visit;
  readonly row: StoreRow;
}

const Running = ({ visit, row }: Props) => (
  <>
    <Wallet visit={visit} row={row} />
    <TestCallback visit={visit} row={row} />
    <section aria-labelledby="change">
      <h2 id="change">Settings of the store</h2>
      <p>What was told already is not taken back.</p>
      <Form visit={visit} does="change" button="Save" confirm>
        <Before visit={visit} does="change" value={storeSettingsOf(row)} />
        <StoreFields visit={visit} does="change" row={row} />
      </Form>
    </section>
    <Secret visit={visit} row={row} />
    <Keys visit={visit} row={row} />
    <section aria-labelledby="remove">
      <h2 id="remove">Remove the store</h2>
      <p>
        <a href={`${base}/stores/${row.id}/remove`}>Remove this store…</a>
      </p>
    </section>
  </>
);

function Wallet({ visit, row }: Props) {
  const { catalog } = visit.parts.store;
  if (row.walletId === null) {
    return (
      <p class="alarm">
        This store has no wallet, so it gives out no address. <WalletLink row={row} />
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
        <dt>Kind of address</dt>
        <dd>{wallet.scriptType}</dd>
        <dt>Next index</dt>
        <dd>{wallet.scannedAt === null ? 'being searched for on the chain' : wallet.nextIndex}</dd>
      </dl>
      <p>
        <WalletLink row={row} />
      </p>
    </section>
  );
}

const WalletLink = ({ row }: { readonly row: StoreRow }) => (
  <a href={`${base}/stores/${row.id}/wallet`}>
    {row.walletId === null ? 'Give it a wallet' : 'Use another wallet'}
  </a>
);

async function change(visit: Visit): Promise<Outcome> {
  const row = storeOf(visit);
  const fields = storeSettingsIn(visit, row);
  await requireFresh(visit);
  const { catalog, database } = visit.parts.store;
  const isSaved = await database.write((tx) => {
    const before = requireRunning(catalog.store(row.id));
    if (isUnseen(visit, before, fields)) return false;
    if (markOf(storeSettingsOf(before)) === markOf(fields)) return true;
    requireOwnUrl(catalog, fields.callbackUrl, before);
    catalog.changeStore(tx, row.id, fields);
    const { callbackUrl: http_callback, ...rest } = fields;
    note(visit, tx, 'store.change', { ...rest, http_callback }, row.id);
    return true;
  });
  if (!isSaved) throw overtaken(visit);
  visit.parts.onCatalog();
  return { to: `${base}/stores/${row.id}?done=saved` };
}

/** A page that never showed what a plugin or another page has set meanwhile does not put it back. */
function isUnseen(visit: Visit, row: StoreRow, fields: StoreSettings): boolean {
  const now = storeSettingsOf(row);
  return isOvertaken(visit, now) && markOf(now) !== markOf(fields);
}

function overtaken({ form }: Visit): PaygateError {
  // The page shows what there is, and not what would undo it.
  for (const name of [...form.keys()]) form.delete(name);
  return new PaygateError(
    'conflict',
    'Nothing is saved: a plugin or another page has changed this store since you loaded it. ' +
      'It is shown as it is now; make your change again.',
  );
}
