// The customer's page of an order: price, address, state of the payment. The box at its end belongs
// to the sandbox: it simulates the customer's wallet and the miners.

import { html, raw } from 'hono/html';
import encodeQR from 'qr';
import { formatBitcoin, formatSat } from '../../domain/format.ts';
import { paymentUri } from '../../domain/payment-uri.ts';
import type { Markup } from '../../web/html-page.ts';
import {
  type OrderPayment,
  type OrderState,
  type OrderStatus,
  orderStatus,
  type ShopOrder,
} from './shop-orders.ts';
import { table } from './shop-page.ts';

/** Maximum number of payments on a page. */
const shownPayments = 20;

const titles: Readonly<Record<OrderState, string>> = {
  waiting: 'Awaiting payment',
  short: 'Underpaid',
  seen: 'Payment unconfirmed',
  confirming: 'Confirming',
  paid: 'Paid',
};

const statusWords = ['0: unconfirmed', '1: confirming', '2: confirmed'] as const;

function explain(
  { state, seenSat, confirmedSat, missingSat }: OrderStatus,
  totalSat: number,
): string {
  switch (state) {
    case 'waiting':
      return `Send ${formatSat(totalSat)} to the address below.`;
    case 'short':
      return `${formatSat(seenSat)} of ${formatSat(totalSat)}: ${formatSat(missingSat)} are missing.`;
    case 'seen':
      return 'No block includes it yet, so it can still be replaced. Do not send goods for it.';
    case 'confirming':
      return 'One more block confirms it.';
    case 'paid':
      return confirmedSat > totalSat
        ? `Thank you! It is on its way. You paid ${formatSat(confirmedSat - totalSat)} too much.`
        : 'Thank you! It is on its way.';
  }
}

function paymentRow({ txid, valueSat, status, isDropped }: OrderPayment): Markup {
  const words = isDropped ? 'dropped: replaced or double-spent' : statusWords[status];
  return html`<tr><td>${words}</td><td>${formatSat(valueSat)}</td><td><code>${txid.slice(0, 16)}…</code></td></tr>`;
}

function liveState(order: ShopOrder): Markup {
  const orderState = orderStatus(order);
  const payments = [...order.payments.values()].slice(-shownPayments);
  const paymentTable = table(
    'Payments',
    ['Status', 'Value', 'Transaction'],
    payments.map(paymentRow),
  );
  return html`<section id="state" data-live="/events" aria-live="polite">
    <div class="state ${orderState.state}">
      <h2>${titles[orderState.state]}</h2>
      <p>${explain(orderState, order.totalSat)}</p>
    </div>
    ${payments.length > 0 ? paymentTable : ''}
  </section>`;
}

/** Empty when the order is paid: a customer would pay any amount that the page shows. */
const payWhere = (order: ShopOrder): Markup =>
  html`<section id="pay" class="two" data-live="/events">${payBox(order.address, orderStatus(order))}</section>`;

function payBox(address: string, { missingSat, seenSat }: OrderStatus): Markup | '' {
  if (missingSat === 0) return '';
  const uri = paymentUri(address, { amountSat: missingSat });
  return html`<div>
      <h2>${seenSat > 0 ? 'Pay what is missing' : 'Pay'}</h2>
      <p><strong>${formatBitcoin(missingSat)} BTC</strong> (${formatSat(missingSat)})</p>
      <p>to <code>${address}</code></p>
      <p><a href="${uri}">Open in a wallet</a></p>
    </div>
    <div class="qr" role="img" aria-label="QR code of the address and the amount">${raw(encodeQR(uri, 'svg'))}</div>`;
}

/** Value of a simulated payment: the missing sum, or the total when the order is paid. */
export const simulatedPaymentSat = (order: ShopOrder): number =>
  orderStatus(order).missingSat || order.totalSat;

function play(order: ShopOrder, chainUrl: string): Markup {
  const query = new URLSearchParams({
    address: order.address,
    amount: String(simulatedPaymentSat(order)),
  });
  return html`<article>
    <h2>Simulate the customer and the miners</h2>
    <form class="row" method="post" action="/orders/${order.id}/pay">
      <button name="how" value="exact">Pay exactly</button>
      <button name="how" value="short">Too little</button>
      <button name="how" value="over">Too much</button>
      <button name="how" value="twice">Twice</button>
    </form>
    <form class="row" method="post" action="/orders/${order.id}/mine">
      <button name="blocks" value="1">Mine 1 block</button>
      <button name="blocks" value="6">Mine 6 blocks</button>
    </form>
    <p>Replace, double-spend, reorganise: on the <a href="${chainUrl}?${query}">Chain page</a> of the dashboard.
      A double-spent payment is dropped half a minute later.</p>
  </article>`;
}

/** @param chainUrl the Chain page of the dashboard */
export const orderPage = (
  order: ShopOrder,
  chainUrl: string,
): Markup => html`<h1>Order ${order.id}</h1>
  ${liveState(order)}
  <ul>${order.lines.map(({ product, count }) => html`<li>${count} × ${product.name}</li>`)}</ul>
  ${payWhere(order)}
  ${play(order, chainUrl)}`;
