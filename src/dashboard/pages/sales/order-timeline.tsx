// What happened to an order, from its facts, its payments and its events. Events older than 90 days
// are deleted; the facts of the order stand in for them.

import { formatPrice } from '../../../domain/payment/money.ts';
import { formatAmount, formatDecimal } from '../../../domain/text/format.ts';
import type { PaymentEntry } from '../../../store/payments/payment-view.ts';
import type { EventType } from '../../../store/schema/delivery-schema.ts';
import { Timeline, type TimelineEvent } from '../../parts/timeline.tsx';
import type { OrderProps } from './order-parts.ts';

/** Strangers may ask for quotes: the page shows the first one and so many of the newest. */
const maxNewestQuotes = 9;
/** How many events are read, the newest first. */
const maxEvents = 100;

const eventTexts: Readonly<Partial<Record<EventType, Omit<TimelineEvent, 'at'>>>> = {
  'order.processing': { text: 'Enough was seen' },
  'order.paid': { text: 'Paid: enough is confirmed', tone: 'good' },
  'order.expired': { text: 'Expired', tone: 'bad' },
  'order.reversed': { text: 'Reversed: what was enough is taken back', tone: 'bad' },
};

export const OrderTimeline = (props: OrderProps) => <Timeline events={eventsOf(props)} />;

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
    const seen = `Payment of ${amount} seen${late.has(entry.txid) ? ', late' : ''}`;
    const mined = minedAt.get(entry.txid) ?? null;
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

const refundEvents = ({ request, record }: OrderProps): TimelineEvent[] =>
  request.parts.records.refunds.of(record.row.id).map(({ amountSat, createdAt, doneAt }) => {
    const amount = formatAmount(amountSat);
    return doneAt === null
      ? { at: createdAt, text: `Refund of ${amount} prepared` }
      : { at: doneAt, text: `Refund of ${amount} sent` };
  });
