// The audit log: changes made in the dashboard, through the API and by commands, in sentences.

import { type AuditRow, actorOf, commandClient } from '../../../store/access/audit.ts';
import { Time } from '../../../web/values.tsx';
import type { Page, PageRequest } from '../../page.ts';
import { sentenceOf } from '../../parts/audit-sentences.ts';
import { Layout, RowTable } from '../../parts/layout.tsx';
import { Pager, queryNumber, rowsOfPage, rowsPerQuery } from '../../parts/listing.tsx';

export const auditPage: Page = { path: '/settings/audit', show: (request) => auditMarkup(request) };

function auditMarkup(request: PageRequest) {
  const { audit, catalog } = request.parts.records;
  const rows = audit.list(rowsPerQuery, queryNumber(request, 'before'));
  const names = new Map(catalog.stores({ archived: true }).map(({ id, name }) => [id, name]));
  return (
    <Layout request={request} title="Audit log">
      {rows.length === 0 ? <p>Nothing was changed yet.</p> : null}
      <RowTable
        label="Audit log"
        rows={rowsOfPage(rows)}
        columns={[
          ['Time', (row) => <Time at={row.at} />],
          ['What', (row) => <Change row={row} />],
          ['Who', actorAt],
          ['Store', (row) => (row.storeId === null ? '' : names.get(row.storeId))],
        ]}
      />
      <Pager request={request} rows={rows} />
    </Layout>
  );
}

const Change = ({ row }: { readonly row: AuditRow }) => (
  <>
    {sentenceOf(row)}.
    <details>
      <summary>Details</summary>
      <code>{row.action}</code> <code>{row.detail}</code>
    </details>
  </>
);

/** `dashboard at 192.0.2.1`: the address of the browser, or of the shop for an API key. */
function actorAt(row: AuditRow): string {
  const { client } = JSON.parse(row.detail) as { readonly client?: unknown };
  const isAddress = typeof client === 'string' && client !== commandClient;
  return isAddress ? `${actorOf(row)} at ${client}` : actorOf(row);
}
