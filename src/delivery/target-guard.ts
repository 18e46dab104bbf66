// The guard in front of every connection of a callback: which addresses it may dial. A name is looked
// up once per attempt, every answer must pass, and only these answers are dialled; a literal address,
// which no resolver ever sees, is checked by itself. The rules are in domain/callback-url-policy.ts.

import {
  type CallbackFlags,
  literalAddress,
  targetRefusal,
  targetRulesOf,
} from '../domain/callback-url-policy.ts';
import { isOnion, onionError, onionNeedsProxy } from '../domain/onion.ts';
import type { ListenAddress } from '../domain/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Resolver, SocksProxy } from '../world/world.ts';

/** What an attempt knows of the machine that it leaves from. */
export interface LocalAddresses {
  /** Addresses on which paygate itself listens. */
  readonly listeners: readonly ListenAddress[];
  readonly ownAddresses: readonly string[];
}

/**
 * @param origin scheme, host and port of the callback URL
 * @param resolve looks a name up
 * @returns a resolver that answers only what may be dialled, for this origin alone
 * @throws PaygateError forbidden, here for a literal address and in the resolver for a name
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
 * The proxy that leads to an onion service, whose name no resolver is asked for; undefined for all other hosts, which are
 * called directly. @throws PaygateError forbidden where there is none, or no such service can be
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
