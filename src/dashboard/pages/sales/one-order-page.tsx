// One order: its price and state, what a customer scans, its facts, timeline, payments and events.

import { orderWords } from '../../../domain/order/state-words.ts';
import { formatPrice } from '../../../domain/payment/money.ts';
import { formatAmount, formatDecimal, formatSat } from '../../../domain/text/format.ts';
import { hasWebhook } from '../../../store/delivery/receivers.ts';
import type { PaymentEntry } from '../../../store/payments/payment-view.ts';
import type { EventType } from '../../../store/schema/delivery-schema.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { Amount, Copyable, Pill, Short, Time } from '../../../web/values.tsx';
import { base, isViewer, type Page, type PageRequest } from '../../page.ts';
import {
  DoneNote,
  type FactRows,
  Facts,
  Layout,
  OwnersLink,
  RowTable,
  Timeline,
  type TimelineEvent,
} from '../../parts/layout.tsx';
import { EventTable } from '../deliveries/event-table.tsx';
import { TestPaymentLink } from '../deliveries/test-payment-page.tsx';
import { isAcceptable, isCancelable } from './order-decision-pages.tsx';
import {
  adjustmentText,
  maxRows,
  type OrderProps,
  orderPath,
  priceOrSat,
  priceText,
  readOrder,
} from './order-parts.ts';
import { AddressOf, paymentState } from './payments-page.tsx';
import { hasRefund, OrderRefunds } from './refund-page.tsx';

export const orderPage: Page = {
  path: '/orders/:id',
  viewers: [],
  show: (request) => orderMarkup(request),
};

function orderMarkup(request: PageRequest) {
  const props = readOrder(request);
  const { row } = props.record;
  const word = orderWords[props.order.status];
  return (
    <Layout
      request={request}
      title={`Order of ${priceOrSat(row)}: ${word.text}`}
      heading={
        <>
          <span class="amount">{priceOrSat(row)}</span> <Pill word={word} note={noteOf(props)} />
        </>
      }
      live
    >
      <DoneNote request={request} />
      <PayBox {...props} />
      {isViewer(request) ? null : <Actions {...props} />}
      <Facts rows={factsOf(props)} />
      <h2>Timeline</h2>
      <Timeline events={eventsOf(props)} />
      <Payments {...props} />
      <OrderRefunds {...props} />
      {isViewer(request) ? null : <Events {...props} />}
    </Layout>
  );
}

/** `late, short by 1,000 sat`. */
function noteOf({ order, standing }: OrderProps): string | undefined {
  const { missing_sat: missing, excess_sat: excess, received_sat: received } = order;
  const isShort = received > 0 && missing !== null && missing > 0;
  const notes = [
    ...(standing.isLate ? ['late'] : []),
    ...(isShort ? [`short by ${formatAmount(missing)}`] : []),
    ...(excess > 0 ? [`over by ${formatAmount(excess)}`] : []),
  ];
  return notes.length === 0 ? undefined : notes.join(', ');
}

/** What a customer at the counter scans. */
const PayBox = ({ order }: OrderProps) => {
  if (order.uri === null || order.missing_sat === null) {
    return order.status === 'open' && order.quote === null && order.currency !== null ? (
      <p class="note">
        The promised rate is over. The <a href={order.page_url}>customer’s page</a> has a button for
        the price of now.
      </p>
    ) : null;
  }
  return (
    <section class="pay" aria-label="To pay">
      <QrCode text={order.uri} label={`QR code to pay ${formatAmount(order.missing_sat)}`} />
      <p>
        <Amount sat={order.missing_sat} /> to{' '}
        <Copyable id="pay-address" name="the address">
          {order.address}
        </Copyable>
      </p>
      <p>
        <a href={order.uri}>Open in a wallet</a>
      </p>
      {order.lightning === null ? null : (
        <>
          <QrCode
            text={`lightning:${order.lightning.invoice}`.toUpperCase()}
            label={`QR code to pay ${formatAmount(order.lightning.amount_sat)} by Lightning`}
          />
          <p>
            <a href={`lightning:${order.lightning.invoice}`}>Open in a Lightning wallet</a>
          </p>
        </>
      )}
    </section>
  );
};

const Actions = (props: OrderProps) => {
  const { request, record, order, standing } = props;
  return (
    <nav class="row actions" aria-label="Actions">
      {isAcceptable(standing) ? <a href={orderPath(order.id, '/accept')}>Accept…</a> : null}
      {isCancelable(standing) ? <a href={orderPath(order.id, '/cancel')}>Cancel…</a> : null}
      {hasRefund(props) ? <a href={orderPath(order.id, '/refund')}>Prepare a refund…</a> : null}
      {order.status === 'open' ? (
        <TestPaymentLink request={request} id={record.row.addressId} />
      ) : null}
      <a href={order.page_url}>The customer’s page</a>
    </nav>
  );
};

