// Webhook events of every store, newest first, and one event with its body and attempts.

import { redactUrl } from '../../../domain/delivery/callback.ts';
import { isId } from '../../../domain/order/order-id.ts';
import { deliveryWords } from '../../../domain/order/state-words.ts';
import type { ListPlace } from '../../../lib/row-pages.ts';
import type { SearchedPage } from '../../../store/db/searched-list.ts';
import type { EventFilter, ListedEvent } from '../../../store/delivery/event-view.ts';
import type { EventState } from '../../../store/schema/delivery-schema.ts';
import { Pill } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { wholeNumber } from '../../parts/form-fields.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
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
  withQuery,
} from '../../parts/listing.tsx';
import { orderNamed } from '../sales/orders-page.tsx';
import { searchOf } from '../sales/payments-page.tsx';
import { Attempts, DeliveryFacts, DeliveryLine } from './delivery-attempts.tsx';
import { deliveryState } from './delivery-state.ts';
import { DeliveryTabs } from './delivery-tabs.tsx';
import { EventTable } from './event-table.tsx';

const here = `${base}/events`;

const states: readonly EventState[] = ['owed', 'delivered', 'superseded', 'exhausted', 'unsent'];

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

/** Reads the events of the page's query, page by page. @throws PaygateError invalid */
export function eventSearch(request: PageRequest): (place: ListPlace) => SearchedPage<ListedEvent> {
  const storeId = queryNumber(request, 'store');
  const state = queryChoice(request, 'state', states);
  const { webhooks } = request.parts.records;
  const search = namedIn(request);
  return (place) => webhooks.page({ storeId, state, ...search, ...place });
}

/** What the search of the page names: an event, or the orders whose events are shown. */
function namedIn(request: PageRequest): Partial<EventFilter> {
  const text = queryText(request, 'q');
  if (text === undefined) return {};
  if (isId('evt', text)) return { publicId: text };
  const txid = searchOf(request)?.txid;
  if (txid !== undefined) return { txid };
  const order = orderNamed(request, text);
  return order === undefined ? { reference: text } : { orderId: order.id };
}

function eventsMarkup(request: PageRequest) {
  const beforeId = queryNumber(request, 'before');
  const { rows, goesOnAt } = eventSearch(request)({ beforeId, limit: rowsPerQuery });
  return (
    <Layout request={request} title="Webhook events">
      <DoneNote request={request} />
      <DeliveryTabs request={request} />
      <ListFilters
        request={request}
        path={here}
        search="Order, reference, address, transaction or event"
        states={states.map((state) => [state, deliveryWords[state].text] as const)}
      />
      {goesOnAt === undefined ? null : <SearchedPart noun="events" />}
      {rows.length === 0 && goesOnAt === undefined ? (
        <Empty request={request} noun="events">
          <a href={`${base}/stores`}>Send a test event</a> from the page of a store with a webhook.
        </Empty>
      ) : rows.length === 0 ? null : (
        <EventTable label="Webhook events" head="Type" rows={rowsOfPage(rows)} />
      )}
      <ListFoot request={request} rows={rows} goesOnAt={goesOnAt} noun="event" path={here} />
      <ResendFailed request={request} />
    </Layout>
  );
}

/** A button for each store whose webhook receives events. */
const ResendFailed = ({ request }: { readonly request: PageRequest }) => (
  <>
    {request.parts.records.catalog
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
  const { webhooks, database, events } = request.parts.records;
  const count = await database.write((tx) => {
    const resent = webhooks.resendFailed(tx, request.now, storeId);
    recordChange(request, tx, 'event.resend-failed', { count: resent }, storeId);
    return resent;
  });
  events.emit('retryRequested');
  return { to: withQuery(request, { done: count === 0 ? 'none-failed' : 'resent' }) };
}

function eventMarkup(request: PageRequest) {
  const { webhooks, catalog } = request.parts.records;
  const row = webhooks.event(idIn(request));
  const { webhookUrl, name } = catalog.store(row.storeId);
  const shown = deliveryState(row);
  return (
    <Layout
      request={request}
      title={`Event ${row.type}: ${shown.word.text}`}
      heading={
        <>
          Event {row.type} <Pill {...shown} />
        </>
      }
    >
      <DoneNote request={request} />
      <DeliveryLine row={row} isSent={row.state === 'owed'} confirmAt={null} />
      <Form request={request} action="resend" button="Resend now" />
      <dl class="facts">
        <dt>Request</dt>
        <dd>{webhookUrl === null ? 'none' : <code>POST {redactUrl(webhookUrl)}</code>}</dd>
        <DeliveryFacts row={row} store={name} eventId={row.publicId} />
      </dl>
      <Attempts total={row.attemptCount} rows={webhooks.attempts(row.id)} />
      <h2>Body</h2>
      <pre>
        <code>{JSON.stringify(JSON.parse(row.body), null, 2)}</code>
      </pre>
    </Layout>
  );
}

async function resend(request: PageRequest): Promise<ActionResult> {
  const id = idIn(request);
  const { webhooks, database, events } = request.parts.records;
  await database.write((tx) => {
    const { publicId, storeId } = webhooks.event(id);
    webhooks.resend(tx, request.now, id);
    recordChange(request, tx, 'event.resend', { ids: [publicId] }, storeId);
  });
  events.emit('retryRequested');
  return { to: `${here}/${id}?done=resent` };
}
