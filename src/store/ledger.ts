// The ledger: turns what servers prove about our addresses into payments and callbacks.

// Format. An observation is all evidence about one script: transactions, proven blocks, the status
// of the history. A payment is one row for one transaction and one address.
//
// Algorithm. In one transaction `apply` reads the rows again, decides each payment
// (payment.ts), writes it, enqueues the callback that follows, and stores the status hash.
// A crash leaves all of it or nothing; the same observation is then made again.
//
// Invariants.
// - The block of a payment is one that was proven. Confirmations are derived from it and our tip.
// - `status` is the last number decided on. It changes in one commit with the row of its callback.
// - The status hash is stored only if every item of the history was processed. Otherwise the
//   address has `incompleteStatus`, which equals no real status, so the script is processed again.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { policyOf, requiredConfirmationsInOrder } from '../domain/payment/confirmation-policy.ts';
import {
  type Block,
  type CallbackStatus,
  decide,
  type Payment,
  type PaymentDecision,
  type PaymentFact,
  type PaymentRules,
  settledDepth,
} from '../domain/payment/payment.ts';
import { secondMs } from '../lib/time-units.ts';
import type { Headers } from './chain/headers.ts';
import { equals, type Orm, placeholder, placeholders, prepared } from './db/orm.ts';
import type { ChangedPaymentFacts, PaymentMove, StoreEvents } from './db/store-events.ts';
import type { Tx } from './db/writer.ts';
import type { Outbox } from './delivery/outbox.ts';
import type { FileState } from './file/file-state.ts';
import type { ChangedPayment, Orders } from './orders/orders.ts';
import type { ConflictingPayments, Rivals } from './payments/conflicting-payments.ts';
import type { Applied, GonePayment, Observation, SeenPayment } from './payments/observation.ts';
import {
  createPaymentRecords,
  isFollowed,
  type PaymentRecords,
  type PaymentRow,
  type StoreTerms,
  storeTerms,
} from './payments/payment-records.ts';
import { addresses, stores } from './schema/schema.ts';
import { type AddressPlace, addressPlace, incompleteStatus } from './wallets/address-row.ts';

interface Parts {
  readonly orm: Orm;
  readonly headers: Headers;
  readonly outbox: Outbox;
  readonly orders: Orders;
  readonly conflicts: ConflictingPayments;
  readonly state: FileState;
  readonly events: StoreEvents;
}

interface Place {
  readonly address: AddressPlace;
  /** Null for an index that a restore skipped if several stores could have issued it. */
  readonly store: StoreTerms | null;
}

