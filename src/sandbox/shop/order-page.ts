// What the customer sees of an order: what it costs, where to pay, how the payment stands. The box below it
// is the sandbox's: it plays the customer's wallet and the miners.

import { html, raw } from 'hono/html';
import encodeQR from 'qr';
import { formatBitcoin } from '../../domain/format.ts';
import type { Markup } from '../../web/html-page.ts';
import {
  type OrderPayment,
  type OrderState,
  type OrderStatus,
  orderStatus,
  type ShopOrder,
} from './shop-orders.ts';
import { showSat, table } from './shop-page.ts';

/** Payments that a page shows; there may be more. */
const shownPayments = 20;

const titles: Readonly<Record<OrderState, string>> = {
  waiting: 'Waiting for your payment',
  short: 'Too little has arrived',
  seen: 'Payment seen',
  confirming: 'In a block',
  paid: 'Paid',
};

const statusWords = ['0: seen', '1: in a block', '2: confirmed'] as const;

function explain(
  { state, seenSat, confirmedSat, missingSat }: OrderStatus,
  totalSat: number,
): string {
  switch (state) {
    case 'waiting':
      return `Send ${showSat(totalSat)} to the address below.`;
    case 'short':
      return `${showSat(seenSat)} of ${showSat(totalSat)}: ${showSat(missingSat)} are missing.`;
    case 'seen':
      return 'It is announced, but in no block yet, and could still be replaced: nothing is sent for it.';
    case 'confirming':
      return 'One more block, and it is final.';
    case 'paid':
      return confirmedSat > totalSat
        ? `Thank you! It is on its way. You paid ${showSat(confirmedSat - totalSat)} too much.`
        : 'Thank you! It is on its way.';
  }
}

function paymentRow({ txid, valueSat, status, isDropped }: OrderPayment): Markup {
  const words = isDropped ? 'gone: replaced or spent elsewhere' : statusWords[status];
  return html`<tr><td>${words}</td><td>${showSat(valueSat)}</td><td><code>${txid.slice(0, 16)}…</code></td></tr>`;
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

/** BIP21. */
const paymentUri = (address: string, valueSat: number): string =>
  `bitcoin:${address}?amount=${formatBitcoin(valueSat)}`;

/** Empty where nothing is missing: who reads an amount, or scans it, pays it. */
const payWhere = (order: ShopOrder): Markup =>
  html`<section id="pay" class="two" data-live="/events">${payBox(order.address, orderStatus(order))}</section>`;

function payBox(address: string, { missingSat, seenSat }: OrderStatus): Markup | '' {
  if (missingSat === 0) return '';
  const uri = paymentUri(address, missingSat);
  return html`<div>
      <h2>${seenSat > 0 ? 'Pay what is missing' : 'Pay'}</h2>
      <p><strong>${formatBitcoin(missingSat)} BTC</strong> (${showSat(missingSat)})</p>
      <p>to <code>${address}</code></p>
      <p><a href="${uri}">Open in a wallet</a></p>
    </div>
    <div class="qr" role="img" aria-label="QR code of the address and the amount">${raw(encodeQR(uri, 'svg'))}</div>`;
}

/** What its customer would pay now: what is asked for; where that is nothing, all of it once more. */
export const simulatedPaymentSat = (order: ShopOrder): number =>
  orderStatus(order).missingSat || order.totalSat;

function play(order: ShopOrder, chainUrl: string): Markup {
  const query = new URLSearchParams({
    address: order.address,
    amount: String(simulatedPaymentSat(order)),
  });
  return html`<article>
    <h2>Play the customer and the miners</h2>
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
      What was double-spent is gone half a minute later.</p>
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
