// The callbacks, newest first: owed, delivered, overtaken, given up, and those whose answer is doubted.

import { formatDoubt } from '../../domain/callback-answer.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { CallbackState } from '../../store/db/schema.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import type { CallbackFilter, CallbackRow } from '../../store/views/callback-view.ts';
import { note } from '../audit-entry.ts';
import { wholeNumber } from '../form-fields.ts';
import { Form, Layout, Note, Select, Table, Time } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import {
  asked,
  askedChoice,
  askedNumber,
  Choice,
  Filters,
  Pager,
  rowsRead,
  rowsShown,
  StoreChoice,
  withQuery,
} from './listing.tsx';

const here = `${base}/callbacks`;

const callbackStates: Readonly<Record<CallbackState, string>> = {
  owed: 'owed',
  held: 'held back, its payment is gone',
  delivered: 'delivered',
  superseded: 'overtaken by a newer one',
  exhausted: 'given up',
};

/** The same of one, whose store may be called no more. */
export const stateOf = (state: CallbackState, { callbacksStopped }: StoreRow): string =>
  callbacksStopped && state === 'owed'
    ? 'not sent: the callbacks of its store were stopped'
    : callbackStates[state];

const filters = ['owed', 'held', 'delivered', 'superseded', 'exhausted', 'flagged'] as const;

export const callbacksPage: Page = {
  path: '/callbacks',
  show: (visit) => callbacks(visit),
  actions: {
    resend: resendChosen,
    'resend-failed': (visit) => resendAll(visit, 'failed'),
    'resend-doubtful': (visit) => resendAll(visit, 'doubtful'),
  },
};

function callbacks(visit: Visit) {
  const filter = filterOf(visit);
  const rows = visit.parts.store.outbox.list(filter);
  return (
    <Layout visit={visit} title="Callbacks">
      <Note visit={visit} />
      <Filters path={here}>
        <Choice
          visit={visit}
          name="state"
          label="State"
          options={filters.map((state) => [state, nameOf(state)] as const)}
        />
        <StoreChoice visit={visit} />
      </Filters>
      {rows.length === 0 ? (
        <p>There is no such callback.</p>
      ) : (
        <Form visit={visit} does="resend" button="Send the chosen ones again">
          <CallbackTable rows={rowsShown(rows)} />
        </Form>
      )}
      <Pager visit={visit} rows={rows} />
      <Failed visit={visit} />
    </Layout>
  );
}

const nameOf = (state: (typeof filters)[number]): string =>
  state === 'flagged' ? 'delivered, but the answer is doubtful' : callbackStates[state];

function filterOf(visit: Visit): CallbackFilter {
  const state = askedChoice(visit, 'state', filters);
  return {
    storeId: askedNumber(visit, 'store'),
    ...(state === 'flagged' ? { doubted: true } : { state }),
    beforeId: askedNumber(visit, 'before'),
    limit: rowsRead,
  };
}

const CallbackTable = ({ rows }: { readonly rows: readonly CallbackRow[] }) => (
  <Table
    label="Callbacks"
    onPhone={4}
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
        <td class={row.state === 'exhausted' ? 'bad' : undefined}>{callbackStates[row.state]}</td>
        <td>{row.attemptCount}</td>
        <td>{lastAnswer(row)}</td>
        <td>
          <code>{row.address}</code>
        </td>
      </tr>
    ))}
  </Table>
);

const lastAnswer = (row: CallbackRow) => (
  <>
    {wordsOf(row)}
    {row.confirmAt === null ? null : (
      <>
        ; sent again <Time at={row.confirmAt} />
      </>
    )}
  </>
);

function wordsOf({ reason, doubt, outcome }: CallbackRow): string {
  if (doubt !== null) return `delivered, but the answer ${formatDoubt(doubt)}`;
  return reason ?? outcome ?? '';
}

const Failed = ({ visit }: { readonly visit: Visit }) => {
  // One that was removed may still be called; it stands behind the others.
  const rows = visit.parts.store.catalog
    .stores({ archived: true })
    .filter(({ callbacksStopped }) => !callbacksStopped)
    .sort((one, other) => Number(one.archivedAt !== null) - Number(other.archivedAt !== null));
  return rows.length === 0 ? null : (
    <section aria-labelledby="failed">
      <h2 id="failed">Send all failed ones again</h2>
      <p>Those that were given up, and those that wait after a failure.</p>
      <Form visit={visit} does="resend-failed" button="Send them">
        <OfStore visit={visit} rows={rows} />
      </Form>
      <h2>Send all doubtful ones again</h2>
      <p>Those that were delivered, but whose last answer is doubtful.</p>
      <Form visit={visit} does="resend-doubtful" button="Send them">
        <OfStore visit={visit} rows={rows} />
      </Form>
    </section>
  );
};

interface OfStoreProps {
  readonly visit: Visit;
  readonly rows: readonly StoreRow[];
}

const OfStore = ({ visit, rows }: OfStoreProps) => (
  <Select
    name="store"
    label="Of the store"
    options={rows.map(
      ({ id, name, archivedAt }) => [id, archivedAt === null ? name : `${name} (removed)`] as const,
    )}
    chosen={asked(visit, 'store')}
  />
);

async function resendChosen(visit: Visit): Promise<Outcome> {
  const ids = visit.form.getAll('id').map(Number);
  if (ids.length === 0 || !ids.every(Number.isSafeInteger)) {
    throw new PaygateError('invalid', 'Choose which ones.');
  }
  const { outbox, database } = visit.parts.store;
  await database.write((tx) => {
    for (const id of ids) outbox.resend(tx, visit.now, id);
    note(visit, tx, 'callback.resend', { ids });
  });
  visit.parts.onCallbacks();
  return { to: withQuery(visit, { done: 'resent' }) };
}

async function resendAll(visit: Visit, which: 'failed' | 'doubtful'): Promise<Outcome> {
  const storeId = wholeNumber(visit, 'store', 1, Number.MAX_SAFE_INTEGER);
  const { outbox, database } = visit.parts.store;
  const resend = which === 'failed' ? outbox.resendFailed : outbox.resendDoubtful;
  const count = await database.write((tx) => {
    const resent = resend(tx, visit.now, storeId, 0);
    note(visit, tx, `callback.resend-${which}`, { count: resent }, storeId);
    return resent;
  });
  visit.parts.onCallbacks();
  return { to: withQuery(visit, { done: count === 0 ? `none-${which}` : 'resent' }) };
}
