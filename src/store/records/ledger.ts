// What the chain told us of our addresses. One observation of one script becomes, in one
// transaction: re-read rows → decide each payment → write it → enqueue the callback it owes → save
// the status hash. So payment, callback and status commit together or not at all, and a crash
// anywhere leaves a state from which the same observation is made again.
//
// Invariants: a payment's block is one that was proven; confirmations are derived from it and our
// tip, never stored; `status` is the number last decided on and changes with the callback's row;
// the status hash is saved only when every item of the history it stands for was worked up; until
// then the address has a status that no server can name, and so is looked at again after any restart.

import { eq } from 'drizzle-orm';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { policyOf, requiredConfirmationsFor } from '../../domain/confirmation-policy.ts';
import {
  type Block,
  decide,
  type Payment,
  type PaymentDecision,
  type PaymentFact,
  type PaymentRules,
  type PaymentState,
  settledDepth,
} from '../../domain/payment.ts';
import type { StatusHash } from '../../domain/script-history.ts';
import type { Orm } from '../db/orm.ts';
import { placeholder } from '../db/placeholder.ts';
import { type AddressOrigin, addresses, stores } from '../db/schema.ts';
import type { Tx } from '../db/writer.ts';
import {
  type ConflictingPayments,
  createConflictingPayments,
} from '../views/conflicting-payments.ts';
import { type AddressPlace, addressPlace, incompleteStatus } from './address-row.ts';
import type { Catalog } from './catalog.ts';
import type { Headers } from './headers.ts';
import { readHold } from './hold-record.ts';
import type { Outbox } from './outbox.ts';
import {
  createPaymentRecords,
  type PaymentRecords,
  type PaymentRow,
  type StoreTerms,
  storeTerms,
} from './payment-records.ts';

/** What a transaction pays to the observed script. */
export interface Output {
  /** Sum of its outputs to the script, satoshis, above 0. */
  readonly valueSat: number;
  readonly signalsRbf: boolean;
  readonly coinbase: boolean;
}

export interface SeenPayment {
  readonly txid: Txid;
  /** Null in a mempool; else the block of our best chain that it was proven to be in. */
  readonly block: Block | null;
  readonly output: Output;
  /** The transaction itself; absent when we have it already. */
  readonly raw?: Uint8Array;
}

/** A payment that a second voice agrees is nowhere any more. */
export interface GonePayment {
  readonly txid: Txid;
  /** A transaction known to have taken its inputs. */
  readonly replacedBy: Txid | null;
}

/** All that was learnt of one script in one go. */
export interface Observation {
  /** Of the row of its address. */
  readonly addressId: number;
  /** What the address was when its history was gathered: of one not issued, nothing is. */
  readonly origin: AddressOrigin;
  readonly seen: readonly SeenPayment[];
  readonly gone: readonly GonePayment[];
  /** The status of the history, or undefined while some item of it could not be worked up. */
  readonly statusHash: StatusHash | null | undefined;
  /** The address is not issued, and one server alone says that it was used. */
  readonly isUnproven?: true;
}

interface IndexOfWallet {
  readonly walletId: number;
  readonly derivationIndex: number;
}

export interface Applied {
  /** How many callbacks were enqueued. */
  readonly callbacks: number;
  /** Payments whose shop was told 1 or 2, and that are in no block any more. */
  readonly reversed: readonly Txid[];
  /** The address was issued, or the chain moved, while its history was on the way: it must be gathered anew. */
  readonly again?: true;
  /** Set when somebody paid an address that we had not given out yet. */
  readonly foreignUse?: IndexOfWallet;
  /** Set when one server alone says so. */
  readonly claimedUse?: IndexOfWallet;
}

/** A payment's state before and after a commit; before is undefined for a new one. */
export interface PaymentMove {
  readonly before: PaymentState | undefined;
  readonly after: PaymentState;
}

