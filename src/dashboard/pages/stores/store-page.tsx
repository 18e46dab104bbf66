// The first page of a store: what is missing, and each of its parts in short.

import { Fragment } from 'hono/jsx';
import { redactUrl } from '../../../domain/delivery/callback.ts';
import { type MoneyWay, moneyQuestion, moneyWays } from '../../../domain/store/money-way.ts';
import { requireRunning } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import type { ActionResult, Page, PageRequest } from '../../page.ts';
import { choiceValue } from '../../parts/form-fields.ts';
import { Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote } from '../../parts/layout.tsx';
import { RehearsalOffer } from '../deliveries/rehearsal-page.tsx';
import { keysOf } from './store-keys-page.tsx';
import {
  type StoreProps,
  type StoreSection,
  storeMarkup,
  storeOf,
  storePath,
} from './store-layout.tsx';
import { openKey } from './store-plugin-page.tsx';
import { storeMoneyWay } from './store-ready-page.tsx';

export const storePage: Page = {
  path: '/stores/:id',
  show: (request) => storeMarkup(request, '', (props) => <StoreOverview {...props} />),
  actions: { 'set-way': setWay },
};

const StoreOverview = ({ request, row }: StoreProps) => (
  <>
    <DoneNote request={request} />
    {missingIn({ request, row }).map(([section, text]) => (
      <p class="alarm">
        {text} <a href={storePath(row.id, section)}>Open its page</a>
      </p>
    ))}
    <dl class="facts">
      {factsOf({ request, row }).map(([name, section, value]) => (
        <Fragment>
          <dt>
            <a href={storePath(row.id, section)}>{name}</a>
          </dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
      <dt>Created</dt>
      <dd>
        <Time at={row.createdAt} />
      </dd>
    </dl>
    <RehearsalOffer id={row.id} />
    <Form request={request} action="set-way" button="Show what it needs">
      <Select
        name="way"
        label={moneyQuestion}
        options={Object.entries(moneyWays)}
        chosen={storeMoneyWay({ request, row })}
      />
    </Form>
  </>
);

/** What keeps the shop from being paid, or from learning of it, with the page that helps. */
function missingIn({ request, row }: StoreProps): (readonly [StoreSection, string])[] {
  const { catalog, state } = request.parts.records;
  const missing: (readonly [StoreSection, string])[] = [];
  if (row.walletId === null) {
    missing.push(['/wallet', 'This store has no wallet, so it issues no addresses.']);
  } else if (catalog.wallet(row.walletId).scannedAt === null) {
    missing.push(['/wallet', 'The chain is scanned for addresses of its wallet that are in use.']);
  }
  const hasUrl = row.callbackUrl !== '' || row.webhookUrl !== null;
  if (hasUrl && state.callbackTestedAt.read() === undefined) {
    const section = row.callbackUrl === '' ? '/webhooks' : '/callbacks';
    missing.push([section, 'No test has reached a shop yet: send one.']);
  }
  return missing;
}

/** Leads to the steps of the answer. */
async function setWay(request: PageRequest): Promise<ActionResult> {
  const { id } = storeOf(request);
  const { catalog, database, state } = request.parts.records;
  const way = choiceValue(request, 'way', Object.keys(moneyWays) as MoneyWay[]);
  await database.write((tx) => {
    requireRunning(catalog.store(id));
    if (state.moneyWay(id).read() === way) return;
    state.moneyWay(id).write(tx, way);
    recordChange(request, tx, 'store.change', { way }, id);
  });
  return { to: storePath(id, '/ready') };
}

function factsOf({ request, row }: StoreProps): (readonly [string, StoreSection, string])[] {
  const wallet =
    row.walletId === null ? undefined : request.parts.records.catalog.wallet(row.walletId);
  const keys = keysOf(request, row).length;
  const confirmations = `${row.requiredConfirmations} ${row.requiredConfirmations === 1 ? 'confirmation' : 'confirmations'}`;
  return [
    [
      'General',
      '/general',
      `Payments are final after ${confirmations}. Currency: ${row.currency ?? 'none'}`,
    ],
    [
      'Wallet',
      '/wallet',
      wallet === undefined ? 'none' : `Wallet ${wallet.id}, ${wallet.scriptType}`,
    ],
    ...urlFacts(row),
    ['Notifications', '/notifications', recipientsText({ request, row })],
    ['Keys', '/keys', keys === 0 ? 'only the API key of all stores' : `${keys} of its own`],
    ['Plugin', '/plugin', `${openText({ request, row })}. Store ID for plugins: ${row.publicId}`],
  ];
}

const urlFacts = ({ callbackUrl, webhookUrl }: StoreProps['row']) => [
  ...(callbackUrl === '' ? [] : [['Callbacks', '/callbacks', redactUrl(callbackUrl)] as const]),
  ...(webhookUrl === null ? [] : [['Webhooks', '/webhooks', redactUrl(webhookUrl)] as const]),
];

function recipientsText({ request, row }: StoreProps): string {
  const { recipients, webhookUrl } = request.parts.records.state.notifyTarget(row.id).read();
  const all = [...recipients, ...(webhookUrl === null ? [] : [redactUrl(webhookUrl)])];
  return all.length === 0 ? 'no recipients of its own' : all.join(', ');
}

const openText = (props: StoreProps): string =>
  openKey(props) === undefined
    ? 'no plugin may change this store'
    : 'a plugin may change this store now';
