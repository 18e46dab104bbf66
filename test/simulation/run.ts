// State of one simulation: the app, addresses issued to shops, their callbacks, active faults.

import SqliteDatabase from 'better-sqlite3';
import type { Txid } from '../../src/bitcoin/ids.ts';
import type { SimulatedTransaction } from '../../src/sandbox/chain/simulated-transaction.ts';
import type { TestApp } from '../support/app.ts';
import type { Answer } from '../support/receiver.ts';
import type { Copy } from './file-actions.ts';
import type { ReceivedInvoice } from './invoice-webhooks.ts';
import type { SimulatedNode } from './lightning.ts';
import type { EventRecord, SimulatedOrder } from './orders.ts';
import type { Random } from './random.ts';
import type { IssuedAddress, Shop } from './recount.ts';
import type { ReceivedEvent } from './webhooks.ts';
import type { SimulationWorld } from './world.ts';

/** Height of the chain before the first step. A few of its coinbases can be spent. */
export const baseHeight = 110;
/** No reorganisation goes below it. */
export const floorHeight = 104;

/** A request that a shop received. */
export interface ReceivedCallback {
  readonly id: string;
  readonly url: string;
  /** Whether it was answered with 200. */
  readonly accepted: boolean;
}

/** The responses to an idempotency key. */
export interface Order {
  /** The newest last. */
  readonly addresses: readonly string[];
  /** The time of the newest response, epoch milliseconds. */
  readonly at: number;
}

/** A fault that is active until a step. */
export interface ActiveFault {
  readonly untilStep: number;
  readonly end: () => void;
}

export interface Run {
  readonly seed: number;
  readonly world: SimulationWorld;
  readonly app: TestApp;
  readonly shops: Shop[];
  /** In the order of issue. */
  readonly issued: IssuedAddress[];
  readonly received: ReceivedCallback[];
  /** Transactions that left the mempool or the chain, to be broadcast again. */
  readonly lost: Txid[];
  /** `txid blockHash` of payments that were final before a shop required more confirmations. */
  readonly mayBeFinal: Set<string>;
  readonly activeFaults: ActiveFault[];
  /** Copies of the file, oldest first. */
  readonly copies: Copy[];
  /** Every transaction that was ever in the mempool or in a block. */
  readonly known: Map<string, SimulatedTransaction>;
  /** The most confirmations that each mined transaction ever had. */
  readonly deepest: Map<string, number>;
  /** Descriptions of the faults of requests to shops. */
  readonly requestFaults: string[];
  /** By Idempotency-Key. */
  readonly orders: Map<string, Order>;
  /** By address. */
  readonly shopOrders: Map<string, SimulatedOrder>;
  /** Ids of orders that a restored file does not have. */
  readonly lostOrders: string[];
  /** Price of one bitcoin; without one, the source fails. */
  readonly market: { euros: number | undefined };
  /** The relative frequency of each action. */
  readonly weights: Readonly<Record<string, number>>;
  readonly steps: string[];
  /** Servers that ever sent a false response. */
  readonly liars: Set<number>;
  /** What webhooks received, in order. */
  readonly receivedEvents: ReceivedEvent[];
  /** What webhooks of BTCPay's format received, in order. */
  readonly receivedInvoices: ReceivedInvoice[];
  /** The highest version of each order that a shop received or was answered, by its id. */
  readonly shownVersions: Map<string, number>;
  /** Events that the file had when it was last restored, by their ids. */
  restoredEvents: ReadonlySet<string>;
  /** The step since which the clock is wrong by more than is noticed; undefined while it is not. */
  clockWrongSince: number | undefined;
  /** The copy that was last restored. */
  lastRestored: Copy | undefined;
  readonly closeMarket: () => Promise<void>;
  /** By their URLs. */
  readonly nodes: Map<string, SimulatedNode>;
  /** Ids of the orders that showed an invoice, by its payment hash. */
  readonly shownInvoices: Map<string, string>;
  /** How the shops respond. */
  merchant: { answer: Answer };
  step: number;
  /** How many requests the shops had received at the last restore. */
  restoredAt: number;
  /** A copy took the place of the file. */
  isRestored: boolean;
  /** The same for webhooks. */
  eventsRestoredAt: number;
  /** The latest timestamp of any block, epoch seconds. */
  newestBlockTime: number;
  /** A server withheld notifications, so only a sweep shows its changes. */
  needsSweep: boolean;
  /** A payment may need fewer confirmations than before, which the next block finds. */
  needsBlock: boolean;
  /** The events that the file was last seen with. */
  events: readonly EventRecord[];
}

