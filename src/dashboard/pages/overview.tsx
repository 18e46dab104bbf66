// The first page: what is wrong, and how things stand.

import type { HealthReport } from '../../http/health.ts';
import { ReceivedChart } from '../chart.tsx';
import { Layout } from '../layout.tsx';
import type { Page, Visit } from '../visit.ts';
import { PaymentTable } from './payments.tsx';
import { isUnfinished, welcomePath } from './welcome.tsx';

const latest = 10;

export const overviewPage: Page = { path: '/', show: (visit) => overview(visit) };

function overview(visit: Visit) {
  const { paymentDesk } = visit.parts.store;
  const health = visit.parts.health();
  const rows = paymentDesk.list({ limit: latest });
  return (
    <Layout visit={visit} title="Overview" live>
      {isUnfinished(visit) ? (
        <p class="note">
          <a href={welcomePath}>On with setting up</a>
        </p>
      ) : null}
      <Alarms warnings={[...health.warnings, ...foreignAlarms(visit)]} />
      <ReceivedChart sums={visit.parts.received()} now={visit.now} />
      <h2>Latest payments</h2>
      {rows.length === 0 ? <p>None yet.</p> : <PaymentTable visit={visit} rows={rows} />}
      <Standing health={health} />
    </Layout>
  );
}

/** Somebody else gives out addresses of the same key. */
const foreignAlarms = ({ parts }: Visit): string[] =>
  parts.store.addressDesk
    .foreignUses()
    .map(
      ({ walletId, count }) =>
        `wallet ${walletId}: ${count} payment(s) came to addresses that paygate had not given out yet. Another ` +
        'program uses this key: give each its own account, or customers may pay to the same address',
    );

/** Each says in words what happened and what to do. */
const Alarms = ({ warnings }: { readonly warnings: readonly string[] }) =>
  warnings.length === 0 ? (
    <p class="note">All is well.</p>
  ) : (
    <section aria-label="Alarms">
      {warnings.map((text) => (
        <p class="alarm">{text}</p>
      ))}
    </section>
  );

const Standing = ({
  health: { network, electrum, callbacks },
}: {
  readonly health: HealthReport;
}) => (
  <dl class="facts">
    <dt>Network</dt>
    <dd>{network}</dd>
    <dt>Electrum server in use</dt>
    <dd>{electrum.server ?? 'none'}</dd>
    <dt>Height</dt>
    <dd>{electrum.height ?? 'not known yet'}</dd>
    <dt>Callbacks that wait</dt>
    <dd>{callbacks.owed}</dd>
    <dt>Callbacks that were given up</dt>
    <dd>{callbacks.exhausted}</dd>
  </dl>
);
