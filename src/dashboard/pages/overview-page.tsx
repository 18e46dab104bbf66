// The first page: what is wrong, and how things stand.

import { countText } from '../../status/findings.ts';
import type { HealthReport } from '../../status/health.ts';
import { dismissCopy } from '../../store/records/settings.ts';
import { Alarms } from '../alarm-banners.tsx';
import { note } from '../audit-entry.ts';
import { ReceivedChart } from '../chart.tsx';
import { Layout } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import { PaymentTable } from './payments-page.tsx';
import { isUnfinished, welcomePath } from './welcome-page.tsx';

const latest = 10;

export const overviewPage: Page = {
  path: '/',
  show: (visit) => overview(visit),
  actions: { 'dismiss-restored': dismissRestored },
};

function overview(visit: Visit) {
  const { paymentView: paymentDesk } = visit.parts.store;
  const health = visit.parts.health();
  const rows = paymentDesk.list({ limit: latest });
  return (
    <Layout visit={visit} title="Overview" live>
      {isUnfinished(visit) ? (
        <p class="note">
          <a href={welcomePath}>On with setting up</a>
        </p>
      ) : null}
      <Alarms visit={visit} alarms={visit.parts.findingHistory.findings()} />
      <ReceivedChart sums={visit.parts.received()} now={visit.now} />
      <h2>Latest payments</h2>
      {rows.length === 0 ? <p>None yet.</p> : <PaymentTable visit={visit} rows={rows} />}
      <Standing health={health} />
    </Layout>
  );
}

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
    <dd>{countText(callbacks.owed)}</dd>
    <dt>Callbacks that were given up</dt>
    <dd>{countText(callbacks.exhausted)}</dd>
  </dl>
);

async function dismissRestored(visit: Visit): Promise<Outcome> {
  const { catalog, database } = visit.parts.store;
  await database.write((tx) => {
    dismissCopy(tx, catalog);
    note(visit, tx, 'alarm.dismiss', { alarm: 'restored-database' });
  });
  return { to: base };
}
