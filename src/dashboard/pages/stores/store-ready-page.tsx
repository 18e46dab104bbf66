// The setup of a store, from its wallet to its first money. Its steps depend on how the money
// comes: by links and a till, by the plugin of a shop, or by a program.

import type { Child } from 'hono/jsx';
import { type MoneyWay, moneyWayOf } from '../../../domain/store/money-way.ts';
import { quoteForShell } from '../../../domain/text/format.ts';
import { merchantKeyText } from '../../../store/access/api-keys.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { LocalNote } from '../../parts/local-note.tsx';
import { RehearsalOffer } from '../deliveries/rehearsal-page.tsx';
import { masked } from './merchant-key-page.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';
import { sendTest, sendTestEvent, TestCallback, TestEvent } from './store-test-page.tsx';
import { otherStoresOf, SharedWallet } from './wallet-choice.tsx';

export const storeReadyPage: Page = {
  path: '/stores/:id/ready',
  show: (request) => readyMarkup(request),
  actions: { reveal, 'send-test': sendTest, 'send-event': sendTestEvent },
};

export interface SetupStep {
  readonly name: string;
  readonly isDone: boolean;
}

type Step = SetupStep & { readonly content: Child };

function readyMarkup(request: PageRequest, shown = false) {
  const row = storeOf(request);
  const { name, walletId } = row;
  if (row.archivedAt !== null) return storeMarkup(request, '', () => null);
  return (
    <Layout request={request} title={`${name}: setup`}>
      <DoneNote request={request} />
      {walletId === null ? null : (
        <SharedWallet stores={otherStoresOf(request, walletId, row.id)} />
      )}
      <ol class="steps">
        {setupSteps({ request, row }, shown).map((step) => (
          <li>
            <h2>
              {step.name} {step.isDone ? <span class="good">✓ done</span> : null}
            </h2>
            {step.content}
          </li>
        ))}
      </ol>
      <RehearsalOffer id={row.id} />
      <p>
        <a href={storePath(row.id)}>The store</a> has all its settings, and another way for the
        money to come.
      </p>
    </Layout>
  );
}

/** How the money of a store comes. */
export const storeMoneyWay = ({ request, row }: StoreProps): MoneyWay => {
  const { state, webhookRecords } = request.parts.records;
  return moneyWayOf(state.moneyWay(row.id).read(), {
    plugin: webhookRecords.list(row.id).length > 0,
    program: row.callbackUrl !== '' || row.webhookUrl !== null,
  });
};

/** @param shown whether key and secret are shown */
export function setupSteps(props: StoreProps, shown = false): readonly Step[] {
  const { request, row } = props;
  const steps = { links: linkSteps, plugin: pluginSteps, program: programSteps };
  const { state, paymentView } = request.parts.records;
  const isTested = state.callbackTestedAt.read() !== undefined;
  const isPaid = paymentView.list({ storeId: row.id, limit: 1 }).length > 0;
  const wallet: Step = {
    name: 'Wallet',
    isDone: row.walletId !== null,
    content: (
      <p>
        The money goes to <a href={storePath(row.id, '/wallet')}>your own wallet</a>.
      </p>
    ),
  };
  return [wallet, ...steps[storeMoneyWay(props)]({ ...props, isTested, isPaid, shown })];
}

interface StepsProps extends StoreProps {
  readonly isTested: boolean;
  readonly isPaid: boolean;
  readonly shown: boolean;
}

function linkSteps({ request, row, isPaid }: StepsProps): Step[] {
  const { state, linkView, orderView } = request.parts.records;
  const hasMail = [null, row.id].some(
    (owner) => state.notifyTarget(owner).read().recipients.length > 0,
  );
  const [link] = linkView.list({ storeId: row.id, limit: 1 });
  const path = link && `${base}/links/${link.id}`;
  return [
    {
      name: 'Mail',
      isDone: hasMail && state.mailServer.read() !== undefined,
      content: (
        <p>
          A mail can say when somebody has paid:{' '}
          <a href={`${base}/settings/notifications`}>set it up</a>, now or later.
        </p>
      ),
    },
    {
      name: 'First link',
      isDone: link !== undefined,
      content:
        link === undefined ? (
          <p>
            <a class="button" href={`${base}/links/new?store=${row.id}`}>
              Add a link
            </a>
          </p>
        ) : (
          <p>
            <a href={path}>{link.title}</a>: <a href={`${path}/print`}>print its poster</a>
          </p>
        ),
    },
    {
      name: 'Test payment',
      isDone: isPaid,
      content: (
        <>
          <LocalNote url={orderView.baseUrl} />
          <p>
            {link === undefined ? 'Then open the link' : <a href={path}>Open the link</a>} on a
            phone, and pay yourself one euro. The money arrives in your own wallet: the test costs
            no more than the fee.
          </p>
        </>
      ),
    },
  ];
}

function pluginSteps({ request, row, isTested, isPaid }: StepsProps): Step[] {
  const { webhookRecords } = request.parts.records;
  const isConnected = row.callbackUrl !== '' || webhookRecords.list(row.id).length > 0;
  return [
    {
      name: 'Connect a plugin',
      isDone: isConnected,
      content: (
        <p>
          <a class="button" href={storePath(row.id, '/plugin')}>
            Connect a plugin
          </a>
        </p>
      ),
    },
    {
      name: 'Test payment',
      isDone: isTested || isPaid,
      content: (
        <>
          <p>Order something in your shop, and pay it: the shop must show it as paid.</p>
          {row.callbackUrl === '' ? null : <TestCallback request={request} row={row} />}
        </>
      ),
    },
  ];
}

function programSteps({ request, row, isTested, isPaid, shown }: StepsProps): Step[] {
  const { addressView } = request.parts.records;
  const { callbackUrl, webhookUrl } = row;
  return [
    {
      name: 'First request',
      isDone: addressView.list({ storeId: row.id, limit: 1 }).rows.length > 0,
      content: <Secrets request={request} row={row} shown={shown} />,
    },
    {
      name: 'Test',
      isDone: isTested || isPaid,
      content: (
        <>
          {callbackUrl === '' && webhookUrl === null ? (
            <p>
              Your program receives events at a{' '}
              <a href={storePath(row.id, '/webhooks')}>Webhook URL</a>, or callbacks at a{' '}
              <a href={storePath(row.id, '/callbacks')}>Callback URL</a>. Set one of them first.
            </p>
          ) : null}
          {callbackUrl === '' ? null : <TestCallback request={request} row={row} />}
          {webhookUrl === null ? null : <TestEvent request={request} row={row} />}
        </>
      ),
    },
  ];
}

const Secrets = ({ request, row, shown }: StoreProps & { readonly shown: boolean }) => {
  const apiKey = merchantKeyText(request.parts.records.keys);
  const shownText = (secret: string): string => (shown ? secret : masked(secret));
  return (
    <>
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
        Your program sends the key with each request, and checks what it receives by the secret. A
        first address:
      </p>
      <pre>
        <code>{firstRequest({ request, row }, shown ? apiKey : undefined)}</code>
      </pre>
      <p>
        Examples in your language: <a href="/docs/quickstart">/docs/quickstart</a>. The whole API:{' '}
        <a href="/docs">/docs</a>.
      </p>
    </>
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
