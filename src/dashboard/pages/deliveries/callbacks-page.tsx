// The Deliveries section: the callbacks of every store, newest first, and buttons to resend them.

import { deliveryWords, formatStatus } from '../../../domain/order/state-words.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { ListPlace } from '../../../lib/row-pages.ts';
import type { SearchedPage } from '../../../store/db/searched-list.ts';
import type { CallbackRow } from '../../../store/delivery/callback-view.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { Amount, Pill, Short, Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { wholeNumber } from '../../parts/form-fields.ts';
import { Form, Select } from '../../parts/form-parts.tsx';
import { DoneNote, Layout, Table } from '../../parts/layout.tsx';
import {
  Empty,
  ListFilters,
  ListFoot,
  queryChoice,
  queryNumber,
  queryText,
  rowsOfPage,
  rowsPerQuery,
  SearchedPart,
  storeOption,
  withQuery,
} from '../../parts/listing.tsx';
import { searchOf } from '../sales/payments-page.tsx';
import { deliveryState, responseText } from './delivery-state.ts';
import { DeliveryTabs } from './delivery-tabs.tsx';

const here = `${base}/callbacks`;

const filters = ['owed', 'held', 'delivered', 'superseded', 'exhausted', 'flagged'] as const;

export const callbacksPage: Page = {
  path: '/callbacks',
  show: (request) => callbacksMarkup(request),
  actions: {
    resend: resendChosen,
    'resend-failed': (request) => resendAll(request, 'failed'),
    'resend-doubtful': (request) => resendAll(request, 'doubtful'),
  },
};

function callbacksMarkup(request: PageRequest) {
  const beforeId = queryNumber(request, 'before');
  const { rows, goesOnAt } = callbackSearch(request)({ beforeId, limit: rowsPerQuery });
  return (
    <Layout request={request} title="Deliveries">
      <DoneNote request={request} />
      <DeliveryTabs request={request} />
      <ListFilters
        request={request}
        path={here}
        search="Address, transaction or number"
        states={filters.map((state) => [state, filterText(state)] as const)}
      />
      {goesOnAt === undefined ? null : <SearchedPart noun="deliveries" />}
      {rows.length === 0 && goesOnAt === undefined ? (
        <Empty request={request} noun="deliveries">
          <a href={`${base}/stores`}>Send a test callback</a> from the page of a store.
        </Empty>
      ) : rows.length === 0 ? null : (
        <Form request={request} action="resend" button="Resend selected">
          <CallbackTable request={request} rows={rowsOfPage(rows)} />
        </Form>
      )}
      <ListFoot request={request} rows={rows} goesOnAt={goesOnAt} noun="callback" path={here} />
      <ResendAll request={request} />
    </Layout>
  );
}

const filterText = (state: (typeof filters)[number]): string =>
  state === 'flagged' ? 'Delivered, doubtful response' : deliveryWords[state].text;

/** Reads the callbacks of the page's query, page by page. @throws PaygateError invalid */
export function callbackSearch(
  request: PageRequest,
): (place: ListPlace) => SearchedPage<CallbackRow> {
  const state = queryChoice(request, 'state', filters);
  const filter = {
    storeId: queryNumber(request, 'store'),
    ...(state === 'flagged' ? { doubted: true } : { state }),
  };
  const { outbox } = request.parts.records;
  const text = queryText(request, 'q') ?? '';
  const search = /^\d{1,15}$/.test(text) ? { id: Number(text) } : searchOf(request);
  return (place) =>
    search === undefined
      ? { rows: [], goesOnAt: undefined }
      : outbox.page({ ...filter, ...search, ...place });
}

interface CallbackTableProps {
  readonly request: PageRequest;
  readonly rows: readonly CallbackRow[];
}

const CallbackTable = ({ request, rows }: CallbackTableProps) => (
  <Table
    label="Deliveries"
    isList
    isChosen
    heads={[
      <span class="hidden">Select</span>,
      'Payment',
      'State',
      'Created',
      'Status',
      'Last response',
      { number: 'Attempts' },
    ]}
  >
    {rows.map((row) => (
      <tr>
        <td>
          <input
            type="checkbox"
            name="id"
            value={row.id}
            aria-label={`Select delivery ${row.id}`}
          />
        </td>
        <td>
          <a class="whole" href={`${here}/${row.id}`}>
            <Amount sat={row.valueSat} /> <Short text={row.address} />
          </a>
        </td>
        <td>
          <Pill {...deliveryState(row, request.parts.records.catalog.store(row.storeId))} />
        </td>
        <td>
          <Time at={row.createdAt} />
        </td>
        <td>{formatStatus(row.status)}</td>
        <td>
          {responseText(row)}
          {row.confirmAt === null ? null : (
            <>
              ; retry <Time at={row.confirmAt} />
            </>
          )}
        </td>
        <td class="number">{row.attemptCount}</td>
      </tr>
    ))}
  </Table>
);

const ResendAll = ({ request }: { readonly request: PageRequest }) => {
  // A removed store may still send callbacks; it is listed after the others.
  const rows = request.parts.records.catalog
    .stores({ archived: true })
    .filter(({ callbacksStopped, callbackUrl }) => !callbacksStopped && callbackUrl !== '')
    .sort((one, other) => Number(one.archivedAt !== null) - Number(other.archivedAt !== null));
  return rows.length === 0 ? null : (
    <section aria-labelledby="failed">
      <h2 id="failed">Resend all failed deliveries</h2>
      <p>Failed deliveries, and those retrying after a failure.</p>
      <Form request={request} action="resend-failed" button="Resend failed">
        <StoreField request={request} rows={rows} />
      </Form>
      <h2>Resend all doubtful deliveries</h2>
      <p>Deliveries that succeeded, but whose last response is doubtful.</p>
      <Form request={request} action="resend-doubtful" button="Resend doubtful">
        <StoreField request={request} rows={rows} />
      </Form>
    </section>
  );
};

interface StoreFieldProps {
  readonly request: PageRequest;
  readonly rows: readonly StoreRow[];
}

const StoreField = ({ request, rows }: StoreFieldProps) => (
  <Select
    name="store"
    label="Store"
    options={rows.map(storeOption)}
    chosen={queryText(request, 'store')}
  />
);

async function resendChosen(request: PageRequest): Promise<ActionResult> {
  const ids = request.form.getAll('id').map(Number);
  if (ids.length === 0 || !ids.every(Number.isSafeInteger)) {
    throw new PaygateError('invalid', 'Select at least one delivery.');
  }
  const { outbox, database } = request.parts.records;
  await database.write((tx) => {
    for (const id of ids) outbox.resend(tx, request.now, id);
    recordChange(request, tx, 'callback.resend', { ids });
  });
  request.parts.records.events.emit('retryRequested');
  return { to: withQuery(request, { done: 'resent' }) };
}

async function resendAll(
  request: PageRequest,
  which: 'failed' | 'doubtful',
): Promise<ActionResult> {
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const { outbox, database } = request.parts.records;
  const resend = which === 'failed' ? outbox.resendFailed : outbox.resendDoubtful;
  const count = await database.write((tx) => {
    const resent = resend(tx, request.now, storeId, 0);
    recordChange(request, tx, `callback.resend-${which}`, { count: resent }, storeId);
    return resent;
  });
  request.parts.records.events.emit('retryRequested');
  return { to: withQuery(request, { done: count === 0 ? `none-${which}` : 'resent' }) };
}
