// A second voice: asked before anything is taken back, and for what the first one leaves out.
// It is another server where there is one; with a single server in the list, a fresh connection to it.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import type { Pool } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import type { Cancel, World } from '../world/world.ts';
import type { Roster } from './roster.ts';

export interface Witness {
  readonly session: Session;
  /** Whether it is another server, and not only another connection to the same one. */
  readonly independent: boolean;
  /** Whether it is on another branch: what is true there, our headers do not prove, and what is gone there may be here. */
  isBeside(): boolean;
  /** To be called when it was heard. */
  release(): void;
}

export type CallWitness = (session: Session) => Promise<Witness | undefined>;

export interface WitnessParts {
  readonly world: Pick<World, 'after'>;
  readonly pool: () => Pool;
  /** The live servers whose word counts, and where they stand. */
  readonly roster: Pick<Roster, 'sound' | 'isBeside'>;
  /** How many servers the operator has named. */
  readonly servers: number;
}

/** How long a fresh connection stays when nobody asks it. */
const restMs = 5_000;

export function createWitness({ world, pool, roster, servers }: WitnessParts): CallWitness {
  const reopen = shareOpened(world, (session: Session) => pool().reopen(session));
  return async (session) => {
    const other = roster.sound().find((each) => each !== session);
    if (other !== undefined) {
      const isBeside = () => roster.isBeside(other);
      return { session: other, independent: true, isBeside, release: () => {} };
    }
    // One that is named but not connected, or in doubt, may come back: it is waited for.
    if (servers > 1) return undefined;
    const again = await reopen(session);
    return again && { ...again, independent: false, isBeside: () => false };
  };
}

/** One fresh connection for all who ask meanwhile: a lost mempool has hundreds of payments asked about at once. */
export function shareOpened<T>(
  world: WitnessParts['world'],
  open: (whom: T) => Promise<Session | undefined>,
): (whom: T) => Promise<Pick<Witness, 'session' | 'release'> | undefined> {
  let opened: Promise<Session | undefined> | undefined;
  let asking = 0;
  let cancelRest: Cancel = () => {};

  function release(): void {
    asking -= 1;
    if (asking > 0) return;
    const rested = opened;
    cancelRest = world.after(restMs, () => {
      opened = undefined;
      rested?.then((again) => again?.close('heard'));
    });
  }

  return async (whom) => {
    cancelRest();
    asking += 1;
    const before = opened;
    let again = await before;
    if (again === undefined || again.closed) {
      if (opened === before) opened = open(whom);
      again = await opened;
    }
    if (again !== undefined) return { session: again, release };
    release();
    return undefined;
  };
}

export interface Testimony {
  /** What it does not name either. */
  readonly absent: readonly Txid[];
  /** All that the witness names. */
  readonly told: readonly HistoryItem[];
}

/** @param missing payments of ours that the first server's history does not name */
export async function testify(
  { session }: Witness,
  scripthash: Scripthash,
  missing: readonly Txid[],
): Promise<Testimony> {
  const told = await session.history(scripthash);
  const there = new Set(told.map(({ txid }) => txid));
  return { absent: missing.filter((txid) => !there.has(txid)), told };
}
