// What a server leaves unanswered. An overdue request keeps its place until it is answered, so that a slow server is not asked ever
// more. Where that has taken all places, nothing goes on any more; where it has taken all of mass requests, and not one of
// them is answered for a minute, these would wait for ever, though everything else goes on.

import type { Cancel, World } from '../world/world.ts';
import { RequestError, ServerError } from './framing.ts';

/** That a request was not answered in its time; the answer may come yet. */
export class Overdue extends RequestError {
  constructor(request: string) {
    super('unavailable', `the server did not answer ${request} in time`, request);
  }
}

/** That one request was refused or is overdue; the connection lives on. */
export const isNoAnswer = (error: unknown): error is RequestError =>
  error instanceof ServerError || error instanceof Overdue;

export interface UnansweredParts {
  readonly world: Pick<World, 'after'>;
  readonly places: number;
  /** For mass requests. */
  readonly bulkPlaces: number;
  readonly end: (reason: string) => void;
}

const stuckMs = 60_000;

export class Unanswered {
  readonly #parts: UnansweredParts;
  #count = 0;
  #bulkCount = 0;
  #cancel: Cancel | undefined;

  constructor(parts: UnansweredParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#count;
  }

  overdue(bulk: boolean): void {
    const { world, places, bulkPlaces, end } = this.#parts;
    this.#count += 1;
    if (bulk) this.#bulkCount += 1;
    if (this.#count >= places) end('the server has stopped answering');
    else if (this.#bulkCount >= bulkPlaces) {
      this.#cancel ??= world.after(stuckMs, () => end('the server leaves much unanswered'));
    }
  }

  answeredLate(bulk: boolean): void {
    this.#count -= 1;
    if (!bulk) return;
    this.#bulkCount -= 1;
    this.stop();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
