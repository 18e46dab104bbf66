// Payments as JSON and as text for a terminal.

import { type PaymentJson, paymentJson } from '../../domain/order/order-json.ts';
import {
  type DeliveryState,
  deliveryWords,
  formatStatus,
  paymentWords,
} from '../../domain/order/state-words.ts';
import { worthOf } from '../../domain/payment/currency.ts';
import { formatPrice } from '../../domain/payment/money.ts';
import type { CallbackStatus } from '../../domain/payment/payment.ts';
import { formatTime } from '../../domain/text/format.ts';
import type { Records } from '../../store/open-records.ts';
import type { PaymentEntry } from '../../store/payments/payment-view.ts';
import { type TextList, table } from '../command.ts';

export type PaymentAnswer = ReturnType<typeof describe>;

/** The JSON of payments. An address is read once, because it may have many payments. */
export function describePayments(
  { orderView }: Pick<Records, 'orderView'>,
  entries: readonly PaymentEntry[],
  now: number,
): PaymentAnswer[] {
  const addresses = new Map<number, PaidAddress>();
  return entries.map((entry) => {
    const { addressId, txid } = entry;
    const address = addresses.get(addressId) ?? readAddress(orderView, addressId, now);
    addresses.set(addressId, address);
    const payment = address.payments.get(txid);
    if (payment === undefined) throw new Error(`the payment ${entry.id} is not at its address`);
    return describe(entry, payment, address.orderId);
  });
}

interface PaidAddress {
  readonly orderId: string | null;
  readonly payments: ReadonlyMap<string, PaymentJson>;
}

function readAddress(orderView: Records['orderView'], addressId: number, now: number): PaidAddress {
  const order = orderView.byAddressId(addressId);
  const payments =
    order === undefined
      ? orderView.paymentsOf(addressId).map((payment) => ({ payment, ...withoutRate }))
      : orderView.standing(orderView.record(order), now).payments;
  return {
    orderId: order?.publicId ?? null,
    payments: new Map(payments.map((each) => [each.payment.txid, paymentJson(each)])),
  };
}

const withoutRate = { rateCents: null, isLate: false };

/** A payment as events show it, with what the dashboard shows of it. */
function describe(entry: PaymentEntry, payment: PaymentJson, orderId: string | null) {
  const { currency, priceCents, valueSat } = entry;
  const isPriced = currency !== null && priceCents !== null;
  return {
    id: entry.id,
    store_id: entry.storeId,
    order_id: orderId,
    address: entry.address,
    state: entry.state,
    ...payment,
    currency,
    worth_when_seen: isPriced ? worthOf(valueSat, priceCents, currency) : null,
    price_when_seen: isPriced ? formatPrice(priceCents) : null,
  };
}

export const paymentList: TextList<PaymentAnswer> = {
  none: 'No payment matches.',
  columns: {
    id: (payment) => payment.id,
    'first seen': (payment) => formatTime(payment.first_seen_at * 1000),
    store: (payment) => storeOf(payment),
    address: (payment) => payment.address,
    sat: (payment) => payment.value_sat,
    'worth then': (payment) => worthText(payment) ?? '-',
    state: (payment) => paymentWords[payment.state].text,
    confirmations: (payment) => payment.confirmations,
    txid: (payment) => payment.txid,
  },
  next: ({ id }) => `--after ${id}`,
};

const storeOf = ({ store_id: storeId }: PaymentAnswer): string =>
  storeId === null ? '-' : String(storeId);

const worthText = ({ currency, worth_when_seen: worth }: PaymentAnswer): string | undefined =>
  worth === null ? undefined : `${worth} ${currency}`;

export interface CallbackOfPayment {
  readonly id: number;
  readonly status: CallbackStatus;
  readonly state: DeliveryState;
}

export function renderPayment(
  payment: PaymentAnswer,
  callbacks: readonly CallbackOfPayment[],
): string {
  const { order_id: order, replaced_by: successor, height, rate, price_when_seen: price } = payment;
  const worth = worthText(payment);
  const facts = table([
    ['state', paymentWords[payment.state].text],
    ['value', `${payment.value_sat} sat`],
    ...(worth === undefined ? [] : [['worth then', `${worth}, at ${price} a bitcoin`]]),
    ['transaction', payment.txid],
    ['address', payment.address],
    ['store', storeOf(payment)],
    ...(order === null ? [] : [['order', order]]),
    ...(rate === null ? [] : [['rate in order', payment.late ? `${rate}, late` : rate]]),
    ['first seen', formatTime(payment.first_seen_at * 1000)],
    ['confirmations', String(payment.confirmations)],
    ...(height === null ? [] : [['block', String(height)]]),
    ...(successor === null ? [] : [['replaced by', successor]]),
  ]);
  if (callbacks.length === 0) return facts;
  const lines = callbacks.map(({ id, status, state }) => [
    String(id),
    formatStatus(status),
    deliveryWords[state].text,
  ]);
  return `${facts}\n\n${table([['callback', 'status', 'state'], ...lines])}`;
}
