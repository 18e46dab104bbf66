// Histories that are longer than any line that is read. Each of them has ended a session, and would end the next
// one: for a day it is not asked for again, and taken for refused by that server, as others refuse what is too long.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { World } from '../world/world.ts';
import { type LongLine, ServerError } from './framing.ts';
import type { Request } from './request.ts';
import { methods } from './wire.ts';

const leftAloneMs = 86_400_000;
/** Histories that are asked for one by one after a line that any of several may have been. */
const singly = 1_000;

/** Keep one for a server, not for a connection. */
export class Overlong {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #until = new Map<Scripthash, number>();
  #last: Promise<unknown> = Promise.resolve();
  #singly = 0;

  constructor(world: Pick<World, 'monotonic'>) {
    this.#world = world;
  }

  /** @throws ServerError while it is left alone */
  async ask<T>(scripthash: Scripthash, history: () => Promise<T>): Promise<T> {
    if ((this.#until.get(scripthash) ?? 0) > this.#world.monotonic()) {
      throw new ServerError(0, 'a history of more than 9 MB', methods.history);
    }
    this.#until.delete(scripthash);
    if (this.#singly === 0) return history();
    this.#singly -= 1;
    const told = this.#last.then(history);
    this.#last = told.catch(() => {});
    return told;
  }

  /** @param certain false where it may have been another one */
  ended(scripthash: Scripthash, certain: boolean): void {
    this.#singly = certain ? 0 : singly;
    if (certain) this.#until.set(scripthash, this.#world.monotonic() + leftAloneMs);
  }
}

/** `{"id":1,` or `{"jsonrpc":"2.0","id":1,` */
const firstId = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,/;

/**
 * Tells the history that a long line answers: the one that it names at its beginning, as electrs and Fulcrum do, or
 * any that is out.
 */
export function blame({ start }: LongLine, inFlight: Iterable<Request>): void {
  const [, id] = firstId.exec(start) ?? [];
  const histories = [...inFlight].filter(({ onTooLong }) => onTooLong !== undefined);
  const suspects = histories.filter((each) => id === undefined || each.id === Number(id));
  for (const { onTooLong } of suspects) onTooLong?.(suspects.length === 1);
}
