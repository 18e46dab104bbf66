// The query string of a callback, and the URLs that receive callbacks and events. A merchant's URL
// is split, never re-serialised, so that the saved bytes are sent unchanged.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { PaygateError } from '../../lib/errors.ts';
import type { CallbackStatus } from '../payment/payment.ts';
import { copyError } from '../text/url-text.ts';
import {
  type CallbackFlags,
  type CallbackSender,
  httpRefusal,
  literalAddress,
  targetRefusal,
  targetRulesOf,
} from './callback-url-policy.ts';
import { isOnion, onionError, onionNeedsProxy } from './onion.ts';

export interface CallbackFacts {
  readonly status: CallbackStatus;
  readonly address: string;
  /** Sum of the transaction's outputs to the address. */
  readonly valueSat: number;
  readonly txid: string;
  /** Whether the transaction signals that it can be replaced (BIP125). */
  readonly rbf: boolean;
}

/** The parameters that are appended to the callback URL's own query, in the documented order. */
export function callbackQuery({ status, address, valueSat, txid, rbf }: CallbackFacts): string {
  const query = `status=${status}&addr=${address}&value=${valueSat}&txid=${txid}`;
  return rbf && status === 0 ? `${query}&rbf=1` : query;
}

/** Names that a callback URL must not have in its own query. */
const ownNames = new Set(['status', 'addr', 'value', 'txid', 'rbf']);

export function queryFacts(query: string) {
  const { status, addr, value, txid } = Object.fromEntries(new URLSearchParams(query));
  return { address: addr, valueSat: Number(value), txid, status: Number(status) };
}

const eventIdBytes = 20;

export interface EventFacts {
  readonly address: string;
  readonly txid: string;
  readonly status: CallbackStatus;
  readonly cycle: number;
}

/**
 * The id of an event. It stays the same after a restart, a restore, and on another machine. See
 * docs/decisions/004.
 */
export function eventId({ address, txid, status, cycle }: EventFacts): string {
  const digest = sha256(utf8ToBytes(`${address} ${txid} ${status} ${cycle}`));
  return `msg_${base58.encode(digest.subarray(0, eventIdBytes))}`;
}

export interface CallbackTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The request target: raw path, `?`, raw query. */
  readonly path: string;
  /** The raw query alone, which is the signed payload. */
  readonly query: string;
}

/** @throws PaygateError invalid for a malformed URL; a saved URL is well-formed */
export function callbackTarget(callbackUrl: string, appended: string): CallbackTarget {
  const { origin, path, query: own } = splitUrl(callbackUrl);
  const separator = own === undefined || own === '' || own.endsWith('&') ? '' : '&';
  const query = `${own ?? ''}${separator}${appended}`;
  return { origin, path: `${path || '/'}?${query}`, query };
}

/** The URL's target without a change: an event has its content in the body. */
export function webhookTarget(webhookUrl: string): Omit<CallbackTarget, 'query'> {
  const { origin, path, query } = splitUrl(webhookUrl, 'webhook URL');
  return { origin, path: `${path || '/'}${query === undefined ? '' : `?${query}`}` };
}

type UrlLabel = 'callback URL' | 'webhook URL' | 'redirect';

interface UrlParts {
  readonly label: UrlLabel;
  readonly scheme: string;
  readonly authority: string;
  readonly origin: string;
  readonly path: string;
  /** Undefined without a `?`. */
  readonly query: string | undefined;
  readonly fragment: string | undefined;
}

function splitUrl(url: string, label: UrlLabel = 'callback URL'): UrlParts {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/is.exec(url);
  if (match === null) {
    throw invalid({ label }, 'must be a whole URL such as https://shop.example/callback');
  }
  const [, scheme = '', authority = '', path = '', query, fragment] = match;
  const origin = `${scheme}://${authority}`;
  return { label, scheme: scheme.toLowerCase(), authority, origin, path, query, fragment };
}

const invalid = ({ label }: Pick<UrlParts, 'label'>, problem: string): PaygateError =>
  new PaygateError('invalid', `the ${label} ${problem}`);

interface SavedCallbackUrl extends CallbackFlags {
  readonly callbackUrl: string;
}

/**
 * Checks a URL before it is saved. A literal address is judged here, a name by its addresses at
 * each attempt.
 * @param before the saved URL and flags: if nothing changes, nothing is checked
 * @throws PaygateError invalid, saying what to do
 */
export function checkCallbackUrl(
  url: string,
  flags: CallbackFlags,
  before?: SavedCallbackUrl,
  sender: CallbackSender = {},
): void {
  if (before !== undefined && isUnchanged({ ...flags, callbackUrl: url }, before)) return;
  const parts = checkedParts(url, 'callback URL', flags, sender);
  checkOwnNames(parts);
}

