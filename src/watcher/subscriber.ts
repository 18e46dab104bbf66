// Which addresses are subscribed at the server in use: the hot ones first, then the others, each newest
// first, up to a limit; the sweeps reach the rest. What is new since is always added.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Session } from '../electrum/session.ts';
import type { Watched } from '../store/addresses.ts';
import type { Store } from '../store/open.ts';
import type { World } from '../world.ts';
import { hotForMs } from './sweeper.ts';

export interface SubscriberParts {
  readonly world: World;
  readonly store: Store;
  /** How many addresses are subscribed at once. */
  readonly most: number;
  /** The server's status of a script is another than ours. */
  readonly differs: (scripthash: Scripthash) => void;
}

/** The subscriptions of one session. */
export interface Subscriber {
  /** Subscribed in this session, or about to be. */
  has(scripthash: Scripthash): boolean;
  /** Compares every address with the server, as far as the limit goes. */
  all(): Promise<void>;
  /** Addresses that are new since the session began. */
  add(scripthashes: readonly Scripthash[]): Promise<void>;
}

/** Addresses read from the file at once. */
const pageSize = 500;

export function createSubscriber(parts: SubscriberParts, session: Session): Subscriber {
  const { world, store, most, differs } = parts;
  const subscribed = new Set<Scripthash>();

  async function compare(
    scripthash: Scripthash,
    ours: string | null,
    bulk: boolean,
  ): Promise<void> {
    subscribed.add(scripthash);
    const status = await session.subscribe(scripthash, { bulk });
    if (status !== ours) differs(scripthash);
  }

  async function pages(read: (before: number) => Watched[]): Promise<void> {
    let page = read(Number.MAX_SAFE_INTEGER);
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      const room = Math.max(0, most - subscribed.size);
      const fresh = page.filter(({ scripthash }) => !subscribed.has(scripthash));
      const taken = fresh.slice(0, room);
      await Promise.all(taken.map((each) => compare(each.scripthash, each.statusHash, true)));
      if (taken.length < fresh.length) return;
      page = read(last.id);
    }
  }

  return {
    has: (scripthash) => subscribed.has(scripthash),
    async all() {
      const since = world.now() - hotForMs;
      await pages((before) => store.addresses.hot(since, before, pageSize));
      await pages((before) => store.addresses.watched(before, pageSize));
    },
    async add(scripthashes) {
      await Promise.all(scripthashes.map((each) => compare(each, null, false)));
    },
  };
}
