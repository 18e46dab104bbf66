// What a payment is and how it changes: one total table from (state, fact) to what to do. Pure.
// The unit of truth is (address, txid). Facts are proven before they come here, but for `mempool`,
// which is a server's word by nature. The table stands in docs/architecture.md.

import type { BlockHash } from '../bitcoin/ids.ts';
import { maxReorganisationBlocks } from './chain.ts';

/** `settled` is confirmed beyond the reach of any reorganisation that we follow. */
export type PaymentState = 'unconfirmed' | 'confirming' | 'confirmed' | 'settled' | 'dropped';

/** The numbers that a shop is told: 0 seen, 1 in a block, 2 deep enough, -1 taken back for good. */
export type CallbackStatus = -1 | 0 | 1 | 2;

/** Depth at which a payment is no longer watched for its depth: no reorganisation that is followed reaches it. */
export const settledDepth = maxReorganisationBlocks + 1;

/** Depth that consensus asks of a coinbase output before it can be spent. */
export const coinbaseMaturity = 100;

/** What the decision needs to know of a payment we have recorded. */
export interface Payment {
  readonly state: PaymentState;
  /** The block it was proven in; null while it is in none. */
  readonly block: Block | null;
  /** The status last decided on; null when no callback was ever due. */
  readonly status: CallbackStatus | null;
  /** How often a decided status was taken back. */
  readonly cycle: number;
}

export interface Block {
  readonly height: number;
  readonly hash: BlockHash;
}

export type PaymentFact =
  /** A server has it in its mempool. `blockLeft`: the block we knew is no longer on our best chain. */
  | { readonly kind: 'mempool'; readonly isBlockGone: boolean }
  /** Proven in a block of our best chain, `depth` confirmations deep (the tip's own block is 1). */
  | { readonly kind: 'proven'; readonly block: Block; readonly depth: number }
  /**
   * Two servers, or two connections, agree that it is in no mempool and in no block, and something took its
   * inputs, or they have agreed for a while: silence is no fact.
   */
  | { readonly kind: 'gone' };

export interface PaymentRules {
  /** Depth from which the store takes a payment as final. */
  readonly requiredConfirmations: number;
  /** A coinbase output must mature whatever the store asks. */
  readonly isCoinbase: boolean;
  /** The store wants to hear -1 of a payment that vanished after 1 or 2. */
  readonly sendsReversal: boolean;
  /** Nothing becomes final for now: the servers disagree about the chain. */
  readonly isHeld: boolean;
}

export interface PaymentDecision {
  readonly next: Payment;
  /** Set when the shop must hear of a status that it was not told, or must be told again. */
  readonly callback?: CallbackStatus;
}

/**
 * What becomes of a payment by one fact; undefined when nothing does.
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

/** Whether 1 or 2 was ever told: a cycle above 0 says that it was, before it was taken back. */
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
      // Its block still stands on our chain: this server lags behind, or it lies.
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
  const wasFinal = current?.state === 'confirmed' || current?.state === 'settled';
  const required = Math.max(rules.requiredConfirmations, rules.isCoinbase ? coinbaseMaturity : 1);
  // A hold keeps payments from becoming final, not from staying so as deep in another block.
  const hasEnoughDepth = depth >= required && (wasFinal || !rules.isHeld);
  // What was final in this very block stays final when the store raises its demands later.
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

/** Confirmations of a block under a tip: 1 for the tip's own block. */
export const depthOf = (height: number, tipHeight: number): number => tipHeight - height + 1;
