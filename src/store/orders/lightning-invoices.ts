// Lightning invoices of orders, and what the node of a store reports of them. A report commits with
// its payments, their orders, events and deliveries, and the cursor behind it. A payment hash is
// unique, so that nothing counts twice.

import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import type { Txid } from '../../bitcoin/ids.ts';
import {
  type OrderInvoice,
  paidAtOf,
  type SettledInvoice,
  type Settlements,
  settlementFault,
} from '../../domain/order/lightning-invoice.ts';
import type { KnownNode } from '../../domain/store/lightning-node.ts';
import { dayMs } from '../../lib/time-units.ts';
import { columnsOf, equals, type Orm, placeholder, placeholders, prepared } from '../db/orm.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import type { FileState } from '../file/file-state.ts';
import { lightningInvoices, orders } from '../schema/order-schema.ts';
import { addresses, payments, stores } from '../schema/schema.ts';
import type { Orders } from './orders.ts';

interface Parts {
  readonly orm: Orm;
  readonly orders: Pick<Orders, 'settle'>;
  readonly state: Pick<
    FileState,
    'copied' | 'lightningCursor' | 'lightningNode' | 'versionsRaisedAt'
  >;
  readonly events: StoreEvents;
}

export function createLightningInvoices({ orm, orders: settler, state, events }: Parts) {
  const statements = prepare(orm);

  /** Ends the invoice that an order shows. @returns its payment hash */
  function end(tx: Tx, now: number, orderId: number): string | undefined {
    const ended = statements.end.get({ now, orderId });
    if (ended !== undefined) tx.afterCommit(() => events.emit('orderChanged', orderId));
    return ended?.paymentHash;
  }

  function settle(tx: Tx, now: number, storeId: number, settled: SettledInvoice): boolean {
    const { paymentHash, preimage, valueSat, settledAt, externalId } = settled;
    const found = statements.byReport.get({ paymentHash, publicId: externalId });
    // Other programs make invoices at this node, too.
    if (found?.address.storeId !== storeId || found.paymentId !== null) return false;
    const { orderId, createdAt, amountSat, address, currency } = found;
    // A customer may write the id of an order into the text of another program's invoice.
    if (amountSat === null && settledAt > lostUntil(state)) return false;
    const fault = settlementFault(amountSat ?? 1, settled);
    statements.settled.run({ paymentHash, now, fault: fault ?? null });
    if (fault !== undefined) {
      tx.afterCommit(() => events.emit('orderChanged', orderId));
      return false;
    }
    const seenAt = paidAtOf(createdAt, settledAt, now);
    const row = { addressId: address.id, txid: paymentHash, valueSat, preimage, currency };
    const { paymentId } = statements.pay.get({ ...row, seenAt, now });
    const move = { before: undefined, after: 'settled' } as const;
    const facts = {
      storeId,
      address: address.address,
      valueSat,
      txid: paymentHash as Txid,
      status: null,
    };
    tx.afterCommit(() => events.emit('paymentChanged', paymentId, move, facts));
    settler.settle(tx, now, address, [{ txid: paymentHash, move }]);
    return true;
  }

  return {
    /** The one that an order shows; undefined if it has none. */
    open: (orderId: number) => statements.open.get({ orderId }),
    /** Orders of a store that may lack an invoice, or have one too many. The newest come first. */
    toEnsure: (storeId: number, now: number) => statements.toEnsure.all({ storeId, now }),
    /** The order that an invoice was made for, also one that has ended. */
    orderOf: (paymentHash: string) => statements.orderOf.get({ paymentHash })?.orderId,
    /** Shows another invoice for an order. @returns the hash of the one before */
    add(tx: Tx, now: number, orderId: number, invoice: OrderInvoice): string | undefined {
      const before = end(tx, now, orderId);
      statements.insert.run({ ...invoice, orderId, now });
      tx.afterCommit(() => events.emit('orderChanged', orderId));
      return before;
    },
    end,
    /**
     * Sets the node of a store, or none. The invoices of another node end. A node that comes back
     * goes on from where it was left. A rebuilt one counts from 1 again: it reports all anew.
     * @param cursor the first one of a new node
     */
    setNode(tx: Tx, now: number, storeId: number, node: KnownNode | undefined, cursor = ''): void {
      const before = state.lightningNode(storeId).read();
      state.lightningNode(storeId).write(tx, node);
      if (before?.publicKey !== node?.publicKey) statements.endAll.run({ now, storeId });
      if (node === undefined) return;
      const left = state.lightningCursor(storeId, node.publicKey);
      const isRebuilt = Number.parseInt(cursor, 10) < Number.parseInt(left.read(), 10);
      if (isRebuilt || left.read() === '') left.write(tx, isRebuilt ? '0' : cursor);
    },
    /**
     * Records what the node of a store reports. What it reports again changes nothing.
     * @returns how many payments are new
     */
    record(tx: Tx, now: number, storeId: number, { settled, cursor }: Settlements): number {
      const { publicKey = '' } = state.lightningNode(storeId).read() ?? {};
      state.lightningCursor(storeId, publicKey).write(tx, cursor);
      return settled.filter((each) => settle(tx, now, storeId, each)).length;
    },
    /**
     * Deletes the texts of invoices of orders that ended while no node was followed
     * (`Orders.forget`, which is called first).
     */
    forget(_tx: Tx, createdBefore: number, after: number, to: number): void {
      statements.forget.run({ createdBefore, after, to });
    },
    /** Reports of nodes since a time that are not believed. */
    faults: (since: number) => statements.faults.all({ since }),
  };
}

