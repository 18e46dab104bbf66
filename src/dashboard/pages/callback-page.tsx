// One callback: its state, its request and its attempts.

import { redactedTarget } from '../../domain/callback.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { Form } from '../form-parts.tsx';
import { DoneNote, Layout } from '../layout.tsx';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../page.ts';
import { deliveryState } from './callbacks-page.tsx';
import { Attempts } from './delivery-attempts.tsx';

export const callbackPage: Page = {
  path: '/callbacks/:id',
  show: (request) => callbackMarkup(request),
  actions: { resend },
};

function callbackMarkup(request: PageRequest) {
  const { outbox, catalog } = request.parts.store;
  const row = outbox.callback(idIn(request));
  const store = catalog.store(row.storeId);
  const { callbackUrl, name, callbacksStopped } = store;
  return (
    <Layout request={request} title={`Delivery ${row.id}`}>
      <DoneNote request={request} />
      <dl class="facts">
        <dt>State</dt>
        <dd>{deliveryState(row, store)}</dd>
        <dt>Request</dt>
        <dd>
          <code>GET {redactedTarget(callbackUrl, row.query)}</code>
        </dd>
        <dt>Store</dt>
        <dd>
          <a href={`${base}/stores/${row.storeId}`}>{name}</a>
        </dd>
        <dt>Payment</dt>
        <dd>
          <a href={`${base}/payments/${row.paymentId}`}>
            {row.valueSat} sat to {row.address}
          </a>
        </dd>
        <dt>Event</dt>
        <dd>
          <code>{row.eventId}</code>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={row.createdAt} />
        </dd>
        {row.state === 'owed' && !callbacksStopped && callbackUrl !== '' ? (
          <>
            <dt>Next attempt</dt>
            <dd>
              <Time at={row.nextAttemptAt} />
            </dd>
          </>
        ) : null}
        {row.confirmAt === null ? null : (
          <>
            <dt>Retry</dt>
            <dd>
              <Time at={row.confirmAt} />, because its last response is doubtful
            </dd>
          </>
        )}
      </dl>
      <Form request={request} action="resend" button="Resend now" />
      <Attempts total={row.attemptCount} rows={outbox.attempts(row.id)} />
    </Layout>
  );
}

async function resend(request: PageRequest): Promise<ActionResult> {
  const id = idIn(request);
  const { outbox, database } = request.parts.store;
  await database.write((tx) => {
    outbox.resend(tx, request.now, id);
    recordChange(request, tx, 'callback.resend', { ids: [id] });
  });
  request.parts.store.events.emit('retryRequested');
  return { to: `${base}/callbacks/${id}?done=resent` };
}
