// The audit log: changes made in the dashboard, through the API and by commands.

import { actorOf } from '../../store/records/audit.ts';
import { Time } from '../../web/values.tsx';
import { Layout, Table } from '../layout.tsx';
import type { Page, PageRequest } from '../page.ts';
import { Pager, queryNumber, rowsOfPage, rowsPerQuery } from './listing.tsx';

export const auditPage: Page = { path: '/settings/audit', show: (request) => auditMarkup(request) };

function auditMarkup(request: PageRequest) {
  const rows = request.parts.store.audit.list(rowsPerQuery, queryNumber(request, 'before'));
  return (
    <Layout request={request} title="Audit log">
      <Table label="Audit log" heads={['Time', 'Actor', 'Action', 'Store', 'Details']}>
        {rowsOfPage(rows).map((row) => (
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
      <Pager request={request} rows={rows} />
    </Layout>
  );
}
