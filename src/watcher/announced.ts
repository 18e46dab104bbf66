// Statuses that the watched server told and whose histories it has not shown yet. It tells of each once:
// should a history come before what was announced, nothing more would ever be told of the rest.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Status } from '../electrum/wire.ts';
import type { World } from '../world/world.ts';

const lookAgainMs = 60_000;
/**
 * Before protocol 1.6 the two may order the mempool differently, and never agree; the rounds go on
 * comparing them.
 */
const mostLooks = 10;

interface Announcement {
  readonly status: Status;
  looks: number;
}

export interface Announced {
  /** The server's newest word on a script. */
  told(scripthash: Scripthash, status: Status): void;
  /** The status of a history that it showed: another one than was told is looked at again. */
  shown(scripthash: Scripthash, status: Status): void;
  /** Told, and not shown yet. */
  has(scripthash: Scripthash): boolean;
  /** The session has ended: another one tells anew. */
  clear(): void;
}

/** @param lookAgain called in a minute for what was told and not shown */
export function createAnnounced(
  world: World,
  lookAgain: (scripthash: Scripthash) => void,
): Announced {
  const announcements = new Map<Scripthash, Announcement>();
  return {
    told(scripthash, status) {
      announcements.set(scripthash, { status, looks: 0 });
    },
    shown(scripthash, status) {
      const announcement = announcements.get(scripthash);
      if (announcement === undefined) return;
      announcement.looks += 1;
      if (announcement.status === status || announcement.looks > mostLooks) {
        announcements.delete(scripthash);
        return;
      }
      world.after(lookAgainMs, () => {
        if (announcements.get(scripthash) === announcement) lookAgain(scripthash);
      });
    },
    has: (scripthash) => announcements.has(scripthash),
    clear() {
      announcements.clear();
    },
  };
}
