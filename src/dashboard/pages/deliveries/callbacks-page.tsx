// The Deliveries section: the callbacks of every store, newest first, buttons to resend them, and
// one callback with its request and its attempts.

import { redactedTarget } from '../../../domain/delivery/callback.ts';
import { deliveryWords, formatStatus } from '../../../domain/order/state-words.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { ListPlace } from '../../../lib/row-pages.ts';
import type { SearchedPage } from '../../../store/db/searched-list.ts';
import type { CallbackRow } from '../../../store/delivery/callback-view.ts';
import type { Records } from '../../../store/open-records.ts';
import { Amount, Pill, Short, Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { wholeNumber } from '../../parts/form-fields.ts';
import { Form, Select } from '../../parts/form-parts.tsx';
import { RowTable } from '../../parts/layout.tsx';
import {
  FoundRows,
  ListFoot,
  queryChoice,
  queryNumber,
  queryText,
  rowsPerQuery,
  storeOption,
  withQuery,
} from '../../parts/listing.tsx';
import { searchOf } from '../sales/payments-page.tsx';
import {
  DeliveryList,
  DeliveryPage,
  deliveryState,
  resendIn,
  responseText,
} from './delivery-parts.tsx';

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

export const callbackPage: Page = {
  path: '/callbacks/:id',
  show: (request) => callbackMarkup(request),
  actions: {
    async resend(request) {
      const id = idIn(request);
      await resend(request, [id]);
      return { to: `${here}/${id}?done=resent` };
    },
  },
};

function callbacksMarkup(request: PageRequest) {
  const beforeId = queryNumber(request, 'before');
  const found = callbackSearch(request)({ beforeId, limit: rowsPerQuery });
  return (
    <DeliveryList
      request={request}
      title="Deliveries"
      path={here}
      search="Address, transaction or number"
      states={filters.map((state) => [state, filterText(state)] as const)}
    >
      <FoundRows
        request={request}
        found={found}
        noun="deliveries"
        next={
          <>
            <a href={`${base}/stores`}>Send a test callback</a> from the page of a store.
          </>
        }
        show={(rows) => (
          <Form request={request} action="resend" button="Resend selected">
            <CallbackTable stores={request.parts.records.catalog} rows={rows} />
          </Form>
        )}
      />
      <ListFoot request={request} {...found} noun="callback" path={here} />
      <ResendAll request={request} />
    </DeliveryList>
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
  readonly stores: Records['catalog'];
  readonly rows: readonly CallbackRow[];
}

const CallbackTable = ({ stores, rows }: CallbackTableProps) => (
  <RowTable
    label="Deliveries"
    isChosen
    rows={rows}
    href={(row) => `${here}/${row.id}`}
    columns={[
      [<span class="hidden">Select</span>, (row) => <SelectBox id={row.id} />],
      ['Payment', (row) => <PaymentOf row={row} />],
      ['State', (row) => <Pill {...deliveryState(row, stores.store(row.storeId))} />],
      ['Created', (row) => <Time at={row.createdAt} />],
      ['Status', (row) => formatStatus(row.status)],
      ['Last response', (row) => <LastResponse row={row} />],
      ['Attempts', (row) => row.attemptCount, 'number'],
    ]}
  />
);

const SelectBox = ({ id }: { readonly id: number }) => (
  <input type="checkbox" name="id" value={id} aria-label={`Select delivery ${id}`} />
);

const PaymentOf = ({ row }: { readonly row: CallbackRow }) => (
  <>
    <Amount sat={row.valueSat} /> <Short text={row.address} />
  </>
);

const LastResponse = ({ row }: { readonly row: CallbackRow }) => (
  <>
    {responseText(row)}
    {row.confirmAt === null ? null : (
      <>
        ; retry <Time at={row.confirmAt} />
      </>
    )}
  </>
);

const ResendAll = ({ request }: { readonly request: PageRequest }) => {
  // A removed store may still send callbacks; it is listed after the others.
  const rows = request.parts.records.catalog
    .stores({ archived: true })
    .filter(({ callbacksStopped, callbackUrl }) => !callbacksStopped && callbackUrl !== '')
    .sort((one, other) => Number(one.archivedAt !== null) - Number(other.archivedAt !== null));
  const chosen = queryText(request, 'store');
  const storeField = (
    <Select name="store" label="Store" options={rows.map(storeOption)} chosen={chosen} />
  );
  return rows.length === 0 ? null : (
    <section aria-labelledby="failed">
      <h2 id="failed">Resend all failed deliveries</h2>
      <p>Failed deliveries, and those retrying after a failure.</p>
      <Form request={request} action="resend-failed" button="Resend failed">
        {storeField}
      </Form>
      <h2>Resend all doubtful deliveries</h2>
      <p>Deliveries that succeeded, but whose last response is doubtful.</p>
      <Form request={request} action="resend-doubtful" button="Resend doubtful">
        {storeField}
      </Form>
    </section>
  );
};

async function resendChosen(request: PageRequest): Promise<ActionResult> {
  const ids = request.form.getAll('id').map(Number);
  if (ids.length === 0 || !ids.every(Number.isSafeInteger)) {
    throw new PaygateError('invalid', 'Select at least one delivery.');
  }
  await resend(request, ids);
  return { to: withQuery(request, { done: 'resent' }) };
}

const resend = (request: PageRequest, ids: readonly number[]): Promise<void> =>
  resendIn(request, (tx) => {
    for (const id of ids) request.parts.records.outbox.resend(tx, request.now, id);
    recordChange(request, tx, 'callback.resend', { ids });
  });

async function resendAll(
  request: PageRequest,
  which: 'failed' | 'doubtful',
): Promise<ActionResult> {
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const { outbox } = request.parts.records;
  const makeDue = which === 'failed' ? outbox.resendFailed : outbox.resendDoubtful;
  const count = await resendIn(request, (tx) => {
    const resent = makeDue(tx, request.now, storeId, 0);
    recordChange(request, tx, `callback.resend-${which}`, { count: resent }, storeId);
    return resent;
  });
  return { to: withQuery(request, { done: count === 0 ? `none-${which}` : 'resent' }) };
}

function callbackMarkup(request: PageRequest) {
  const { outbox, catalog } = request.parts.records;
  const row = outbox.callback(idIn(request));
  const store = catalog.store(row.storeId);
  return (
    <DeliveryPage
      request={request}
      name={`Delivery ${row.id}`}
      row={row}
      shown={deliveryState(row, store)}
      isSent={row.state === 'owed' && !store.callbacksStopped && store.callbackUrl !== ''}
      facts={[
        ['Payment', <PaymentLink row={row} />],
        ['Status', formatStatus(row.status)],
        ['Request', <code>GET {redactedTarget(store.callbackUrl, row.query)}</code>],
      ]}
      store={store.name}
      eventId={row.eventId}
      attempts={outbox.attempts(row.id)}
    />
  );
}

const PaymentLink = ({ row }: { readonly row: CallbackRow }) => (
  <>
    <a href={`${base}/payments/${row.paymentId}`}>
      <Amount sat={row.valueSat} />
    </a>{' '}
    to <Short text={row.address} />
  </>
);
