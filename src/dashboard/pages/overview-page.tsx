// The first page: alarms, the amounts of the last days, latest payments, and status.

import { countText } from '../../status/findings.ts';
import type { HealthReport } from '../../status/health.ts';
import { dismissCopy } from '../../store/records/settings.ts';
import { Alarms } from '../alarm-banners.tsx';
import { recordChange } from '../audit-entry.ts';
import { ReceivedChart } from '../chart.tsx';
import { Layout } from '../layout.tsx';
import { type ActionResult, base, type Page, type PageRequest } from '../page.ts';
import { PaymentTable } from './payments-page.tsx';
import { isSetupUnfinished, welcomePath } from './welcome-page.tsx';

const maxPayments = 10;

export const overviewPage: Page = {
  path: '/',
  show: (request) => overviewMarkup(request),
  actions: { 'dismiss-restored': dismissRestored },
};

function overviewMarkup(request: PageRequest) {
  const { paymentView } = request.parts.store;
  const health = request.parts.health();
  const rows = paymentView.list({ limit: maxPayments });
  return (
    <Layout request={request} title="Overview" live>
      {isSetupUnfinished(request) ? (
        <p class="note">
          <a href={welcomePath}>Continue the setup</a>
        </p>
      ) : null}
      <Alarms request={request} alarms={request.parts.findingHistory.findings()} />
      <ReceivedChart sums={request.parts.dailySums()} now={request.now} />
      <h2>Latest payments</h2>
      {rows.length === 0 ? <p>No payments yet.</p> : <PaymentTable request={request} rows={rows} />}
      <StatusFacts health={health} />
    </Layout>
  );
}

const StatusFacts = ({
  health: { network, electrum, callbacks },
}: {
  readonly health: HealthReport;
}) => (
  <dl class="facts">
    <dt>Network</dt>
    <dd>{network}</dd>
    <dt>Electrum server in use</dt>
    <dd>{electrum.server ?? 'none'}</dd>
    <dt>Block height</dt>
    <dd>{electrum.height ?? 'unknown'}</dd>
    <dt>Pending deliveries</dt>
    <dd>{countText(callbacks.owed)}</dd>
    <dt>Failed deliveries</dt>
    <dd>{countText(callbacks.exhausted)}</dd>
  </dl>
);

async function dismissRestored(request: PageRequest): Promise<ActionResult> {
  const { catalog, database } = request.parts.store;
  await database.write((tx) => {
    dismissCopy(tx, catalog);
    recordChange(request, tx, 'alarm.dismiss', { alarm: 'restored-database' });
  });
  return { to: base };
}
