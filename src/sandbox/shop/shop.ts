// The demo shop: a cart, an order's page, and the receiver of callbacks. It uses the
// API of paygate only. A real shop has no box that simulates the customer's wallet and the miners.

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { formatSat } from '../../domain/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Markup } from '../../web/html-page.ts';
import type { World } from '../../world/world.ts';
import { readCallback } from './callback-receiver.ts';
import type { Fields } from './chain-controls.ts';
import { orderPage, simulatedPaymentSat } from './order-page.ts';
import type { PaygateClient } from './paygate-client.ts';
import {
  type OrderLine,
  type Orders,
  orderStatus,
  products,
  type ShopOrder,
} from './shop-orders.ts';
import { page, table } from './shop-page.ts';

export interface ShopOptions {
  readonly orders: Orders;
  /** @throws PaygateError unavailable while paygate is starting */
  readonly paygate: () => PaygateClient;
  /** `whsec_…` */
  readonly webhookSecret: string;
  readonly world: Pick<World, 'now' | 'randomBytes'>;
  readonly play: Play;
  /** URL of the Chain page in the dashboard. */
  readonly chainUrl: () => string;
  /** Called when the page of an order changes. */
  readonly onChange: () => void;
}

/** Changes of the chain by the box below an order. @throws PaygateError invalid */
export interface Play {
  pay(fields: Fields): void;
  mine(fields: Fields): void;
}

export const callbackPath = '/callback';
/** Transaction id of a test callback, whose address belongs to no order. */
const testTxid = 'WarningThisIsAGeneratedTestPaymentAndNotARealBitcoinTransaction';
const orderIdBytes = 8;
const shownOrders = 10;
const refreshSeconds = 3;

export function createShop(options: ShopOptions): Hono {
  const { orders, paygate, world, play, chainUrl } = options;
  const shop = new Hono();
  shop.get('/', (context) =>
    page(context, { title: 'Shop', body: cartPage(orders.newest(shownOrders)) }),
  );
  shop.post('/orders', async (context) => {
    const lines = readCart(await fieldsOf(context));
    orders.checkCapacity();
    const address = await paygate().newAddress();
    const id = Buffer.from(world.randomBytes(orderIdBytes)).toString('hex');
    orders.add({ id, address, lines });
    return context.redirect(`/orders/${id}`, 303);
  });
  shop.get('/orders/:id', (context) => {
    const order = orders.byId(context.req.param('id'));
    const title = `Order ${order.id}`;
    return page(context, { title, body: orderPage(order, chainUrl()), refreshSeconds });
  });
  shop.post('/orders/:id/pay', async (context) => {
    const { how } = await fieldsOf(context);
    const order = orders.byId(context.req.param('id'));
    const { id, address } = order;
    play.pay({
      address,
      amount: String(simulatedPaymentSat(order)),
      ...(how !== undefined && { how }),
    });
    return context.redirect(`/orders/${id}`, 303);
  });
  shop.post('/orders/:id/mine', async (context) => {
    const { id } = orders.byId(context.req.param('id'));
    play.mine(await fieldsOf(context));
    return context.redirect(`/orders/${id}`, 303);
  });
  shop.get(callbackPath, (context) => receive(options, context));
  return shop;
}

function receive(options: ShopOptions, context: Context): Response {
  const { url } = context.req;
  const query = url.slice(url.indexOf('?') + 1);
  const { webhookSecret: secret, world } = options;
  const header = (name: string) => context.req.header(name);
  const callback = readCallback({ query, header }, { secret, now: world.now() });
  if (callback.txid === testTxid) return context.text('ok, a test');
  options.orders.applyCallback(callback);
  options.onChange();
  return context.text('ok');
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
      ({ id, name, priceSat }, index) => html`<label>
        ${name}, ${formatSat(priceSat)}
        <input type="number" name="${id}" min="0" max="9" value="${index === 0 ? 1 : 0}" required />
      </label>`,
    )}
    <button>Order</button>
  </form>
  <section id="orders" data-live="/events">${orders.length > 0 ? orderList(orders) : ''}</section>`;

const orderList = (orders: readonly ShopOrder[]): Markup => html`<h2>Orders</h2>
  ${table(
    'Orders',
    ['Order', 'Total', 'State'],
    orders.map(
      (order) => html`<tr>
        <td><a href="/orders/${order.id}">${order.id}</a></td>
        <td>${formatSat(order.totalSat)}</td>
        <td>${orderStatus(order).state}</td>
      </tr>`,
    ),
  )}`;
