// Removing a store, on a page of its own that says what will happen; and using a removed one again.

import { requireRunning, type StoreRow } from '../../store/records/catalog.ts';
import { restoreShop } from '../../store/records/store-setup.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { isOn } from '../form-fields.ts';
import { Form, Layout, Switch, Time } from '../layout.tsx';
import { base, idIn, type Outcome, type Page, type Visit } from '../page.ts';

const pageOf = (id: number): string => `${base}/stores/${id}`;

export const removeStorePage: Page = {
  path: '/stores/:id/remove',
  show: (visit) => removeMarkup(visit),
  actions: { remove },
};

function removeMarkup(visit: Visit) {
  const row = visit.parts.store.catalog.store(idIn(visit));
  if (row.archivedAt !== null) {
    return (
      <Layout visit={visit} title={`Remove ${row.name}`}>
        <p>
          This store is removed already. <a href={pageOf(row.id)}>Its page</a>
        </p>
      </Layout>
    );
  }
  return (
    <Layout visit={visit} title={`Remove ${row.name}`}>
      <ul>
        <li>It gives out no more addresses: the shop gets an error in place of one.</li>
        <li>API keys of this store alone end for good.</li>
        <li>Addresses that customers hold stay watched, and payments to them are recorded.</li>
        <li>You can use the store again later.</li>
      </ul>
      <Form visit={visit} does="remove" button="Remove it" grave confirm>
        <Switch
          visit={visit}
          does="remove"
          name="stop-callbacks"
          label="Send no more callbacks for it either"
          on={false}
        />
      </Form>
      <p>
        <a href={pageOf(row.id)}>Cancel</a>
      </p>
    </Layout>
  );
}

async function remove(visit: Visit): Promise<Outcome> {
  const { catalog, database } = visit.parts.store;
  const row = catalog.store(idIn(visit));
  await requireFresh(visit);
  const stop = isOn(visit, 'stop-callbacks');
  await database.write((tx) => {
    // Another page may have removed it, and have chosen otherwise about its callbacks.
    requireRunning(catalog.store(row.id));
    catalog.archiveStore(tx, visit.now, row.id, stop);
    note(visit, tx, 'store.remove', { stop_callbacks: stop }, row.id);
  });
  visit.parts.onCatalog();
  return { to: `${base}/stores?done=removed` };
}

/** What the page of a removed store shows. */
export const RemovedStore = ({ visit, row }: { readonly visit: Visit; readonly row: StoreRow }) => (
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
      <Form visit={visit} does="restore" button="Use it again" confirm />
    </section>
  </>
);

/** The action of that form. */
export async function restoreStore(visit: Visit): Promise<Outcome> {
  const { store } = visit.parts;
  const id = idIn(visit);
  store.catalog.store(id);
  await requireFresh(visit);
  await store.database.write((tx) => {
    if (restoreShop(store, tx, id).changed) note(visit, tx, 'store.restore', {}, id);
  });
  visit.parts.onCatalog();
  visit.parts.onCallbacks();
  return { to: `${pageOf(id)}?done=restored` };
}
