// The word of a lone server's node on what the histories no longer name. "No such transaction" is an error, which a
// public server bills as a hundred answers (see electrum/budget.ts): who sends very many payments that vanish together
// must not have us spend what it forgives, which other payments need.

import type { Txid } from '../bitcoin/ids.ts';
import { isUnknownTransaction, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { hourMs } from '../lib/time-units.ts';
import type { World } from '../world/world.ts';

export interface Nowhere {
  /** Asks about as many of them as it may now, the first of them first. */
  ask(session: Session, txids: readonly Txid[]): Promise<NodeWord>;
}

export interface NodeWord {
  /** Neither in the mempool nor in the chain of its node. */
  readonly gone: ReadonlySet<Txid>;
  /** The others of those that were asked about. */
  readonly there: ReadonlySet<Txid>;
}

/** Refusals of public servers in an hour: half of what they forgive meanwhile. */
const mostRefused = 20;

export function createNowhere(world: Pick<World, 'monotonic'>): Nowhere {
  let refusals: number[] = [];
  /** Of public servers: all may be refused. */
  let underWay = 0;

  function left(): number {
    const since = world.monotonic() - hourMs;
    refusals = refusals.filter((at) => at > since);
    return Math.max(0, mostRefused - refusals.length - underWay);
  }

  /** False when the server says that there is none, undefined when it refuses for another reason. */
  async function unlessUnknown(session: Session, asked: Promise<boolean>) {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (!session.server.own) refusals.push(world.monotonic());
      return isUnknownTransaction(error) ? false : undefined;
    }
  }

  async function isNowhere(session: Session, txid: Txid): Promise<boolean> {
    // Servers keep the bytes of what they once had: only the verbose answer comes from the node.
    const stands = await unlessUnknown(session, session.hasTransaction(txid));
    if (stands !== undefined) return !stands;
    // Some refuse to be verbose.
    const shown = session.transaction(txid).then(() => true);
    return (await unlessUnknown(session, shown)) === false;
  }

  return {
    async ask(session, txids) {
      const { own } = session.server;
      const asked = own ? txids : txids.slice(0, left());
      const places = own ? 0 : asked.length;
      underWay += places;
      try {
        const unknown = await Promise.all(asked.map((txid) => isNowhere(session, txid)));
        return {
          gone: new Set(asked.filter((_, index) => unknown[index])),
          there: new Set(asked.filter((_, index) => !unknown[index])),
        };
      } finally {
        underWay -= places;
      }
    },
  };
}
