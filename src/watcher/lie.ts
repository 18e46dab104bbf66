// What no honest server can say: thrown where it is found, acted on by whoever called.

import type { Session } from '../electrum/session.ts';

/** Something that contradicts a proof: said of a server, never of ourselves. */
export class Lie extends Error {
  override readonly name = 'Lie';
  /** Whose it is, where it is not that of the server that is watched. */
  by: Session | undefined;
}

/** An error as that of a server: a lie of its own it must answer for, whoever is watched. */
export function laidTo(session: Session, error: unknown): unknown {
  if (error instanceof Lie) error.by ??= session;
  return error;
}
