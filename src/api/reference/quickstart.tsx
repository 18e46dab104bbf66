// The quickstart page, which guides a programmer from an API key to a shop that takes payments, by
// orders and webhooks. Its receivers come from docs/receivers.md, where tests run them.

import { html } from 'hono/html';
import receiversPage from '../../../docs/receivers.md?raw';
import { docsPage } from '../../web/docs-page.tsx';
import type { Markup } from '../../web/html-page.ts';
import { newOrderExample } from '../orders/order-schemas.ts';

/** `## Node`, a text of what it needs, then the whole program. */
const programForm = /\n## (Node|Python|PHP)\n.*?\n```\w+\n(.*?)\n```\n/gs;

export const orderReceivers = [...receiversPage.matchAll(programForm)].map(
  ([, name = '', code = '']) => ({ name, code }),
);

const block = (code: string): Markup => html`<pre><code>${code}</code></pre>`;

/** @param base scheme, host and port under which the shop reaches us */
export const quickstartOf = (base: string): Markup =>
  docsPage({ title: 'Take payments with paygate', body: bodyOf(base) });

const orderBody = JSON.stringify(newOrderExample);

const bodyOf = (base: string): Markup => html`<h1>Take payments in your language</h1>
  <p>
    An order is a price, one address and the payments to it. paygate computes its status. A click on an
    example selects all of it. Every operation: <a href="/docs">the API</a>. A shop that sums up payments
    itself: <a href="/docs/new-address">addresses and callbacks</a>.
  </p>
  <h2>1. Make an order</h2>
  <p>
    Make it with the API key of the dashboard, from your server and never from a browser.
    <code>Idempotency-Key</code> gives the same order again when you repeat a failed request.
  </p>
  ${block(`curl -H "Authorization: Bearer $KEY" -H "Idempotency-Key: order-1007" -d '${orderBody}' ${base}/api/v3/orders`)}
  <p>
    Keep <code>id</code> with your own order, and send the customer to <code>page_url</code>. The page has
    the amount, the code and the state of the payment, in the customer's language. It leads back to
    <code>return_url</code>. With several stores, name one by <code>store_id</code>, or use a key of one
    store (on its page in the dashboard, or <code>paygate key add</code>).
  </p>
  <h2>2. Receive events</h2>
  <p>paygate posts each change of the order to the webhook URL of your store, until you answer 2xx:</p>
  ${block(`paygate store set 1 --webhook-url https://shop.example/hook
paygate events test --store 1`)}
  ${statuses}
  <p>
    <code>WEBHOOK_SECRET</code>, which begins with <code>whsec_</code>, is that of your store: in the dashboard
    under Stores, <b>Show the secret</b>, or by <code>paygate store show 1</code>. Each program below checks the
    signature, keeps the newest <code>version</code> of an order, and notes what to do with the goods. The
    same event may come twice: <code>webhook-id</code> is the same then.
  </p>
  ${orderReceivers.map(({ name, code }) => html`<h3>${name}</h3>${block(code)}`)}
  <h2>3. After an outage</h2>
  <p>
    Events wait for your shop for days. To catch up by yourself, list them behind the last one that you know,
    or ask for one order:
  </p>
  ${block(`curl -H "Authorization: Bearer $KEY" "${base}/api/v3/events?limit=100"
curl -H "Authorization: Bearer $KEY" ${base}/api/v3/orders/ID`)}
  ${checks}`;

const statuses = html`<table>
  <tr><th scope="col">status</th><th scope="col">the order</th><th scope="col">your shop</th></tr>
  <tr><td>open</td><td>not enough was seen</td><td>waits</td></tr>
  <tr><td>processing</td><td>enough was seen, and is not final</td><td>says “payment seen”, sends nothing</td></tr>
  <tr><td>paid</td><td>enough is final</td><td>ships; looks first if <code>late</code> is true</td></tr>
  <tr><td>expired</td><td>its time is over, and too little came</td><td>releases the goods</td></tr>
  <tr><td>canceled</td><td>you canceled it</td><td>releases the goods</td></tr>
</table>
<p>
  A reorganisation of the chain can take <code>paid</code> back: the event is <code>order.reversed</code>.
</p>`;

const checks = html`<h2>4. Before you ship</h2>
  <ul>
    <li>The signature fits, and the timestamp is of the last five minutes.</li>
    <li>The order is one that you made, at the price that you kept.</li>
    <li>Its status is <code>paid</code>, by an event or by the API, never by what a browser sent.</li>
    <li>You answer 2xx only after you stored it.</li>
  </ul>
  <p>
    Try it without money: <code>paygate sandbox</code> has its own chain, where you are the customer and the
    miner.
  </p>`;
