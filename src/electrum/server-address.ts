// Addresses of servers and of a SOCKS5 proxy, as operators write them, and the servers that are
// built in. Pure. An error says what to write instead; it never quotes a proxy, which may have a
// password.

import ipaddr from 'ipaddr.js';
import type { NetworkName } from '../bitcoin/network.ts';
import { PaygateError, throwInvalid } from '../lib/errors.ts';
import type { SocksProxy } from '../world/world.ts';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The only certificate accepted: SHA-256 over its DER, lower-case hex. */
  readonly pin?: string;
  /** Any certificate is accepted; for tests. */
  readonly insecure?: boolean;
  /** The operator's own, which is asked as fast as it answers; a public server is paced. */
  readonly own: boolean;
  /** Its name in logs, pages and the store: `ssl://host:port`. */
  readonly label: string;
}

/**
 * Names that never lead to the public Internet: RFC 6761, 6762, 8375; ICANN reserved `internal`.
 */
const ownNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const ownRanges = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal']);

/** One byte counts the length of a credential: RFC 1929. */
const maxCredentialBytes = 255;

interface Choices {
  pin?: string;
  insecure?: boolean;
  own?: boolean;
}

/**
 * Reads `tcp://host:port` or `ssl://host:port`. Behind a `?`, joined by `&`, may stand `own` and,
 * for ssl, `pin=SHA256` or `insecure`. A private address and a local name are the operator's own
 * anyway.
 * @throws PaygateError invalid, saying what to write instead
 */
