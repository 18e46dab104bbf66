// Callback URL policy: which IP addresses are public, which are private, which are never called.
// delivery/ resolves names and asks `targetRefusal` about every address.

import ipaddr from 'ipaddr.js';
import { isWithin } from '../access/client-address.ts';
import type { ListenAddress } from './public-endpoint.ts';

export interface CallbackFlags {
  readonly allowPrivateCallback: boolean;
  readonly allowHttpCallback: boolean;
}

/** The IP address in a URL's host; undefined for a name. WHATWG URLs have one spelling of IPv4. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}

export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** The machine that sends callbacks. */
export interface CallbackSender {
  readonly ownAddresses?: readonly string[];
  /** Whether a proxy leads to onion services; undefined if unknown. */
  readonly hasProxy?: boolean;
}

export interface AllowedTargets {
  readonly public: boolean;
  readonly private: boolean;
}

export interface TargetRules {
  readonly allowed: AllowedTargets;
  readonly port: number;
  /** Addresses at which paygate itself listens. */
  readonly listeners: readonly ListenAddress[];
  readonly ownAddresses: readonly string[];
}

/**
 * Private targets may use plain HTTP, public ones only if the store allows it.
 * @param url scheme, host and port of the callback URL
 */
export const targetRulesOf = (
  url: URL,
  { allowPrivateCallback, allowHttpCallback }: CallbackFlags,
  listeners: readonly ListenAddress[],
  ownAddresses: readonly string[] = [],
): TargetRules => ({
  allowed: {
    public: url.protocol === 'https:' || allowHttpCallback,
    private: allowPrivateCallback,
  },
  port: portOf(url),
  listeners,
  ownAddresses,
});

const refusals = {
  never: (host: string) => `${host} is an address that callbacks never go to`,
  listener: (host: string) => `${host} is paygate itself`,
  private: (host: string) =>
    `${host} is a private address, which this store must allow: --allow-private-callback, or the tick ` +
    'for it in the dashboard',
  own: (host: string) =>
    `${host} is an address of this machine, which this store must allow: --allow-private-callback, or the tick ` +
    'for it in the dashboard',
};

export const httpRefusal = (host: string): string =>
  `plain http to ${host} can be read and forged on the way; use https, ` +
  'or allow it for this store: --allow-http-callback, or the tick for it in the dashboard';

export function targetRefusal(
  host: string,
  address: string,
  rules: TargetRules,
): string | undefined {
  const shown = host === address ? host : `${host} (${address})`;
  const addressClass = addressClassOf(address);
  if (addressClass === 'never') return refusals.never(shown);
  if (isListener(address, rules)) return refusals.listener(shown);
  // A connection to an address of this machine does not pass its firewall.
  if (addressClass === 'public' && isOwn(address, rules)) {
    return rules.allowed.private ? undefined : refusals.own(shown);
  }
  if (rules.allowed[addressClass]) return undefined;
  return addressClass === 'private' ? refusals.private(shown) : httpRefusal(shown);
}

/** The IPv4 address behind a NAT64 address; any other address unchanged. */
function withoutNat64(address: string): string {
  const ip = ipaddr.process(address);
  const isTranslated = ip.range() === 'rfc6052';
  return (isTranslated ? ipaddr.fromByteArray(ip.toByteArray().slice(12)) : ip).toString();
}

function isOwn(address: string, { ownAddresses }: TargetRules): boolean {
  const target = withoutNat64(address);
  return ownAddresses.some(
    (own) => ipaddr.isValid(own) && ipaddr.process(own).toString() === target,
  );
}

function isListener(address: string, rules: TargetRules): boolean {
  const { port, listeners } = rules;
  const ip = ipaddr.process(withoutNat64(address));
  return listeners.some((listener) => {
    if (listener.port !== port) return false;
    const own = ipaddr.isValid(listener.host) ? ipaddr.process(listener.host) : undefined;
    // A name or an unspecified address means every loopback and interface address of this machine.
    if (own === undefined || own.range() === 'unspecified') {
      return ip.range() === 'loopback' || isOwn(address, rules);
    }
    return own.toString() === ip.toString();
  });
}

export type AddressClass = 'public' | 'private' | 'never';

/** Metadata services of clouds outside of the link-local range. They serve credentials. */
const metadata = [
  // Alibaba, Azure
  '100.100.100.200/32',
  'fd00:100::100:200/128',
  '168.63.129.16/32',
  // AWS: metadata, time, DNS, credentials of containers
  'fd00:ec2::/32',
  // Google, Oracle, Akamai, Scaleway
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:a9fe:a9fe::1/128',
  'fd00:42::42/128',
].map((text) => ipaddr.parseCIDR(text));
/** Deprecated (RFC 4291); ipaddr.js reads it like ::ffff:a.b.c.d. */
const ipv4Compatible = /^::\d+\.\d/;
const privateRanges = new Set(['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']);

/**
 * Public addresses are those that registries assign to hosts. Link-local, reserved and multicast
 * addresses are never called. Tunnelled addresses are never called either: 6to4, Teredo, and NAT64
 * addresses of an IPv4 address that is not public.
 * https://www.iana.org/assignments/iana-ipv6-special-registry/
 */
export function addressClassOf(address: string): AddressClass {
  if (!ipaddr.isValid(address) || ipv4Compatible.test(address)) return 'never';
  const ip = ipaddr.process(address);
  if (isWithin(ip, metadata)) return 'never';
  const range = ip.range();
  if (privateRanges.has(range)) return 'private';
  if (ip instanceof ipaddr.IPv4) return range === 'unicast' ? 'public' : 'never';
  const [first = 0, , third] = ip.parts;
  // 2000::/3, because ipaddr.js also counts unassigned addresses as unicast, such as ::127.0.0.1.
  if (range === 'unicast') return first >> 13 === 1 && !ip.zoneId ? 'public' : 'never';
  // 64:ff9b::/96: NAT64, the way to a public IPv4 address from a network without IPv4 (RFC 6052).
  if (range === 'rfc6052' && third === 0) {
    const inner = ipaddr.fromByteArray(ip.toByteArray().slice(12));
    return addressClassOf(inner.toString()) === 'public' ? 'public' : 'never';
  }
  return 'never';
}
