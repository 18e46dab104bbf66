// The page of `new_address` and callbacks, for a shop that keeps its own prices and sums.
// Its receivers come from docs/callbacks.md, where tests run them.

import { html } from 'hono/html';
import callbacksPage from '../../../docs/callbacks.md?raw';
import { docsPage, Prose } from '../../web/docs-page.tsx';
import type { Markup } from '../../web/html-page.ts';

interface Receiver {
  readonly name: string;
  /** How the receiver reads a request; code in backticks. */
  readonly note: string;
  readonly code: string;
}

/** `PHP (what is what):`, then its code. */
const receiverForm = /\n(PHP|Node|Python) \(([^\n]+)\):\n\n```\w+\n(.*?)\n```\n/gs;

export const receivers: readonly Receiver[] = [...callbacksPage.matchAll(receiverForm)].map(
  ([, name = '', note = '', code = '']) => ({ name, note, code }),
);

const block = (code: string): Markup => html`<pre><code>${code}</code></pre>`;

/** @param base scheme, host and port under which the shop reaches us */
export const callbackTutorialOf = (base: string): Markup =>
  docsPage({ title: 'Addresses and callbacks of paygate', body: bodyOf(base) });

const bodyOf = (base: string): Markup => html`<h1>Addresses and callbacks</h1>
  <p>
    A shop that keeps prices and sums itself needs an address for each order, and callbacks.
    <a href="/docs/quickstart">Orders</a> do the rest of it for you. A click on an example selects all of it.
    Every operation: <a href="/docs">the API</a>.
  </p>
  <h2>1. Ask for an address</h2>
  <p>
    Ask for one address for each order, with the API key of the dashboard, from your server and never from a
    browser. It is on the disk before you get the answer. <code>Idempotency-Key</code> gives the same address again when you repeat a
    failed request.
  </p>
  ${block(`curl -H "Authorization: Bearer $KEY" -H "Idempotency-Key: order-1001" ${base}/api/new_address`)}
  <p>
    With several stores say which one you mean, by the whole Callback URL or a part that no other has, such as its
    secret: <code>/api/new_address?match_callback=tulip</code>. Without it the key of all stores is answered 400 (1032),
    from the moment on that there is a second store. A key of one store (on its page in the dashboard, or
    <code>paygate key add</code>) needs none.
  </p>
  <p>
    Keep <code>address</code> and the price in satoshis with the order, and show both to your customer, also as
    a QR code: <code>bitcoin:ADDRESS?amount=0.00025</code>. What a bitcoin costs:
  </p>
  ${block(`curl "${base}/api/price?currency=EUR"`)}
  <h2>2. Receive callbacks</h2>
  <p>paygate requests the Callback URL of your store each time the payment changes, until you answer 200:</p>
  ${block('GET /paid?secret=tulip&status=2&addr=bc1q…&value=25000&txid=f418…')}
  ${meanings}
  <p>
    <code>secret</code>, which begins with <code>whsec_</code>, is that of your store: in the dashboard under
    Stores, <b>Show the secret</b>, or by <code>paygate store show</code>. It is not the one in the Callback URL.
    Answer 401 where a request is not genuine: anybody may send one.
    <code>orders</code> stands for your database: by address the price, and the payments that came.
  </p>
  ${receivers.map(
    ({ name, note, code }) => html`<h3>${name}</h3>
      <p>${<Prose text={note} />}</p>
      ${block(code)}`,
  )}
  ${checks(base)}`;

const meanings = html`<table>
  <tr><th scope="col">status</th><th scope="col">the payment</th><th scope="col">your shop</th></tr>
  <tr><td>0</td><td>was seen, and is in no block yet</td><td>says “payment seen”, sends nothing</td></tr>
  <tr><td>1</td><td>is in a block, with fewer confirmations than your store requires</td><td>waits</td></tr>
  <tr><td>2</td><td>has the confirmations that your store requires</td><td>counts it; ships when it is enough</td></tr>
  <tr><td>-1</td><td>is gone after status 1 or 2 (only if your store asks for it)</td><td>takes it back</td></tr>
</table>
<p>
  Each payment has a status of its own, by <code>txid</code>: a customer may pay in two parts. A reorganisation
  of the chain can lead back to 0. The same callback may come twice: <code>webhook-id</code> is the same then.
</p>`;

const checks = (base: string): Markup => html`<h2>3. Before you ship</h2>
  <ul>
    <li>The signature fits, or the secret in your Callback URL does.</li>
    <li><code>addr</code> is the address of this order, and the one you kept, not one that the browser sent.</li>
    <li>The <code>value</code> of all payments of status 2 together is the price or more.</li>
    <li>The status is 2. Neither 0 nor 1 is a payment yet.</li>
    <li>You answer 200 only after you stored it.</li>
  </ul>
  <p>
    <b>Send test callback</b> in the dashboard tries your receiver. When a callback seems to be missing, ask
    (404: nobody has paid yet):
  </p>
  ${block(`curl -H "Authorization: Bearer $KEY" "${base}/api/merchant/tx?addr=ADDRESS"`)}`;
