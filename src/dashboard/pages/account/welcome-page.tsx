// The beginning of the setup: servers, and the first store, whose own page has the steps.

import { offlineText } from '../../../domain/payment/server-record.ts';
import type { HealthReport } from '../../../status/health.ts';
import { base, type Page, type PageRequest } from '../../page.ts';
import { Layout } from '../../parts/layout.tsx';
import { storePath } from '../stores/store-layout.tsx';
import { type SetupStep, setupSteps } from '../stores/store-ready-page.tsx';

export const welcomePath = `${base}/welcome`;

export const welcomePage: Page = {
  path: '/welcome',
  show(request) {
    const [first] = request.parts.records.catalog.stores();
    return (
      <Layout request={request} title="Setup" poll>
        {first === undefined ? (
          <p>
            You need the public key (xpub) that your own wallet shows, never a key that can spend.
          </p>
        ) : null}
        <p>
          <a
            class="button"
            href={first === undefined ? `${base}/stores/new` : storePath(first.id, '/ready')}
          >
            {first === undefined ? 'Add your store' : `Continue with ${first.name}`}
          </a>
        </p>
        <h2>Network and servers</h2>
        <Servers report={request.parts.health()} />
      </Layout>
    );
  },
};

/** Whether the setup goes on: no test and no payment has ended it. */
export const isSetupUnfinished = ({ parts: { records } }: PageRequest): boolean =>
  records.catalog.stores().length === 0 ||
  (records.state.callbackTestedAt.read() === undefined &&
    records.paymentView.list({ limit: 1 }).length === 0);

function stepsOf(request: PageRequest): readonly SetupStep[] {
  const { records, health } = request.parts;
  const [first] = records.catalog.stores();
  return [
    { name: 'Network and servers', isDone: health().electrum.server !== null },
    ...(first === undefined
      ? [{ name: 'Store and wallet', isDone: false }]
      : setupSteps({ request, row: first })),
  ];
}

/** The checklist in short, for the first page. */
export const SetupProgress = ({ request }: { readonly request: PageRequest }) => {
  const steps = stepsOf(request);
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
