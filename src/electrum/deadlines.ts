// The deadline of every request in flight, by one timer: all have the same time, so the first in flight is the
// first that is due, and one timer does for thousands.

import type { Cancel, World } from '../world/world.ts';
import type { Request } from './request.ts';

export interface DeadlineParts {
  readonly world: Pick<World, 'monotonic' | 'after'>;
  /** From the sending of a request to its answer. */
  readonly timeoutMs: number;
  /** In the order in which they were sent. */
  readonly inFlight: ReadonlyMap<number, Request>;
  readonly expire: (request: Request) => void;
}

export class Deadlines {
  readonly #parts: DeadlineParts;
  #cancel: Cancel | undefined;

  constructor(parts: DeadlineParts) {
    this.#parts = parts;
  }

  /** A request was sent. */
  sent(): void {
    if (this.#cancel === undefined) this.#await();
  }

  stop(): void {
    this.#cancel?.();
  }

  #await(): void {
    const { world, timeoutMs, expire } = this.#parts;
    const [first] = this.#awaited();
    this.#cancel = undefined;
    if (first === undefined) return;
    const leftMs = first.sentAt + timeoutMs - world.monotonic();
    this.#cancel = world.after(leftMs, () => {
      const since = world.monotonic() - timeoutMs;
      for (const request of this.#awaited()) {
        if (request.sentAt > since) break;
        expire(request);
      }
      this.#await();
    });
  }

  *#awaited(): Generator<Request, void> {
    for (const request of this.#parts.inFlight.values()) if (!request.overdue) yield request;
  }
}
