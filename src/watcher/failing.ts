// Scripts that could not be worked up at their last try: which server failed at which request. A script whose
// history names what is not shown is told of from the second try on: a transaction may be replaced, or a block be
// on its way, between a history and what it names.

import type { Scripthash } from '../bitcoin/ids.ts';
import { RequestError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Trouble } from './status.ts';

export interface Failure {
  readonly by: Session;
  readonly reason: string;
  readonly request: string | undefined;
  /** The history was shown, and names what is not. */
  readonly isUnshown: boolean;
}

export const failureOf = (by: Session, error: unknown, isUnshown: boolean): Failure => ({
  by,
  reason: reasonOf(error),
  request: error instanceof RequestError ? error.request : undefined,
  isUnshown,
});

export class Failing {
  readonly #failures = new Map<Scripthash, Failure>();

  /** @returns whether the same server failed at its last try as well */
  add(scripthash: Scripthash, failure: Failure): boolean {
    const isSecondTime = this.#failures.get(scripthash)?.by === failure.by;
    // The newest last.
    this.#failures.delete(scripthash);
    this.#failures.set(scripthash, failure);
    return isSecondTime;
  }

  delete(scripthash: Scripthash): void {
    this.#failures.delete(scripthash);
  }

  troubles(): Trouble[] {
    const found = new Map<string, Trouble>();
    for (const { by, request, reason, isUnshown } of this.#failures.values()) {
      const server = by.server.label;
      const key = `${server} ${request}`;
      const { scripts, unshown } = found.get(key) ?? { scripts: 0, unshown: 0 };
      const counts = { scripts: scripts + 1, unshown: unshown + Number(isUnshown) };
      found.set(key, { server, request, reason, ...counts });
    }
    return [...found.values()];
  }
}
