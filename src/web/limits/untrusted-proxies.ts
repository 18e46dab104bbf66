// Peers that forward requests without being listed in `--trusted-proxy`. Mostly a proxy was set up
// and never listed, and all clients behind it count as one. Their headers are not trusted and not
// stored. The header alone is no evidence of a proxy, because internet scanners send it to
// everybody.

import type { Context } from 'hono';
import { isLocalNetwork, isProxy, type Proxies } from '../../domain/access/client-address.ts';
import type { Logger } from '../../world/world.ts';
import { socketAddressOf } from './request-origin.ts';

export interface UntrustedProxies {
  /** Notes a forwarded request from the local network, or with a valid key. */
  note(context: Context, hasKey?: boolean): void;
  /** The warnings of this moment. */
  warnings(): string[];
}

export interface UntrustedProxyOptions {
  readonly proxies: Proxies;
  readonly log: Logger;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

/** How long a peer is reported after its last such request. */
const shownMs = 3_600_000;
const maxPeers = 5;

export function createUntrustedProxies({
  proxies,
  log,
  monotonic,
}: UntrustedProxyOptions): UntrustedProxies {
  /** By address: the time of its last request (monotonic ms). */
  const peers = new Map<string, number>();
  return {
    note(context, hasKey = false) {
      if (context.req.header('X-Forwarded-For') === undefined) return;
      const peer = socketAddressOf(context);
      if (isProxy(peer, proxies) || !(hasKey || isLocalNetwork(peer))) return;
      const isNew = !peers.has(peer);
      if (isNew && peers.size >= maxPeers) return;
      peers.set(peer, monotonic());
      if (isNew) log.warn('X-Forwarded-For from a peer that is not a listed proxy', { peer });
    },
    warnings() {
      const now = monotonic();
      for (const [peer, at] of peers) if (now - at >= shownMs) peers.delete(peer);
      return [...peers.keys()].map(
        (peer) =>
          `${peer} sends X-Forwarded-For and is not in --trusted-proxy: all clients behind it count as one. ` +
          `If it is your proxy, start serve with --trusted-proxy ${peer}`,
      );
    },
  };
}
