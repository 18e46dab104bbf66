// The first page: what came in, what is open, alarms, and the latest payments and orders.

import type { Child } from 'hono/jsx';
import { formatCount } from '../../../domain/text/format.ts';
import type { HealthReport } from '../../../status/health.ts';
import { chartDays } from '../../daily-sums.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import {
  type ActionResult,
  base,
  isViewer,
  type Page,
  type PageRequest,
  zonePath,
} from '../../page.ts';
import { Alarms } from '../../parts/alarm-banners.tsx';
import { Layout, OwnersLink } from '../../parts/layout.tsx';
import { type DaySum, ReceivedChart } from '../../parts/received-chart.tsx';
import { OpenCards, ReceivedCards } from '../../parts/summary-cards.tsx';
import { isSetupUnfinished, SetupProgress } from '../account/welcome-page.tsx';
import { ordersPath } from './order-parts.ts';
import { OrderTable } from './orders-page.tsx';
import { FirstPayment, PaymentTable } from './payments-page.tsx';

const maxRows = 5;

export const overviewPage: Page = {
  path: '/',
  viewers: [],
  show: (request) => overviewMarkup(request),
  actions: { 'dismiss-restored': dismissRestored },
};

function overviewMarkup(request: PageRequest) {
  const { parts } = request;
  const isOwner = !isViewer(request);
  const findings = parts.findingHistory.findings();
  const today = parts.dailySums.today();
  const sums = Array.from({ length: chartDays }, (_, place): DaySum => {
    const day = today - chartDays + 1 + place;
    return { day, ...parts.dailySums.ofDay(day) };
  });
  return (
    <Layout request={request} title="Overview" live>
      {isOwner && isSetupUnfinished(request) ? <SetupProgress request={request} /> : null}
      {isOwner ? <Alarms request={request} alarms={findings} /> : null}
      <div class="cards">
        <ReceivedCards sums={parts.dailySums} today={today} />
        <OpenCards request={request} />
      </div>
      <h2>Last {chartDays} days</h2>
      <ReceivedChart
        sums={sums}
        zone={
          <OwnersLink request={request} to={zonePath.slice(base.length)}>
            {parts.records.state.zone()}
          </OwnersLink>
        }
      />
      <LatestPayments request={request} />
      <LatestOrders request={request} />
      {isOwner ? <StatusLine health={parts.health()} alarms={findings.length} /> : null}
    </Layout>
  );
}

interface SectionHeadProps {
  readonly title: string;
  readonly children?: Child;
}

const SectionHead = ({ title, children }: SectionHeadProps) => (
  <div class="under">
    <h2>{title}</h2>
    {children}
  </div>
);

const LatestPayments = ({ request }: { readonly request: PageRequest }) => {
  const rows = request.parts.records.paymentView.list({ limit: maxRows });
  return (
    <>
      <SectionHead title="Latest payments">
        {rows.length === 0 ? null : <a href={`${base}/payments`}>All payments →</a>}
      </SectionHead>
      {rows.length === 0 ? (
        <p class="empty">
          No payments yet. <FirstPayment request={request} />
        </p>
      ) : (
        <PaymentTable request={request} rows={rows} />
      )}
    </>
  );
};

const LatestOrders = ({ request }: { readonly request: PageRequest }) => {
  const rows = request.parts.records.orderView.list({ limit: maxRows });
  if (rows.length === 0) return null;
  return (
    <>
      <SectionHead title="Latest orders">
        <a href={ordersPath}>All orders →</a>
      </SectionHead>
      <OrderTable request={request} label="Latest orders" rows={rows} />
    </>
  );
};

interface StatusLineProps {
  readonly health: HealthReport;
  readonly alarms: number;
}

const StatusLine = ({ health: { network, electrum, version }, alarms }: StatusLineProps) => (
  <p class="status">
    <small>
      {[
        network,
        electrum.height === null ? 'no block yet' : `block ${electrum.height.toLocaleString('en')}`,
        electrum.server ?? 'no Electrum server',
        `paygate ${version}`,
        alarms === 0 ? 'No alarms.' : formatCount(alarms, 'alarm'),
      ].join(' · ')}
    </small>
  </p>
);

async function dismissRestored(request: PageRequest): Promise<ActionResult> {
  const { state, database } = request.parts.records;
  await database.write((tx) => {
    state.copied.write(tx, { ...state.copied.read(), text: '' });
    recordChange(request, tx, 'alarm.dismiss', { alarm: 'restored-database' });
  });
  return { to: base };
}
