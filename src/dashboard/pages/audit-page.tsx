// The audit log: what was changed here, through the API and by commands.

import { actorOf } from '../../store/records/audit.ts';
import { Layout, Table, Time } from '../layout.tsx';
import type { Page, Visit } from '../page.ts';
import { askedNumber, Pager, rowsRead, rowsShown } from './listing.tsx';

export const auditPage: Page = { path: '/settings/audit', show: (visit) => auditLog(visit) };

function auditLog(visit: Visit) {
  const rows = visit.parts.store.audit.list(rowsRead, askedNumber(visit, 'before'));
  return (
    <Layout visit={visit} title="Changes">
      <Table label="Changes" heads={['When', 'Who', 'What', 'Store', 'Values']}>
        {rowsShown(rows).map((row) => (
          <tr>
            <td>
              <Time at={row.at} />
            </td>
            <td>{actorOf(row)}</td>
            <td>{row.action}</td>
            <td>{row.storeId}</td>
            <td>
              <code>{row.detail}</code>
            </td>
          </tr>
        ))}
      </Table>
      <Pager visit={visit} rows={rows} />
    </Layout>
  );
}