interface Parts {
  readonly orm: Orm;
  readonly headers: Headers;
  readonly outbox: Outbox;
  readonly catalog: Pick<Catalog, 'setting'>;
  /** A payment is another than before; after the commit. */
  readonly onPayment?: ((paymentId: number, move: PaymentMove) => void) | undefined;
}

/** An address with the store that its payments are told to. */
interface Place {
  readonly address: AddressPlace;
  /** Null for an index that a restore skipped and that several stores might have issued. */
  readonly store: StoreTerms | null;
}

export class Ledger {
  readonly #parts: Parts;
  readonly #statements: Statements;
  readonly #payments: PaymentRecords;
  readonly #rivals: ConflictingPayments;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#statements = prepare(parts.orm);
    this.#payments = createPaymentRecords(parts.orm);
    this.#rivals = createConflictingPayments(parts.orm, this.#payments.rawOf);
  }

  apply(tx: Tx, now: number, observation: Observation): Applied {
    const address = this.#statements.addressOf.get({ id: observation.addressId });
    if (address === undefined) return { callbacks: 0, reversed: [] };
    if (address.origin !== observation.origin) {
      this.#statements.setStatus.run({ id: address.id, statusHash: incompleteStatus });
      return { callbacks: 0, reversed: [], again: true };
    }
    if (address.origin === 'ahead' || address.origin === 'foreign') {
      return noteForeignUse(this.#statements, address, observation);
    }
    const place = { address, store: this.#storeOf(address) };
    const changes = [
      ...observation.seen.map((seen) => this.#applySeen(tx, now, place, seen)),
      ...observation.gone.map((gone) => this.#applyGone(tx, now, place, gone)),
    ];
    const isStale = changes.some(({ isOvertaken }) => isOvertaken);
    const { statusHash = incompleteStatus } = observation;
    const known = isStale ? incompleteStatus : statusHash;
    this.#statements.setStatus.run({ id: address.id, statusHash: known });
    return {
      callbacks: sumOf(changes),
      reversed: changes.flatMap(({ reversed }) => reversed ?? []),
      ...(isStale && { again: true }),
    };
  }

  /** Payments that a move of our tip, or of a store's demands, may concern. */
  maturing(): number[] {
    const tipHeight = this.#parts.headers.tipHeight();
    if (tipHeight === undefined) return [];
    const settledBelow = tipHeight - settledDepth + 1;
    return this.#payments.maturing(settledBelow);
  }

  /** Decides on those of them that are in a block still: some may be deep enough. Answers how many callbacks. */
  promote(tx: Tx, now: number, paymentIds: readonly number[]): number {
    const changes = this.#payments
      .withPlace(paymentIds)
      .map(({ payment, ...place }) => this.#applySeen(tx, now, place, seenOf(payment)));
    return sumOf(changes);
  }

  /** Scripts with a payment in a block that is not on our best chain: to be observed again. */
  offChain(): Scripthash[] {
    return this.#payments.offChain();
  }

  paymentsOf(addressId: number): PaymentRow[] {
    return this.#payments.ofAddress(addressId);
  }

  /** The raw transaction of a payment that is not final, nor dropped long ago. */
  rawOf(txid: Txid): Uint8Array | undefined {
    return this.#payments.rawOf(txid);
  }

  #storeOf({ storeId }: AddressPlace): StoreTerms | null {
    return storeId === null ? null : (this.#statements.termsOf.get({ storeId }) ?? null);
  }

  /** Decides on one transaction and records what follows. */
  #applySeen(tx: Tx, now: number, place: Place, seen: SeenPayment): PaymentEffect {
    const row = this.#payments.find(place.address.id, seen.txid);
    const current = row && paymentOf(row);
    const fact = this.#factOf(seen.block, current);
    if (fact === undefined) return staleProof;
    const decision = decide(current, fact, this.#rulesOf(place, seen));
    if (decision === undefined) return noChange;
    const paymentId = this.#save(tx, place, seen, row, decision, now);
    if (row?.state === 'dropped') this.#parts.outbox.release(tx, paymentId);
    this.#keepRaw(tx, seen, decision, now);
    if (row === undefined || row.state === 'dropped') this.#noteTaken(tx, seen.txid);
    const callbacks = this.#owe(tx, now, place, paymentId, seen, decision);
    return { callbacks, reversed: reversedBy(decision, row) };
  }

  /** It may pay other addresses than what it replaced, which was found to be gone before. */
  #noteTaken(tx: Tx, txid: Txid): void {
    for (const id of this.#rivals.takenBy(txid)) {
      this.#payments.setReplacedBy(tx, id, txid);
      this.#tell(tx, id, { before: 'dropped', after: 'dropped' });
    }
  }

  #applyGone(tx: Tx, now: number, place: Place, { txid, replacedBy }: GonePayment): PaymentEffect {
    const row = this.#payments.find(place.address.id, txid);
    if (row === undefined) return noChange;
    const seen = seenOf(row);
    // No silence outweighs a proof that still stands.
    if (seen.block !== null && this.#parts.headers.isOnBest(seen.block)) return noChange;
    const decision = decide(paymentOf(row), { kind: 'gone' }, this.#rulesOf(place, seen));
    if (decision === undefined) return noChange;
    const paymentId = this.#save(tx, place, seen, row, decision, now);
    const rival =
      replacedBy ?? this.#payments.replacedBy(txid) ?? this.#rivals.takerOf(txid) ?? null;
    this.#payments.setReplacedBy(tx, paymentId, rival);
    this.#parts.outbox.hold(tx, paymentId);
    const callbacks = this.#owe(tx, now, place, paymentId, seen, decision);
    return { callbacks, reversed: reversedBy(decision, row) };
  }

  #owe(
    tx: Tx,
    now: number,
    { address, store }: Place,
    paymentId: number,
    seen: SeenPayment,
    { next, callback }: PaymentDecision,
  ): number {
    if (callback === undefined || store === null) return 0;
    const { valueSat, signalsRbf } = seen.output;
    // What the shop was told of before it is told to the end.
    const isSmall = valueSat < (store.minimumSat ?? 0);
    if (isSmall && !this.#parts.outbox.hasCallback(paymentId)) return 0;
    this.#parts.outbox.enqueue(tx, now, {
      paymentId,
      storeId: store.id,
      status: callback,
      cycle: next.cycle,
      address: address.address,
      txid: seen.txid,
      valueSat,
      rbf: signalsRbf && !store.omitRbf,
    });
    return 1;
  }

  #factOf(block: Block | null, current: Payment | undefined): PaymentFact | undefined {
    if (block !== null) {
      const depth = this.#parts.headers.depthOnBest(block);
      // The chain may have moved since the proof: then the header that moved it brings us back.
      return depth === undefined ? undefined : { kind: 'proven', block, depth };
    }
    const known = current?.block;
    return { kind: 'mempool', isBlockGone: known ? !this.#parts.headers.isOnBest(known) : false };
  }

  #rulesOf({ store }: Place, { output: { valueSat, coinbase } }: SeenPayment): PaymentRules {
    const { catalog } = this.#parts;
    return {
      requiredConfirmations:
        store === null ? 1 : requiredConfirmationsFor(policyOf(store), valueSat),
      isCoinbase: coinbase,
      sendsReversal: store?.reversalCallback ?? false,
      // Read where it matters alone, which is for few of a block.
      get isHeld() {
        return readHold(catalog).length > 0;
      },
    };
  }

  #save(
    tx: Tx,
    { address, store }: Place,
    seen: SeenPayment,
    row: PaymentRow | undefined,
    decision: PaymentDecision,
    now: number,
  ): number {
    const { state, block, status, cycle } = decision.next;
    const change = {
      state,
      height: block?.height ?? null,
      blockHash: block?.hash ?? null,
      status,
      cycle,
    };
    if (row !== undefined) {
      this.#payments.update(tx, now, row.id, change);
      return this.#tell(tx, row.id, { before: row.state, after: state });
    }
    const id = this.#payments.insert(tx, now, {
      ...change,
      ...seen.output,
      addressId: address.id,
      txid: seen.txid,
      // Its price is asked for later (price/receipt-pricer.ts).
      currency: store?.currency ?? null,
    });
    return this.#tell(tx, id, { before: undefined, after: state });
  }

  #tell(tx: Tx, paymentId: number, move: PaymentMove): number {
    const { onPayment } = this.#parts;
    if (onPayment !== undefined) tx.afterCommit(() => onPayment(paymentId, move));
    return paymentId;
  }

  /** Raw bytes are of use until the payment is beyond any reorganisation, or long gone (broadcasts.ts). */
  #keepRaw(tx: Tx, { txid, raw }: SeenPayment, { next }: PaymentDecision, now: number): void {
    if (next.state === 'settled') this.#payments.forgetRaw(tx, txid);
    else if (raw !== undefined) this.#payments.keepRaw(tx, now, txid, raw);
  }
}

