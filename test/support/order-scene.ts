// One order in a store's file beside a simulated chain, with a clock that the test moves. After
// each step, the recorded order is compared with a naive count and with its newest event.

import { asc } from 'drizzle-orm';
import { expect } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { type ShownOrder, shownOrder } from '../../src/checkout/shown-order.ts';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { NewOrder } from '../../src/store/orders/orders.ts';
import { deliveries, eventColumns, isOf } from '../../src/store/schema/delivery-schema.ts';
import type { NewStore } from '../../src/store/wallets/catalog.ts';
import { type Shop, shopOn } from './ledger.ts';
import { recount } from './recount.ts';
import { openTestStore, now as startAt } from './store.ts';

const publicId = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';

/** 25,000 sat for an hour. */
const inSatoshis: Omit<NewOrder, 'addressId' | 'storeId' | 'publicId'> = {
  price: { kind: 'sat', amountSat: 25_000 },
  rateCents: null,
  toleranceBasisPoints: 50,
  latePolicy: 'worth',
  quoteSeconds: 900,
  expiresAt: startAt + hourMs,
  reference: null,
  description: null,
  metadata: {},
  returnUrl: null,
  language: null,
};

/** 12.50 EUR at 50,000 EUR: 25,000 sat for 15 minutes. */
export const inEuros = {
  price: { kind: 'fiat', currency: 'EUR', minor: 1_250n },
  rateCents: 5_000_000,
} as const satisfies Partial<NewOrder>;

export interface OrderScene {
  readonly shop: Shop;
  json(): OrderJson;
  /** What the customer's page shows. */
  shown(): ShownOrder;
  /** The types of the events since the last call. */
  newEvents(): string[];
  /** Time passes, and what is due expires. */
  pass(ms: number): Promise<void>;
  pay(valueSat: number): Promise<Txid>;
  /** Mines the mempool. */
  mine(blocks?: number): Promise<void>;
  /** Replaces the newest payment; with 0 it pays the sender. */
  replace(valueSat: number): Promise<void>;
  /** As `replace`, and the old transaction is not known to be gone yet. */
  bump(valueSat: number): Promise<void>;
  /** Servers agree that the transaction before the newest one is gone. */
  dropReplaced(): Promise<void>;
  /** The newest payment leaves the mempool, and servers agree that it is gone. */
  evict(): Promise<void>;
  /** The newest blocks leave the chain; a dropped payment is spent by another transaction. */
  reorganise(depth: number, transactions: 'mempool' | 'drop'): Promise<void>;
  /** Prices of payments become known. */
  price(priceCents: number): Promise<void>;
  requote(rateCents: number): Promise<void>;
  cancel(): Promise<void>;
  /** The merchant pays back all or the excess, without a fee or with one. */
  refund(amountSat: number, feeSat?: number): Promise<void>;
  /** The same, and it is not sent yet; null asks the customer for an address. */
  prepareRefund(amountSat: number, address: string | null): Promise<void>;
  accept(): Promise<void>;
  requireConfirmations(count: number): Promise<void>;
}

