// State of one simulation: the app, addresses issued to shops, their callbacks, active faults.

import type { Txid } from '../../src/bitcoin/ids.ts';
import type { SimulatedTransaction } from '../../src/sandbox/chain/simulated-transaction.ts';
import type { TestApp } from '../support/app.ts';
import type { Answer } from '../support/receiver.ts';
import type { Copy } from './file-actions.ts';
import type { Random } from './random.ts';
import type { Given, Shop } from './recount.ts';
import type { SimulationWorld } from './world.ts';

/** Height of the chain before anything happens: a few of its coinbases can be spent. */
export const baseHeight = 110;
/** No reorganisation goes below it. */
export const floorHeight = 104;

/** A request that came to a shop. */
export interface Heard {
  readonly id: string;
  readonly url: string;
  /** Whether it was answered with 200. */
  readonly accepted: boolean;
}

/** What was answered under an Idempotency-Key. */
export interface Order {
  /** The newest last. */
  readonly addresses: readonly string[];
  /** When the newest was. */
  readonly at: number;
}

/** Something that is wrong until a step. */
export interface Trouble {
  readonly untilStep: number;
  readonly end: () => void;
}

export interface Run {
  readonly seed: number;
  readonly world: SimulationWorld;
  readonly app: TestApp;
  readonly shops: Shop[];
  /** In the order in which they were handed out. */
  readonly given: Given[];
  readonly heard: Heard[];
  /** Transactions that left the mempool or the chain, to be broadcast again. */
  readonly lost: Txid[];
  /** `txid blockHash` of what was final before a shop raised its demands: it may stay so. */
  readonly mayBeFinal: Set<string>;
  readonly troubles: Trouble[];
  /** Of the file, oldest first. */
  readonly copies: Copy[];
  /** Every transaction that ever was in the mempool or in a block. */
  readonly known: Map<string, SimulatedTransaction>;
  /** The most confirmations that a transaction ever had, with each that ever was in a block. */
  readonly deepest: Map<string, number>;
  /** What was wrong with a request to a shop, as it came. */
  readonly complaints: string[];
  /** By Idempotency-Key. */
  readonly orders: Map<string, Order>;
  /** How often each action is taken. */
  readonly weights: Readonly<Record<string, number>>;
  readonly steps: string[];
  /** Which servers said something false at some time. */
  readonly liars: Set<number>;
  /** How the merchants answer. */
  merchant: { answer: Answer };
  step: number;
  /** How many requests the shops had heard when a copy was put in the file's place. */
  restoredAt: number;
  /** What the newest block of all claims, epoch seconds. */
  newestBlockTime: number;
  /** A server kept something to itself that only the next block or sweep brings to light. */
  muted: boolean;
}

export type Action = (run: Run, random: Random) => string | Promise<string>;

/** How many times the loop is turned for work that needs no clock. */
const patienceTurns = 60;

/** Awaits something; when that alone does not end, deadlines must: the clock is moved on. */
export async function through<T>(run: Run, work: Promise<T>): Promise<T> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  // It is awaited below.
  finished.catch(() => {});
  for (let turns = 0; !done; turns += 1) {
    if (turns < patienceTurns) await run.world.turn();
    else await run.world.advance(5_000);
    if (turns > patienceTurns + 2_000) throw new Error('work that never ends');
  }
  return finished;
}

/** Until all that was said so far is worked up and delivered. */
export const settle = (run: Run): Promise<void> => through(run, run.app.settle());

/** Ends what is wrong, all of it or what has lasted long enough. */
export function endTroubles(run: Run, all: boolean): void {
  for (const trouble of run.troubles.splice(0)) {
    if (all || trouble.untilStep <= run.step) trouble.end();
    else run.troubles.push(trouble);
  }
}

/** A coinbase is final that deep. */
const watchedBlocks = 110;

/** Remembers what is on the chain now, also when it is gone. */
export function noteKnown(run: Run): void {
  const { chain } = run.app;
  run.newestBlockTime = Math.max(run.newestBlockTime, chain.tip.time);
  for (const transaction of chain.mempool()) run.known.set(transaction.txid, transaction);
  for (let depth = 1; depth <= watchedBlocks; depth += 1) {
    noteMined(run, chain.block(chain.tipHeight - depth + 1)?.transactions ?? [], depth);
  }
}

/** Remembers what a block brings. */
export function noteMined(
  { known, deepest }: Run,
  transactions: readonly SimulatedTransaction[],
  depth: number,
): void {
  for (const transaction of transactions) {
    const { txid } = transaction;
    known.set(txid, transaction);
    deepest.set(txid, Math.max(depth, deepest.get(txid) ?? 0));
  }
}

/** Blocks may claim a time so far ahead of the true one; further back, the machine's clock is wrong. */
const aheadMs = 2 * 3_600_000;

export const isClockWrong = ({ world, newestBlockTime }: Run): boolean =>
  world.now() < newestBlockTime * 1_000 - aheadMs;
