// Requests that wait to be sent, in order within two classes: urgent ones go first, mass requests in the
// places that are left to them, neither faster than the server's budget allows. Nothing is ever dropped:
// what does not fit is refused when it comes, or as soon as it can never go out.

import type { Budget, Priced } from './budget.ts';

/** Two of the largest transactions, in hex. */
const maxUnsentCharacters = 16_000_000;
/** The longest prefix that was sent and is still kept in front of a list. */
const maxSentKept = 1_024;

/** How many requests may go out now. */
export interface Places {
  readonly all: number;
  /** Mass requests. */
  readonly bulk: number;
  /** They go out by so many where a budget is kept. */
  readonly atOnce: number;
}

/** An array whose front is taken off without moving the rest each time. */
class Line<T> {
  #items: T[] = [];
  #taken = 0;

  get length(): number {
    return this.#items.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#items[this.#taken];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.first;
    if (item !== undefined) this.#taken++;
    if (this.#taken > maxSentKept || this.length === 0) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}

export class SendQueue<T extends Priced> {
  readonly #urgent = new Line<T>();
  readonly #bulk = new Line<T>();
  /** Nothing goes out faster than this allows. */
  budget: Budget | undefined;
  #unsentCharacters = 0;

  get length(): number {
    return this.#urgent.length + this.#bulk.length;
  }

  get bulkCount(): number {
    return this.#bulk.length;
  }

  /** False, and not taken, when too much waits already. */
  add(request: T): boolean {
    if (this.#unsentCharacters + request.text.length > maxUnsentCharacters) return false;
    this.#unsentCharacters += request.text.length;
    (request.bulk ? this.#bulk : this.#urgent).push(request);
    return true;
  }

  /** Takes what may go out now, the budget told. */
  take({ all, bulk, atOnce }: Places): T[] {
    const taken: T[] = [];
    for (let next = this.#urgent.first; next && taken.length < all; next = this.#urgent.first) {
      if (this.#waitMs(next, atOnce) > 0) return taken;
      taken.push(this.#send(this.#urgent));
    }
    const left = Math.min(all - taken.length, bulk, this.#bulk.length);
    const { first } = this.#bulk;
    if (first === undefined || left <= 0 || this.#waitMs(first, atOnce) > 0) return taken;
    for (let count = 0; count < left; count += 1) taken.push(this.#send(this.#bulk));
    return taken;
  }

  /** Milliseconds until the budget allows the next one; 0 when it does now or nothing waits. */
  waitMs(atOnce: number): number {
    const request = this.#urgent.first ?? this.#bulk.first;
    return request === undefined ? 0 : this.#waitMs(request, atOnce);
  }

  /** Empties it. */
  *drain(): Generator<T, void> {
    for (;;) {
      const request = this.#shift(this.#urgent) ?? this.#shift(this.#bulk);
      if (request === undefined) return;
      yield request;
    }
  }

  #send(line: Line<T>): T {
    const request = this.#shift(line) as T;
    this.budget?.sent(request);
    return request;
  }

  #shift(line: Line<T>): T | undefined {
    const request = line.shift();
    this.#unsentCharacters -= request?.text.length ?? 0;
    return request;
  }

  /** Mass requests go out by the window: each write to an ElectrumX takes a filler (see filler.ts). */
  #waitMs(request: T, atOnce: number): number {
    if (this.budget === undefined) return 0;
    if (!request.bulk) return this.budget.urgentWaitMs(request);
    return this.budget.bulkWaitMs(request, Math.min(atOnce, this.#bulk.length));
  }
}
