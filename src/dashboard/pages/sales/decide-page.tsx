// The page of a link in a mail: it accepts one order, once, after a question. It needs no session,
// because the link itself is the permission (notify/decision-link.ts). It does nothing else.

import { formatSat } from '../../../domain/text/format.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { decisionHours, orderOfToken } from '../../../notify/decision-link.ts';
import type { OrderRow } from '../../../store/orders/order-view.ts';
import { clientOf } from '../../guard/audit-entry.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { NarrowPage, ProblemNote } from '../../parts/layout.tsx';
import { isAcceptable } from './order-decision-pages.tsx';
import { priceOrSat } from './order-parts.ts';

export const decidePage: Page = {
  path: '/decide',
  open: true,
  show(request) {
    const row = orderIn(request);
    return row === undefined ? <Over /> : <Question request={request} row={row} />;
  },
  actions: { accept },
};

/** The order that the link accepts at this moment. */
function orderIn({ parts, context, now }: PageRequest): OrderRow | undefined {
  const { orderView } = parts.records;
  const row = orderOfToken(parts.records, context.req.query('token') ?? '', now);
  if (row === undefined) return undefined;
  return isAcceptable(orderView.standing(orderView.record(row), now)) ? row : undefined;
}

const Over = () => (
  <NarrowPage title="This link is no longer valid">
    <p>
      A link works once, within {decisionHours} hours, while its order stays as it was. Nothing was
      changed.
    </p>
    <DashboardLink />
  </NarrowPage>
);

const DashboardLink = () => (
  <p>
    <a href={base}>Go to the dashboard</a>
  </p>
);

function Question({ request, row }: { readonly request: PageRequest; readonly row: OrderRow }) {
  const { orderView } = request.parts.records;
  const record = orderView.record(row);
  const { receivedSat } = orderView.standing(record, request.now);
  const received = formatSat(receivedSat);
  return (
    <NarrowPage title={`Accept the order of ${priceOrSat(row)}?`}>
      <ProblemNote request={request} />
      <p>
        {[record.details.storeName, record.linkTitle, row.reference]
          .filter((text) => text !== null)
          .join(' · ')}
      </p>
      <p>
        What was received, {received} of {formatSat(row.amountSat)}, is enough for this order then.
        It is paid when these payments are confirmed. This cannot be taken back.
      </p>
      <Form request={request} action="accept" button={`Accept ${received}`} />
      <DashboardLink />
    </NarrowPage>
  );
}

/** @throws PaygateError gone, unavailable */
async function accept(request: PageRequest): Promise<ActionResult> {
  const { records, checkIssuing } = request.parts;
  checkIssuing();
  const price = await records.database.write((tx) => {
    const row = orderIn(request);
    if (row === undefined) throw new PaygateError('gone', 'This link is no longer valid.');
    records.orders.accept(tx, request.now, row.id);
    const detail = { order: row.publicId, by: 'mail' };
    // The link has no session: its reader is unknown.
    const { audit } = records;
    audit.noteChange(tx, request.now, clientOf(request), 'order.accept', detail, row.storeId);
    return priceOrSat(row);
  });
  return {
    show: (
      <NarrowPage title="The order is accepted">
        <p>The order of {price} is paid as soon as its payments are confirmed.</p>
        <DashboardLink />
      </NarrowPage>
    ),
  };
}
