// The state machine of a payment: one total table from (state, fact) to a decision. A payment is
// identified by (address, txid). Facts are proven before they arrive here, except `mempool`, which
// is a server's claim. The table is also in docs/architecture.md.

import type { BlockHash } from '../../bitcoin/ids.ts';
import { maxReorganisationBlocks } from './chain.ts';

/** `settled` is deeper than any reorganisation that is followed. */
export type PaymentState = 'unconfirmed' | 'confirming' | 'confirmed' | 'settled' | 'dropped';

/** It counts as paid: the store's confirmations were reached. */
export const isFinalState = (state: PaymentState): boolean =>
  state === 'confirmed' || state === 'settled';

/** The status in a callback: 0 unconfirmed, 1 in a block, 2 final, -1 reversed. */
export type CallbackStatus = -1 | 0 | 1 | 2;

/** From this depth a payment is settled: no reorganisation that is followed reaches it. */
export const settledDepth = maxReorganisationBlocks + 1;

/** Consensus: confirmations before a coinbase output can be spent. */
export const coinbaseMaturity = 100;

export interface Payment {
  readonly state: PaymentState;
  /** The block in which the payment is proven; null while unconfirmed. */
  readonly block: Block | null;
  /** The last decided status; null if no callback was ever due. */
  readonly status: CallbackStatus | null;
  /** How often the status decreased. */
  readonly cycle: number;
}

export interface Block {
  readonly height: number;
  readonly hash: BlockHash;
}

export type PaymentFact =
  /** A server has it in its mempool. `isBlockGone`: its block is no longer on our best chain. */
  | { readonly kind: 'mempool'; readonly isBlockGone: boolean }
  /** Proven in a block of our best chain, `depth` confirmations deep (the tip's own block is 1). */
  | { readonly kind: 'proven'; readonly block: Block; readonly depth: number }
  /**
   * Two servers, or two connections, agree that it is in no mempool and in no block. They have
   * agreed for some time, or another transaction spent its inputs. Absence alone is no fact.
   */
  | { readonly kind: 'gone' };

export interface PaymentRules {
  /** Confirmations from which the payment is final for the store. */
  readonly requiredConfirmations: number;
  /** A coinbase output must also mature. */
  readonly isCoinbase: boolean;
  /** The store receives -1 for a payment that vanished after 1 or 2. */
  readonly sendsReversal: boolean;
  /** Finality hold: nothing becomes final while servers disagree about the chain. */
  readonly isHeld: boolean;
}

export interface PaymentDecision {
  readonly next: Payment;
  /** The status to send to the shop, if it changed. */
  readonly callback?: CallbackStatus;
}

/**
 * The decision on a payment for one fact; undefined if nothing changes.
 * @param current undefined for a transaction seen for the first time
 */
export function decide(
  current: Payment | undefined,
  fact: PaymentFact,
  rules: PaymentRules,
): PaymentDecision | undefined {
  switch (fact.kind) {
    case 'mempool':
      return decideMempool(current, fact.isBlockGone);
    case 'proven':
      return decideProven(current, fact.block, fact.depth, rules);
    case 'gone':
      return decideGone(current, rules);
  }
}

function decideGone(
  current: Payment | undefined,
  rules: PaymentRules,
): PaymentDecision | undefined {
  if (current === undefined || current.state === 'dropped') return undefined;
  if (current.state === 'settled') return undefined;
  if (rules.sendsReversal && hasHadBlockStatus(current))
    return transition(current, 'dropped', null, -1);
  return { next: { ...current, state: 'dropped', block: null } };
}

/** Whether the status was ever 1 or 2. A cycle above 0 proves it, because the status decreased. */
export const hasHadBlockStatus = ({ status, cycle }: Pick<Payment, 'status' | 'cycle'>): boolean =>
  (status ?? 0) > 0 || cycle > 0;

function decideMempool(
  current: Payment | undefined,
  isBlockGone: boolean,
): PaymentDecision | undefined {
  switch (current?.state) {
    case 'unconfirmed':
    case 'settled':
      return undefined;
    case 'confirming':
    case 'confirmed':
      // Its block is still on our best chain: this server lags or lies.
      return isBlockGone ? transition(current, 'unconfirmed', null, 0) : undefined;
    case 'dropped':
    case undefined:
      return transition(current, 'unconfirmed', null, 0);
  }
}

function decideProven(
  current: Payment | undefined,
  block: Block,
  depth: number,
  rules: PaymentRules,
): PaymentDecision | undefined {
  const isSameBlock = current?.block?.hash === block.hash;
  const wasFinal = current !== undefined && isFinalState(current.state);
  const required = Math.max(rules.requiredConfirmations, rules.isCoinbase ? coinbaseMaturity : 1);
  // A hold stops payments from becoming final. Final ones stay final if they are as deep in another
  // block.
  const hasEnoughDepth = depth >= required && (wasFinal || !rules.isHeld);
  // A payment stays final in its block if the store later requires more confirmations.
  const isFinal = hasEnoughDepth || (isSameBlock && wasFinal);
  const state = !isFinal ? 'confirming' : depth >= settledDepth ? 'settled' : 'confirmed';
  if (isSameBlock && current.state === state) return undefined;
  if (isSameBlock && current.state === 'settled') return undefined;
  return transition(current, state, block, isFinal ? 2 : 1);
}

function transition(
  current: Payment | undefined,
  state: PaymentState,
  block: Block | null,
  status: CallbackStatus,
): PaymentDecision {
  const lastStatus = current?.status ?? null;
  const cycle = (current?.cycle ?? 0) + (lastStatus !== null && status < lastStatus ? 1 : 0);
  const next = { state, block, status, cycle };
  return lastStatus === status ? { next } : { next, callback: status };
}

/** Confirmations of a block: 1 for the tip. */
export const depthOf = (height: number, tipHeight: number): number => tipHeight - height + 1;
