// The end of adding a store: what its shop needs, the first request, a test, and the way back to
// the setup.

import { quoteForShell } from '../../../domain/text/format.ts';
import { merchantKeyText } from '../../../store/access/api-keys.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { masked } from './merchant-key-page.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';
import { sendTest, sendTestEvent, TestCallback, TestEvent } from './store-test-page.tsx';
import { otherStoresOf, SharedWallet } from './wallet-choice.tsx';

export const storeReadyPage: Page = {
  path: '/stores/:id/ready',
  show: (request) => readyMarkup(request),
  actions: { reveal, 'send-test': sendTest, 'send-event': sendTestEvent },
};

function readyMarkup(request: PageRequest, shown = false) {
  const row = storeOf(request);
  const { name, walletId, callbackUrl, webhookUrl } = row;
  if (row.archivedAt !== null) return storeMarkup(request, '', () => null);
  return (
    <Layout request={request} title={`${name}: connect your shop`}>
      <DoneNote request={request} />
      {walletId === null ? null : (
        <SharedWallet stores={otherStoresOf(request, walletId, row.id)} />
      )}
      <Secrets request={request} row={row} shown={shown} />
      {callbackUrl === '' ? null : <TestCallback request={request} row={row} />}
      {webhookUrl === null ? null : <TestEvent request={request} row={row} />}
      <p>
        <a href={`${base}/welcome`}>Back to the setup</a>, or{' '}
        <a href={storePath(row.id)}>open the store</a>
      </p>
    </Layout>
  );
}

const Secrets = ({ request, row, shown }: StoreProps & { readonly shown: boolean }) => {
  const apiKey = merchantKeyText(request.parts.records.keys);
  const shownText = (secret: string): string => (shown ? secret : masked(secret));
  return (
    <section aria-labelledby="secrets">
      <h2 id="secrets">What your shop needs</h2>
      <dl class="facts">
        <dt>API key of all stores</dt>
        <dd>
          <code id="merchant-key">{shownText(apiKey)}</code>
        </dd>
        <dt>Signature secret</dt>
        <dd>
          <code id="secret">{shownText(row.webhookSecret)}</code>
        </dd>
      </dl>
      {shown ? (
        <p class="row">
          <button type="button" data-copy="merchant-key" class="unready other">
            Copy the key
          </button>
          <button type="button" data-copy="secret" class="unready other">
            Copy the secret
          </button>
        </p>
      ) : (
        <Form request={request} action="reveal" button="Show key and secret" needsPassword />
      )}
      <p>
        Your shop sends the key with each request, and checks what it receives by the secret. A
        first address:
      </p>
      <pre>
        <code>{firstRequest({ request, row }, shown ? apiKey : undefined)}</code>
      </pre>
      <p>
        Examples in your language: <a href="/docs/quickstart">/docs/quickstart</a>
      </p>
    </section>
  );
};

/** With several stores, the request must name this one. */
function firstRequest({ request, row }: StoreProps, apiKey: string | undefined): string {
  const [origin = ''] = request.transport.origins;
  const authorization = `curl -H "Authorization: Bearer ${apiKey ?? '$KEY'}"`;
  const isOnly = request.parts.records.catalog.choices().length === 1;
  const store =
    isOnly || row.callbackUrl === ''
      ? ''
      : ` -G --data-urlencode ${quoteForShell(`match_callback=${row.callbackUrl}`)}`;
  return `${authorization}${store} ${origin}/api/new_address`;
}

async function reveal(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const row = storeOf(request);
  await request.parts.records.database.write((tx) => {
    recordChange(request, tx, 'key.reveal');
    recordChange(request, tx, 'secret.reveal', {}, row.id);
  });
  return { show: readyMarkup(request, true) };
}
