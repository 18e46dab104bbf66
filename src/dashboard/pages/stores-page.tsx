// The Stores section: the merchant key at its top, and below it each store.

import { redactUrl } from '../../domain/callback.ts';
import { merchantKeyText } from '../../store/records/api-keys.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { choice } from '../form-fields.ts';
import { Form, Layout, Note, Select, sentChoice, Table, Time } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import { MerchantKey, revealKey } from './merchant-key-page.tsx';

const here = `${base}/stores`;
const overlaps = { 'at-once': 0, '24-hours': 24 * 3_600_000 } as const;

export const storesPage: Page = {
  path: '/stores',
  show: (visit) => stores(visit),
  actions: { 'reveal-key': reveal, 'rotate-key': rotateKey },
};

const stores = (visit: Visit, shown = false) => (
  <Layout visit={visit} title="Stores">
    <Note visit={visit} />
    <ApiKey visit={visit} shown={shown} />
    <section aria-labelledby="all-stores">
      <h2 id="all-stores">Your stores</h2>
      <StoreList visit={visit} />
      <p>
        <a href={`${here}/new`}>Add a store</a>
      </p>
    </section>
    <RemovedStores visit={visit} />
  </Layout>
);

const ApiKey = ({ visit, shown }: { readonly visit: Visit; readonly shown: boolean }) => {
  const key = visit.parts.store.keys.merchantKey();
  return (
    <section aria-labelledby="api-key">
      <h2 id="api-key">API key</h2>
      {key === undefined ? (
        <p>It is made with your first store.</p>
      ) : (
        <>
          <p>
            Your shop sends it with each request. It is good for all of your stores, and secret:
            keep it out of pages and public code.
          </p>
          <MerchantKey visit={visit} apiKey={key} shown={shown} />
          <Rotation visit={visit} />
        </>
      )}
    </section>
  );
};

const Rotation = ({ visit }: { readonly visit: Visit }) => (
  <details open={visit.form.get('do') === 'rotate-key'}>
    <summary>Make a new key</summary>
    <Form visit={visit} does="rotate-key" button="Make a new key" grave confirm>
      <Select
        name="overlap"
        label="The old one"
        options={[
          ['24-hours', 'stays valid for 24 hours'],
          ['at-once', 'ends at once'],
        ]}
        chosen={sentChoice(visit, 'rotate-key', 'overlap')}
      />
    </Form>
  </details>
);

const StoreList = ({ visit: { parts } }: { readonly visit: Visit }) => {
  const rows = parts.store.catalog.stores();
  if (rows.length === 0) return <p>There is none yet.</p>;
  return (
    <Table label="All stores" heads={['Store', 'Callback URL', 'Wallet', 'Since']}>
      {rows.map((row) => (
        <tr>
          <td>
            <a href={`${here}/${row.id}`}>{row.name}</a>
          </td>
          <td>
            <code>{redactUrl(row.callbackUrl)}</code>
          </td>
          <td>{row.walletId === null ? 'none yet' : `Wallet ${row.walletId}`}</td>
          <td>
            <Time at={row.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

const RemovedStores = ({ visit: { parts } }: { readonly visit: Visit }) => {
  const rows = parts.store.catalog.stores({ archived: true });
  const removed = rows.filter(({ archivedAt }) => archivedAt !== null);
  if (removed.length === 0) return null;
  return (
    <section aria-labelledby="removed-stores">
      <h2 id="removed-stores">Removed stores</h2>
      <Table
        label="Removed stores"
        heads={['Store', 'Removed', <span class="hidden">What to do</span>]}
        onPhone={3}
      >
        {removed.map((row) => (
          <tr>
            <td>
              <a href={`${here}/${row.id}`}>{row.name}</a>
            </td>
            <td>
              <Time at={row.archivedAt ?? 0} />
            </td>
            <td>
              <a href={`${here}/${row.id}#again`}>
                Use again<span class="hidden">: {row.name}</span>
              </a>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
};

async function reveal(visit: Visit): Promise<Outcome> {
  await revealKey(visit);
  return { show: stores(visit, true) };
}

async function rotateKey(visit: Visit): Promise<Outcome> {
  const overlap = choice(visit, 'overlap', ['at-once', '24-hours']);
  await requireFresh(visit);
  const { keys, database } = visit.parts.store;
  merchantKeyText(keys);
  const secret = visit.parts.world.randomBytes(32);
  await database.write((tx) => {
    note(visit, tx, 'key.rotate', { overlap });
    keys.rotateMerchantKey(tx, visit.now, secret, overlaps[overlap]);
  });
  return { show: stores(visit, true) };
}
