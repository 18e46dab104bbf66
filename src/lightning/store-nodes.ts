// The Lightning nodes of the stores: makes the invoices that orders should have, and records what
// the nodes report as paid. No transaction and no order waits for a node: an order without an
// invoice is paid on chain.

import { type WantedInvoice, wantedInvoice } from '../domain/order/lightning-invoice.ts';
import { graceMs } from '../domain/payment/in-time.ts';
import type { KnownNode } from '../domain/store/lightning-node.ts';
import { pause, withDeadline } from '../lib/deadline.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import { minuteMs, secondMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRecord, OrderRow } from '../store/orders/order-view.ts';
import type { World } from '../world/world.ts';
import type { LightningNode } from './node.ts';

export interface StoreNodesParts {
  readonly world: Pick<World, 'now' | 'after' | 'log'>;
  readonly records: Pick<
    Records,
    'catalog' | 'database' | 'events' | 'lightningInvoices' | 'orderView' | 'state'
  >;
  readonly open: (node: KnownNode) => LightningNode;
}

/** A node that cannot be asked. */
export interface DownNode {
  readonly storeId: number;
  readonly url: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly reason: string;
}

export type OrderPlace = Pick<OrderRow, 'id' | 'storeId'>;

/** Invoices since the start. */
export interface InvoiceCounts {
  made: number;
  settled: number;
  failed: number;
}

interface FollowedNode {
  /** As it is stored. */
  readonly text: string;
  readonly url: string;
  readonly publicKey: string;
  readonly node: LightningNode;
  readonly ends: AbortController;
  readonly ended: Promise<void>;
  /** How often it failed to make the invoice of an order, by its id. These are asked for again. */
  readonly failures: Map<number, number>;
  down?: Omit<DownNode, 'storeId' | 'url'> | undefined;
}

/** A customer waits so long for an invoice. */
const maxWaitMs = 2 * secondMs;
const firstRetryMs = secondMs;
const maxRetryMs = minuteMs;
/** A node that answers too late makes an invoice each time. */
const maxFailures = 5;
/** A node that restarts is no finding. */
const minDownMs = minuteMs;

export class StoreNodes {
  readonly #parts: StoreNodesParts;
  /** By the id of the store. */
  readonly #nodes = new Map<number, FollowedNode>();
  /** What is done for an order, one after the other. */
  readonly #making = new Map<number, Promise<void>>();
  readonly counts: InvoiceCounts = { made: 0, settled: 0, failed: 0 };
  #isStopped = false;

