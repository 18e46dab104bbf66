// The guard of callback connections: which IP addresses a callback may dial. An attempt looks up a
// name once. Every address must pass, and only these addresses are dialled. A literal address is
// checked by itself, because no resolver sees it. callback-url-policy.ts has the rules.

import {
  type CallbackFlags,
  literalAddress,
  targetRefusal,
  targetRulesOf,
} from '../domain/delivery/callback-url-policy.ts';
import { isOnion, onionError, onionNeedsProxy } from '../domain/delivery/onion.ts';
import type { ListenAddress } from '../domain/delivery/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Resolver, SocksProxy } from '../world/world.ts';

/** The addresses of this machine. */
export interface LocalAddresses {
  /** Addresses on which paygate listens. */
  readonly listeners: readonly ListenAddress[];
  readonly ownAddresses: readonly string[];
}

/**
 * Returns a resolver for this origin only. The resolver returns only addresses that may be dialled.
 * @param origin scheme, host and port of the callback URL.
 * @throws PaygateError forbidden. At once for a literal address, in the resolver for a name.
 */
export function guardTarget(
  origin: URL,
  flags: CallbackFlags,
  { listeners, ownAddresses }: LocalAddresses,
  resolve: Resolver,
): Resolver {
  const { hostname } = origin;
  const rules = targetRulesOf(origin, flags, listeners, ownAddresses);
  const check = (address: string): void => {
    const refusal = targetRefusal(hostname, address, rules);
    if (refusal !== undefined) throw new PaygateError('forbidden', refusal);
  };
  const literal = literalAddress(hostname);
  if (literal !== undefined) check(literal);
  return async (name) => {
    const addresses = await resolve(name);
    if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENODATA' });
    for (const address of addresses) check(address);
    return addresses;
  };
}

/**
 * The proxy for an onion service. Undefined for all other hosts.
 * @throws PaygateError forbidden if no proxy is set or the onion name is invalid
 */
export function onionProxy(
  { hostname }: URL,
  proxy: SocksProxy | undefined,
): SocksProxy | undefined {
  if (!isOnion(hostname)) return undefined;
  const fault = onionError(hostname);
  if (fault !== undefined) throw new PaygateError('forbidden', fault);
  if (proxy === undefined) throw new PaygateError('forbidden', onionNeedsProxy(hostname));
  return proxy;
}
