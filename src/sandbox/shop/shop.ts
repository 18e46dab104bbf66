// The demo shop: a cart, the page of an order, and the receivers of webhooks and callbacks. It uses
// the API of paygate only. A real shop has no box that simulates the customer's wallet, the miners
// and the time.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { orderWords } from '../../domain/order/state-words.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Markup } from '../../web/html-page.ts';
import type { SandboxWorld } from '../sandbox-clock.ts';
import type { Fields } from './chain-controls.ts';
import { orderPage } from './order-page.ts';
import { event, type PaygateClient } from './paygate-client.ts';
import {
  type OrderLine,
  type Orders,
  products,
  type ShopOrder,
  showEuros,
  totalOf,
} from './shop-orders.ts';
import { page, table } from './shop-page.ts';

export interface ShopOptions {
  readonly orders: Orders;
  /** @throws PaygateError unavailable while paygate is starting */
  readonly paygate: () => PaygateClient;
  /** `whsec_…` */
  readonly webhookSecret: string;
  readonly world: Pick<SandboxWorld, 'machineNow'>;
  /** What the box below an order does, by the name of its form. */
  readonly plays: Readonly<Record<string, Play>>;
  readonly chainUrl: () => string;
  /** Called when the page of an order changes. */
  readonly onChange: () => void;
}

/** Changes the chain or the time. @throws PaygateError invalid, not_found */
export type Play = (order: ShopOrder, fields: Fields) => void;

export const webhookPath = '/webhook';
export const callbackPath = '/callback';
/** Transaction id of test callbacks and test payments. */
const testTxid = 'WarningThisIsAGeneratedTestPaymentAndNotARealBitcoinTransaction';
/** The rate is promised for as long. */
const orderSeconds = 900;
const shownOrders = 10;
const refreshSeconds = 3;

export function createShop(options: ShopOptions): Hono {
  const { orders, paygate, plays, chainUrl } = options;
  const shop = new Hono();
  shop.get('/', (context) =>
    page(context, { title: 'Shop', body: cartPage(orders.newest(shownOrders)) }),
  );
  shop.post('/orders', async (context) => {
    const lines = readCart(await fieldsOf(context));
    const id = orders.nextId();
    const order = await paygate().createOrder({
      amount: totalOf(lines),
      currency: 'EUR',
      reference: id,
      description: lines.map(({ product, count }) => `${count} × ${product.name}`).join(', '),
      expires_in: orderSeconds,
      return_url: new URL(`/orders/${id}`, context.req.url).href,
    });
    orders.add(id, lines, order);
    return context.redirect(`/orders/${id}`, 303);
  });
  shop.get('/orders/:id', (context) => {
    const order = orders.byId(context.req.param('id'));
    const title = `Order ${order.id}`;
    return page(context, { title, body: orderPage(order, chainUrl()), refreshSeconds });
  });
  for (const [name, play] of Object.entries(plays)) {
    shop.post(`/orders/:id/${name}`, async (context) => {
      const order = orders.byId(context.req.param('id'));
      play(order, await fieldsOf(context));
      return context.redirect(`/orders/${order.id}`, 303);
    });
  }
  shop.post(webhookPath, (context) => receiveWebhook(options, context));
  shop.get(callbackPath, (context) => receiveCallback(options, context));
  return shop;
}

async function receiveWebhook(options: ShopOptions, context: Context): Promise<Response> {
  const body = await context.req.text();
  checkSignature(options, context, body);
  const { type, data } = event.parse(JSON.parse(body));
  if (data.order !== undefined) options.orders.applyEvent(type, data.order);
  options.onChange();
  return context.text('ok');
}

/** Its orders have webhooks, so the shop only notes callbacks of theirs, and takes all others. */
function receiveCallback(options: ShopOptions, context: Context): Response {
  const { url } = context.req;
  const query = url.slice(url.indexOf('?') + 1);
  checkSignature(options, context, query);
  if (context.req.query('txid') === testTxid) return context.text('ok, a test');
  if (options.orders.applyCallback(query)) options.onChange();
  return context.text('ok');
}

/** @throws PaygateError unauthorized */
function checkSignature(
  { webhookSecret: secret, world }: ShopOptions,
  { req }: Context,
  content: string,
): void {
  verify({ content, header: (name) => req.header(name) }, { secret, now: world.machineNow() });
}

/** Text fields of the form; uploaded files are ignored. */
async function fieldsOf(context: Context): Promise<Fields> {
  const entries = Object.entries(await context.req.parseBody());
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** @throws PaygateError invalid */
function readCart(fields: Fields): OrderLine[] {
  const lines = products.map((product) => {
    const text = fields[product.id] ?? '0';
    if (/^\d?$/.test(text)) return { product, count: Number(text) };
    throw new PaygateError('invalid', `${product.name}: from 0 to 9 of each`);
  });
  const wanted = lines.filter(({ count }) => count > 0);
  if (wanted.length === 0) throw new PaygateError('invalid', 'There is nothing in the cart');
  return wanted;
}

const cartPage = (orders: readonly ShopOrder[]): Markup => html`<h1>A small shop</h1>
  <p>Choose something, pay with coins of a simulated chain, and watch the order become paid.</p>
  <form method="post" action="/orders">
    ${products.map(
      ({ id, name, priceCents }, index) => html`<label>
        ${name}, ${showEuros(priceCents)} EUR
        <input type="number" name="${id}" min="0" max="9" value="${index === 0 ? 1 : 0}" required />
      </label>`,
    )}
    <button>Order</button>
  </form>
  <section id="orders" data-live="/events">${orders.length > 0 ? orderList(orders) : ''}</section>`;

const orderList = (orders: readonly ShopOrder[]): Markup => html`<h2>Orders</h2>
  ${table(
    'Orders',
    ['Order', 'Total', 'Status'],
    orders.map(
      (order) => html`<tr>
        <td><a href="/orders/${order.id}">${order.id}</a></td>
        <td>${totalOf(order.lines)} EUR</td>
        <td>${orderWords[order.paygate.status].text}</td>
      </tr>`,
    ),
  )}`;

const toleranceSeconds = 300;

export interface SignedRequest {
  /** The bytes that are signed, unchanged. */
  readonly content: string;
  readonly header: (name: string) => string | undefined;
}

export interface VerificationOptions {
  /** `whsec_…` */
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Whether a request comes from our paygate, by Standard Webhooks: a webhook signs its body, and a
 * callback signs its raw query. It shares no code with the signing side.
 * @throws PaygateError unauthorized
 */
export function verify(request: SignedRequest, options: VerificationOptions): void {
  if (isGenuine(request, options)) return;
  throw new PaygateError('unauthorized', 'The signature is not that of our paygate');
}

function isGenuine(
  { content, header }: SignedRequest,
  { secret, now }: VerificationOptions,
): boolean {
  const timestamp = header('webhook-timestamp') ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) >= toleranceSeconds) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${header('webhook-id')}.${timestamp}.${content}`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  return (header('webhook-signature') ?? '').split(' ').some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
