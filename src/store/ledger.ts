// What the chain told us of our addresses. One observation of one script becomes, in one
// transaction: re-read rows → decide each payment → write it → enqueue the callback it owes → save
// the status hash. So payment, callback and status commit together or not at all, and a crash
// anywhere leaves a state from which the same observation is made again.
//
// Invariants: a payment's block is one that was proven; confirmations are derived from it and our
// tip, never stored; `status` is the number last decided on and changes with the callback's row;
// the status hash is saved only when every item of the history it stands for was worked up.

import { and, eq, sql } from 'drizzle-orm';
import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import type { StatusHash } from '../domain/history.ts';
import {
  type Block,
  type CallbackStatus,
  type Decision,
  decide,
  depthOf,
  type Fact,
  type Payment,
  settledDepth,
} from '../domain/payment.ts';
import type { Addresses, AddressRow } from './addresses.ts';
import type { Orm, Tx } from './database.ts';
import type { Headers } from './headers.ts';
import type { Outbox } from './outbox.ts';
import { addresses, headers, payments, stores } from './schema.ts';

export type PaymentRow = typeof payments.$inferSelect;

/** What a transaction pays to the observed script. */
export interface Output {
  /** Sum of its outputs to the script, satoshis, above 0. */
  readonly valueSat: number;
  readonly signalsRbf: boolean;
  readonly coinbase: boolean;
}

export interface Seen {
  readonly txid: Txid;
  /** Null in a mempool; else the block of our best chain that it was proven to be in. */
  readonly block: Block | null;
  readonly output: Output;
}

/** All that was learnt of one script in one go. */
export interface Observation {
  readonly scripthash: Scripthash;
  readonly seen: readonly Seen[];
  /** Transactions that we recorded and this history does not name. */
  readonly missing: readonly Txid[];
  /** The status of the history, or undefined while some item of it could not be worked up. */
  readonly statusHash: StatusHash | null | undefined;
}

export interface Applied {
  /** How many callbacks were enqueued. */
  readonly callbacks: number;
  /** Set when somebody paid an address that we had not given out yet. */
  readonly foreignUse?: { readonly walletId: number; readonly derivationIndex: number };
}

export interface Ledger {
  apply(tx: Tx, now: number, observation: Observation): Applied;
  /** Our tip moved: payments that are deep enough now. Answers how many callbacks were enqueued. */
  promote(tx: Tx, now: number): number;
  /** Scripts with a payment in a block that is not on our best chain: to be observed again. */
  offChain(): Scripthash[];
  paymentsOf(addressId: number): PaymentRow[];
}

interface Parts {
  readonly orm: Orm;
  readonly addresses: Addresses;
  readonly headers: Headers;
  readonly outbox: Outbox;
}

export const createLedger = (parts: Parts): Ledger => new SqlLedger(parts);

class SqlLedger implements Ledger {
  readonly #parts: Parts;
  readonly #statements: Statements;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#statements = prepare(parts.orm);
  }

  apply(tx: Tx, now: number, observation: Observation): Applied {
    const address = this.#parts.addresses.byScripthash(observation.scripthash);
    if (address === undefined) return { callbacks: 0 };
    if (address.origin === 'ahead' || address.origin === 'foreign') {
      return noteForeignUse(this.#statements, address, observation);
    }
    const required = requiredOf(this.#statements, address.storeId);
    let callbacks = 0;
    let stale = false;
    for (const seen of observation.seen) {
      callbacks += this.#applySeen(tx, now, address, seen, required);
      stale ||= seen.block !== null && !this.#isOnBest(seen.block);
    }
    const { statusHash } = observation;
    if (statusHash !== undefined && !stale) {
      this.#statements.setStatus.run({ id: address.id, statusHash });
    }
    return { callbacks };
  }

  promote(tx: Tx, now: number): number {
    const tip = this.#parts.headers.tip();
    if (tip === undefined) return 0;
    let callbacks = 0;
    const settledBelow = tip.height - settledDepth + 1;
    for (const { payment, address, required } of this.#statements.maturing.all({ settledBelow })) {
      callbacks += this.#applySeen(tx, now, address, seenOf(payment), required ?? 1);
    }
    return callbacks;
  }

  offChain(): Scripthash[] {
    return this.#statements.offChain.all().map((row) => row.scripthash);
  }

  paymentsOf(addressId: number): PaymentRow[] {
    return this.#statements.ofAddress.all({ addressId });
  }

  /** Decides on one transaction and records what follows. Answers the number of callbacks. */
  #applySeen(tx: Tx, now: number, address: AddressRow, seen: Seen, required: number): number {
    const row = this.#statements.find.get({ addressId: address.id, txid: seen.txid });
    const current = row && paymentOf(row);
    const fact = this.#factOf(seen.block, current);
    if (fact === undefined) return 0;
    const rules = { requiredConfirmations: required, coinbase: seen.output.coinbase };
    const decision = decide(current, fact, rules);
    if (decision === undefined) return 0;
    const paymentId = this.#save(address, seen, row, decision, now);
    if (decision.callback === undefined || address.storeId === null) return 0;
    this.#parts.outbox.enqueue(tx, now, {
      paymentId,
      storeId: address.storeId,
      status: decision.callback,
      cycle: decision.next.cycle,
      address: address.address,
      txid: seen.txid,
      valueSat: seen.output.valueSat,
      rbf: seen.output.signalsRbf,
    });
    return 1;
  }

  #factOf(block: Block | null, current: Payment | undefined): Fact | undefined {
    if (block !== null) {
      const tip = this.#parts.headers.tip();
      // The chain may have moved since the proof: then the header that moved it brings us back.
      if (tip === undefined || !this.#isOnBest(block)) return undefined;
      return { kind: 'proven', block, depth: depthOf(block.height, tip.height) };
    }
    const known = current?.block;
    return { kind: 'mempool', blockLeft: known ? !this.#isOnBest(known) : false };
  }

  #isOnBest(block: Block): boolean {
    return this.#parts.headers.bestHashAt(block.height) === block.hash;
  }

  #save(
    address: AddressRow,
    seen: Seen,
    row: PaymentRow | undefined,
    decision: Decision,
    now: number,
  ): number {
    const { state, block, status, cycle } = decision.next;
    const change = {
      state,
      height: block?.height ?? null,
      blockHash: block?.hash ?? null,
      status,
      cycle,
      now,
    };
    if (row !== undefined) {
      this.#statements.update.run({ ...change, id: row.id });
      return row.id;
    }
    const { valueSat, signalsRbf, coinbase } = seen.output;
    return this.#statements.insert.get({
      ...change,
      addressId: address.id,
      txid: seen.txid,
      valueSat,
      signalsRbf: Number(signalsRbf),
      coinbase: Number(coinbase),
    }).id;
  }
}

