// Refunds that a merchant pays from a wallet of their own: written before they are sent, and done
// when their transaction is known. An order has one at a time that is not done.

import { and, asc, desc, eq, gte, isNotNull, isNull } from 'drizzle-orm';
import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import type { Txid } from '../../bitcoin/ids.ts';
import { type NetworkName, networks } from '../../bitcoin/network.ts';
import type { RefundAmount, RefundChoice } from '../../domain/order/refund.ts';
import type { Block } from '../../domain/payment/payment.ts';
import { pastedAddress } from '../../domain/text/pasted-text.ts';
import { PaygateError, throwInvalid } from '../../lib/errors.ts';
import type { Orm } from '../db/orm.ts';
import type { StoreEvents } from '../db/store-events.ts';
import type { Tx } from '../db/writer.ts';
import { refunds } from '../schema/order-schema.ts';
import type { Addresses } from '../wallets/addresses.ts';

export type RefundRow = typeof refunds.$inferSelect;

export interface NewRefund extends RefundAmount {
  readonly orderId: number;
  readonly choice: RefundChoice;
  /** Null to ask the customer for it. */
  readonly address: string | null;
}

export type Refunds = ReturnType<typeof createRefunds>;
export type SentRefund = Pick<RefundRow, 'txid' | 'currency' | 'priceCents'>;

/** A merchant notes no more in a month by hand. */
const maxSent = 1_000;

export function createRefunds(orm: Orm, events: Pick<StoreEvents, 'emit'>) {
  const isPending = (orderId: number) => and(eq(refunds.orderId, orderId), isNull(refunds.doneAt));

  const pendingOf = (orderId: number): RefundRow | undefined =>
    orm.select().from(refunds).where(isPending(orderId)).get();

  const changed = (tx: Tx, row: RefundRow): RefundRow => {
    tx.afterCommit(() => events.emit('orderChanged', row.orderId));
    return row;
  };

  return {
    /** All of an order, the oldest first. */
    of: (orderId: number): RefundRow[] =>
      orm.select().from(refunds).where(eq(refunds.orderId, orderId)).orderBy(asc(refunds.id)).all(),
    pendingOf,
    /** @throws PaygateError conflict while another one of the order is not done */
    prepare(tx: Tx, now: number, refund: NewRefund): RefundRow {
      if (pendingOf(refund.orderId) !== undefined) {
        throw new PaygateError('conflict', 'a refund of this order is prepared already');
      }
      const values = { ...refund, createdAt: now };
      return changed(tx, orm.insert(refunds).values(values).returning().get());
    },
    /** The address that a customer typed. Undefined unless they are asked for one. */
    address(tx: Tx, orderId: number, address: string): RefundRow | undefined {
      const isAsked = and(isPending(orderId), isNull(refunds.address));
      const row = orm.update(refunds).set({ address }).where(isAsked).returning().get();
      return row && changed(tx, row);
    },
    /** @throws PaygateError conflict if none of the order is pending */
    finish: (
      tx: Tx,
      now: number,
      orderId: number,
      { txid, currency, priceCents }: SentRefund,
    ): RefundRow =>
      changed(
        tx,
        pending(
          orm
            .update(refunds)
            .set({ txid, currency, priceCents, doneAt: now })
            .where(and(isPending(orderId), isNotNull(refunds.address)))
            .returning()
            .get(),
        ),
      ),
    ...sentRefundsOf(orm),
    /** A block has its transaction: the noted one, or the one that replaced it. */
    mined: (tx: Tx, id: number, txid: Txid, { height, hash: blockHash }: Block): RefundRow =>
      changed(
        tx,
        pending(
          orm
            .update(refunds)
            .set({ txid, height, blockHash })
            .where(eq(refunds.id, id))
            .returning()
            .get(),
        ),
      ),
    /** Deletes the one that is not done. @throws PaygateError conflict if there is none */
    discard: (tx: Tx, orderId: number): RefundRow =>
      changed(tx, pending(orm.delete(refunds).where(isPending(orderId)).returning().get())),
  };
}

const sentRefundsOf = (orm: Orm) => ({
  /** Those that were noted as sent since a time, epoch milliseconds; the newest first. */
  sentSince: (since: number): RefundRow[] =>
    orm
      .select()
      .from(refunds)
      .where(gte(refunds.doneAt, since))
      .orderBy(desc(refunds.doneAt))
      .limit(maxSent)
      .all(),
  /** Other refunds that a transaction pays at the address of this one. */
  othersOf(txid: Txid, { id, address }: Pick<RefundRow, 'id' | 'address'>): RefundRow[] {
    const paid = orm.select().from(refunds).where(eq(refunds.txid, txid)).all();
    return paid.filter((row) => row.id !== id && row.address === address);
  },
});

function pending(row: RefundRow | undefined): RefundRow {
  if (row !== undefined) return row;
  throw new PaygateError('conflict', 'no refund of this order is prepared');
}

/**
 * The address of a customer, as it was pasted.
 * @throws PaygateError invalid for no address of this network that wallets spend from; conflict for
 *   an address of our own wallets
 */
export function refundAddress(
  { addresses, network }: { readonly addresses: Addresses; readonly network: NetworkName },
  text: string,
): string {
  const address = pastedAddress(text);
  const script = addressToScript(address, networks[network]);
  if (isUnspendable(script)) throwInvalid('no wallet can spend from this kind of address yet');
  if (addresses.byScripthash(scripthash(script)) === undefined) return address;
  throw new PaygateError(
    'conflict',
    'this is an address of your own wallet; ask the customer for one of theirs',
  );
}

const op1 = 0x51;
const op16 = 0x60;
const taprootLength = 34;

/** Witness programs without rules yet (BIP 141): anybody may take the money there. */
const isUnspendable = (script: Uint8Array): boolean => {
  const [version = 0, length] = script;
  const isLater = version >= op1 && version <= op16 && length === script.length - 2;
  return isLater && !(version === op1 && script.length === taprootLength);
};
