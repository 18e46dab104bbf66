// The orders of the demo shop: what was ordered, what paygate last reported, and whether the goods
// were sent. A real shop stores them in a database; these end with the process.

import { PaygateError } from '../../lib/errors.ts';
import type { PriceSource } from '../../price/sources.ts';
import type { Order } from './paygate-client.ts';

export interface Product {
  readonly id: string;
  readonly name: string;
  /** In hundredths of a euro. */
  readonly priceCents: number;
}

export const products: readonly Product[] = [
  { id: 'espresso', name: 'Espresso', priceCents: 200 },
  { id: 'postcard', name: 'Postcard', priceCents: 75 },
  { id: 'poster', name: 'Poster', priceCents: 1_250 },
];

export interface OrderLine {
  readonly product: Product;
  readonly count: number;
}

export interface ShopOrder {
  /** The shop's own number, which paygate returns as `reference`. */
  readonly id: string;
  readonly lines: readonly OrderLine[];
  /** As paygate last reported it. */
  paygate: Order;
  isShipped: boolean;
  /** Webhooks and callbacks in the order of their arrival. */
  readonly received: string[];
}

/** Decimal text such as `12.50`. */
export const totalOf = (lines: readonly OrderLine[]): string =>
  showEuros(lines.reduce((sum, { product, count }) => sum + product.priceCents * count, 0));

export const showEuros = (cents: number): string => (cents / 100).toFixed(2);

/** More orders than a person makes by hand. */
const maxOrders = 1_000;

export class Orders {
  readonly #byId = new Map<string, ShopOrder>();
  #newestId = 1_000;

  /** The number of a new order. @throws PaygateError unavailable if the shop is full */
  nextId(): string {
    if (this.#byId.size >= maxOrders) {
      throw new PaygateError('unavailable', `The shop has ${maxOrders} orders: start it anew`);
    }
    this.#newestId += 1;
    return String(this.#newestId);
  }

  add(id: string, lines: readonly OrderLine[], paygate: Order): void {
    this.#byId.set(id, { id, lines, paygate, isShipped: false, received: [] });
  }

  /** @throws PaygateError not_found */
  byId(id: string): ShopOrder {
    const order = this.#byId.get(id);
    if (order !== undefined) return order;
    throw new PaygateError('not_found', 'There is no such order');
  }

  /** Newest first. */
  newest(count: number): ShopOrder[] {
    return [...this.#byId.values()].slice(-count).reverse();
  }

  /** Takes the order of a webhook. Another program may have made it: then it is ignored. */
  applyEvent(type: string, paygate: Order): void {
    const order = this.#byId.get(paygate.reference ?? '');
    if (order === undefined || order.paygate.id !== paygate.id) return;
    order.received.push(`webhook ${type}, version ${paygate.version}: ${paygate.status}`);
    // A webhook may arrive twice, and an older one after a newer one.
    if (paygate.version <= order.paygate.version) return;
    order.paygate = paygate;
    // Once only, even if it is paid again after a reorganisation. A shop whose goods are scarce
    // looks at its stock first if the order is late.
    if (paygate.status === 'paid') order.isShipped = true;
  }

  /** Notes a callback. False if no order has its address: it is for another program. */
  applyCallback(query: string): boolean {
    const address = new URLSearchParams(query).get('addr');
    const order = [...this.#byId.values()].find(({ paygate }) => paygate.address === address);
    order?.received.push(`callback ${query}`);
    return order !== undefined;
  }
}

export const ratesPath = '/rates.json';

/** Price of one bitcoin, by ISO 4217 code. */
export const rates: Readonly<Record<string, number>> = {
  EUR: 50_000,
  USD: 60_000,
  GBP: 40_000,
  CHF: 48_000,
  BRL: 300_000,
  CZK: 1_250_000,
  PLN: 210_000,
  JPY: 9_000_000,
};

/** @param origin of the demo shop, which serves the rates */
export const simulatedRates = (origin: string): PriceSource => ({
  label: 'the sandbox, whose rates are made up',
  url: origin + ratesPath,
  path: ['{CODE}'],
});
