// The shop's page of an order: what paygate last reported. The customer pays on the page of
// paygate, which shows the price of now. The box with the buttons belongs to the sandbox: it
// simulates the customer's wallet, the miners and the time.

import { html } from 'hono/html';
import { orderWords } from '../../domain/order/state-words.ts';
import { formatSat } from '../../domain/text/format.ts';
import type { Markup } from '../../web/html-page.ts';
import type { Order } from './paygate-client.ts';
import { rates, type ShopOrder, totalOf } from './shop-orders.ts';
import { table } from './shop-page.ts';

const shownMessages = 20;

function titleOf({ status, received_sat, missing_sat, excess_sat, late }: Order): string {
  const isShort = received_sat > 0 && missing_sat !== null && missing_sat > 0;
  return [
    orderWords[status].text,
    ...(isShort ? [`short by ${formatSat(missing_sat)}`] : []),
    ...(excess_sat > 0 ? [`over by ${formatSat(excess_sat)}`] : []),
    ...(late ? ['late'] : []),
  ].join(', ');
}

const sentences: Readonly<Record<Order['status'], string>> = {
  open: 'The shop waits for the payment.',
  processing:
    'The payment is not final yet: it can still be replaced. The shop sends nothing for it.',
  paid: 'Thank you! It is on its way.',
  expired: 'Do not pay any more. A payment that comes all the same is late.',
  canceled: 'Do not pay.',
};

const payLink = ({ status, page_url: url }: Order): Markup =>
  status === 'open'
    ? html`<a class="main" href="${url}">Pay with Bitcoin</a>`
    : html`<a href="${url}">The page of the order, as the customer sees it</a>`;

function liveState({ paygate, lines, isShipped }: ShopOrder): Markup {
  const { amount_sat, received_sat, missing_sat, excess_sat } = paygate;
  const facts: readonly (readonly [string, string])[] = [
    ['Price', `${totalOf(lines)} EUR = ${formatSat(amount_sat)}`],
    ['Simulated rate', `${rates.EUR?.toLocaleString('en')} EUR for a bitcoin`],
    ['Received', formatSat(received_sat)],
    ...(missing_sat ? [['Missing', formatSat(missing_sat)] as const] : []),
    ...(excess_sat > 0 ? [['Too much', formatSat(excess_sat)] as const] : []),
    ['Goods sent', isShipped ? 'yes' : 'no'],
  ];
  return html`<section id="state" data-live="/events" aria-live="polite">
    <div class="state ${paygate.status}">
      <h2>${titleOf(paygate)}</h2>
      <p>${sentences[paygate.status]}</p>
    </div>
    <p>${payLink(paygate)}</p>
    ${table(
      'Amounts',
      ['Order', 'As of its last event'],
      facts.map(([name, value]) => html`<tr><td>${name}</td><td>${value}</td></tr>`),
    )}
  </section>`;
}

const liveMessages = ({ received }: ShopOrder): Markup => html`
  <section id="messages" data-live="/events">
    <h2>What paygate sent to the shop</h2>
    ${table(
      'Webhooks and callbacks',
      ['Webhooks and callbacks'],
      received.slice(-shownMessages).map((each) => html`<tr><td><code>${each}</code></td></tr>`),
    )}
  </section>`;

/** Value of a simulated payment: the missing sum, or the price when nothing is missing. */
export function simulatedPaymentSat({ paygate }: ShopOrder): number {
  const { missing_sat, amount_sat, received_sat } = paygate;
  return (missing_sat ?? Math.max(0, amount_sat - received_sat)) || amount_sat;
}

function play(order: ShopOrder, chainUrl: string): Markup {
  const { address } = order.paygate;
  const query = new URLSearchParams({ address, amount: String(simulatedPaymentSat(order)) });
  const row = (who: string, ...buttons: Markup[]): Markup =>
    html`<h3>${who}</h3><form class="row" method="post">${buttons}</form>`;
  const button = (play: string, name: string, value: string, label: string): Markup =>
    html`<button formaction="/orders/${order.id}/${play}" name="${name}" value="${value}">
      ${label}
    </button>`;
  return html`<article>
    <h2>Simulate</h2>
    ${row(
      'The customer',
      button('pay', 'how', 'exact', 'Pay exactly'),
      button('pay', 'how', 'short', 'Too little'),
      button('pay', 'how', 'over', 'Too much'),
      button('pay', 'how', 'twice', 'Twice'),
      button('replace', 'by', 'fee', 'Replace by fee'),
      button('replace', 'by', 'spend', 'Double-spend'),
    )}
    ${row(
      'The miners',
      button('mine', 'blocks', '1', 'Mine 1 block'),
      button('mine', 'blocks', '6', 'Mine 6 blocks'),
      button('reorganise', 'depth', '6', 'Reorganise 6 blocks'),
    )}
    ${row('The time', button('expire', 'now', '1', 'Let the order expire'))}
    <p>A payment after the order expired is late. A double-spent payment is gone half a minute later.
      More is on the <a href="${chainUrl}?${query}">Chain page</a> of the dashboard.</p>
  </article>`;
}

export const orderPage = (
  order: ShopOrder,
  chainUrl: string,
): Markup => html`<h1>Order ${order.id}</h1>
  <ul>${order.lines.map(({ product, count }) => html`<li>${count} × ${product.name}</li>`)}</ul>
  ${liveState(order)}
  ${play(order, chainUrl)}
  ${liveMessages(order)}`;