  constructor(parts: StoreNodesParts) {
    this.#parts = parts;
    const { events, orderView } = parts.records;
    events.on('catalogChanged', () => this.#follow());
    events.on('orderChanged', (orderId) => {
      if (this.#nodes.size > 0) void this.ensure(orderView.byId(orderId));
    });
  }

  start(): void {
    this.#follow();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const nodes = [...this.#nodes.values()];
    for (const { ends } of nodes) ends.abort();
    await Promise.all([...nodes.map(({ ended }) => ended), ...this.#making.values()]);
  }

  /** Whether any store has a node. */
  hasNodes = (): boolean => this.#nodes.size > 0;

  /** Nodes that have been down for a minute. */
  down(): DownNode[] {
    const { world } = this.#parts;
    return [...this.#nodes].flatMap(([storeId, { url, down }]) =>
      down === undefined || world.now() - down.since < minDownMs ? [] : [{ storeId, url, ...down }],
    );
  }

  /**
   * Gives an order the invoice that it should have now, and ends another one. Resolves after two
   * seconds at the latest, without an invoice, and then goes on. Never rejects.
   */
  async ensure({ id, storeId }: OrderPlace): Promise<void> {
    const followed = this.#nodes.get(storeId);
    if (followed === undefined || this.#isStopped) return;
    const before = this.#making.get(id) ?? Promise.resolve();
    const work = before.then(() => this.#make(followed, id));
    this.#making.set(id, work);
    const ended = work.then(() => {
      if (this.#making.get(id) === work) this.#making.delete(id);
    });
    await withDeadline(this.#parts.world, maxWaitMs, ended, () => undefined);
  }

  /** Follows the nodes that the stores have now. */
  #follow(): void {
    if (this.#isStopped) return;
    const { catalog, state } = this.#parts.records;
    const known = new Map(
      catalog.stores({ archived: true }).flatMap(({ id }) => {
        const node = state.lightningNode(id).read();
        return node === undefined ? [] : [[id, node] as const];
      }),
    );
    for (const [storeId, { text, ends }] of this.#nodes) {
      if (JSON.stringify(known.get(storeId)) === text) continue;
      ends.abort();
      this.#nodes.delete(storeId);
    }
    for (const [storeId, node] of known) {
      if (!this.#nodes.has(storeId)) this.#begin(storeId, node);
    }
  }

  #begin(storeId: number, known: KnownNode): void {
    const node = this.#parts.open(known);
    const ends = new AbortController();
    const text = JSON.stringify(known);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { url, publicKey } = known;
    const failures = new Map<number, number>();
    const followed: FollowedNode = { text, url, publicKey, node, ends, ended, failures };
    this.#nodes.set(storeId, followed);
    void this.#run(storeId, followed).finally(resolve);
  }

  async #run(storeId: number, followed: FollowedNode): Promise<void> {
    const { world } = this.#parts;
    const { signal } = followed.ends;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      try {
        await this.#listen(storeId, followed, () => {
          retryMs = firstRetryMs;
        });
      } catch (error) {
        if (signal.aborted) return;
        const reason = reasonOf(error);
        followed.down = { since: followed.down?.since ?? world.now(), reason };
        world.log.warn('a Lightning node is down', { storeId, url: followed.url, reason });
      }
      await pause(world, retryMs, signal);
      retryMs = Math.min(2 * retryMs, maxRetryMs);
    }
  }

  /** Records what a node reports, until that fails. */
  async #listen(storeId: number, followed: FollowedNode, onReport: () => void): Promise<void> {
    const { records, world } = this.#parts;
    const { database, state, lightningInvoices } = records;
    const { node, ends, text, publicKey, failures } = followed;
    const cursor = state.lightningCursor(storeId, publicKey);
    let isFirst = true;
    for await (const report of node.settlements(cursor.read(), ends.signal)) {
      followed.down = undefined;
      onReport();
      const failed = [...failures.keys()].map((id) => ({ id, storeId }));
      void this.#ensureAll(isFirst ? lightningInvoices.toEnsure(storeId, world.now()) : failed);
      isFirst = false;
      if (report.settled.length === 0 && report.cursor === cursor.read()) continue;
      this.counts.settled += await database.write((tx) => {
        // The store may have another node meanwhile, and its cursor.
        if (JSON.stringify(state.lightningNode(storeId).read()) !== text) return 0;
        return lightningInvoices.record(tx, world.now(), storeId, report);
      }, 'awaited');
    }
  }

  /** One after the other, so that a node is not asked for all at once. Never rejects. */
  async #ensureAll(orders: readonly OrderPlace[]): Promise<void> {
    for (const order of orders) {
      await this.ensure(order);
      await nextTurn();
    }
  }

  /** Never rejects. */
  async #make(followed: FollowedNode, orderId: number): Promise<void> {
    const { records, world } = this.#parts;
    const { database, lightningInvoices } = records;
    try {
      const { record, wanted, isShown } = this.#find(orderId);
      if (isShown) followed.failures.delete(orderId);
      // No order waits for a node that is down.
      if (isShown || (wanted && followed.down)) return;
      const made = wanted && (await this.#request(followed, record, wanted));
      const ended = await database.write((tx) => {
        const now = world.now();
        // The order may have changed meanwhile. Its own event then asks for another invoice.
        const latest = this.#find(orderId);
        if (made?.amountSat !== latest.wanted?.amountSat) return made?.paymentHash;
        // A clock that was set back makes no invoice older than its quote.
        return made === undefined
          ? lightningInvoices.end(tx, now, orderId)
          : lightningInvoices.add(tx, Math.max(now, latest.begunAt), orderId, made);
      }, 'awaited');
      // Not every node can, and an invoice may be paid or over already.
      const isAsked = ended !== undefined && followed.down === undefined;
      if (isAsked) await followed.node.cancel(ended).catch(() => undefined);
    } catch (error) {
      if (followed.ends.signal.aborted) return;
      const reason = reasonOf(error);
      const count = (followed.failures.get(orderId) ?? 0) + 1;
      if (count < maxFailures) followed.failures.set(orderId, count);
      else followed.failures.delete(orderId);
      world.log.warn('an order has no Lightning invoice', { orderId, reason });
    }
  }

  #find(orderId: number) {
    const { world, records } = this.#parts;
    const { orderView, lightningInvoices } = records;
    const now = world.now();
    const record = orderView.record(orderView.byId(orderId));
    const standing = orderView.standing(record, now);
    const wanted = wantedInvoice(record.facts, standing);
    const open = lightningInvoices.open(orderId);
    const begunAt = standing.quote?.createdAt ?? record.facts.createdAt;
    const isShown =
      wanted === undefined
        ? open === undefined
        : open?.amountSat === wanted.amountSat && open.createdAt >= begunAt;
    return { record, wanted, isShown, begunAt };
  }

  /** @throws PaygateError if the node makes none, or one that ends later than the order's quote */
  async #request({ node, ends }: FollowedNode, record: OrderRecord, wanted: WantedInvoice) {
    const { world } = this.#parts;
    const { amountSat, seconds } = wanted;
    const { storeName, reference, publicId } = record.details;
    const endsAt = world.now() + seconds * secondMs;
    try {
      const text = reference === null ? storeName : `${storeName}: ${reference}`;
      const request = { valueSat: amountSat, seconds, externalId: publicId, text };
      const { paymentHash, invoice, expiresAt } = await node.createInvoice(request, ends.signal);
      if (expiresAt > endsAt + graceMs || expiresAt <= world.now()) {
        throw new PaygateError('invalid', 'the clock of the node is wrong');
      }
      this.counts.made += 1;
      return { paymentHash, invoice, amountSat, expiresAt: Math.min(expiresAt, endsAt) };
    } catch (error) {
      this.counts.failed += 1;
      throw error;
    }
  }
}
