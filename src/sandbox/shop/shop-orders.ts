// The orders of the demo shop: what was bought, the address that is asked to be paid, and what callbacks
// said of it. It is what a shop of one's own would keep in its database; here it ends with the process.

import { PaygateError } from '../../lib/errors.ts';

export interface Thing {
  readonly id: string;
  readonly name: string;
  readonly priceSat: number;
}

export const things: readonly Thing[] = [
  { id: 'espresso', name: 'Espresso', priceSat: 4_000 },
  { id: 'postcard', name: 'Postcard', priceSat: 1_500 },
  { id: 'poster', name: 'Poster', priceSat: 25_000 },
];

export interface Line {
  readonly thing: Thing;
  readonly count: number;
}

/** One transaction to the order's address, as the last callback about it told. */
export interface OrderPayment {
  readonly txid: string;
  readonly valueSat: number;
  readonly status: 0 | 1 | 2;
  /** It is in no mempool and in no block any more. */
  readonly gone: boolean;
}

export interface Order {
  readonly id: string;
  readonly address: string;
  readonly lines: readonly Line[];
  readonly totalSat: number;
  /** By txid. */
  readonly payments: Map<string, OrderPayment>;
  /** Ids of the callbacks that were taken: one may come twice. */
  readonly taken: Set<string>;
}

/** What a callback told, after its signature was found to be genuine. */
export interface Told {
  readonly eventId: string;
  readonly address: string;
  readonly txid: string;
  readonly valueSat: number;
  readonly status: -1 | 0 | 1 | 2;
}

export type OrderState = 'waiting' | 'short' | 'seen' | 'confirming' | 'paid';

export interface Standing {
  readonly state: OrderState;
  /** Seen in all, whether confirmed or not. */
  readonly seenSat: number;
  /** Confirmed: the only sum that goods are sent for. */
  readonly confirmedSat: number;
  /** What is still to be paid: nothing is asked for twice, also while it waits for its block. */
  readonly missingSat: number;
}

/** An order is paid by what is confirmed, and only if that is enough. */
export function standingOf({ payments, totalSat }: Order): Standing {
  const sumOf = (least: number): number =>
    [...payments.values()]
      .filter(({ status, gone }) => !gone && status >= least)
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
const mostOrders = 1_000;

export class Orders {
  readonly #byId = new Map<string, Order>();
  readonly #byAddress = new Map<string, Order>();

  /** @throws PaygateError unavailable when there are too many; before an address is asked for */
  checkRoom(): void {
    if (this.#byId.size < mostOrders) return;
    throw new PaygateError('unavailable', `The shop has ${mostOrders} orders: start it anew`);
  }

  add(order: Pick<Order, 'id' | 'address' | 'lines'>): Order {
    const totalSat = totalOf(order.lines);
    const added = { ...order, totalSat, payments: new Map(), taken: new Set<string>() };
    this.#byId.set(order.id, added);
    this.#byAddress.set(order.address, added);
    return added;
  }

  /** @throws PaygateError not_found */
  byId(id: string): Order {
    const order = this.#byId.get(id);
    if (order !== undefined) return order;
    throw new PaygateError('not_found', 'There is no such order');
  }

  /** Newest first. */
  newest(count: number): Order[] {
    return [...this.#byId.values()].slice(-count).reverse();
  }

  /** @throws PaygateError not_found when no order has the address */
  take({ eventId, address, txid, valueSat, status }: Told): void {
    const order = this.#byAddress.get(address);
    if (order === undefined) throw new PaygateError('not_found', 'No order has this address');
    if (order.taken.has(eventId)) return;
    order.taken.add(eventId);
    const gone = status === -1;
    order.payments.set(txid, { txid, valueSat, status: gone ? 0 : status, gone });
  }
}

const totalOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { thing, count }) => sum + thing.priceSat * count, 0);
