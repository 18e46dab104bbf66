// The callbacks, newest first: owed, delivered, overtaken, given up, and those whose answer is doubted.

import { formatDoubt } from '../../domain/callback-answer.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { CallbackState } from '../../store/db/schema.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import type { CallbackFilter, CallbackRow } from '../../store/views/callback-view.ts';
import { recordAudit } from '../audit-entry.ts';
import { wholeNumber } from '../form-fields.ts';
import { DoneNote, Form, Layout, Select, Table, Time } from '../layout.tsx';
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
  owed: 'owed',
  held: 'held back, its payment is gone',
  delivered: 'delivered',
  superseded: 'overtaken by a newer one',
  exhausted: 'given up',
};

/** The same of one, whose store may be called no more. */
export const deliveryState = (state: CallbackState, { callbacksStopped }: StoreRow): string =>
  callbacksStopped && state === 'owed'
    ? 'not sent: the callbacks of its store were stopped'
    : stateTexts[state];

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
    <Layout request={request} title="Callbacks">
      <DoneNote request={request} />
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
        <p>There is no such callback.</p>
      ) : (
        <Form request={request} action="resend" button="Send the chosen ones again">
          <CallbackTable rows={rowsOfPage(rows)} />
        </Form>
      )}
      <Pager request={request} rows={rows} />
      <ResendAll request={request} />
    </Layout>
  );
}

const filterText = (state: (typeof filters)[number]): string =>
  state === 'flagged' ? 'delivered, but the answer is doubtful' : stateTexts[state];

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
    label="Callbacks"
    phoneColumns={4}
    heads={[
      <span class="hidden">Choose</span>,
      'Made',
      'Status',
      'State',
      'Attempts',
      'Last answer',
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
            aria-label={`Choose callback ${row.id}`}
          />
        </td>
        <td>
          <a href={`${here}/${row.id}`}>
            <Time at={row.createdAt} />
          </a>
        </td>
        <td>{row.status}</td>
        <td class={row.state === 'exhausted' ? 'bad' : undefined}>{stateTexts[row.state]}</td>
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
        ; sent again <Time at={row.confirmAt} />
      </>
    )}
  </>
);

function responseText({ reason, doubt, outcome }: CallbackRow): string {
  if (doubt !== null) return `delivered, but the answer ${formatDoubt(doubt)}`;
  return reason ?? outcome ?? '';
}

const ResendAll = ({ request }: { readonly request: PageRequest }) => {
  // One that was removed may still be called; it stands behind the others.
  const rows = request.parts.store.catalog
    .stores({ archived: true })
    .filter(({ callbacksStopped }) => !callbacksStopped)
    .sort((one, other) => Number(one.archivedAt !== null) - Number(other.archivedAt !== null));
  return rows.length === 0 ? null : (
    <section aria-labelledby="failed">
      <h2 id="failed">Send all failed ones again</h2>
      <p>Those that were given up, and those that wait after a failure.</p>
      <Form request={request} action="resend-failed" button="Send them">
        <StoreField request={request} rows={rows} />
      </Form>
      <h2>Send all doubtful ones again</h2>
      <p>Those that were delivered, but whose last answer is doubtful.</p>
      <Form request={request} action="resend-doubtful" button="Send them">
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
    label="Of the store"
    options={rows.map(
      ({ id, name, archivedAt }) => [id, archivedAt === null ? name : `${name} (removed)`] as const,
    )}
    chosen={queryText(request, 'store')}
  />
);

async function resendChosen(request: PageRequest): Promise<ActionResult> {
  const ids = request.form.getAll('id').map(Number);
  if (ids.length === 0 || !ids.every(Number.isSafeInteger)) {
    throw new PaygateError('invalid', 'Choose which ones.');
  }
  const { outbox, database } = request.parts.store;
  await database.write((tx) => {
    for (const id of ids) outbox.resend(tx, request.now, id);
    recordAudit(request, tx, 'callback.resend', { ids });
  });
  request.parts.onCallbacksDue();
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
    recordAudit(request, tx, `callback.resend-${which}`, { count: resent }, storeId);
    return resent;
  });
  request.parts.onCallbacksDue();
  return { to: withQuery(request, { done: count === 0 ? `none-${which}` : 'resent' }) };
}
