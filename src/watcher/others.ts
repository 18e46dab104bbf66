// Other servers than one, for what that one refuses: the connected ones whose word counts, then one of the list that
// is not connected, for this alone. A server that the operator has not named is never asked.

import type { Pool } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import type { World } from '../world/world.ts';
import type { Others } from './elsewhere.ts';
import type { Roster } from './roster.ts';
import { shareOpened } from './witness.ts';

export function createOthers(
  world: Pick<World, 'after'>,
  roster: Pick<Roster, 'sound'>,
  pool: () => Pick<Pool, 'borrow'>,
): Others {
  const borrow = shareOpened(world, () => pool().borrow());
  return async function* (session: Session) {
    for (const each of roster.sound()) {
      if (each !== session) yield { session: each, release: () => {} };
    }
    const borrowed = await borrow(undefined);
    if (borrowed !== undefined) yield borrowed;
  };
}