/** What became of one payment. */
interface PaymentEffect {
  readonly callbacks: number;
  /** Set when it was in a block and is in none any more. */
  readonly reversed?: Txid | undefined;
  /** The block that it was proven in has left our chain since. */
  readonly isOvertaken?: true;
}

const noChange: PaymentEffect = { callbacks: 0 };
const staleProof: PaymentEffect = { callbacks: 0, isOvertaken: true };

const sumOf = (changes: readonly PaymentEffect[]): number =>
  changes.reduce((sum, { callbacks }) => sum + callbacks, 0);

const reversedBy = ({ next }: PaymentDecision, row: PaymentRow | undefined): Txid | undefined =>
  row !== undefined && row.height !== null && next.block === null ? row.txid : undefined;

function noteForeignUse(
  statements: Statements,
  address: AddressPlace,
  { statusHash: told, isUnproven }: Observation,
): Applied {
  const nothing = { callbacks: 0, reversed: [] };
  const { id, walletId, derivationIndex } = address;
  const statusHash = told === undefined && isUnproven ? incompleteStatus : told;
  if (statusHash === undefined) return nothing;
  const isNew = address.origin === 'ahead' && statusHash !== null;
  if (!isNew || isUnproven) {
    if (statusHash === address.statusHash) return nothing;
    statements.setStatus.run({ id, statusHash });
    const isFirst = isNew && address.statusHash === null;
    return isFirst ? { ...nothing, claimedUse: { walletId, derivationIndex } } : nothing;
  }
  statements.setForeign.run({ id, statusHash });
  return { ...nothing, foreignUse: { walletId, derivationIndex } };
}

