// The orders, newest first, with their search and filters.

import { addressToScript, scripthash } from '../../../bitcoin/address.ts';
import { networks } from '../../../bitcoin/network.ts';
import type { OrderStatus } from '../../../domain/order/order.ts';
import { isId } from '../../../domain/order/order-id.ts';
import { orderWords } from '../../../domain/order/state-words.ts';
import { pastedAddress } from '../../../domain/text/pasted-text.ts';
import type { ReadPage } from '../../../lib/row-pages.ts';
import type { OrderRow } from '../../../store/orders/order-view.ts';
import { Money, Pill, Time } from '../../../web/values.tsx';
import { base, isViewer, type Page, type PageRequest } from '../../page.ts';
import { DoneNote, Layout, RowTable } from '../../parts/layout.tsx';
import {
  DayFilters,
  FilterSelect,
  FoundRows,
  ListFilters,
  ListFoot,
  queryChoice,
  queryDays,
  queryNumber,
  queryText,
  rowsPerCount,
  withQuery,
} from '../../parts/listing.tsx';
import { orderPath, ordersPath, priceText } from './order-parts.ts';
import { SearchAnswer, saleSearchLabel } from './search-answer.tsx';

const statuses = Object.keys(orderWords) as OrderStatus[];

/** How many links the filter offers, the newest first. */
const maxLinks = 100;

export const ordersPage: Page = {
  path: '/orders',
  viewers: [],
  show: (request) => ordersMarkup(request),
};

function ordersMarkup(request: PageRequest) {
  const beforeId = queryNumber(request, 'before');
  const { rows, goesOnAt } = orderSearch(request)({ beforeId, limit: rowsPerCount(request) });
  const { linkView } = request.parts.records;
  const links = linkView.list({ limit: maxLinks });
  return (
    <Layout
      request={request}
      title="Orders"
      add={{ href: `${ordersPath}/new`, text: 'Take a payment' }}
      live={beforeId === undefined}
    >
      <DoneNote request={request} />
      <ListFilters
        request={request}
        path={ordersPath}
        search={saleSearchLabel}
        states={statuses.map((status) => [status, orderWords[status].text] as const)}
      >
        {links.length === 0 ? null : (
          <FilterSelect
            request={request}
            name="link"
            label="Link"
            options={links.map(({ id, title }) => [id, title] as const)}
          />
        )}
        <DayFilters request={request} />
      </ListFilters>
      <FoundRows
        request={request}
        found={{ rows, goesOnAt }}
        noun="orders"
        next={
          isViewer(request) ? null : (
            <>
              <a href={`${ordersPath}/new`}>Take a payment</a>,{' '}
              <a href={`${base}/links/new`}>add a link</a>, or let your shop{' '}
              <a href="/docs">make orders</a>.
            </>
          )
        }
        show={(shown) => <OrderTable request={request} label="Orders" rows={shown} />}
      />
      {rows.length === 0 && beforeId === undefined ? (
        <SearchAnswer request={request} list="orders" />
      ) : null}
      <ListFoot request={request} rows={rows} goesOnAt={goesOnAt} noun="order" path={ordersPath}>
        <a href={withQuery(request, { before: undefined }, `${ordersPath}/labels/export`)} download>
          Labels for a wallet
        </a>
      </ListFoot>
    </Layout>
  );
}

/** Reads the orders of the page's query, page by page. @throws PaygateError invalid */
export function orderSearch(request: PageRequest): ReadPage<OrderRow> {
  const { orderView, saleSearch } = request.parts.records;
  const { since, until } = queryDays(request);
  const filter = {
    storeId: queryNumber(request, 'store'),
    status: queryChoice(request, 'state', statuses),
    linkId: queryNumber(request, 'link'),
    createdAfter: since,
    createdBefore: until,
  };
  const text = queryText(request, 'q');
  return text === undefined
    ? (place) => ({ rows: orderView.list({ ...filter, ...place }) })
    : (place) => saleSearch.orders(text, filter, place);
}

/** The order with this id, or of this address. */
export function orderNamed({ parts }: PageRequest, text: string): OrderRow | undefined {
  const { orderView, addresses, network } = parts.records;
  const pasted = pastedAddress(text);
  if (isId('ord', pasted)) return orderView.byPublicId(pasted);
  try {
    const found = addresses.byScripthash(scripthash(addressToScript(pasted, networks[network])));
    return found && orderView.byAddressId(found.id);
  } catch {
    return undefined;
  }
}

interface OrderTableProps {
  readonly request: PageRequest;
  readonly label: string;
  readonly rows: readonly OrderRow[];
}

export const OrderTable = ({ request, label, rows }: OrderTableProps) => {
  const { catalog, linkView } = request.parts.records;
  const titleOf = ({ linkId }: OrderRow) => (linkId === null ? null : linkView.byId(linkId)?.title);
  const names = new Map(
    catalog.stores({ archived: true }).map(({ id, name }) => [id, name] as const),
  );
  return (
    <RowTable
      label={label}
      rows={rows}
      href={(row) => orderPath(row.publicId)}
      columns={[
        ['Amount', (row) => <Money sat={row.amountSat} worth={priceText(row)} />, 'number'],
        ['State', (row) => <Pill word={orderWords[row.status]} />],
        ['Reference', (row) => row.reference, 'clipped'],
        ['Description', (row) => row.description ?? titleOf(row), 'clipped'],
        ['Created', (row) => <Time at={row.createdAt} />],
        ['Store', (row) => names.get(row.storeId)],
      ]}
    />
  );
};
