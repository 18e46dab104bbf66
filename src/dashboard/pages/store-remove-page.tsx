// Removing a store, on a page of its own that says what will happen; and using a removed one again.

import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { restoreShop } from '../../store/records/store-setup.ts';
import { recordAudit } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { isOn } from '../form-fields.ts';
import { Form, Layout, Switch, Time } from '../layout.tsx';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../page.ts';

const storePath = (id: number): string => `${base}/stores/${id}`;

export const removeStorePage: Page = {
  path: '/stores/:id/remove',
  show: (request) => removeMarkup(request),
  actions: { remove },
};

function removeMarkup(request: PageRequest) {
  const row = request.parts.store.catalog.store(idIn(request));
  if (row.archivedAt !== null) {
    return (
      <Layout request={request} title={`Remove ${row.name}`}>
        <p>
          This store is removed already. <a href={storePath(row.id)}>Its page</a>
        </p>
      </Layout>
    );
  }
  return (
    <Layout request={request} title={`Remove ${row.name}`}>
      <ul>
        <li>It gives out no more addresses: the shop gets an error in place of one.</li>
        <li>API keys of this store alone end for good.</li>
        <li>Addresses that customers hold stay watched, and payments to them are recorded.</li>
        <li>You can use the store again later.</li>
      </ul>
      <Form request={request} action="remove" button="Remove it" isDangerous needsPassword>
        <Switch
          request={request}
          form="remove"
          name="stop-callbacks"
          label="Send no more callbacks for it either"
          on={false}
        />
      </Form>
      <p>
        <a href={storePath(row.id)}>Cancel</a>
      </p>
    </Layout>
  );
}

async function remove(request: PageRequest): Promise<ActionResult> {
  const { catalog, database } = request.parts.store;
  const row = catalog.store(idIn(request));
  await requireRecentPassword(request);
  const stop = isOn(request, 'stop-callbacks');
  await database.write((tx) => {
    // Another page may have removed it, and have chosen otherwise about its callbacks.
    requireRunning(catalog.store(row.id));
    catalog.archiveStore(tx, request.now, row.id, stop);
    recordAudit(request, tx, 'store.remove', { stop_callbacks: stop }, row.id);
  });
  request.parts.onCatalogChange();
  return { to: `${base}/stores?done=removed` };
}

/** What the page of a removed store shows. */
export const RemovedStore = ({
  request,
  row,
}: {
  readonly request: PageRequest;
  readonly row: StoreRow;
}) => (
  <>
    <p>
      This store was removed
      {row.archivedAt === null ? null : (
        <>
          {' '}
          on <Time at={row.archivedAt} />
        </>
      )}
      . Payments to its addresses{' '}
      {row.callbacksStopped ? 'are recorded, and tell nobody' : 'still call back'}.
    </p>
    <section aria-labelledby="again">
      <h2 id="again">Use the store again</h2>
      <p>
        It gives out addresses again, with the wallet, the Callback URL and the settings that it
        had, and callbacks that are still owed are sent. Keys of its own stay ended: make new ones.
      </p>
      <Form request={request} action="restore" button="Use it again" needsPassword />
    </section>
  </>
);

/** The action of that form. */
export async function restoreStore(request: PageRequest): Promise<ActionResult> {
  const { store } = request.parts;
  const id = idIn(request);
  store.catalog.store(id);
  await requireRecentPassword(request);
  await store.database.write((tx) => {
    if (restoreShop(store, tx, id).changed) recordAudit(request, tx, 'store.restore', {}, id);
  });
  request.parts.onCatalogChange();
  request.parts.onCallbacksDue();
  return { to: `${storePath(id)}?done=restored` };
}
