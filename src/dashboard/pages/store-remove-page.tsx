// Removes a store, on a page that lists the consequences, and activates a removed one again.

import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { restoreShop } from '../../store/records/store-setup.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { isOn } from '../form-fields.ts';
import { Form, Switch } from '../form-parts.tsx';
import { Layout } from '../layout.tsx';
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
          This store is already removed. <a href={storePath(row.id)}>Its page</a>
        </p>
      </Layout>
    );
  }
  return (
    <Layout request={request} title={`Remove ${row.name}`}>
      <ul>
        <li>It issues no more addresses: the shop gets an error instead.</li>
        <li>API keys of this store are revoked for good.</li>
        <li>paygate still watches the addresses of customers and records their payments.</li>
        <li>You can use the store again later.</li>
      </ul>
      <Form request={request} action="remove" button="Remove it" isDangerous needsPassword>
        <Switch
          request={request}
          form="remove"
          name="stop-callbacks"
          label="Also stop its callbacks"
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
    // Another page may have removed it, with another choice about its callbacks.
    requireRunning(catalog.store(row.id));
    catalog.archiveStore(tx, request.now, row.id, stop);
    recordChange(request, tx, 'store.remove', { stop_callbacks: stop }, row.id);
  });
  request.parts.store.events.emit('catalogChanged');
  return { to: `${base}/stores?done=removed` };
}

/** The content of a removed store's page. */
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
      {row.callbacksStopped ? 'are recorded without callbacks' : 'still send callbacks'}.
    </p>
    <section aria-labelledby="again">
      <h2 id="again">Use the store again</h2>
      <p>
        It issues addresses again, with its former wallet, Callback URL and settings, and sends
        pending callbacks. Its own API keys stay revoked: create new ones.
      </p>
      <Form request={request} action="restore" button="Use it again" needsPassword />
    </section>
  </>
);

/** The action of the form above. */
export async function restoreStore(request: PageRequest): Promise<ActionResult> {
  const { store } = request.parts;
  const id = idIn(request);
  store.catalog.store(id);
  await requireRecentPassword(request);
  await store.database.write((tx) => {
    if (restoreShop(store, tx, id).changed) recordChange(request, tx, 'store.restore', {}, id);
  });
  request.parts.store.events.emit('catalogChanged');
  request.parts.store.events.emit('retryRequested');
  return { to: `${storePath(id)}?done=restored` };
}
