// The first page: what is wrong, and how things stand.

import type { HealthReport } from '../../http/health.ts';
import { Layout } from '../layout.tsx';
import type { Page, Visit } from '../visit.ts';

export const overviewPage: Page = { path: '/', show: (visit) => overview(visit) };

function overview(visit: Visit) {
  const health = visit.parts.health();
  return (
    <Layout visit={visit} title="Overview" live>
      <Alarms warnings={health.warnings} />
      <Standing health={health} />
    </Layout>
  );
}

/** Each says in words what happened and what to do. */
const Alarms = ({ warnings }: Pick<HealthReport, 'warnings'>) =>
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