export class Ledger {
  readonly #parts: Parts;
  readonly #statements: Statements;
  readonly #payments: PaymentRecords;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#statements = prepare(parts.orm);
    this.#payments = createPaymentRecords(parts.orm);
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
    const rivals = this.#parts.conflicts.rivals(observation.gone.map(({ txid }) => txid));
    const changes = [
      ...observation.seen.map((seen) => this.#applySeen(tx, now, place, seen, rivals)),
      ...observation.gone.map((gone) => this.#applyGone(tx, now, place, gone, rivals)),
    ];
    const isStale = changes.some(({ isOvertaken }) => isOvertaken);
    const { statusHash = incompleteStatus } = observation;
    const known = isStale ? incompleteStatus : statusHash;
    this.#statements.setStatus.run({ id: address.id, statusHash: known });
    if (isFollowed(place.address, place.store))
      this.#parts.orders.settle(tx, now, address, changedBy(changes));
    return {
      callbacks: sumOf(changes),
      reversed: changes.flatMap(({ reversed }) => reversed ?? []),
      ...(isStale && { again: true }),
    };
  }

  /**
   * Ids of payments that a new tip, or another setting of a store, can promote; those of an address
   * together.
   */
  maturing(): number[] {
    const tipHeight = this.#parts.headers.tipHeight();
    if (tipHeight === undefined) return [];
    const settledBelow = tipHeight - settledDepth + 1;
    return this.#payments.maturing(settledBelow);
  }

  /** Decides again on those that are still in a block. @returns how many callbacks */
  promote(tx: Tx, now: number, paymentIds: readonly number[]): number {
    const rivals = this.#parts.conflicts.rivals([]);
    const changes = this.#payments.withPlace(paymentIds).map(({ payment, ...place }) => {
      const effect = this.#applySeen(tx, now, place, seenOf(payment), rivals);
      return { ...effect, place };
    });
    for (const ofAddress of Map.groupBy(changes, ({ place }) => place.address.id).values()) {
      const [{ place }] = ofAddress as [(typeof changes)[number]];
      if (!isFollowed(place.address, place.store)) continue;
      this.#parts.orders.settle(tx, now, place.address, changedBy(ofAddress));
    }
    return sumOf(changes);
  }

  offChain(): Scripthash[] {
    return this.#payments.offChain();
  }

  paymentsOf(addressId: number): PaymentRow[] {
    return this.#payments.ofAddress(addressId);
  }

  rawOf(txid: Txid): Uint8Array | undefined {
    return this.#payments.rawOf(txid);
  }

  #storeOf({ storeId }: AddressPlace): StoreTerms | null {
    return storeId === null ? null : (this.#statements.termsOf.get({ storeId }) ?? null);
  }

  #applySeen(tx: Tx, now: number, place: Place, seen: SeenPayment, rivals: Rivals): PaymentEffect {
    const row = this.#payments.find(place.address.id, seen.txid);
    const current = row && paymentOf(row);
    const fact = this.#factOf(seen.block, current);
    if (fact === undefined) return staleProof;
    const decision = decide(current, fact, this.#rulesOf(place, seen));
    if (decision === undefined) return noChange;
    const paymentId = this.#save(tx, place, seen, row, decision, now);
    if (row?.state === 'dropped') this.#parts.outbox.release(tx, paymentId);
    this.#keepRaw(tx, seen, decision, now);
    if (row === undefined || row.state === 'dropped') this.#noteTaken(tx, seen.txid, rivals);
    const callbacks = this.#owe(tx, now, place, paymentId, seen, decision);
    return { callbacks, ...effectOf(seen.txid, decision, row) };
  }

  /** Records which dropped payments this transaction replaced: it may pay other addresses. */
  #noteTaken(tx: Tx, txid: Txid, rivals: Rivals): void {
    for (const id of rivals.takenBy(txid)) {
      this.#payments.setReplacedBy(tx, id, txid);
      this.#announce(tx, id, { before: 'dropped', after: 'dropped' });
    }
  }

  #applyGone(
    tx: Tx,
    now: number,
    place: Place,
    { txid, replacedBy }: GonePayment,
    rivals: Rivals,
  ): PaymentEffect {
    const row = this.#payments.find(place.address.id, txid);
    if (row === undefined) return noChange;
    const seen = seenOf(row);
    // A valid inclusion proof outweighs any report of absence.
    if (seen.block !== null && this.#parts.headers.isOnBest(seen.block)) return noChange;
    const decision = decide(paymentOf(row), { kind: 'gone' }, this.#rulesOf(place, seen));
    if (decision === undefined) return noChange;
    const paymentId = this.#save(tx, place, seen, row, decision, now);
    const rival = replacedBy ?? this.#payments.replacedBy(txid) ?? rivals.takerOf(txid) ?? null;
    this.#payments.setReplacedBy(tx, paymentId, rival);
    this.#parts.outbox.hold(tx, paymentId);
    const callbacks = this.#owe(tx, now, place, paymentId, seen, decision);
    return { callbacks, ...effectOf(txid, decision, row) };
  }

  #owe(
    tx: Tx,
    now: number,
    { address, store }: Place,
    paymentId: number,
    seen: SeenPayment,
    { next, callback }: PaymentDecision,
  ): number {
    if (callback === undefined || store === null || store.callbackUrl === '') return 0;
    const { valueSat, signalsRbf } = seen.output;
    // A payment whose first status the shop received is reported to its end.
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

  #rulesOf(
    { address, store }: Place,
    { output: { valueSat, coinbase } }: SeenPayment,
  ): PaymentRules {
    const { state } = this.#parts;
    return {
      requiredConfirmations:
        store === null
          ? 1
          : requiredConfirmationsInOrder(policyOf(store), valueSat, this.#orderSat(address)),
      isCoinbase: coinbase,
      sendsReversal: store?.reversalCallback ?? false,
      // A getter, because few payments of a block need it.
      get isHeld() {
        return state.hold.read().length > 0;
      },
    };
  }

  #orderSat({ orderId }: AddressPlace): number {
    return orderId === null ? 0 : this.#parts.orders.priceOf(orderId).amountSat;
  }

  #currencyOf({ address, store }: Place): string | null {
    const { orderId } = address;
    const own = orderId === null ? null : this.#parts.orders.priceOf(orderId).currency;
    return own ?? store?.currency ?? null;
  }

  #save(
    tx: Tx,
    place: Place,
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
    const facts = factsOf(place, seen, status);
    if (row !== undefined) {
      this.#payments.update(tx, now, row.id, change);
      return this.#announce(tx, row.id, { before: row.state, after: state }, facts);
    }
    const id = this.#payments.insert(tx, now, {
      ...change,
      ...seen.output,
      addressId: place.address.id,
      txid: seen.txid,
      // Its price is asked for later (price/receipt-pricer.ts).
      currency: this.#currencyOf(place),
      interruptedAt: seen.interruptedAt ?? null,
      firstBlockAt: block === null ? null : this.#timeOf(block),
    });
    return this.#announce(tx, id, { before: undefined, after: state }, facts);
  }

  #timeOf({ height }: Block): number | null {
    const found = this.#parts.headers.bestAt(height);
    return found === undefined ? null : found.header.time * secondMs;
  }

  #announce(tx: Tx, paymentId: number, move: PaymentMove, facts?: ChangedPaymentFacts): number {
    tx.afterCommit(() => this.#parts.events.emit('paymentChanged', paymentId, move, facts));
    return paymentId;
  }

  /** Raw bytes are stored until the payment is final, or was dropped long ago (broadcasts.ts). */
  #keepRaw(tx: Tx, { txid, raw }: SeenPayment, { next }: PaymentDecision, now: number): void {
    if (next.state === 'settled') this.#payments.forgetRaw(tx, txid);
    else if (raw !== undefined) this.#payments.keepRaw(tx, now, txid, raw);
  }
}

