// Peers that speak for others without being listed in `--trusted-proxy`: mostly a proxy that was put in
// front and never named, behind which all clients count as one. What they say is not believed and not kept. The header alone
// is no sign of one: programs that search the internet send it to everybody.

import type { Context } from 'hono';
import { isLocalNetwork, isProxy, type Proxies } from '../domain/client-address.ts';
import type { Logger } from '../world/world.ts';
import { socketAddressOf } from './request-origin.ts';

export interface UntrustedProxies {
  /** Looks at whom a request came from: a proxy is near, or brings requests with a key of ours. */
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

/** How long a peer is spoken of after its last such request. */
const shownMs = 3_600_000;
const maxPeers = 5;

export function createUntrustedProxies({
  proxies,
  log,
  monotonic,
}: UntrustedProxyOptions): UntrustedProxies {
  /** By address: when it came last. */
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
