// One callback: its state, its request and its attempts.

import { redactedTarget } from '../../../domain/delivery/callback.ts';
import { formatStatus } from '../../../domain/order/state-words.ts';
import { Amount, Pill, Short } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { Attempts, DeliveryFacts, DeliveryLine } from './delivery-attempts.tsx';
import { deliveryState } from './delivery-state.ts';

export const callbackPage: Page = {
  path: '/callbacks/:id',
  show: (request) => callbackMarkup(request),
  actions: { resend },
};

function callbackMarkup(request: PageRequest) {
  const { outbox, catalog } = request.parts.records;
  const row = outbox.callback(idIn(request));
  const store = catalog.store(row.storeId);
  const { callbackUrl, name, callbacksStopped } = store;
  const shown = deliveryState(row, store);
  return (
    <Layout
      request={request}
      title={`Delivery ${row.id}: ${shown.word.text}`}
      heading={
        <>
          Delivery {row.id} <Pill {...shown} />
        </>
      }
    >
      <DoneNote request={request} />
      <DeliveryLine
        row={row}
        isSent={row.state === 'owed' && !callbacksStopped && callbackUrl !== ''}
        confirmAt={row.confirmAt}
      />
      <Form request={request} action="resend" button="Resend now" />
      <dl class="facts">
        <dt>Payment</dt>
        <dd>
          <a href={`${base}/payments/${row.paymentId}`}>
            <Amount sat={row.valueSat} />
          </a>{' '}
          to <Short text={row.address} />
        </dd>
        <dt>Status</dt>
        <dd>{formatStatus(row.status)}</dd>
        <dt>Request</dt>
        <dd>
          <code>GET {redactedTarget(callbackUrl, row.query)}</code>
        </dd>
        <DeliveryFacts row={row} store={name} eventId={row.eventId} />
      </dl>
      <Attempts total={row.attemptCount} rows={outbox.attempts(row.id)} />
    </Layout>
  );
}

async function resend(request: PageRequest): Promise<ActionResult> {
  const id = idIn(request);
  const { outbox, database } = request.parts.records;
  await database.write((tx) => {
    outbox.resend(tx, request.now, id);
    recordChange(request, tx, 'callback.resend', { ids: [id] });
  });
  request.parts.records.events.emit('retryRequested');
  return { to: `${base}/callbacks/${id}?done=resent` };
}
