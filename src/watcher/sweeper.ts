// The slow rounds: every address is compared anew now and then, at a second server where there is one,
// so that neither an address beyond the subscribed ones nor a server's silence hides a payment for
// long. And the raw transactions of unconfirmed payments are broadcast again.

import type { Scripthash } from '../bitcoin/ids.ts';
import { ServerError } from '../electrum/framing.ts';
import type { Session } from '../electrum/session.ts';
import type { Watched } from '../store/addresses.ts';
import type { Store } from '../store/open.ts';
import type { World } from '../world.ts';

export interface SweeperParts {
  readonly world: World;
  readonly store: Store;
  /** The session that addresses are subscribed on. */
  readonly watched: () => Session | undefined;
  readonly live: () => readonly Session[];
  readonly isSubscribed: (scripthash: Scripthash) => boolean;
  /** A script must be looked at with both servers. */
  readonly mark: (scripthash: Scripthash) => void;
}

export interface Sweeper {
  /** One minute's share of every round. */
  sweep(): Promise<void>;
}

const dayMs = 86_400_000;
const hotForMs = 7 * dayMs;
const hotRoundMinutes = 10;
const roundMinutes = 24 * 60;
const broadcastEveryMs = 6 * 3_600_000;
const broadcastForMs = 14 * dayMs;
const broadcastsAtOnce = 20;

export function createSweeper(parts: SweeperParts): Sweeper {
  const { world, store } = parts;
  let hotAfter = 0;
  let after = 0;

  async function compare(rows: readonly Watched[]): Promise<void> {
    const watched = parts.watched();
    const session = parts.live().find((each) => each !== watched) ?? watched;
    if (session === undefined) return;
    await Promise.all(
      rows.map(async ({ scripthash, statusHash }) => {
        const status = await session.subscribe(scripthash, { bulk: true });
        if (status !== statusHash) parts.mark(scripthash);
        if (session === watched && parts.isSubscribed(scripthash)) return;
        await session.unsubscribe(scripthash, { bulk: true });
      }),
    );
  }

  async function sweepHot(): Promise<void> {
    const since = world.now() - hotForMs;
    const share = Math.ceil(store.addresses.countHot(since) / hotRoundMinutes);
    const rows = store.addresses.hot(since, hotAfter, share);
    hotAfter = rows.length < share ? 0 : (rows.at(-1)?.id ?? 0);
    await compare(rows);
  }

  async function sweepAll(): Promise<void> {
    const share = Math.ceil(store.addresses.countGiven() / roundMinutes);
    const rows = store.addresses.given(after, share);
    after = rows.length < share ? 0 : (rows.at(-1)?.id ?? 0);
    await compare(rows);
  }

  async function broadcast(): Promise<void> {
    const now = world.now();
    const due = store.ledger.toBroadcast(
      now - broadcastForMs,
      now - broadcastEveryMs,
      broadcastsAtOnce,
    );
    for (const txid of due) {
      const raw = store.ledger.rawOf(txid);
      if (raw === undefined) continue;
      await broadcastOne(raw);
      await store.database.write((tx) => store.ledger.noteBroadcast(tx, now, txid));
    }
  }

  /** A server refuses what it has already, and what conflicts with what it has. */
  async function broadcastOne(raw: Uint8Array): Promise<void> {
    for (const session of parts.live()) {
      try {
        await session.broadcast(raw);
      } catch (error) {
        if (!(error instanceof ServerError)) throw error;
      }
    }
  }

  return {
    async sweep() {
      await sweepHot();
      await sweepAll();
      await broadcast();
    },
  };
}
