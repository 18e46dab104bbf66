// Webhook events of every store, newest first, and one event with its body and attempts.

import { redactUrl } from '../../../domain/delivery/callback.ts';
import { isId } from '../../../domain/order/order-id.ts';
import { deliveryWords } from '../../../domain/order/state-words.ts';
import type { ListPlace } from '../../../lib/row-pages.ts';
import type { SearchedPage } from '../../../store/db/searched-list.ts';
import type { EventFilter, ListedEvent } from '../../../store/delivery/event-view.ts';
import type { EventState } from '../../../store/schema/delivery-schema.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { wholeNumber } from '../../parts/form-fields.ts';
import { Form } from '../../parts/form-parts.tsx';
import {
  FoundRows,
  ListFoot,
  queryChoice,
  queryNumber,
  queryText,
  rowsPerQuery,
  withQuery,
} from '../../parts/listing.tsx';
import { orderNamed } from '../sales/orders-page.tsx';
import { searchOf } from '../sales/payments-page.tsx';
import { DeliveryList, DeliveryPage, deliveryState, resendIn } from './delivery-parts.tsx';
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
  const found = eventSearch(request)({ beforeId, limit: rowsPerQuery });
  return (
    <DeliveryList
      request={request}
      title="Webhook events"
      path={here}
      search="Order, reference, address, transaction or event"
      states={states.map((state) => [state, deliveryWords[state].text] as const)}
    >
      <FoundRows
        request={request}
        found={found}
        noun="events"
        next={
          <>
            <a href={`${base}/stores`}>Send a test event</a> from the page of a store with a
            webhook.
          </>
        }
        show={(rows) => <EventTable label="Webhook events" head="Type" rows={rows} />}
      />
      <ListFoot request={request} {...found} noun="event" path={here} />
      <ResendFailed request={request} />
    </DeliveryList>
  );
}

/** A button for each store whose webhook receives events. */
const ResendFailed = ({ request }: { readonly request: PageRequest }) => (
  <>
    {request.parts.records.catalog
      .stores()
      .filter(
        ({ id, webhookUrl }) =>
          webhookUrl !== null || request.parts.records.webhookRecords.list(id).length > 0,
      )
      .map(({ id, name }) => (
        <Form request={request} action="resend-failed" button={`Resend failed events of ${name}`}>
          <input type="hidden" name="store" value={id} />
        </Form>
      ))}
  </>
);

async function resendFailed(request: PageRequest): Promise<ActionResult> {
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const count = await resendIn(request, (tx) => {
    const resent = request.parts.records.webhooks.resendFailed(tx, request.now, storeId);
    recordChange(request, tx, 'event.resend-failed', { count: resent }, storeId);
    return resent;
  });
  return { to: withQuery(request, { done: count === 0 ? 'none-failed' : 'resent' }) };
}

function eventMarkup(request: PageRequest) {
  const { webhooks, catalog } = request.parts.records;
  const row = webhooks.event(idIn(request));
  const { name } = catalog.store(row.storeId);
  return (
    <DeliveryPage
      request={request}
      name={`Event ${row.type}`}
      row={row}
      shown={deliveryState(row)}
      isSent={row.state === 'owed'}
      facts={[['Request', row.url === null ? 'none' : <code>POST {redactUrl(row.url)}</code>]]}
      store={name}
      eventId={row.publicId}
      attempts={webhooks.attempts(row.id)}
    >
      <h2>Body</h2>
      <pre>
        <code>{JSON.stringify(JSON.parse(row.body), null, 2)}</code>
      </pre>
    </DeliveryPage>
  );
}

async function resend(request: PageRequest): Promise<ActionResult> {
  const id = idIn(request);
  const { webhooks } = request.parts.records;
  await resendIn(request, (tx) => {
    const { publicId, storeId } = webhooks.event(id);
    webhooks.resend(tx, request.now, id);
    recordChange(request, tx, 'event.resend', { ids: [publicId] }, storeId);
  });
  return { to: `${here}/${id}?done=resent` };
}
