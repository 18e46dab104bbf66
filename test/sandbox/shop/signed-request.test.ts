// The signatures that the demo shop accepts. The npm package standardwebhooks makes them; it shares
// no code with ours.

import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verify } from '../../../src/sandbox/shop/shop.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const now = 1_763_650_000_000;
const txid = 'ab'.repeat(32);
/** A callback signs its query, a webhook its body. */
const query = `status=1&addr=bcrt1q4wm6m5khs6x327epqsj7a9rdzhj8305vsqhnuv&value=8000&txid=${txid}`;
const body = `{"type":"order.paid","data":{"order":{"description":"Zwei Plakate für 12,50 €"}}}`;

interface Sent {
  readonly query?: string;
  readonly signed?: string;
  readonly by?: string;
  readonly at?: number;
  readonly change?: Record<string, string>;
}

function receive({ query: sent = query, signed = sent, by = secret, at = now, change }: Sent = {}) {
  const headers: Record<string, string> = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(by).sign('evt_1', new Date(at), signed),
    ...change,
  };
  verify({ content: sent, header: (name) => headers[name] }, { secret, now });
}

describe('the shop', () => {
  it.each([query, body])('accepts a request that its paygate signed: %s', (content) => {
    receive({ query: content });
    receive({ query: content, at: now - 299_000 });
    const rotated = `v1,AAAA ${new Webhook(secret).sign('evt_1', new Date(now), content)}`;
    receive({ query: content, change: { 'webhook-signature': rotated } });
  });

  const forged: readonly (readonly [string, Sent])[] = [
    ['with another value', { query: query.replace('8000', '9000'), signed: query }],
    ['written in another way', { query: query.replace('status', '%73tatus'), signed: query }],
    ['with more behind it', { query: `${query}&status=2`, signed: query }],
    ['with another secret', { by: `whsec_${Buffer.alloc(32).toString('base64')}` }],
    ['long ago', { at: now - 300_000 }],
    ['ahead of time', { at: now + 300_000 }],
    ['under another id', { change: { 'webhook-id': 'evt_2' } }],
    ['at another time', { change: { 'webhook-timestamp': String(now / 1000 + 1) } }],
    ['at no time', { change: { 'webhook-timestamp': '' } }],
    ['not at all', { change: { 'webhook-signature': '' } }],
    ['by another scheme', { change: { 'webhook-signature': 'v2,AAAA é v1a,AAAA' } }],
  ];
  it.each(forged)('refuses a request that was signed %s', (_, sent) => {
    expect(() => receive(sent)).toThrow('not that of our paygate');
  });
});
