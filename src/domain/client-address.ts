// Whose request this is, where a proxy stands between. Pure. `X-Forwarded-For` is a stranger's text but
// for what a proxy of ours wrote at its end: it is read from there, and only as far as proxies of
// ours reach.

import ipaddr from 'ipaddr.js';
import { PaygateError } from '../lib/errors.ts';

/** As ipaddr.js reads them: first address and bits. */
type Networks = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[];
/** The networks of our proxies. */
export type Proxies = Networks;

/** Reads `192.0.2.7` or `10.0.0.0/8`. @throws PaygateError invalid */
export function parseProxyNetwork(text: string): Proxies[number] {
  const [host = ''] = text.split('/');
  // ipaddr.js reads IPv4 as C does: 10/8 as 0.0.0.10/8, and 010.0.0.1 as 8.0.0.1.
  const isPlain = host.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(host);
  if (isPlain && ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!isPlain || !ipaddr.isValid(text)) {
    throw new PaygateError('invalid', `an address or network expected, not "${text}"`);
  }
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * @param socketAddress who is connected
 * @param forwardedFor the header's text, of which each proxy appends whom it heard
 */
export function clientAddress(
  socketAddress: string,
  forwardedFor: string | undefined,
  proxies: Proxies,
): string {
  const hops = [...(forwardedFor ?? '').split(',').map(withoutPort), socketAddress];
  let client = socketAddress;
  for (const hop of hops.reverse()) {
    if (!ipaddr.isValid(hop)) return client;
    client = ipaddr.process(hop).toString();
    if (!isProxy(client, proxies)) return client;
  }
  return client;
}

/** Some load balancers write the port as well: `192.0.2.7:51234`, `[2001:db8::7]:51234`. */
const withoutPort = (hop: string): string =>
  hop.trim().replace(/^(?:(\d+(?:\.\d+){3})|\[([0-9a-f:.]+)\])(?::\d{1,5})?$/i, '$1$2');

/** One household has a /64 of IPv6: whoever is limited, is limited as a whole. */
export const networkPrefix64 = (address: string): string => networkPrefix(address, 64);

/**
 * One line has up to a /48 of IPv6 (RFC 6177), 65,536 of those: whose, where a stranger must not come from all of
 * them, and where it does no harm that neighbours count as one.
 */
export const networkPrefix48 = (address: string): string => networkPrefix(address, 48);

/** @param bits of IPv6, by sixteen; an IPv4 address is one of its own */
function networkPrefix(address: string, bits: number): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (!(ip instanceof ipaddr.IPv6)) return ip.toString();
  const parts = ip.parts.slice(0, bits / 16).map((part) => part.toString(16));
  return `${parts.join(':')}::/${bits}`;
}

/** Whether a proxy of ours has this address. */
export function isProxy(address: string, proxies: Proxies): boolean {
  if (!ipaddr.isValid(address)) return false;
  return isWithin(ipaddr.process(address), proxies);
}

export const isWithin = (ip: ipaddr.IPv4 | ipaddr.IPv6, networks: Networks): boolean =>
  networks.some(
    ([network, bits]) =>
      ip.kind() === network.kind() && ip.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits),
  );

/** Whether a socket leads to this machine itself, by its other end's address. */
export const isThisMachine = (socketAddress: string): boolean =>
  ipaddr.isValid(socketAddress) && ipaddr.process(socketAddress).range() === 'loopback';

/** Whether two texts are one address, however each is written. */
export const isSameAddress = (one: string, other: string): boolean =>
  ipaddr.isValid(one) &&
  ipaddr.isValid(other) &&
  ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString();

const localRanges: ReadonlySet<string> = new Set([
  ...['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'],
]);

/** Whether it is this machine's, or of a network that the internet does not reach. */
export const isLocalNetwork = (socketAddress: string): boolean =>
  ipaddr.isValid(socketAddress) && localRanges.has(ipaddr.process(socketAddress).range());
