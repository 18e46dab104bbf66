// What a callback says, as a query string, and where it may go (wire §4). Pure: a name's addresses
// are looked up by delivery/, which asks `refusalOf` about each of them. A merchant's URL is split,
// never re-serialised: what was saved is what is sent, byte for byte.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import ipaddr from 'ipaddr.js';
import { PaygateError } from '../errors.ts';
import type { CallbackStatus } from './payment.ts';

export interface CallbackFacts {
  readonly status: CallbackStatus;
  readonly address: string;
  /** Sum of the transaction's outputs to the address. */
  readonly valueSat: number;
  readonly txid: string;
  /** The transaction signals that it can be replaced. */
  readonly rbf: boolean;
}

/** What is appended to the callback URL's own query, in the order that receivers know. */
export function callbackQuery({ status, address, valueSat, txid, rbf }: CallbackFacts): string {
  const query = `status=${status}&addr=${address}&value=${valueSat}&txid=${txid}`;
  return rbf && status === 0 ? `${query}&rbf=1` : query;
}

/** The names above: a callback URL must not bring one of its own. */
const ownNames = new Set(['status', 'addr', 'value', 'txid', 'rbf']);

const eventIdBytes = 20;

export interface EventFacts {
  readonly address: string;
  readonly txid: string;
  readonly status: CallbackStatus;
  readonly cycle: number;
}

/** The same event has the same id after a restart, a restore, and on another machine. */
export function eventId({ address, txid, status, cycle }: EventFacts): string {
  const digest = sha256(utf8ToBytes(`${address} ${txid} ${status} ${cycle}`));
  return `msg_${base58.encode(digest.subarray(0, eventIdBytes))}`;
}

export interface CallbackTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  /** What stands in the request line: raw path, `?`, raw query. */
  readonly path: string;
  /** The raw query alone, which is what is signed. */
  readonly query: string;
}

/** @throws PaygateError invalid when the URL is none; one that was saved is */
export function callbackTarget(callbackUrl: string, appended: string): CallbackTarget {
  const { origin, path, query: own } = splitUrl(callbackUrl);
  const separator = own === undefined || own === '' || own.endsWith('&') ? '' : '&';
  const query = `${own ?? ''}${separator}${appended}`;
  return { origin, path: `${path || '/'}?${query}`, query };
}

interface UrlParts {
  readonly scheme: string;
  readonly authority: string;
  /** Scheme and authority as written. */
  readonly origin: string;
  readonly path: string;
  /** Undefined without a `?`. */
  readonly query: string | undefined;
  readonly fragment: string | undefined;
}

function splitUrl(url: string): UrlParts {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/is.exec(url);
  if (match === null) {
    throw invalid('must be a whole URL such as https://shop.example/callback');
  }
  const [, scheme = '', authority = '', path = '', query, fragment] = match;
  const origin = `${scheme}://${authority}`;
  return { scheme: scheme.toLowerCase(), authority, origin, path, query, fragment };
}

const invalid = (fault: string): PaygateError =>
  new PaygateError('invalid', `the callback URL ${fault}`);

/** What a merchant has allowed for a store. */
export interface CallbackFlags {
  readonly allowPrivate: boolean;
  readonly allowHttp: boolean;
}

/** Where paygate itself listens: an IP address, or a name that stands for this machine. */
export interface Listener {
  readonly host: string;
  readonly port: number;
}

/**
 * Refuses a URL before it is saved, with a message that says what to do. Only a literal address can be
 * judged here; a name is judged by its addresses at each attempt. @throws PaygateError invalid
 */
export function checkCallbackUrl(
  url: string,
  flags: CallbackFlags,
  listeners: readonly Listener[] = [],
): void {
  const parts = splitUrl(url);
  if (parts.scheme !== 'https' && parts.scheme !== 'http') {
    throw invalid(`must start with https://, not ${parts.scheme}://`);
  }
  if (parts.authority.includes('@')) {
    throw invalid('must not hold a user name or a password; put a secret into its query');
  }
  if (parts.fragment !== undefined) throw invalid('must not have a #fragment: it is never sent');
  checkBytes(parts);
  checkOwnNames(parts.query);
  const refusal = literalRefusal(parts, flags, listeners);
  if (refusal !== undefined) throw new PaygateError('invalid', refusal);
}

