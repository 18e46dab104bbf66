// The IP address of a client, also behind trusted proxies. Only trusted proxies append reliable
// text to `X-Forwarded-For`, so it is read from its end, up to the first address that is no trusted
// proxy.

import ipaddr from 'ipaddr.js';
import { PaygateError } from '../../lib/errors.ts';

type Networks = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[];
export type Proxies = Networks;

/** Reads `192.0.2.7` or `10.0.0.0/8`. @throws PaygateError invalid */
export function parseProxyNetwork(text: string): Proxies[number] {
  const [host = ''] = text.split('/');
  // ipaddr.js reads IPv4 like C: 10/8 as 0.0.0.10/8, and 010.0.0.1 as 8.0.0.1.
  const isPlain = host.includes(':') || ipaddr.IPv4.isValidFourPartDecimal(host);
  if (isPlain && ipaddr.isValidCIDR(text)) {
    const [network, bits] = ipaddr.parseCIDR(text);
    // Clients behind such a network are compared by their IPv4 address.
    const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96;
    return isMapped ? [network.toIPv4Address(), bits - 96] : [network, bits];
  }
  if (!isPlain || !ipaddr.isValid(text)) {
    throw new PaygateError('invalid', `an address or network expected, not "${text}"`);
  }
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/**
 * @param socketAddress the other end of the connection
 * @param forwardedFor the header; each proxy appends the address that connected to it
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

/** Some load balancers append the port: `192.0.2.7:51234`, `[2001:db8::7]:51234`. */
const withoutPort = (hop: string): string =>
  hop.trim().replace(/^(?:(\d+(?:\.\d+){3})|\[([0-9a-f:.]+)\])(?::\d{1,5})?$/i, '$1$2');

/** The network prefix of one home or server: a /64 of IPv6, or an IPv4 address. */
export const networkPrefix64 = (address: string): string => networkPrefix(address, 64);

/**
 * The network prefix of one subscriber: up to a /48 of IPv6 (RFC 6177), or an IPv4 address. It
 * serves for limits that a client must not evade with 65,536 prefixes of /64.
 */
export const networkPrefix48 = (address: string): string => networkPrefix(address, 48);

/** @param bits length of an IPv6 prefix, a multiple of 16; an IPv4 address is its own prefix */
function networkPrefix(address: string, bits: number): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (!(ip instanceof ipaddr.IPv6)) return ip.toString();
  const parts = ip.parts.slice(0, bits / 16).map((part) => part.toString(16));
  return `${parts.join(':')}::/${bits}`;
}

export function isProxy(address: string, proxies: Proxies): boolean {
  if (!ipaddr.isValid(address)) return false;
  return isWithin(ipaddr.process(address), proxies);
}

export const isWithin = (ip: ipaddr.IPv4 | ipaddr.IPv6, networks: Networks): boolean =>
  networks.some(
    ([network, bits]) =>
      ip.kind() === network.kind() && ip.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits),
  );

export const isThisMachine = (socketAddress: string): boolean =>
  ipaddr.isValid(socketAddress) && ipaddr.process(socketAddress).range() === 'loopback';

/** Whether a host name, without brackets, leads a program on this machine to itself. */
export const isThisMachineName = (hostname: string): boolean =>
  hostname === 'localhost' || isThisMachine(hostname);

export const isSameAddress = (one: string, other: string): boolean =>
  ipaddr.isValid(one) &&
  ipaddr.isValid(other) &&
  ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString();

const localRanges: ReadonlySet<string> = new Set([
  ...['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'],
]);

/** Whether an address is of this machine, or of a network that the internet does not reach. */
export const isLocalNetwork = (socketAddress: string): boolean =>
  ipaddr.isValid(socketAddress) && localRanges.has(ipaddr.process(socketAddress).range());
