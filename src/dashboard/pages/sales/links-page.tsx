// The payment links, the newest first, and the form of a new one.

import { parseLinkInput } from '../../../domain/order/link-input.ts';
import { linkAmount } from '../../../domain/order/link-json.ts';
import { idBytes, idOf } from '../../../domain/order/order-id.ts';
import type { LinkRow } from '../../../store/orders/link-view.ts';
import { requireRunning } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { wholeNumber } from '../../parts/form-fields.ts';
import { AddStoreFirst, Form, StoreSelect } from '../../parts/form-parts.tsx';
import { Layout, Table } from '../../parts/layout.tsx';
import {
  Empty,
  ListFilters,
  Pager,
  queryNumber,
  queryStore,
  rowsOfPage,
  rowsPerQuery,
} from '../../parts/listing.tsx';
import { LocalNote } from '../../parts/local-note.tsx';
import { LinkFields, linkBodyIn, readingLink } from './link-fields.tsx';

const here = `${base}/links`;

export const linksPage: Page = {
  path: '/links',
  show(request) {
    const rows = request.parts.records.linkView.list({
      storeId: queryStore(request) ?? undefined,
      beforeId: queryNumber(request, 'before'),
      limit: rowsPerQuery,
    });
    return (
      <Layout request={request} title="Links" add={{ href: `${here}/new`, text: 'Add a link' }}>
        <p>
          A link makes orders for your customers: payment link, button and donation page. A counter
          has a <a href={`${base}/tills`}>till</a>.
        </p>
        <LocalNote url={request.parts.records.orderView.baseUrl} />
        <ListFilters request={request} path={here} />
        {rows.length === 0 ? (
          <Empty request={request} noun="links" />
        ) : (
          <LinkTable request={request} rows={rowsOfPage(rows)} />
        )}
        <Pager request={request} rows={rows} />
      </Layout>
    );
  },
};

interface LinkTableProps {
  readonly request: PageRequest;
  readonly rows: readonly LinkRow[];
}

const LinkTable = ({ request, rows }: LinkTableProps) => (
  <Table
    label="Links"
    heads={['Title', 'Amount', 'State', { number: 'Orders' }, { number: 'Paid' }, 'Created']}
    isList
  >
    {rows.map((row) => {
      const link = request.parts.records.linkView.json(row);
      return (
        <tr>
          <td>
            <a class="whole" href={`${here}/${row.id}`}>
              {row.title}
            </a>
          </td>
          <td>{linkAmount(link)}</td>
          <td>{row.isActive ? 'On' : 'Off'}</td>
          <td class="number">{link.order_count}</td>
          <td class="number">{link.paid_count}</td>
          <td>
            <Time at={row.createdAt} />
          </td>
        </tr>
      );
    })}
  </Table>
);

export const newLinkPage: Page = {
  path: '/links/new',
  show(request) {
    const stores = request.parts.records.catalog.stores();
    const [first] = stores;
    return (
      <Layout request={request} title="Add a link">
        {first === undefined ? (
          <AddStoreFirst />
        ) : (
          <Form request={request} action="add" button="Add the link" needsPassword>
            <StoreSelect request={request} form="add" />
            <LinkFields request={request} form="add" currency={first.currency} />
          </Form>
        )}
      </Layout>
    );
  },
  actions: { add },
};

async function add(request: PageRequest): Promise<ActionResult> {
  const { parts, now } = request;
  const { links, catalog, database } = parts.records;
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const input = readingLink(() => parseLinkInput(linkBodyIn(request)));
  await requireRecentPassword(request);
  const publicId = idOf('lnk', parts.world.randomBytes(idBytes));
  const { id } = await database.write((tx) => {
    requireRunning(catalog.store(storeId));
    recordChange(request, tx, 'link.add', { link: publicId }, storeId);
    return links.create(tx, now, { ...input, publicId, storeId });
  });
  return { to: `${here}/${id}?done=link-added` };
}