const plainAuthority = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const foreignBytes = /%(?![0-9a-fA-F]{2})|[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu;

function checkBytes({ origin, authority, path, query, scheme }: UrlParts): void {
  const host = URL.canParse(origin) ? new URL(origin).host : '';
  const written = query === undefined ? path : `${path}?${query}`;
  const encoded = written.toWellFormed().replace(foreignBytes, encodeURIComponent);
  const ascii = /^[\x21-\x7e]+$/.test(authority);
  if (!plainAuthority.test(ascii ? authority : host) || host === '') {
    throw invalid('has no valid host name');
  }
  if (ascii && encoded === written) return;
  const proposed = `${scheme}://${ascii ? authority : host}${encoded}`;
  throw invalid(`has characters that a URL must encode; write it as ${proposed}`);
}

function checkOwnNames(query: string | undefined): void {
  for (const name of new URLSearchParams(query ?? '').keys()) {
    if (ownNames.has(name.toLowerCase())) {
      throw invalid(`already has "${name}" in its query, which paygate adds; rename it`);
    }
  }
}

function literalRefusal(
  { origin, scheme }: UrlParts,
  flags: CallbackFlags,
  listeners: readonly Listener[],
): string | undefined {
  const { hostname } = new URL(origin);
  const rules = { permit: permitOf(scheme, flags), port: portOf(origin), listeners };
  const loopbackName = /(^|\.)localhost\.?$/.test(hostname);
  const address = loopbackName ? '127.0.0.1' : literalAddress(hostname);
  if (address !== undefined) return refusalOf(hostname, address, rules);
  if (rules.permit.public || rules.permit.private) return undefined;
  return refusals.http(hostname);
}

/** The address in a URL's host, if it is one; WHATWG has brought every spelling of IPv4 to this one. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}

export function portOf(origin: string): number {
  const { port, protocol } = new URL(origin);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Which addresses a callback may go to. */
export interface Permit {
  readonly public: boolean;
  readonly private: boolean;
}

/** Private targets may speak plain HTTP; a public one only where the store allows it. */
export const permitOf = (scheme: string, { allowPrivate, allowHttp }: CallbackFlags): Permit => ({
  public: scheme === 'https' || allowHttp,
  private: allowPrivate,
});

export interface TargetRules {
  readonly permit: Permit;
  readonly port: number;
  readonly listeners: readonly Listener[];
}

const refusals = {
  never: (host: string) => `${host} is an address that callbacks never go to`,
  listener: (host: string) => `${host} is paygate itself`,
  private: (host: string) =>
    `${host} is a private address; the store needs --allow-private-callback for it`,
  http: (host: string) =>
    `plain http to ${host} can be read and forged on the way; use https, ` +
    'or give the store --allow-http-callback',
};

/** Why a callback to this host must not go to this address of it; undefined when it may. */
export function refusalOf(host: string, address: string, rules: TargetRules): string | undefined {
  const shown = host === address ? host : `${host} (${address})`;
  const reach = reachOf(address);
  if (reach === 'never') return refusals.never(shown);
  if (isListener(address, rules)) return refusals.listener(shown);
  if (rules.permit[reach]) return undefined;
  return reach === 'private' ? refusals.private(shown) : refusals.http(shown);
}

function isListener(address: string, { port, listeners }: TargetRules): boolean {
  const ip = ipaddr.process(address);
  return listeners.some((listener) => {
    if (listener.port !== port) return false;
    const own = ipaddr.isValid(listener.host) ? ipaddr.process(listener.host) : undefined;
    // A name and an unspecified address stand for this machine: all of its loopback.
    if (own === undefined || own.range() === 'unspecified') return ip.range() === 'loopback';
    return own.toString() === ip.toString();
  });
}

export type Reach = 'public' | 'private' | 'never';

/** Where clouds keep their machines' credentials, outside the link-local range. */
const metadata = new Set(['100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']);
/** Long deprecated, and read by ipaddr.js as if it were ::ffff:a.b.c.d. */
const ipv4Compatible = /^::\d+\.\d/;
const privateRanges = new Set(['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']);

/**
 * Public is only what the registries hand out to hosts. Link-local, reserved, multicast and tunnelled
 * addresses (6to4, Teredo, translated ones that hide an IPv4 that isn't public) are never called.
 * https://www.iana.org/assignments/iana-ipv6-special-registry/
 */
export function reachOf(address: string): Reach {
  if (!ipaddr.isValid(address) || ipv4Compatible.test(address)) return 'never';
  const ip = ipaddr.process(address);
  if (metadata.has(ip.toString())) return 'never';
  const range = ip.range();
  if (privateRanges.has(range)) return 'private';
  if (ip instanceof ipaddr.IPv4) return range === 'unicast' ? 'public' : 'never';
  const [first = 0, , third] = ip.parts;
  // 2000::/3; ipaddr.js also calls unicast what was never handed out, such as ::127.0.0.1.
  if (range === 'unicast') return first >> 13 === 1 && !ip.zoneId ? 'public' : 'never';
  // 64:ff9b::/96, the way to a public IPv4 from a network that has none (RFC 6052).
  if (range === 'rfc6052' && third === 0) {
    const inner = ipaddr.fromByteArray(ip.toByteArray().slice(12));
    return inner.range() === 'unicast' ? 'public' : 'never';
  }
  return 'never';
}

/**
 * A URL for people to recognise: no user, no query, no fragment, and of the path only what reads like
 * words, since secrets live in all of these.
 */
export function redactUrl(url: string): string {
  const match = /^((?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*)?([^?#]*)(\?)?/is.exec(url);
  const [, origin = '', path = '', query = ''] = match ?? [];
  const segments = path.split('/').map((segment) => (plainWords.test(segment) ? segment : '…'));
  return `${origin.replace(/\/\/.*@/s, '//')}${segments.join('/')}${query && '?…'}`;
}

const plainWords = /^(?=.{0,20}$)([a-z0-9]{1,3}|[a-z]+([._-][a-z]+)*)?$/i;
