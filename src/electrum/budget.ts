// What one public server may be asked, so that it neither slows us down nor drops us. Two meters: mass
// requests draw on a token bucket; and for ElectrumX, which bills its clients, a running estimate of
// that bill, which holds back first the mass requests and, near the limit, all. Keep one for a server,
// not for a connection: ElectrumX remembers what an address spent on its last one.
// Figures from ElectrumX 1.20 (server/session.py, server/env.py) and aiorpcX (session.py), as quoted
// below; an own server has no budget at all.

import type { World } from '../world/world.ts';
import { type Method, methods } from './wire.ts';

/** A thousand at once cost some 400 of the 1,000 (COST_SOFT_LIMIT) from which on answers are delayed. */
const bulkBurst = 1_000;
/** 10,000 addresses are subscribed in 15 minutes, then billed at 3,500. */
const bulkPerSecond = 10;

/**
 * At the hard limit (COST_HARD_LIMIT 10,000) the connection ends. Between the limits each request sleeps
 * up to 2.5 s (REQUEST_SLEEP) and fewer than 10 (INITIAL_CONCURRENT) are worked on at once: at 5,000, ten
 * requests take 2 s, at 8,000 they take 8 s, which is still within their deadline.
 */
const hardLimit = 10_000;
const bulkCeiling = 5_000;
const ceiling = 8_000;
const connectionCost = 5;
/** Each answer that is an error (aiorpcX: error_base_cost). */
export const refusalCost = 100;
/** Either way (BANDWIDTH_UNIT_COST). */
const bytesPerUnit = 5_000;

/** The bill of a request, its bytes and its answer's aside; where it depends on data, for a busy block. */
const prices: Readonly<Record<Method, number>> = {
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

/** What the bill of a request is made of. */
export interface Priced {
  readonly method: Method;
  readonly text: string;
  readonly bulk: boolean;
  /** How many headers it asks for. */
  readonly headers?: number;
}

export class Budget {
  readonly #world: Pick<World, 'monotonic'>;
  #bulkTokens = bulkBurst;
  /** Our estimate of what the server has billed us and not yet forgiven. */
  #bill = 0;
  #billed = false;
  #subscriptions = 0;
  #at: number;

  constructor(world: Pick<World, 'monotonic'>) {
    this.#world = world;
    this.#at = world.monotonic();
  }

  /** A new connection stands; `billed` for a server that keeps a bill. */
  opened(billed: boolean): void {
    this.#settle();
    this.#billed = billed;
    this.#subscriptions = 0;
    this.#bill += connectionCost;
  }

  sent(request: Priced): void {
    this.#settle();
    this.#bill += billOf(request);
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

  /** Milliseconds until this request may go out; 0 for at once. */
  urgentWaitMs(request: Priced): number {
    this.#settle();
    return this.#untilBelow(ceiling - billOf(request));
  }

  /** Milliseconds until anything at all may go out, or mass requests. */
  spentMs(bulk: boolean): number {
    this.#settle();
    return this.#untilBelow(bulk ? bulkCeiling : ceiling);
  }

  /** Milliseconds until `count` mass requests like this one may go out together. */
  bulkWaitMs(request: Priced, count: number): number {
    this.#settle();
    const missing = Math.min(count, bulkBurst) - this.#bulkTokens;
    const tokensMs = Math.max(0, Math.ceil((missing / bulkPerSecond) * 1_000));
    return Math.max(tokensMs, this.#untilBelow(bulkCeiling - count * billOf(request)));
  }

  #untilBelow(limit: number): number {
    if (!this.#billed) return 0;
    return Math.max(0, Math.ceil(((this.#bill - limit) / this.#forgivenPerSecond()) * 1_000));
  }

  /** One a second, and less with subscriptions (ElectrumX: cost_decay_per_sec). */
  #forgivenPerSecond(): number {
    return hardLimit / (10_000 + 5 * this.#subscriptions);
  }

  #settle(): void {
    const now = this.#world.monotonic();
    const seconds = (now - this.#at) / 1_000;
    this.#at = now;
    this.#bulkTokens = Math.min(bulkBurst, this.#bulkTokens + seconds * bulkPerSecond);
    this.#bill = Math.max(0, this.#bill - seconds * this.#forgivenPerSecond());
  }
}

const billOf = ({ method, text, headers = 0 }: Priced): number =>
  prices[method] + headers / 50 + text.length / bytesPerUnit;