/** Until when the original of this file may have been paid to an invoice that is not in it. */
const lostUntil = ({ copied, versionsRaisedAt }: Parts['state']): number =>
  Math.max(copied.read().at, versionsRaisedAt.read()) + dayMs;

/** The text of an invoice has texts of the order, so it goes. */
const ended = { endedAt: placeholder('now'), invoice: '' };

const prepare = (orm: Orm) => ({
  ...prepareReads(orm),
  end: prepared(() =>
    orm
      .update(lightningInvoices)
      .set(ended)
      .where(and(equals(lightningInvoices.orderId, 'orderId'), isNull(lightningInvoices.endedAt)))
      .returning({ paymentHash: lightningInvoices.paymentHash }),
  ),
  endAll: prepared(() =>
    orm
      .update(lightningInvoices)
      .set(ended)
      .where(
        sql`${lightningInvoices.endedAt} is null and ${placeholder('storeId')} =
          (select o.store_id from orders o where o.id = ${lightningInvoices.orderId})`,
      ),
  ),
  insert: prepared(() =>
    orm.insert(lightningInvoices).values({
      ...placeholders('orderId', 'paymentHash', 'invoice', 'amountSat', 'expiresAt'),
      createdAt: placeholder('now'),
    }),
  ),
  settled: prepared(() =>
    orm
      .update(lightningInvoices)
      .set({
        ...ended,
        endedAt: sql`coalesce(ended_at, ${placeholder('now')})`,
        fault: placeholder('fault'),
      })
      .where(equals(lightningInvoices.paymentHash, 'paymentHash')),
  ),
  pay: prepared(() =>
    orm
      .insert(payments)
      .values({
        ...placeholders('addressId', 'txid', 'valueSat', 'preimage', 'currency'),
        state: 'settled',
        firstSeenAt: placeholder('seenAt'),
        changedAt: placeholder('now'),
      })
      .returning({ paymentId: payments.id }),
  ),
  forget: prepared(() =>
    orm
      .update(lightningInvoices)
      .set({ invoice: '' })
      .where(
        sql`${lightningInvoices.endedAt} is null
        and ${lightningInvoices.orderId} > ${placeholder('after')}
        and ${lightningInvoices.orderId} <= ${placeholder('to')}
        and exists (select 1 from orders o where o.id = ${lightningInvoices.orderId}
          and o.created_at < ${placeholder('createdBefore')}
          and o.status not in ('open', 'processing'))`,
      ),
  ),
});

const prepareReads = (orm: Orm) => ({
  open: prepared(() =>
    orm
      .select(columnsOf(lightningInvoices, 'paymentHash', 'amountSat', 'createdAt', 'expiresAt'))
      .from(lightningInvoices)
      .where(and(equals(lightningInvoices.orderId, 'orderId'), isNull(lightningInvoices.endedAt))),
  ),
  toEnsure: prepared(() =>
    orm
      .select(columnsOf(orders, 'id', 'storeId'))
      .from(orders)
      .where(
        sql`${orders.id} in (
          select o.id from orders o where o.store_id = ${placeholder('storeId')}
            and o.status = 'open' and coalesce(
              (select max(q.expires_at) from quotes q where q.order_id = o.id), o.expires_at
            ) > ${placeholder('now')}
          union all
          select o.id from lightning_invoices i cross join orders o
            where i.ended_at is null and o.id = i.order_id
            and +o.store_id = ${placeholder('storeId')} and o.status <> 'open')`,
      )
      .orderBy(desc(orders.id)),
  ),
  orderOf: prepared(() =>
    orm
      .select(columnsOf(lightningInvoices, 'orderId'))
      .from(lightningInvoices)
      .where(equals(lightningInvoices.paymentHash, 'paymentHash')),
  ),
  // The file may be a copy from before the invoice was made. Then its id names the order.
  byReport: prepared(() =>
    orm
      .select({
        orderId: orders.id,
        createdAt: sql<number>`coalesce(${lightningInvoices.createdAt}, ${orders.createdAt})`,
        amountSat: lightningInvoices.amountSat,
        address: columnsOf(addresses, 'id', 'storeId', 'orderId', 'address'),
        currency: sql<string | null>`coalesce(${orders.currency}, ${stores.currency})`,
        paymentId: payments.id,
      })
      .from(orders)
      .innerJoin(stores, eq(stores.id, orders.storeId))
      .innerJoin(addresses, eq(addresses.id, orders.addressId))
      .leftJoin(lightningInvoices, equals(lightningInvoices.paymentHash, 'paymentHash'))
      .leftJoin(payments, equals(payments.txid, 'paymentHash'))
      .where(
        sql`${orders.id} = coalesce(
          (select i.order_id from lightning_invoices i
            where i.payment_hash = ${placeholder('paymentHash')}),
          (select o.id from orders o where o.public_id = ${placeholder('publicId')}))`,
      ),
  ),
  faults: prepared(() =>
    orm
      .select({
        ...columnsOf(lightningInvoices, 'paymentHash', 'fault', 'endedAt'),
        ...columnsOf(orders, 'storeId', 'publicId'),
      })
      .from(lightningInvoices)
      .innerJoin(orders, eq(orders.id, lightningInvoices.orderId))
      .where(sql`${lightningInvoices.fault} is not null
        and ${lightningInvoices.endedAt} > ${placeholder('since')}`),
  ),
});
