// How much one server may be asked, so that it neither slows us down nor disconnects us. Bulk
// requests draw on a token bucket. ElectrumX bills its clients: an estimate of that bill holds back
// first the bulk requests and, near the limit, all of them. Figures: ElectrumX 1.20
// (server/session.py, server/env.py) and aiorpcX (session.py).

import { hourMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';
import { type Method, methods } from './wire.ts';

/** A thousand at once cost some 400 of the 1,000 (COST_SOFT_LIMIT) at which delays begin. */
const maxBulkTokens = 1_000;
/** 10,000 addresses are subscribed in 15 minutes, then billed at 3,500. */
const bulkPerSecond = 10;

/**
 * The connection ends at the hard limit (COST_HARD_LIMIT). Between the limits each request sleeps
 * up to 2.5 s (REQUEST_SLEEP), and fewer than 10 (INITIAL_CONCURRENT) are worked on at once. Ten
 * requests take 2 s at a bill of 5,000. They take 8 s at 8,000, which is still before their
 * deadline.
 */
const hardLimit = 10_000;
const maxBulkBill = 5_000;
const maxBill = 8_000;
const connectionCost = 5;
/** Each error response (aiorpcX: error_base_cost). */
export const refusalCost = 100;
/** Bytes in either direction (BANDWIDTH_UNIT_COST). */
const bytesPerUnit = 5_000;

/** What a request costs beside its bytes; where it depends on data, in a busy block. */
const costs: Readonly<Record<Method, number>> = {
  [methods.version]: 0.5,
  [methods.features]: 0.2,
  [methods.ping]: 0.1,
  [methods.subscribeHeaders]: 0.25,
  /** And 1 for 50 headers. */
  [methods.headers]: 0,
  [methods.header]: 0.25,
  [methods.subscribe]: 0.3,
  [methods.unsubscribe]: 0.1,
  [methods.history]: 0.45,
  [methods.transaction]: 1,
  [methods.merkle]: 1,
  [methods.coinbase]: 1,
  [methods.broadcast]: 0.25,
};

/**
 * The cost of an hour for each purpose that others can make us ask for. They are a transaction that
 * no server may have, and a payment that may be refused. An ElectrumX forgives 3,600 an hour.
 * Fallback requests have an allowance over all servers together (see other-servers.ts).
 */
const maxHourlyCost = { absence: 2_000, rebroadcast: 1_000 } as const;

export type LimitedPurpose = keyof typeof maxHourlyCost;

export interface Billable {
  readonly method: Method;
  readonly text: string;
  readonly bulk: boolean;
  readonly headers?: number;
}

export interface BudgetOptions {
  /** The operator's own server: nothing is limited. */
  readonly isOwn?: boolean;
}

/** Keep one for each server, not for each connection: ElectrumX bills an address across them. */
export class Budget {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #isOwn: boolean;
  readonly #allowances: Readonly<Record<LimitedPurpose, Allowance>>;
  #bulkTokens = maxBulkTokens;
  /** Our estimate of what the server has billed and not yet forgiven. */
  #bill = 0;
  #isBilled = false;
  #subscriptions = 0;
  #settledAt: number;

  constructor(world: Pick<World, 'monotonic'>, { isOwn = false }: BudgetOptions = {}) {
    this.#world = world;
    this.#isOwn = isOwn;
    this.#settledAt = world.monotonic();
    const allowance = (purpose: LimitedPurpose): Allowance =>
      new Allowance(world, isOwn ? Number.POSITIVE_INFINITY : maxHourlyCost[purpose]);
    this.#allowances = {
      absence: allowance('absence'),
      rebroadcast: allowance('rebroadcast'),
    };
  }

  /** A new connection is open. @param isBilled whether the server keeps a bill */
  opened(isBilled: boolean): void {
    this.#settle();
    this.#isBilled = isBilled && !this.#isOwn;
    this.#subscriptions = 0;
    this.#bill += connectionCost;
  }

  sent(request: Billable): void {
    this.#settle();
    this.#bill += costOf(request);
    if (request.bulk) this.#bulkTokens--;
    if (request.method === methods.subscribe) this.#subscriptions++;
    else if (request.method === methods.unsubscribe && this.#subscriptions > 0) {
      this.#subscriptions--;
    }
  }

  received(bytes: number): void {
    this.#bill += bytes / bytesPerUnit;
  }

  refused(): void {
    this.#bill += refusalCost;
  }

  /** What may still be spent on a purpose in this hour. It does not pace what is sent. */
  allowance(purpose: LimitedPurpose): Allowance {
    return this.#allowances[purpose];
  }

  /** Milliseconds until `count` requests like this one may be sent together; 0 for at once. */
  waitMs(request: Billable, count = 1): number {
    if (this.#isOwn) return 0;
    this.#settle();
    if (!request.bulk) return this.#msUntilBelow(maxBill - count * costOf(request));
    const missing = Math.min(count, maxBulkTokens) - this.#bulkTokens;
    const tokensMs = Math.max(0, Math.ceil((missing / bulkPerSecond) * 1_000));
    return Math.max(tokensMs, this.#msUntilBelow(maxBulkBill - count * costOf(request)));
  }

  /** Milliseconds until the bill allows any request at all, or any bulk request. */
  overdrawnMs(bulk: boolean): number {
    this.#settle();
    return this.#msUntilBelow(bulk ? maxBulkBill : maxBill);
  }

  #msUntilBelow(limit: number): number {
    if (!this.#isBilled) return 0;
    return Math.max(0, Math.ceil(((this.#bill - limit) / this.#forgivenPerSecond()) * 1_000));
  }

  /** 1 a second, and less with subscriptions (ElectrumX: cost_decay_per_sec). */
  #forgivenPerSecond(): number {
    return hardLimit / (10_000 + 5 * this.#subscriptions);
  }

  #settle(): void {
    const now = this.#world.monotonic();
    const seconds = (now - this.#settledAt) / 1_000;
    this.#settledAt = now;
    this.#bulkTokens = Math.min(maxBulkTokens, this.#bulkTokens + seconds * bulkPerSecond);
    this.#bill = Math.max(0, this.#bill - seconds * this.#forgivenPerSecond());
  }
}

/** A cost that may be spent within any hour. Reserve what may be spent, then charge what was. */
export class Allowance {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #maxCost: number;
  readonly #charges: { readonly at: number; readonly cost: number }[] = [];
  #charged = 0;
  #reserved = 0;

  constructor(world: Pick<World, 'monotonic'>, maxCost: number) {
    this.#world = world;
    this.#maxCost = maxCost;
  }

  /** What is neither charged within the last hour nor reserved; never below 0. */
  left(): number {
    const since = this.#world.monotonic() - hourMs;
    for (let [first] = this.#charges; first && first.at <= since; [first] = this.#charges) {
      this.#charged -= first.cost;
      this.#charges.shift();
    }
    return Math.max(0, this.#maxCost - this.#charged - this.#reserved);
  }

  /** Sets a cost aside; undefined when that much is not left. @returns ends the reservation */
  reserve(cost: number): (() => void) | undefined {
    if (cost > this.left()) return undefined;
    this.#reserved += cost;
    let isReserved = true;
    return () => {
      if (isReserved) this.#reserved -= cost;
      isReserved = false;
    };
  }

  charge(cost: number): void {
    this.#charged += cost;
    this.#charges.push({ at: this.#world.monotonic(), cost });
  }
}

const costOf = ({ method, text, headers = 0 }: Billable): number =>
  costs[method] + headers / 50 + text.length / bytesPerUnit;