function paymentOf(row: PaymentRow): Payment {
  const { state, status, height, blockHash, cycle } = row;
  const block = height === null || blockHash === null ? null : { height, hash: blockHash };
  return { state, block, status, cycle };
}

/** A recorded payment as if seen again where it is. */
const seenOf = (row: PaymentRow): SeenPayment => ({
  txid: row.txid,
  block: paymentOf(row).block,
  output: { valueSat: row.valueSat, signalsRbf: row.signalsRbf, coinbase: row.coinbase },
});

type Statements = ReturnType<typeof prepare>;

function prepare(orm: Orm) {
  return {
    setStatus: orm
      .update(addresses)
      .set({ statusHash: placeholder('statusHash') })
      .where(eq(addresses.id, placeholder('id')))
      .prepare(),
    setForeign: orm
      .update(addresses)
      .set({ origin: 'foreign', statusHash: placeholder('statusHash') })
      .where(eq(addresses.id, placeholder('id')))
      .prepare(),
    addressOf: orm
      .select(addressPlace)
      .from(addresses)
      .where(eq(addresses.id, placeholder('id')))
      .prepare(),
    termsOf: orm
      .select(storeTerms)
      .from(stores)
      .where(eq(stores.id, placeholder('storeId')))
      .prepare(),
  };
}