export function parseServerAddress(text: string): ServerAddress {
  const refuse = (why: string): PaygateError =>
    new PaygateError('invalid', `Electrum server "${text}": ${why}`);
  if (text.includes('@')) throwInvalid('an Electrum server has no user and no password');
  const parts = /^(tcp|ssl):\/\/(\[[^\]]*\]|[^:/?#[\]]*)(?::([0-9]*))?(?:\?(.*))?$/i.exec(text);
  if (parts === null) throw refuse('write tcp://host:port or ssl://host:port');
  const [, scheme = '', bracketed = '', portText = '', choice] = parts;
  const host = parseHost(bracketed);
  if (host === undefined) throw refuse('the host is not a name, an IPv4 or an [IPv6] address');
  const port = Number(portText);
  if (portText === '') throw refuse('the port is missing (there is no default)');
  if (port < 1 || port > 65_535) throw refuse('the port is not between 1 and 65535');
  const tls = scheme.toLowerCase() === 'ssl';
  const choices = choice === undefined ? {} : parseChoices(choice, tls, refuse);
  return {
    host,
    port,
    tls,
    own: isOwnHost(host),
    label: `${tls ? 'ssl' : 'tcp'}://${bracketed.toLowerCase()}:${port}`,
    ...choices,
  };
}

function parseChoices(text: string, tls: boolean, refuse: (why: string) => PaygateError): Choices {
  const choices: Choices = {};
  for (const choice of text.split('&')) {
    if (choice !== 'own' && !tls) throw refuse(`?${choice} is for ssl:// only`);
    const [, pin] = /^pin=([0-9a-f]{64})$/i.exec(choice.replaceAll(':', '')) ?? [];
    if (choice === 'own' && !choices.own) choices.own = true;
    else if (choices.pin !== undefined || choices.insecure) throw refuse('one choice too many');
    else if (choice === 'insecure') choices.insecure = true;
    else if (pin !== undefined) choices.pin = pin.toLowerCase();
    else throw refuse('write ?pin= and the 64 hex digits of the SHA-256, ?insecure or ?own');
  }
  return choices;
}

/** Whether a name or IP address never leads to the public Internet. */
export function isOwnHost(host: string): boolean {
  if (ipaddr.isValid(host)) return ownRanges.has(ipaddr.process(host).range());
  return ownNames.test(host) || !host.includes('.');
}

/** Whether two addresses name one server, however its host is spelled. */
export const isSameServer = (one: ServerAddress, other: ServerAddress): boolean =>
  one.tls === other.tls && one.port === other.port && isSameHost(one, other);

export function isSameHost({ host }: ServerAddress, other: ServerAddress): boolean {
  const spelled = (name: string): string =>
    ipaddr.isValid(name) ? ipaddr.process(name).toString() : name.replace(/\.$/, '');
  return spelled(host) === spelled(other.host);
}

/** Whether the last two labels of two hosts are the same: they most likely have one operator. */
export function isSameDomain({ host }: ServerAddress, other: ServerAddress): boolean {
  const domainOf = (name: string): string => name.split('.').slice(-2).join('.');
  return domainOf(host) === domainOf(other.host);
}

/** A name, an IPv4 or an [IPv6] address, as Node takes it; undefined when it is neither. */
function parseHost(bracketed: string): string | undefined {
  if (bracketed.startsWith('[')) {
    const host = bracketed.slice(1, -1).toLowerCase();
    return host.includes(':') && URL.canParse(`tcp://${bracketed}`) ? host : undefined;
  }
  return /^[a-z0-9_][a-z0-9._-]{0,252}$/i.test(bracketed) ? bracketed.toLowerCase() : undefined;
}

// Public servers of long standing, from the lists that Electrum ships. All speak TLS.

const mainnet: readonly string[] = [
  'ssl://electrum.blockstream.info:50002',
  'ssl://blockstream.info:700',
  'ssl://electrum.emzy.de:50002',
  'ssl://electrum.bitaroo.net:50002',
  'ssl://electrum.hsmiths.com:50002',
  'ssl://electrum.jochen-hoenicke.de:50006',
  'ssl://electrum.qtornado.com:50002',
  'ssl://fortress.qtornado.com:443',
  'ssl://bitcoin.lu.ke:50002',
  'ssl://bitcoin.aranguren.org:50002',
  'ssl://fulcrum.grey.pw:51002',
  'ssl://btc.electroncash.dk:60002',
  'ssl://tardis.bauerj.eu:50002',
];

const testnet3: readonly string[] = [
  'ssl://electrum.blockstream.info:60002',
  'ssl://blockstream.info:993',
  'ssl://blackie.c3-soft.com:57006',
  'ssl://testnet.aranguren.org:51002',
  'ssl://testnet.qtornado.com:51002',
];

const testnet4: readonly string[] = [
  'ssl://mempool.space:40002',
  'ssl://blackie.c3-soft.com:57010',
  'ssl://testnet4-electrumx.wakiyamap.dev:51002',
];

const signet: readonly string[] = [
  'ssl://mempool.space:60602',
  'ssl://electrum.emzy.de:53002',
  'ssl://signet-electrumx.wakiyamap.dev:50002',
];

const lists: Readonly<Record<NetworkName, readonly string[]>> = {
  mainnet,
  testnet3,
  testnet4,
  signet,
  regtest: [],
};

/** The servers in use when the operator names none; empty for regtest. */
export const builtInServers = (network: NetworkName): readonly ServerAddress[] =>
  lists[network].map(parseServerAddress);

/**
 * Reads `socks5://host:port` or `socks5://user:password@host:port`. Special characters of a
 * password are written as in a URL (`%40` for `@`).
 * @throws PaygateError invalid, saying what to write instead
 */
export function parseProxy(text: string): SocksProxy {
  const parts = /^socks5h?:\/\/(?:([^/?#]*)@)?(\[[^\]]*\]|[^:/?#@[\]]*)(?::([0-9]*))?\/?$/i.exec(
    text,
  );
  if (parts === null) throw refuseProxy('write socks5://host:port');
  const [, login, bracketed = '', portText = ''] = parts;
  const host = parseHost(bracketed);
  if (host === undefined) throw refuseProxy('the host is not a name, an IPv4 or an [IPv6] address');
  const port = Number(portText);
  if (portText === '') throw refuseProxy('the port is missing (that of Tor is 9050)');
  if (port < 1 || port > 65_535) throw refuseProxy('the port is not between 1 and 65535');
  return login === undefined ? { host, port } : { host, port, credentials: parseLogin(login) };
}

function parseLogin(login: string): { user: string; password: string } {
  const colon = login.indexOf(':');
  if (colon === -1) throw refuseProxy('write user:password before the @');
  const [user, password] = [decode(login.slice(0, colon)), decode(login.slice(colon + 1))];
  for (const credential of [user, password]) {
    const { length } = new TextEncoder().encode(credential);
    if (length < 1 || length > maxCredentialBytes) {
      throw refuseProxy('user and password must have 1 to 255 bytes');
    }
  }
  return { user, password };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuseProxy('a % in user or password is written %25');
  }
}

const refuseProxy = (why: string): PaygateError =>
  new PaygateError('invalid', `SOCKS5 proxy: ${why}`);
