// The receipt page `tx?txid=&addr=` (wire §3): the state of one payment, for clients that know
// both.

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Txid } from '../bitcoin/ids.ts';
import { formatBitcoin, formatTime } from '../domain/format.ts';
import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import { confirmationsOf, statusOf } from '../store/views/confirmations.ts';
import { issuedAddress } from '../store/views/issued-address.ts';
import type { Receipt } from '../store/views/receipts.ts';
import { httpStatusOf } from '../web/error-body.ts';
import { textPage } from '../web/html-page.ts';
import type { LimitedLookup } from '../web/lookup-limit.ts';

const stateTexts = ['seen, not confirmed yet', 'in a block, not final yet', 'confirmed'] as const;

const unknown =
  'No such payment is known here. If it was made a moment ago, load this page again in a minute.';
const unnamed =
  'This link names no payment: a part of it is missing, or was changed. Open it again where the shop shows it.';

const tooMany =
  'Too many unknown payments were requested from your network. Load this page again in a minute.';
const texts: Partial<Record<ErrorCode, string>> = { not_found: unknown, limited: tooMany };

/** Errors are pages, too, because customers follow the link. */
export function receiptPage(
  store: Store,
  limitLookup: LimitedLookup,
  context: Context,
): Response | Promise<Response> {
  context.header('Cache-Control', 'no-store');
  try {
    const receipt = limitLookup(context, '/tx', () => receiptOf(store, context));
    return shownPage(store, context, receipt);
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code === 'internal') throw error;
    const { code, retryAfterSeconds } = error;
    if (retryAfterSeconds !== undefined) context.header('Retry-After', String(retryAfterSeconds));
    const text = texts[code] ?? unnamed;
    return textPage(context, 'Payment', html`<h1>Payment</h1><p>${text}</p>`, {
      status: httpStatusOf(error),
    });
  }
}

/** @throws PaygateError invalid, not_found */
function receiptOf(store: Store, context: Context): Receipt {
  const { txid = '', addr = '' } = context.req.query();
  if (txid === '' || addr === '') throw new PaygateError('invalid', unnamed);
  const { scripthash } = issuedAddress(store, addr);
  const receipt = store.receipts.byPlace(scripthash, txid.toLowerCase() as Txid);
  if (receipt === undefined) throw new PaygateError('not_found', unknown);
  return receipt;
}

function shownPage(store: Store, context: Context, receipt: Receipt): Response | Promise<Response> {
  const isDropped = receipt.state === 'dropped';
  return textPage(
    context,
    'Payment',
    html`<h1>Payment</h1>
      <table class="whole">
        <tr><th>Amount</th><td>${formatBitcoin(receipt.valueSat)} BTC</td></tr>
        <tr><th>State</th><td>${isDropped ? 'gone: it is in no block' : stateTexts[statusOf(store, receipt)]}</td></tr>
        <tr><th>Confirmations</th><td>${confirmationsOf(store, receipt)}</td></tr>
        <tr><th>First seen</th><td>${formatTime(receipt.firstSeenAt)}</td></tr>
        <tr><th>Address</th><td><code>${receipt.address}</code></td></tr>
        <tr><th>Transaction</th><td><code>${receipt.txid}</code></td></tr>
      </table>`,
  );
}
