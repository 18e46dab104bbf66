// The Stores section: the list of stores, then the API key of all of them.

import { redactUrl } from '../../../domain/delivery/callback.ts';
import { merchantKeyText } from '../../../store/access/api-keys.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { choiceValue } from '../../parts/form-fields.ts';
import { chosenBefore, Select } from '../../parts/form-parts.tsx';
import { DoneNote, Layout, Table } from '../../parts/layout.tsx';
import { MerchantKey, revealKey } from './merchant-key-page.tsx';
import { storePath } from './store-layout.tsx';

const here = `${base}/stores`;
const overlapMs = { 'at-once': 0, '24-hours': 24 * 3_600_000 } as const;

export const storesPage: Page = {
  path: '/stores',
  show: (request) => storesMarkup(request),
  actions: { 'reveal-key': reveal },
};

const storesMarkup = (request: PageRequest, shown = false) => (
  <Layout request={request} title="Stores" add={{ href: `${here}/new`, text: 'Add a store' }}>
    <DoneNote request={request} />
    <StoreList request={request} />
    <ApiKey request={request} shown={shown} />
    <RemovedStores request={request} />
  </Layout>
);

const ApiKey = ({ request, shown }: { readonly request: PageRequest; readonly shown: boolean }) => {
  const key = request.parts.records.keys.merchantKey();
  return (
    <section aria-labelledby="api-key">
      <h2 id="api-key">API key</h2>
      {key === undefined ? (
        <p>paygate creates it with your first store.</p>
      ) : (
        <>
          <p>
            Your shop sends it with each request. It is valid for all of your stores, and secret:
            never put it into pages or public code.
          </p>
          <MerchantKey request={request} apiKey={key} shown={shown} />
          <p>
            <a href={`${here}/replace-key`}>Replace the key…</a>
          </p>
        </>
      )}
    </section>
  );
};

const StoreList = ({ request: { parts } }: { readonly request: PageRequest }) => {
  const rows = parts.records.catalog.stores();
  if (rows.length === 0) return <p class="empty">No stores yet.</p>;
  return (
    <Table label="All stores" heads={['Store', 'Wallet', 'Callback URL', 'Created']} isList>
      {rows.map((row) => (
        <tr>
          <td>
            <a class="whole" href={storePath(row.id)}>
              {row.name}
            </a>
          </td>
          <td>{row.walletId === null ? 'no wallet' : `Wallet ${row.walletId}`}</td>
          <td>{row.callbackUrl === '' ? 'none' : <code>{redactUrl(row.callbackUrl)}</code>}</td>
          <td>
            <Time at={row.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

const RemovedStores = ({ request: { parts } }: { readonly request: PageRequest }) => {
  const rows = parts.records.catalog.stores({ archived: true });
  const removed = rows.filter(({ archivedAt }) => archivedAt !== null);
  if (removed.length === 0) return null;
  return (
    <section aria-labelledby="removed-stores">
      <h2 id="removed-stores">Removed stores</h2>
      <Table
        label="Removed stores"
        heads={['Store', 'Removed', <span class="hidden">Action</span>]}
      >
        {removed.map((row) => (
          <tr>
            <td>
              <a href={storePath(row.id)}>{row.name}</a>
            </td>
            <td>
              <Time at={row.archivedAt ?? 0} />
            </td>
            <td>
              <a href={storePath(row.id, '/restore')}>
                Use again<span class="hidden">: {row.name}</span>
              </a>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
};

async function reveal(request: PageRequest): Promise<ActionResult> {
  await revealKey(request);
  return { show: storesMarkup(request, true) };
}

/** Asks before the merchant key is replaced. */
export const replaceKeyPage: Page = {
  path: '/stores/replace-key',
  show: (request) => replaceMarkup(request),
  actions: { 'rotate-key': rotateKey },
};

const replaceMarkup = (request: PageRequest) => (
  <Layout request={request} title="Replace the API key">
    <Confirmation
      request={request}
      action="rotate-key"
      button="Replace the key"
      consequences={[
        'paygate creates another API key for all stores, and shows it.',
        'Each shop and program that uses the old key needs the new one before the old one ends.',
        'A plugin that may change its store now may do so no longer.',
      ]}
      cancel={here}
    >
      <Select
        name="overlap"
        label="The old key"
        options={[
          ['24-hours', 'stays valid for 24 hours'],
          ['at-once', 'ends at once'],
        ]}
        chosen={chosenBefore(request, 'rotate-key', 'overlap')}
      />
    </Confirmation>
  </Layout>
);

async function rotateKey(request: PageRequest): Promise<ActionResult> {
  const overlap = choiceValue(request, 'overlap', ['at-once', '24-hours']);
  await requireRecentPassword(request);
  const { keys, database } = request.parts.records;
  merchantKeyText(keys);
  const secret = request.parts.world.randomBytes(32);
  await database.write((tx) => {
    recordChange(request, tx, 'key.rotate', { overlap });
    keys.rotateMerchantKey(tx, request.now, secret, overlapMs[overlap]);
  });
  return { show: storesMarkup({ ...request, url: here }, true) };
}
