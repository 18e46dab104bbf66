// The Deliveries section: the callbacks of every store, newest first, and buttons to resend them.

import { formatDoubt } from '../../domain/callback-answer.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { CallbackState } from '../../store/db/schema.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import type { CallbackFilter, CallbackRow } from '../../store/views/callback-view.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { wholeNumber } from '../form-fields.ts';
import { Form, Select } from '../form-parts.tsx';
import { DoneNote, Layout, Table } from '../layout.tsx';
import { type ActionResult, base, type Page, type PageRequest } from '../page.ts';
import {
  FilterForm,
  FilterSelect,
  Pager,
  queryChoice,
  queryNumber,
  queryText,
  rowsOfPage,
  rowsPerQuery,
  StoreFilter,
  withQuery,
} from './listing.tsx';

const here = `${base}/callbacks`;

const stateTexts: Readonly<Record<CallbackState, string>> = {
  owed: 'Pending',
  held: 'On hold: its payment is gone',
  delivered: 'Delivered',
  superseded: 'Superseded by a newer one',
  exhausted: 'Failed',
};

type StateRow = Pick<CallbackRow, 'state' | 'attemptCount'>;

const stateText = ({ state, attemptCount }: StateRow): string =>
  state === 'owed' && attemptCount > 0 ? 'Retrying' : stateTexts[state];

export const deliveryState = (row: StateRow, store: StoreRow): string =>
  (store.callbacksStopped || store.callbackUrl === '') && row.state === 'owed'
    ? 'Stopped: its store sends no callbacks'
    : stateText(row);

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
  const filter = filterOf(request);
  const rows = request.parts.store.outbox.list(filter);
  return (
    <Layout request={request} title="Deliveries">
      <DoneNote request={request} />
      <p>
        Callbacks of every store. <a href={`${base}/events`}>Webhook events</a> have a list of their
        own.
      </p>
      <FilterForm path={here}>
        <FilterSelect
          request={request}
          name="state"
          label="State"
          options={filters.map((state) => [state, filterText(state)] as const)}
        />
        <StoreFilter request={request} />
      </FilterForm>
      {rows.length === 0 ? (
        <p>No deliveries found.</p>
      ) : (
        <Form request={request} action="resend" button="Resend selected">
          <CallbackTable rows={rowsOfPage(rows)} />
        </Form>
      )}
      <Pager request={request} rows={rows} />
      <ResendAll request={request} />
    </Layout>
  );
}

function filterText(state: (typeof filters)[number]): string {
  if (state === 'flagged') return 'Delivered, doubtful response';
  return state === 'owed' ? 'Pending or retrying' : stateTexts[state];
}

function filterOf(request: PageRequest): CallbackFilter {
  const state = queryChoice(request, 'state', filters);
  return {
    storeId: queryNumber(request, 'store'),
    ...(state === 'flagged' ? { doubted: true } : { state }),
    beforeId: queryNumber(request, 'before'),
    limit: rowsPerQuery,
  };
}

const CallbackTable = ({ rows }: { readonly rows: readonly CallbackRow[] }) => (
  <Table
    label="Deliveries"
    isList
    heads={[
      <span class="hidden">Select</span>,
      'Created',
      'Status',
      'State',
      'Attempts',
      'Last response',
      'Address',
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
          <a href={`${here}/${row.id}`}>
            <Time at={row.createdAt} />
          </a>
        </td>
        <td>{row.status}</td>
        <td class={row.state === 'exhausted' ? 'bad' : undefined}>{stateText(row)}</td>
        <td>{row.attemptCount}</td>
        <td>{LastResponse(row)}</td>
        <td>
          <code>{row.address}</code>
        </td>
      </tr>
    ))}
  </Table>
);

const LastResponse = (row: CallbackRow) => (
  <>
    {responseText(row)}
    {row.confirmAt === null ? null : (
      <>
        ; retry <Time at={row.confirmAt} />
      </>
    )}
  </>
);

function responseText({ reason, doubt, outcome }: CallbackRow): string {
  if (doubt !== null) return `delivered, but the response ${formatDoubt(doubt)}`;
  return reason ?? outcome ?? '';
}

const ResendAll = ({ request }: { readonly request: PageRequest }) => {
  // A removed store may still send callbacks; it is listed after the others.
  const rows = request.parts.store.catalog
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
    options={rows.map(
      ({ id, name, archivedAt }) => [id, archivedAt === null ? name : `${name} (removed)`] as const,
    )}
    chosen={queryText(request, 'store')}
  />
);

async function resendChosen(request: PageRequest): Promise<ActionResult> {
  const ids = request.form.getAll('id').map(Number);
  if (ids.length === 0 || !ids.every(Number.isSafeInteger)) {
    throw new PaygateError('invalid', 'Select at least one delivery.');
  }
  const { outbox, database } = request.parts.store;
  await database.write((tx) => {
    for (const id of ids) outbox.resend(tx, request.now, id);
    recordChange(request, tx, 'callback.resend', { ids });
  });
  request.parts.store.events.emit('retryRequested');
  return { to: withQuery(request, { done: 'resent' }) };
}

async function resendAll(
  request: PageRequest,
  which: 'failed' | 'doubtful',
): Promise<ActionResult> {
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const { outbox, database } = request.parts.store;
  const resend = which === 'failed' ? outbox.resendFailed : outbox.resendDoubtful;
  const count = await database.write((tx) => {
    const resent = resend(tx, request.now, storeId, 0);
    recordChange(request, tx, `callback.resend-${which}`, { count: resent }, storeId);
    return resent;
  });
  request.parts.store.events.emit('retryRequested');
  return { to: withQuery(request, { done: count === 0 ? `none-${which}` : 'resent' }) };
}
