// The setup, from an empty database to a shop that receives callbacks: finished and next steps.

import type { Child } from 'hono/jsx';
import { offlineText } from '../../../domain/payment/server-record.ts';
import type { HealthReport } from '../../../status/health.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Layout } from '../../parts/layout.tsx';
import { MerchantKey, revealKey } from '../stores/merchant-key-page.tsx';
import { storePath } from '../stores/store-layout.tsx';

export const welcomePath = `${base}/welcome`;

export const welcomePage: Page = {
  path: '/welcome',
  show: (request) => welcomeMarkup(request),
  actions: { 'reveal-key': reveal },
};

/** Whether the setup has an unfinished step. */
export const isSetupUnfinished = ({ parts: { records } }: PageRequest): boolean =>
  records.catalog.stores().length === 0 || records.state.callbackTestedAt.read() === undefined;

function welcomeMarkup(request: PageRequest, shown = false) {
  const { records, health } = request.parts;
  const [first] = records.catalog.stores();
  const report = health();
  return (
    <Layout request={request} title="Setup" poll>
      <ol class="steps">
        <Step name="Network and servers" done={report.electrum.server !== null}>
          <Servers report={report} />
        </Step>
        <Step name="Store and wallet" done={first !== undefined}>
          {first === undefined ? (
            <p>
              You need the public key (xpub) that your own wallet shows, never a key that can spend.{' '}
              <a href={`${base}/stores/new`}>Add your store</a>
            </p>
          ) : (
            <p>
              <a href={storePath(first.id)}>{first.name}</a>: see{' '}
              <a href={storePath(first.id, '/ready')}>what your shop needs</a>
            </p>
          )}
        </Step>
        <Step name="Test callback" done={records.state.callbackTestedAt.read() !== undefined}>
          {first === undefined ? (
            <p>Add a store first.</p>
          ) : (
            <p>
              <a href={storePath(first.id, '/ready#test')}>Send one to your shop</a>, until it
              answers 200.
            </p>
          )}
        </Step>
        <Step name="First address request" done={false}>
          <FirstRequest request={request} shown={shown} />
        </Step>
      </ol>
    </Layout>
  );
}

interface SetupStep {
  readonly name: string;
  readonly isDone: boolean;
}

const setupSteps = ({ parts: { records, health } }: PageRequest): readonly SetupStep[] => [
  { name: 'Network and servers', isDone: health().electrum.server !== null },
  { name: 'Store and wallet', isDone: records.catalog.stores().length > 0 },
  { name: 'Test callback', isDone: records.state.callbackTestedAt.read() !== undefined },
  { name: 'First address request', isDone: records.addressView.list({ limit: 1 }).rows.length > 0 },
];

/** The checklist in short, for the first page. */
export const SetupProgress = ({ request }: { readonly request: PageRequest }) => {
  const steps = setupSteps(request);
  const done = steps.filter(({ isDone }) => isDone).length;
  return (
    <section class="setup" aria-labelledby="setup">
      <h2 id="setup">
        Setup: {done} of {steps.length} done
      </h2>
      <progress value={done} max={steps.length} aria-labelledby="setup" />
      <ul class="plain under">
        {steps.map(({ name, isDone }) => (
          <li class={isDone ? 'good' : undefined}>
            {isDone ? '✓' : '○'} {name}
          </li>
        ))}
      </ul>
      <a class="button" href={welcomePath}>
        Continue the setup
      </a>
    </section>
  );
};

const Step = ({ name, done, children }: { name: string; done: boolean; children?: Child }) => (
  <li>
    <h2>
      {name} {done ? <span class="good">✓ done</span> : null}
    </h2>
    {children}
  </li>
);

const Servers = ({
  report: { network, electrum, warnings },
}: {
  readonly report: HealthReport;
}) => (
  <>
    <p>
      This paygate is for {network}, and its database fixes that. It watches payments through
      Electrum servers.
    </p>
    <ServerList servers={electrum.servers} warnings={warnings} />
    <p>
      <small>
        Your own server is the most private choice:{' '}
        <code>paygate serve --electrum ssl://your-server:50002</code>
      </small>
    </p>
  </>
);

type ServerListProps = Pick<HealthReport['electrum'], 'servers'> & Pick<HealthReport, 'warnings'>;

/** On a machine without DNS the reason is the same for each server, and is shown once. */
const ServerList = ({ servers, warnings }: ServerListProps) => {
  const offline = offlineText(servers.length);
  return warnings.some((text) => text.startsWith(offline)) ? (
    <p class="alarm error">
      {offline} <a href={`${base}/servers`}>Servers</a>
    </p>
  ) : (
    <ul>
      {servers.map(({ server, state, height, error }) => (
        <li>
          {server}: <span class={state === 'live' ? 'good' : 'warn'}>{state}</span>
          {height === undefined ? '' : `, at height ${height}`}
          {error === undefined ? '' : ` (${error})`}
        </li>
      ))}
    </ul>
  );
};

const FirstRequest = ({
  request,
  shown,
}: {
  readonly request: PageRequest;
  readonly shown: boolean;
}) => {
  const [origin = ''] = request.transport.origins;
  const apiKey = request.parts.records.keys.merchantKey();
  return (
    <>
      {apiKey === undefined ? (
        <p>With the API key, which paygate creates with your first store:</p>
      ) : (
        <>
          <p>With your API key:</p>
          <MerchantKey request={request} apiKey={apiKey} shown={shown} />
        </>
      )}
      <pre>
        <code>{`curl -H "Authorization: Bearer ${shown ? apiKey : '$KEY'}" ${origin}/api/new_address`}</code>
      </pre>
      <p>
        Examples in your language: <a href="/docs/quickstart">/docs/quickstart</a>. The whole API:{' '}
        <a href="/docs">/docs</a>. You can set up an authenticator app under{' '}
        <a href={`${base}/settings`}>Settings</a>.
      </p>
    </>
  );
};

async function reveal(request: PageRequest): Promise<ActionResult> {
  await revealKey(request);
  return { show: welcomeMarkup(request, true) };
}
