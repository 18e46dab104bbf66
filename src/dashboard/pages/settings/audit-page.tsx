// The audit log: changes made in the dashboard, through the API and by commands, in sentences.

import { type AuditRow, actorOf, commandClient } from '../../../store/access/audit.ts';
import { Time } from '../../../web/values.tsx';
import type { Page, PageRequest } from '../../page.ts';
import { sentenceOf } from '../../parts/audit-sentences.ts';
import { Layout, Table } from '../../parts/layout.tsx';
import { Pager, queryNumber, rowsOfPage, rowsPerQuery } from '../../parts/listing.tsx';

export const auditPage: Page = { path: '/settings/audit', show: (request) => auditMarkup(request) };

function auditMarkup(request: PageRequest) {
  const { audit, catalog } = request.parts.records;
  const rows = audit.list(rowsPerQuery, queryNumber(request, 'before'));
  const names = new Map(catalog.stores({ archived: true }).map(({ id, name }) => [id, name]));
  return (
    <Layout request={request} title="Audit log">
      {rows.length === 0 ? <p>Nothing was changed yet.</p> : null}
      <Table label="Audit log" heads={['Time', 'What', 'Who', 'Store']}>
        {rowsOfPage(rows).map((row) => (
          <tr>
            <td>
              <Time at={row.at} />
            </td>
            <td>
              {sentenceOf(row)}.
              <details>
                <summary>Details</summary>
                <code>{row.action}</code> <code>{row.detail}</code>
              </details>
            </td>
            <td>{actorAt(row)}</td>
            <td>{row.storeId === null ? '' : names.get(row.storeId)}</td>
          </tr>
        ))}
      </Table>
      <Pager request={request} rows={rows} />
    </Layout>
  );
}

/** `dashboard at 192.0.2.1`: the address of the browser, or of the shop for an API key. */
function actorAt(row: AuditRow): string {
  const { client } = JSON.parse(row.detail) as { readonly client?: unknown };
  const isAddress = typeof client === 'string' && client !== commandClient;
  return isAddress ? `${actorOf(row)} at ${client}` : actorOf(row);
}
