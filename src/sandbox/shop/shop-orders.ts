// The orders of the demo shop: what was bought, the address that is asked to be paid, and what callbacks
// said of it. It is what a shop of one's own would keep in its database; here it ends with the process.

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

/** One transaction to the order's address, as the last callback about it told. */
export interface OrderPayment {
  readonly txid: string;
  readonly valueSat: number;
  readonly status: 0 | 1 | 2;
  /** It is in no mempool and in no block any more. */
  readonly isDropped: boolean;
}

export interface ShopOrder {
  readonly id: string;
  readonly address: string;
  readonly lines: readonly OrderLine[];
  readonly totalSat: number;
  /** By txid. */
  readonly payments: Map<string, OrderPayment>;
  /** Ids of the callbacks that were taken: one may come twice. */
  readonly processedEventIds: Set<string>;
}

/** What a callback told, after its signature was found to be genuine. */
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
  /** Seen in all, whether confirmed or not. */
  readonly seenSat: number;
  /** Confirmed: the only sum that goods are sent for. */
  readonly confirmedSat: number;
  /** What is still to be paid: nothing is asked for twice, also while it waits for its block. */
  readonly missingSat: number;
}

/** An order is paid by what is confirmed, and only if that is enough. */
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

/** More than a person makes by hand. */
const maxOrders = 1_000;

export class Orders {
  readonly #byId = new Map<string, ShopOrder>();
  readonly #byAddress = new Map<string, ShopOrder>();

  /** @throws PaygateError unavailable when there are too many; before an address is asked for */
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