/** A shop that requires 2 confirmations, and its order. */
export async function openOrder(
  changes: Partial<NewOrder> = {},
  terms: Partial<NewStore> = {},
): Promise<OrderScene> {
  let now = startAt;
  const clock = () => now;
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore({ webhookUrl: 'https://shop.example/hook', ...terms });
  const chain = new SimulatedChain({ seed: 'order', now: () => now / 1000 });
  chain.mine(110);
  const shop = shopOn(records, chain, clock);
  await shop.follow();
  const { orders, orderView, ledger, receiptPrices, catalog, write } = shop;
  const issued = await shop.issue();
  const place = { publicId, storeId: 1, addressId: issued.id };
  const { id } = await write((tx) =>
    orders.create(tx, now, { ...inSatoshis, ...changes, ...place }),
  );
  let newest = '' as Txid;
  let replaced = '' as Txid;
  let told = 0;
  let checked = 0;

  function row() {
    const found = orderView.byPublicId(publicId);
    if (found === undefined) throw new Error('there is no order');
    return found;
  }

  const recorded = () =>
    records.database.orm
      .select(eventColumns)
      .from(deliveries)
      .where(isOf('webhook'))
      .orderBy(asc(deliveries.id))
      .all();

  /** Whether all that the file has of the order agrees, and its events follow each other. */
  function check(): void {
    const json = orderView.json(row(), now);
    const { facts, quotes, payments } = orderView.record(row());
    const counted = recount(facts, quotes, payments, now);
    expect(json).toMatchObject({
      status: counted.status,
      late: counted.isLate,
      received_sat: counted.receivedSat,
      confirmed_sat: counted.confirmedSat,
      missing_sat: counted.missingSat,
      excess_sat: counted.excessSat,
      version: recorded().length + 1,
    });
    expect(row()).toMatchObject({ status: json.status, version: json.version });
    const bodies = recorded().map(({ body, type }) => ({ ...JSON.parse(body), type }));
    for (const [index, { type, data }] of bodies.entries()) {
      const before = bodies[index - 1]?.data.order ?? { status: 'open', version: 1 };
      expect(data).toMatchObject({ was: before.status, order: { version: before.version + 1 } });
      const isFall = progressOf(data.order.status) < progressOf(before.status);
      const isReversal = isFall && data.order.status !== 'canceled';
      expect(type === 'order.reversed', `${before.status} ${type}`).toBe(isReversal);
    }
    // Later, the time and the chain change the order without an event.
    if (bodies.length > checked) expect(bodies.at(-1)?.data.order).toEqual(json);
    checked = bodies.length;
  }

  async function observe(gone: readonly Txid[] = [], by: Txid | null = null): Promise<void> {
    const lost = gone.map((txid) => ({ txid, replacedBy: by }));
    await shop.observe(issued, { gone: lost });
  }

  const scene: OrderScene = {
    shop,
    json: () => orderView.json(row(), now),
    shown: () => shownOrder(orderView.record(row()), now),
    newEvents() {
      const types = recorded().map(({ type }) => type);
      const fresh = types.slice(told);
      told = types.length;
      return fresh;
    },
    async pass(ms) {
      now += ms;
      await write((tx) => orders.expire(tx, now, () => false, 200));
    },
    async pay(valueSat) {
      now += minuteMs;
      newest = chain.pay([{ address: issued.address, valueSat }]);
      await observe();
      return newest;
    },
    async mine(blocks = 1) {
      for (let left = blocks; left > 0; left -= 1) {
        now += minuteMs;
        await shop.mine();
        check();
      }
      await observe();
    },
    async replace(valueSat) {
      const old = newest;
      const outputs = valueSat === 0 ? [] : [{ address: issued.address, valueSat }];
      newest = chain.replace(old, outputs);
      await observe([old], newest);
    },
    async bump(valueSat) {
      replaced = newest;
      newest = chain.replace(replaced, [{ address: issued.address, valueSat }]);
      await observe();
    },
    dropReplaced: () => observe([replaced], newest),
    async evict() {
      chain.evict(newest);
      await observe([newest]);
    },
    async reorganise(depth, transactions) {
      const before = shop.payments(issued).map(({ txid }) => txid as Txid);
      chain.reorganise(depth, { blocks: depth + 1, transactions });
      await shop.follow();
      check();
      const history = new Set(chain.history(issued.scripthash).map(({ txid }) => txid));
      await observe(before.filter((txid) => !history.has(txid)));
    },
    price: (priceCents) =>
      write((tx) => {
        receiptPrices.put(
          tx,
          now,
          startAt,
          { currency: 'EUR', priceCents, sources: ['a.example', 'b.example'] },
          100,
        );
      }),
    requote: (rateCents) => write((tx) => orders.quote(tx, now, id, rateCents)),
    cancel: () => write((tx) => orders.cancel(tx, now, id)),
    refund: (amountSat, feeSat = 0) =>
      write((tx) => {
        const refund = {
          orderId: id,
          choice: 'all',
          amountSat,
          feeSat,
          address: 'bcrt1q',
        } as const;
        shop.refunds.prepare(tx, now, refund);
        const sent = { txid: 'f'.repeat(64), currency: null, priceCents: null };
        shop.refunds.finish(tx, now, id, sent);
      }),
    prepareRefund: (amountSat, address) =>
      write((tx) => {
        const refund = { orderId: id, choice: 'all', amountSat, feeSat: 0, address } as const;
        shop.refunds.prepare(tx, now, refund);
      }),
    accept: () => write((tx) => orders.accept(tx, now, id)),
    requireConfirmations: (requiredConfirmations) =>
      write((tx) => {
        catalog.changeStore(tx, 1, { requiredConfirmations });
        ledger.promote(tx, now, ledger.maturing());
      }),
  };
  return checkedAfterEach(scene, check);
}

/** How far the money has come. */
const progressOf = (status: string): number =>
  Math.max(0, ['open', 'processing', 'paid'].indexOf(status));

const reads = new Set(['json', 'shown', 'newEvents']);

/** The scene, with a check after each of its steps. */
function checkedAfterEach(scene: OrderScene, check: () => void): OrderScene {
  const steps = Object.entries(scene).map(([name, member]) => {
    if (typeof member !== 'function' || reads.has(name)) {
      return [name, member];
    }
    const step = member as (...values: unknown[]) => Promise<unknown>;
    const checked = async (...values: unknown[]) => {
      const result = await step(...values);
      check();
      return result;
    };
    return [name, checked];
  });
  return Object.fromEntries(steps) as OrderScene;
}