function factsOf({ record, order, request }: OrderProps): FactRows {
  const { row } = record;
  const worth = priceText(row);
  const rate = record.quotes.at(-1)?.rateCents;
  const link = row.linkId === null ? undefined : request.parts.records.linkView.byId(row.linkId);
  return [
    [
      'Price',
      <>
        {worth === undefined
          ? null
          : `${[worth, adjustmentText(row)].filter(Boolean).join(', ')} = `}
        <Amount sat={row.amountSat} />
      </>,
    ],
    [
      'Received',
      <>
        <Amount sat={order.received_sat} />, <Amount sat={order.confirmed_sat} /> of it final
      </>,
    ],
    [
      'Rate',
      rate === undefined ? null : (
        <>
          1 BTC = {formatDecimal(formatPrice(rate))} {row.currency}
          <QuoteEnd order={order} />
        </>
      ),
    ],
    ['Reference', row.reference],
    ['Description', row.description, 'lines'],
    ['Mail address of the customer', row.customerEmail],
    [
      'Link',
      link && (
        <OwnersLink request={request} to={`/links/${link.id}`}>
          {link.title}
        </OwnersLink>
      ),
    ],
    [
      'Store',
      <OwnersLink request={request} to={`/stores/${row.storeId}`}>
        {record.details.storeName}
      </OwnersLink>,
    ],
    [
      'Address',
      <AddressOf
        request={request}
        name="the address of the order"
        address={order.address}
        id={row.addressId}
      />,
    ],
    [
      'Page',
      <Copyable id="page-url" name="the URL of the customer’s page">
        {order.page_url}
      </Copyable>,
    ],
    ['Order', <code class="selectable">{row.publicId}</code>],
    ['Ends', order.status === 'open' ? endOf(row) : null],
  ];
}

const endOf = ({ expiresAt }: OrderProps['record']['row']) =>
  expiresAt === null ? 'never' : <Time at={expiresAt} />;

const QuoteEnd = ({ order: { quote } }: Pick<OrderProps, 'order'>) =>
  quote === null ? null : (
    <>
      ; the promise ends <Time at={quote.expires_at * 1000} />
    </>
  );

const Payments = ({ request, standing, record, entries }: OrderProps) => {
  const { records } = request.parts;
  const counted = new Map(standing.payments.map((each) => [each.payment.txid, each] as const));
  return (
    <>
      <h2>Payments</h2>
      {entries.length === 0 ? (
        <p class="empty">No payments yet.</p>
      ) : (
        <RowTable
          label="Payments"
          rows={entries}
          href={({ id }) => `${base}/payments/${id}`}
          columns={[
            ['Amount', (entry) => <Amount sat={entry.valueSat} />, 'number'],
            ['State', (entry) => <Pill {...paymentState(records, entry)} />],
            ['Seen', (entry) => <Time at={entry.firstSeenAt} />],
            [
              'Transaction',
              (entry) => (
                <>
                  {entry.preimage === null ? null : 'Lightning '}
                  <Short text={entry.txid} />
                </>
              ),
            ],
            ['Counts at', ({ txid }) => rateText(counted.get(txid), record.row.currency)],
          ]}
        />
      )}
    </>
  );
};

type Counted = OrderProps['standing']['payments'][number];

/** At which rate a payment counts: `50,000.00 EUR, late`. */
function rateText(counted: Counted | undefined, currency: string | null): string {
  if (counted === undefined || counted.payment.state === 'dropped') return '';
  const { payment, parts, rateCents, isLate, undecidedSat } = counted;
  const late = isLate ? ', late' : '';
  const rate =
    currency === null || rateCents === null
      ? 'its satoshis'
      : `${formatDecimal(formatPrice(rateCents))} ${currency}`;
  if (undecidedSat === 0) return `${rate}${late}`;
  const isPriceAwaited = payment.priceCents === null && parts.every(({ counts }) => counts);
  const waits = isPriceAwaited ? 'no price yet' : 'nothing until you accept it';
  if (undecidedSat === payment.valueSat) return `${waits}${late}`;
  return `${rate}${late}; ${formatSat(undecidedSat)} of it count nothing until you accept them`;
}

const Events = ({ request, record }: OrderProps) => {
  const { records } = request.parts;
  const rows = records.webhooks.list({ orderId: record.row.id, limit: maxRows });
  const wasSent = rows.some(({ state }) => state !== 'unsent');
  const store = records.catalog.store(record.row.storeId);
  if (!wasSent && store.callbackUrl === '' && !hasWebhook(records, store)) return null;
  return (
    <>
      <h2>Deliveries</h2>
      {rows.length === 0 ? (
        <p class="empty">No events yet.</p>
      ) : (
        <EventTable label="Deliveries" head="Event" rows={rows} />
      )}
    </>
  );
};