interface PaymentEffect {
  readonly callbacks: number;
  /** Set when the payment left its block. */
  readonly reversed?: Txid | undefined;
  readonly changed?: ChangedPayment;
  /** The block of the proof left our chain meanwhile. */
  readonly isOvertaken?: true;
}

const noChange: PaymentEffect = { callbacks: 0 };
const staleProof: PaymentEffect = { callbacks: 0, isOvertaken: true };

const sumOf = (changes: readonly PaymentEffect[]): number =>
  changes.reduce((sum, { callbacks }) => sum + callbacks, 0);

const factsOf = (
  { address, store }: Place,
  { txid, output: { valueSat } }: SeenPayment,
  status: CallbackStatus | null,
): ChangedPaymentFacts => ({
  storeId: store?.id ?? null,
  address: address.address,
  valueSat,
  txid,
  status,
});

const changedBy = (changes: readonly PaymentEffect[]): ChangedPayment[] =>
  changes.flatMap(({ changed }) => changed ?? []);

const effectOf = (txid: Txid, { next }: PaymentDecision, row: PaymentRow | undefined) => ({
  reversed: row !== undefined && row.height !== null && next.block === null ? txid : undefined,
  changed: { txid, move: { before: row?.state, after: next.state } },
});

function noteForeignUse(
  statements: Statements,
  address: AddressPlace,
  { statusHash: reported, isUnproven }: Observation,
): Applied {
  const nothing = { callbacks: 0, reversed: [] };
  const { id, walletId, derivationIndex } = address;
  const statusHash = reported === undefined && isUnproven ? incompleteStatus : reported;
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

const seenOf = (row: PaymentRow): SeenPayment => ({
  txid: row.txid,
  block: paymentOf(row).block,
  output: { valueSat: row.valueSat, signalsRbf: row.signalsRbf, coinbase: row.coinbase },
});

type Statements = ReturnType<typeof prepare>;

function prepare(orm: Orm) {
  return {
    setStatus: prepared(() =>
      orm.update(addresses).set(placeholders('statusHash')).where(equals(addresses.id, 'id')),
    ),
    setForeign: prepared(() =>
      orm
        .update(addresses)
        .set({ origin: 'foreign', statusHash: placeholder('statusHash') })
        .where(equals(addresses.id, 'id')),
    ),
    addressOf: prepared(() =>
      orm.select(addressPlace).from(addresses).where(equals(addresses.id, 'id')),
    ),
    termsOf: prepared(() =>
      orm.select(storeTerms).from(stores).where(equals(stores.id, 'storeId')),
    ),
  };
}