/** Checks a webhook URL as a callback URL is checked. @throws PaygateError invalid */
export const checkWebhookUrl = (
  url: string,
  flags: CallbackFlags,
  sender: CallbackSender,
  label: UrlLabel = 'webhook URL',
): void => void checkedParts(url, label, flags, sender);

function checkedParts(
  url: string,
  label: UrlLabel,
  flags: CallbackFlags,
  sender: CallbackSender,
): UrlParts {
  const copied = copyError(url);
  if (copied !== undefined) throw invalid({ label }, copied);
  const parts = splitUrl(url, label);
  if (parts.scheme !== 'https' && parts.scheme !== 'http') {
    throw invalid(parts, `must start with https://, not ${parts.scheme}://`);
  }
  if (parts.authority.includes('@')) {
    throw invalid(parts, 'must not hold a user name or a password; put a secret into its query');
  }
  if (parts.fragment !== undefined) {
    throw invalid(parts, 'must not have a #fragment: it is never sent');
  }
  checkBytes(parts);
  const refusal = hostRefusal(parts, flags, sender);
  if (refusal !== undefined) throw new PaygateError('invalid', refusal);
  return parts;
}

const isUnchanged = (one: SavedCallbackUrl, other: SavedCallbackUrl): boolean =>
  one.callbackUrl === other.callbackUrl &&
  one.allowPrivateCallback === other.allowPrivateCallback &&
  one.allowHttpCallback === other.allowHttpCallback;

const plainAuthority = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const foreignBytes = /%(?![0-9a-fA-F]{2})|[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu;

function checkBytes(parts: UrlParts): void {
  const { origin, authority, path, query, scheme } = parts;
  const host = URL.canParse(origin) ? new URL(origin).host : '';
  const written = query === undefined ? path : `${path}?${query}`;
  const encoded = written.toWellFormed().replace(foreignBytes, encodeURIComponent);
  const ascii = /^[\x21-\x7e]+$/.test(authority);
  if (!plainAuthority.test(ascii ? authority : host) || host === '') {
    throw invalid(parts, 'has no valid host name');
  }
  if (new URL(origin).port === '0') throw invalid(parts, 'names port 0, where nobody can listen');
  if (ascii && encoded === written) return;
  const proposed = `${scheme}://${ascii ? authority : host}${encoded}`;
  throw invalid(parts, `has characters that a URL must encode; write it as ${proposed}`);
}

function checkOwnNames(parts: UrlParts): void {
  for (const name of new URLSearchParams(parts.query ?? '').keys()) {
    if (ownNames.has(name.toLowerCase())) {
      throw invalid(parts, `already has "${name}" in its query, which paygate adds; rename it`);
    }
  }
}

function hostRefusal(
  { origin }: UrlParts,
  flags: CallbackFlags,
  { ownAddresses, hasProxy }: CallbackSender,
): string | undefined {
  const url = new URL(origin);
  const { hostname } = url;
  // Plain http is allowed, because Tor encrypts and the name authenticates the service.
  if (isOnion(hostname)) {
    return onionError(hostname) ?? (hasProxy === false ? onionNeedsProxy(hostname) : undefined);
  }
  // Addresses at which paygate listens are only known while it runs: each attempt checks them.
  const rules = targetRulesOf(url, flags, [], ownAddresses);
  const loopbackName = /(^|\.)localhost\.?$/.test(hostname);
  const address = loopbackName ? '127.0.0.1' : literalAddress(hostname);
  if (address !== undefined) return targetRefusal(hostname, address, rules);
  if (rules.allowed.public || rules.allowed.private) return undefined;
  return httpRefusal(hostname);
}

/**
 * A URL for people to recognise, without its secrets: no user, query or fragment, and only path
 * segments that read like words.
 */
export function redactUrl(url: string): string {
  const match = /^((?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*)?([^?#]*)(\?)?/is.exec(url);
  const [, origin = '', path = '', query = ''] = match ?? [];
  const segments = path.split('/').map((segment) => (plainWords.test(segment) ? segment : '…'));
  return `${origin.replace(/\/\/.*@/s, '//')}${segments.join('/')}${query && '?…'}`;
}

export function redactedTarget(callbackUrl: string, appended: string): string {
  const shown = redactUrl(callbackUrl);
  return `${shown}${shown.includes('?') ? '&' : '?'}${appended}`;
}

const plainWords = /^(?=.{0,20}$)([a-z0-9]{1,3}|[a-z]+([._-][a-z]+)*)?$/i;
