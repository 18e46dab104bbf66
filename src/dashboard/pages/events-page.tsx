// Webhook events of every store, newest first, and one event with its body and attempts.

import { redactUrl } from '../../domain/callback.ts';
import type { EventState } from '../../store/db/order-schema.ts';
import type { EventFilter, ListedEvent } from '../../store/views/event-view.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { wholeNumber } from '../form-fields.ts';
import { Form } from '../form-parts.tsx';
import { DoneNote, Layout, Table } from '../layout.tsx';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../page.ts';
import { Attempts } from './delivery-attempts.tsx';
import {
  FilterForm,
  FilterSelect,
  Pager,
  queryChoice,
  queryNumber,
  rowsOfPage,
  rowsPerQuery,
  StoreFilter,
  withQuery,
} from './listing.tsx';

const here = `${base}/events`;

const stateTexts: Readonly<Record<EventState, string>> = {
  unsent: 'Not for the webhook',
  owed: 'Pending',
  delivered: 'Delivered',
  superseded: 'Superseded by a newer one',
  exhausted: 'Failed',
};

const states: readonly EventState[] = ['owed', 'delivered', 'superseded', 'exhausted', 'unsent'];

const stateText = ({ state, attemptCount }: ListedEvent): string =>
  state === 'owed' && attemptCount > 0 ? 'Retrying' : stateTexts[state];

export const eventsPage: Page = {
  path: '/events',
  show: (request) => eventsMarkup(request),
  actions: { 'resend-failed': resendFailed },
};

export const eventPage: Page = {
  path: '/events/:id',
  show: (request) => eventMarkup(request),
  actions: { resend },
};

function filterOf(request: PageRequest): EventFilter {
  return {
    storeId: queryNumber(request, 'store'),
    state: queryChoice(request, 'state', states),
    beforeId: queryNumber(request, 'before'),
    limit: rowsPerQuery,
  };
}

function eventsMarkup(request: PageRequest) {
  const rows = request.parts.store.webhooks.list(filterOf(request));
  return (
    <Layout request={request} title="Webhook events">
      <DoneNote request={request} />
      <FilterForm path={here}>
        <FilterSelect
          request={request}
          name="state"
          label="State"
          options={states.map((state) => [state, stateTexts[state]] as const)}
        />
        <StoreFilter request={request} />
      </FilterForm>
      {rows.length === 0 ? <p>No events found.</p> : <EventTable rows={rowsOfPage(rows)} />}
      <Pager request={request} rows={rows} />
      <ResendFailed request={request} />
    </Layout>
  );
}

const EventTable = ({ rows }: { readonly rows: readonly ListedEvent[] }) => (
  <Table label="Webhook events" heads={['Created', 'Type', 'State', 'Attempts', 'Last response']}>
    {rows.map((row) => (
      <tr>
        <td>
          <a href={`${here}/${row.id}`}>
            <Time at={row.createdAt} />
          </a>
        </td>
        <td>{row.type}</td>
        <td class={row.state === 'exhausted' ? 'bad' : undefined}>{stateText(row)}</td>
        <td>{row.attemptCount}</td>
        <td>{row.reason ?? row.outcome ?? ''}</td>
      </tr>
    ))}
  </Table>
);

/** A button for each store whose webhook receives events. */
const ResendFailed = ({ request }: { readonly request: PageRequest }) => (
  <>
    {request.parts.store.catalog
      .stores()
      .filter(({ webhookUrl }) => webhookUrl !== null)
      .map(({ id, name }) => (
        <Form request={request} action="resend-failed" button={`Resend failed events of ${name}`}>
          <input type="hidden" name="store" value={id} />
        </Form>
      ))}
  </>
);

async function resendFailed(request: PageRequest): Promise<ActionResult> {
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const { webhooks, database, events } = request.parts.store;
  const count = await database.write((tx) => {
    const resent = webhooks.resendFailed(tx, request.now, storeId);
    recordChange(request, tx, 'event.resend-failed', { count: resent }, storeId);
    return resent;
  });
  events.emit('retryRequested');
  return { to: withQuery(request, { done: count === 0 ? 'none-failed' : 'resent' }) };
}

function eventMarkup(request: PageRequest) {
  const { webhooks, catalog } = request.parts.store;
  const row = webhooks.event(idIn(request));
  const { webhookUrl, name } = catalog.store(row.storeId);
  return (
    <Layout request={request} title={`Event ${row.type}`}>
      <DoneNote request={request} />
      <dl class="facts">
        <dt>State</dt>
        <dd>{stateText(row)}</dd>
        <dt>Request</dt>
        <dd>{webhookUrl === null ? 'none' : <code>POST {redactUrl(webhookUrl)}</code>}</dd>
        <dt>Store</dt>
        <dd>
          <a href={`${base}/stores/${row.storeId}`}>{name}</a>
        </dd>
        <dt>Event</dt>
        <dd>
          <code>{row.publicId}</code>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={row.createdAt} />
        </dd>
        {row.state === 'owed' ? (
          <>
            <dt>Next attempt</dt>
            <dd>
              <Time at={row.nextAttemptAt} />
            </dd>
          </>
        ) : null}
      </dl>
      <pre>
        <code>{JSON.stringify(JSON.parse(row.body), null, 2)}</code>
      </pre>
      <Form request={request} action="resend" button="Resend now" />
      <Attempts total={row.attemptCount} rows={webhooks.attempts(row.id)} />
    </Layout>
  );
}

async function resend(request: PageRequest): Promise<ActionResult> {
  const id = idIn(request);
  const { webhooks, database, events } = request.parts.store;
  await database.write((tx) => {
    const { publicId, storeId } = webhooks.event(id);
    webhooks.resend(tx, request.now, id);
    recordChange(request, tx, 'event.resend', { ids: [publicId] }, storeId);
  });
  events.emit('retryRequested');
  return { to: `${here}/${id}?done=resent` };
}
