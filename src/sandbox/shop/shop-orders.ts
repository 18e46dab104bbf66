// The orders of the demo shop: products, payment address, and payments by callback. A real shop
// stores them in a database; these end with the process.

import { PaygateError } from '../../lib/errors.ts';

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly priceSat: number;
}

export const products: readonly Product[] = [
  { id: 'espresso', name: 'Espresso', priceSat: 4_000 },
  { id: 'postcard', name: 'Postcard', priceSat: 1_500 },
  { id: 'poster', name: 'Poster', priceSat: 25_000 },
];

export interface OrderLine {
  readonly product: Product;
  readonly count: number;
}

/** One transaction to the order's address, from its latest callback. */
export interface OrderPayment {
  readonly txid: string;
  readonly valueSat: number;
  readonly status: 0 | 1 | 2;
  /** Whether it left mempool and blocks. */
  readonly isDropped: boolean;
}

export interface ShopOrder {
  readonly id: string;
  readonly address: string;
  readonly lines: readonly OrderLine[];
  readonly totalSat: number;
  /** By txid. */
  readonly payments: Map<string, OrderPayment>;
  /** Ids of applied callbacks: one may arrive twice. */
  readonly processedEventIds: Set<string>;
}

/** Fields of a callback whose signature is valid. */
export interface CallbackFields {
  readonly eventId: string;
  readonly address: string;
  readonly txid: string;
  readonly valueSat: number;
  readonly status: -1 | 0 | 1 | 2;
}

export type OrderState = 'waiting' | 'short' | 'seen' | 'confirming' | 'paid';

export interface OrderStatus {
  readonly state: OrderState;
  /** Sum of all payments, confirmed or not. */
  readonly seenSat: number;
  /** Sum of confirmed payments: a shop must send goods for this sum only. */
  readonly confirmedSat: number;
  /** Sum still to pay; unconfirmed payments count as paid, so that no customer pays twice. */
  readonly missingSat: number;
}

/** An order is paid when its confirmed payments reach its total. */
export function orderStatus({ payments, totalSat }: ShopOrder): OrderStatus {
  const sumOf = (least: number): number =>
    [...payments.values()]
      .filter(({ status, isDropped }) => !isDropped && status >= least)
      .reduce((sum, { valueSat }) => sum + valueSat, 0);
  const [seenSat, minedSat, confirmedSat] = [sumOf(0), sumOf(1), sumOf(2)];
  const state = (): OrderState => {
    if (confirmedSat >= totalSat) return 'paid';
    if (minedSat >= totalSat) return 'confirming';
    if (seenSat >= totalSat) return 'seen';
    return seenSat > 0 ? 'short' : 'waiting';
  };
  return { state: state(), seenSat, confirmedSat, missingSat: Math.max(0, totalSat - seenSat) };
}

/** More orders than a person makes by hand. */
const maxOrders = 1_000;

export class Orders {
  readonly #byId = new Map<string, ShopOrder>();
  readonly #byAddress = new Map<string, ShopOrder>();

  /** Call it before an address is requested. @throws PaygateError unavailable if full */
  checkCapacity(): void {
    if (this.#byId.size < maxOrders) return;
    throw new PaygateError('unavailable', `The shop has ${maxOrders} orders: start it anew`);
  }

  add(order: Pick<ShopOrder, 'id' | 'address' | 'lines'>): ShopOrder {
    const totalSat = totalOf(order.lines);
    const added = { ...order, totalSat, payments: new Map(), processedEventIds: new Set<string>() };
    this.#byId.set(order.id, added);
    this.#byAddress.set(order.address, added);
    return added;
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

  /** @throws PaygateError not_found when no order has the address */
  applyCallback({ eventId, address, txid, valueSat, status }: CallbackFields): void {
    const order = this.#byAddress.get(address);
    if (order === undefined) throw new PaygateError('not_found', 'No order has this address');
    if (order.processedEventIds.has(eventId)) return;
    order.processedEventIds.add(eventId);
    const isDropped = status === -1;
    order.payments.set(txid, { txid, valueSat, status: isDropped ? 0 : status, isDropped });
  }
}

const totalOf = (lines: readonly OrderLine[]): number =>
  lines.reduce((sum, { product, count }) => sum + product.priceSat * count, 0);