export type Action = (run: Run, random: Random) => string | Promise<string>;

/** Records the version of an order that a shop received or was answered. */
export function noteVersion({ shownVersions }: Run, id: string, version: number): void {
  shownVersions.set(id, Math.max(version, shownVersions.get(id) ?? 0));
}

/** Turns of the event loop for work that needs no clock. */
const maxIdleTurns = 60;

/** Awaits work. If it does not finish by itself, the clock advances until its deadlines end it. */
export async function finish<T>(run: Run, work: Promise<T>): Promise<T> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  // `finished` is awaited below.
  finished.catch(() => {});
  for (let turns = 0; !done; turns += 1) {
    if (turns < maxIdleTurns) await run.world.turn();
    else await run.world.advance(5_000);
    if (turns > maxIdleTurns + 2_000) throw new Error('work that never ends');
  }
  return finished;
}

/** Waits until every notification so far is processed and every due callback is sent. */
export const settle = (run: Run): Promise<void> => finish(run, run.app.settle());

/** Ends the active faults: all of them, or those whose last step has come. */
export function endActiveFaults(run: Run, all: boolean): void {
  for (const fault of run.activeFaults.splice(0)) {
    if (all || fault.untilStep <= run.step) fault.end();
    else run.activeFaults.push(fault);
  }
}

/** The depth at which even a coinbase is final. */
const watchedBlocks = 110;

/** Records the transactions that are in the mempool and on the chain now. */
export function noteKnown(run: Run): void {
  const { chain } = run.app;
  run.newestBlockTime = Math.max(run.newestBlockTime, chain.tip.time);
  for (const transaction of chain.mempool()) run.known.set(transaction.txid, transaction);
  for (let depth = 1; depth <= watchedBlocks; depth += 1) {
    noteMined(run, chain.block(chain.tipHeight - depth + 1)?.transactions ?? [], depth);
  }
}

/** Records the transactions of a block. */
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

const hourMs = 3_600_000;
/** The most that a block's timestamp may be ahead. A machine further behind has a wrong clock. */
const aheadMs = 2 * hourMs;
/** How old the newest block may be by a right clock. The miners of the simulation keep to it. */
export const maxBlockAgeMs = 3 * hourMs;
/** A clock that is wrong by more is noticed, whatever the age of the newest block is. */
export const noticedMs = maxBlockAgeMs + aheadMs;

/** Whether a clock is behind the newest block. */
export const isClockBehind = ({ world, newestBlockTime }: Run): boolean =>
  world.now() < newestBlockTime * 1_000 - aheadMs;

/** Whether paygate may take its clock for wrong, by the newest block that it has. */
export const mayLookWrong = (run: Run): boolean =>
  isClockBehind(run) || run.world.now() > readTipTime(run.app.path) * 1_000 + maxBlockAgeMs;

/** The time of the newest block in the file, epoch seconds; 0 without one. */
function readTipTime(path: string): number {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    const newest = file
      .prepare<[], { readonly raw: Buffer }>(
        'select raw from headers where on_best = 1 order by height desc limit 1',
      )
      .get();
    return newest?.raw.readUInt32LE(68) ?? 0;
  } finally {
    file.close();
  }
}

/** The miners go on: the newest block is never much older than the schedule allows. */
export function mineInTime({ app, world }: Run): void {
  if (world.trueNow() - app.chain.tip.time * 1_000 > aheadMs / 2) app.chain.mine();
}