function prepare(orm: Orm) {
  const value = (name: string) => sql`${sql.placeholder(name)}`;
  const place = {
    state: value('state'),
    height: value('height'),
    blockHash: value('blockHash'),
    status: value('status'),
    cycle: value('cycle'),
    changedAt: value('now'),
  };
  const ofAddress = eq(payments.addressId, sql.placeholder('addressId'));
  return {
    ofAddress: orm.select().from(payments).where(ofAddress).prepare(),
    find: orm
      .select()
      .from(payments)
      .where(and(ofAddress, eq(payments.txid, sql.placeholder('txid'))))
      .prepare(),
    insert: orm
      .insert(payments)
      .values({
        ...place,
        addressId: value('addressId'),
        txid: value('txid'),
        valueSat: value('valueSat'),
        coinbase: value('coinbase'),
        signalsRbf: value('signalsRbf'),
        firstSeenAt: value('now'),
      })
      .returning({ id: payments.id })
      .prepare(),
    update: orm
      .update(payments)
      .set(place)
      .where(eq(payments.id, sql.placeholder('id')))
      .prepare(),
    setStatus: orm
      .update(addresses)
      .set({ statusHash: value('statusHash') })
      .where(eq(addresses.id, sql.placeholder('id')))
      .prepare(),
    setForeign: orm
      .update(addresses)
      .set({ origin: 'foreign', statusHash: value('statusHash') })
      .where(eq(addresses.id, sql.placeholder('id')))
      .prepare(),
    requiredOf: orm
      .select({ required: stores.requiredConfirmations })
      .from(stores)
      .where(eq(stores.id, sql.placeholder('storeId')))
      .prepare(),
    maturing: orm
      .select({ payment: payments, address: addresses, required: stores.requiredConfirmations })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(stores, eq(stores.id, addresses.storeId))
      .where(
        sql`${payments.state} = 'confirming' or (${payments.state} = 'confirmed'
          and ${payments.height} <= ${sql.placeholder('settledBelow')})`,
      )
      .prepare(),
    offChain: orm
      .selectDistinct({ scripthash: addresses.scripthash })
      .from(payments)
      .innerJoin(addresses, eq(addresses.id, payments.addressId))
      .leftJoin(headers, and(eq(headers.hash, payments.blockHash), sql`${headers.onBest} = 1`))
      .where(sql`${payments.state} in ('confirming', 'confirmed') and ${headers.hash} is null`)
      .prepare(),
  };
}

type Statements = ReturnType<typeof prepare>;

/** Without a store (an index skipped after a restore) no callback leaves; 1 is as good as any. */
const requiredOf = (statements: Statements, storeId: number | null): number =>
  storeId === null ? 1 : (statements.requiredOf.get({ storeId })?.required ?? 1);

function noteForeignUse(
  statements: Statements,
  address: AddressRow,
  { statusHash }: Observation,
): Applied {
  if (statusHash === undefined || statusHash === address.statusHash) return { callbacks: 0 };
  statements.setForeign.run({ id: address.id, statusHash });
  if (address.origin === 'foreign') return { callbacks: 0 };
  const { walletId, derivationIndex } = address;
  return { callbacks: 0, foreignUse: { walletId, derivationIndex } };
}

function paymentOf(row: PaymentRow): Payment {
  const { state, height, blockHash, cycle } = row;
  const block = height === null || blockHash === null ? null : { height, hash: blockHash };
  return { state, block, status: row.status as CallbackStatus | null, cycle };
}

/** A recorded payment as if seen again where it is. */
const seenOf = (row: PaymentRow): Seen => ({
  txid: row.txid,
  block: paymentOf(row).block,
  output: { valueSat: row.valueSat, signalsRbf: row.signalsRbf, coinbase: row.coinbase },
});
