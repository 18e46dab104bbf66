// Accepting and canceling an order, each with a page that confirms it.

import { isDeepStrictEqual } from 'node:util';
import type { Standing } from '../../../domain/order/order.ts';
import { formatSat } from '../../../domain/text/format.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { ActionResult, Page, PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { Layout } from '../../parts/layout.tsx';
import { orderIn, orderPath, priceOrSat, readOrder } from './order-parts.ts';

type Standings = Pick<Standing, 'status' | 'receivedSat'>;

export const isAcceptable = ({ status, receivedSat }: Standings): boolean =>
  status !== 'paid' && status !== 'processing' && receivedSat > 0;

export const isCancelable = ({ status }: Pick<Standings, 'status'>): boolean =>
  status === 'open' || status === 'expired';

export const acceptOrderPage: Page = {
  path: '/orders/:id/accept',
  show(request) {
    const { record, standing } = readOrder(request);
    const { publicId } = record.row;
    const received = formatSat(standing.receivedSat);
    return (
      <Layout request={request} title={`Accept the order of ${priceOrSat(record.row)}`}>
        {isAcceptable(standing) ? (
          <Confirmation
            request={request}
            action="accept"
            button={`Accept ${received}`}
            isHarmless
            consequences={[
              `What was received, ${received}, is enough for this order.`,
              'The order is paid when these payments are confirmed.',
              ...refundsOf(request, record.row.id),
              'This cannot be taken back.',
            ]}
            cancel={orderPath(publicId)}
          />
        ) : (
          <Settled publicId={publicId} text="There is nothing to accept." />
        )}
      </Layout>
    );
  },
  actions: { accept: (request) => decide(request, 'accept') },
};

/** What the customer received back, or will, is not taken into account. */
const refundsOf = ({ parts }: PageRequest, orderId: number): string[] =>
  parts.records.refunds
    .of(orderId)
    .map(
      ({ amountSat, doneAt }) =>
        `A refund of ${formatSat(amountSat)} was ${doneAt === null ? 'prepared' : 'sent'}; it counts as received all the same.`,
    );

export const cancelOrderPage: Page = {
  path: '/orders/:id/cancel',
  show(request) {
    const { record, standing } = readOrder(request);
    const { publicId } = record.row;
    return (
      <Layout request={request} title={`Cancel the order of ${priceOrSat(record.row)}`}>
        {isCancelable(standing) ? (
          <Confirmation
            request={request}
            action="cancel"
            button="Cancel the order"
            consequences={[
              'The customer’s page says: do not pay.',
              'Its address is still watched, and a payment that comes is recorded.',
              ...(standing.receivedSat > 0
                ? [`${formatSat(standing.receivedSat)} were received: you can refund them.`]
                : []),
            ]}
            cancel={orderPath(publicId)}
          />
        ) : (
          <Settled publicId={publicId} text="Only an order that is open or expired is canceled." />
        )}
      </Layout>
    );
  },
  actions: { cancel: (request) => decide(request, 'cancel') },
};

const Settled = ({ publicId, text }: { readonly publicId: string; readonly text: string }) => (
  <p>
    {text} <a href={orderPath(publicId)}>Its page</a>
  </p>
);

const done = { accept: 'order-accepted', cancel: 'order-canceled' } as const;

/** @throws PaygateError conflict, as for the API */
async function decide(request: PageRequest, command: 'accept' | 'cancel'): Promise<ActionResult> {
  const { records, checkIssuing } = request.parts;
  const { id, publicId, storeId } = orderIn(request);
  await requireRecentPassword(request);
  checkIssuing();
  await records.database.write((tx) => {
    const before = records.orderView.byPublicId(publicId);
    records.orders[command](tx, request.now, id);
    // An order that stands so already is not changed.
    if (isDeepStrictEqual(before, records.orderView.byPublicId(publicId))) return;
    recordChange(request, tx, `order.${command}`, { order: publicId }, storeId);
  });
  return { to: orderPath(publicId, `?done=${done[command]}`) };
}
