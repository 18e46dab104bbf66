// The receipt page `tx?txid=&addr=` (wire §3), for whoever has both: what a payment came to.

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Txid } from '../bitcoin/ids.ts';
import { showBitcoin, showTime } from '../domain/shown.ts';
import { PaygateError } from '../errors.ts';
import type { Store } from '../store/open.ts';
import { issuedAddress } from './live.ts';
import { confirmationsOf, statusOf } from './merchant-tx.ts';
import { page } from './page.ts';

const words = ['seen, not confirmed yet', 'in a block, not final yet', 'confirmed'] as const;

export function receiptPage(store: Store, context: Context): Response | Promise<Response> {
  const { txid = '', addr = '' } = context.req.query();
  if (txid === '' || addr === '') throw new PaygateError('invalid', 'Name a txid and an addr');
  const { scripthash } = issuedAddress(store, addr);
  const receipt = store.receipts.byPlace(scripthash, txid.toLowerCase() as Txid);
  if (receipt === undefined) throw new PaygateError('not_found', 'No such payment is known');
  context.header('Cache-Control', 'no-store');
  const isDropped = receipt.state === 'dropped';
  return page(
    context,
    'Payment',
    html`<h1>Payment</h1>
      <table>
        <tr><th>Amount</th><td>${showBitcoin(receipt.valueSat)} BTC</td></tr>
        <tr><th>State</th><td>${isDropped ? 'gone: it is in no block' : words[statusOf(receipt)]}</td></tr>
        <tr><th>Confirmations</th><td>${confirmationsOf(store, receipt)}</td></tr>
        <tr><th>First seen</th><td>${showTime(receipt.firstSeenAt)}</td></tr>
        <tr><th>Address</th><td><code>${receipt.address}</code></td></tr>
        <tr><th>Transaction</th><td><code>${receipt.txid}</code></td></tr>
      </table>`,
  );
}