/** Strangers may ask for quotes: the page shows the first one and so many of the newest. */
const maxNewestQuotes = 9;
/** How many events are read, the newest first. */
const maxEvents = 100;

const eventTexts: Readonly<Partial<Record<EventType, Omit<TimelineEvent, 'at'>>>> = {
  'order.processing': { text: 'Enough was seen' },
  'order.paid': { text: 'Paid: enough is final', tone: 'good' },
  'order.expired': { text: 'Expired', tone: 'bad' },
  'order.reversed': { text: 'Reversed: what was enough is taken back', tone: 'bad' },
};

/** Events older than 90 days are deleted; the facts of the order stand in for them. */
function eventsOf(props: OrderProps): TimelineEvent[] {
  const { row } = props.record;
  const created: TimelineEvent = { at: row.createdAt, text: 'Created' };
  const later = [
    ...quoteEvents(props),
    ...paymentEvents(props),
    ...statusEvents(props),
    ...refundEvents(props),
  ];
  // A block may claim an earlier time than that of the order.
  return [created, ...later.sort((first, second) => first.at - second.at)];
}

function quoteEvents({ record: { quotes, row } }: OrderProps): TimelineEvent[] {
  return quotes
    .filter((_, at) => at === 0 || at >= quotes.length - maxNewestQuotes)
    .map(({ createdAt, rateCents, amountSat }) => ({
      at: createdAt,
      text: `Rate promised: 1 BTC = ${formatDecimal(formatPrice(rateCents))} ${row.currency}, ${formatAmount(amountSat)}`,
    }));
}

function paymentEvents({ record, standing, entries }: OrderProps): TimelineEvent[] {
  const late = new Set(
    standing.payments.flatMap(({ isLate, payment }) => (isLate ? payment.txid : [])),
  );
  const minedAt = new Map(record.payments.map((each) => [each.txid, each.minedAt] as const));
  return entries.toReversed().flatMap((entry) => {
    const amount = formatAmount(entry.valueSat);
    const how = entry.preimage === null ? 'seen' : 'by Lightning';
    const seen = `Payment of ${amount} ${how}${late.has(entry.txid) ? ', late' : ''}`;
    const mined = entry.preimage === null ? (minedAt.get(entry.txid) ?? null) : null;
    return [
      { at: entry.firstSeenAt, text: seen },
      ...(mined === null ? [] : [{ at: mined, text: `${amount} in block ${entry.height}` }]),
      ...lastChange(entry, amount),
    ];
  });
}

function lastChange(entry: PaymentEntry, amount: string): TimelineEvent[] {
  const { state, changedAt: at, replacedBy } = entry;
  if (state === 'confirmed') return [{ at, text: `${amount} confirmed`, tone: 'good' }];
  if (state !== 'dropped') return [];
  const why = replacedBy === null ? '' : ': replaced by another transaction';
  return [{ at, text: `${amount} gone${why}`, tone: 'bad' }];
}

function statusEvents({ request, record, order }: OrderProps): TimelineEvent[] {
  const { row } = record;
  const { canceledAt, acceptedAt, paidAt, expiresAt } = row;
  const rows = request.parts.records.webhooks
    .list({ orderId: row.id, limit: maxEvents })
    .toReversed();
  const has = (type: EventType) => rows.some((each) => each.type === type);
  const texts = rows.flatMap(({ type, createdAt: at }) => {
    const text = eventTexts[type];
    return text === undefined ? [] : [{ at, ...text }];
  });
  const paid = eventTexts['order.paid'];
  const expired = eventTexts['order.expired'];
  return [
    ...texts,
    ...(paidAt === null || paid === undefined || has('order.paid')
      ? []
      : [{ at: paidAt, ...paid }]),
    ...(order.status !== 'expired' || expiresAt === null || !expired || has('order.expired')
      ? []
      : [{ at: expiresAt, ...expired }]),
    ...(canceledAt === null ? [] : [{ at: canceledAt, text: 'Canceled', tone: 'bad' as const }]),
    ...(acceptedAt === null
      ? []
      : [{ at: acceptedAt, text: 'Accepted: what was received is enough', tone: 'good' as const }]),
  ];
}

const refundEvents = ({ record }: OrderProps): TimelineEvent[] =>
  record.details.refunds.map(({ amountSat, createdAt, doneAt }) => {
    const amount = formatAmount(amountSat);
    return doneAt === null
      ? { at: createdAt, text: `Refund of ${amount} prepared` }
      : { at: doneAt, text: `Refund of ${amount} sent` };
  });
