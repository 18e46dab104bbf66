// Grave acts: links to all of them, the removal of a store, and its use after that.

import { requireRunning } from '../../../store/wallets/catalog.ts';
import { restoreShop } from '../../../store/wallets/store-setup.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { isOn } from '../../parts/form-fields.ts';
import { Switch } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';

export const storeDangerPage: Page = {
  path: '/stores/:id/danger',
  show: (request) => storeMarkup(request, '/danger', (props) => <GraveActs {...props} />),
};

const GraveActs = ({ row }: StoreProps) => (
  <>
    <p>Each of these asks once more on a page of its own.</p>
    <dl class="facts">
      <dt>
        <a href={storePath(row.id, '/wallet/new')}>Use another wallet…</a>
      </dt>
      <dd>New addresses come from the other wallet.</dd>
      <dt>
        <a href={storePath(row.id, '/replace-secret')}>Replace the signature secret…</a>
      </dt>
      <dd>Callbacks and events are signed with a new secret.</dd>
      <dt>
        <a href={storePath(row.id, '/remove')}>Remove this store…</a>
      </dt>
      <dd>The store issues no more addresses. You can use it again later.</dd>
    </dl>
  </>
);

export const removeStorePage: Page = {
  path: '/stores/:id/remove',
  show: (request) => removeMarkup(request),
  actions: { remove },
};

function removeMarkup(request: PageRequest) {
  const row = storeOf(request);
  return (
    <Layout request={request} title={`Remove ${row.name}`}>
      {row.archivedAt === null ? (
        <Confirmation
          request={request}
          action="remove"
          button="Remove the store"
          consequences={[
            'It issues no more addresses: the shop gets an error instead.',
            'API keys of this store are revoked for good.',
            'paygate still watches the addresses of customers and records their payments.',
            'You can use the store again later.',
          ]}
          cancel={storePath(row.id, '/danger')}
        >
          <Switch
            request={request}
            form="remove"
            name="stop-callbacks"
            label="Also stop its callbacks"
            on={false}
          />
        </Confirmation>
      ) : (
        <p>
          This store is already removed. <a href={storePath(row.id)}>Its page</a>
        </p>
      )}
    </Layout>
  );
}

async function remove(request: PageRequest): Promise<ActionResult> {
  const { catalog, database } = request.parts.records;
  const row = storeOf(request);
  await requireRecentPassword(request);
  const stop = isOn(request, 'stop-callbacks');
  await database.write((tx) => {
    // Another page may have removed it, with another choice about its callbacks.
    requireRunning(catalog.store(row.id));
    catalog.archiveStore(tx, request.now, row.id, stop);
    recordChange(request, tx, 'store.remove', { stop_callbacks: stop }, row.id);
  });
  request.parts.records.events.emit('catalogChanged');
  return { to: `${base}/stores?done=removed` };
}

export const restoreStorePage: Page = {
  path: '/stores/:id/restore',
  show: (request) => restoreMarkup(request),
  actions: { restore },
};

function restoreMarkup(request: PageRequest) {
  const row = storeOf(request);
  return (
    <Layout request={request} title={`Use ${row.name} again`}>
      {row.archivedAt === null ? (
        <p>
          This store is in use. <a href={storePath(row.id)}>Its page</a>
        </p>
      ) : (
        <Confirmation
          request={request}
          action="restore"
          button="Use it again"
          isHarmless
          consequences={[
            'It issues addresses again, with its former wallet, Callback URL and settings.',
            'Pending callbacks and events are sent now.',
            'Its own API keys stay revoked: create new ones.',
          ]}
          cancel={`${base}/stores`}
        />
      )}
    </Layout>
  );
}

async function restore(request: PageRequest): Promise<ActionResult> {
  const { records } = request.parts;
  const id = idIn(request);
  records.catalog.store(id);
  await requireRecentPassword(request);
  await records.database.write((tx) => {
    if (restoreShop(records, tx, id).changed) recordChange(request, tx, 'store.restore', {}, id);
  });
  request.parts.records.events.emit('catalogChanged');
  request.parts.records.events.emit('retryRequested');
  return { to: `${storePath(id)}?done=restored` };
}
