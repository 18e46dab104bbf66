// Reads the address of a SOCKS5 proxy. Pure. What it refuses is not repeated in the error: there may be
// a password in it.

import { PaygateError } from '../lib/errors.ts';
import type { SocksProxy } from '../world/world.ts';
import { parseHost } from './trust.ts';

/** One byte counts its length: RFC 1929. */
const longestCredential = 255;

/**
 * Reads `socks5://host:port` or `socks5://user:password@host:port`; what is special in a password is
 * written as in a URL (`%40` for `@`).
 * @throws PaygateError invalid, saying what to write instead
 */
export function parseProxy(text: string): SocksProxy {
  const parts = /^socks5h?:\/\/(?:([^/?#]*)@)?(\[[^\]]*\]|[^:/?#@[\]]*)(?::([0-9]*))?\/?$/i.exec(
    text,
  );
  if (parts === null) throw refuse('write socks5://host:port');
  const [, login, bracketed = '', portText = ''] = parts;
  const host = parseHost(bracketed);
  if (host === undefined) throw refuse('the host is not a name, an IPv4 or an [IPv6] address');
  const port = Number(portText);
  if (portText === '') throw refuse('the port is missing (that of Tor is 9050)');
  if (port < 1 || port > 65_535) throw refuse('the port is not between 1 and 65535');
  return login === undefined ? { host, port } : { host, port, credentials: parseLogin(login) };
}

function parseLogin(login: string): { user: string; password: string } {
  const colon = login.indexOf(':');
  if (colon === -1) throw refuse('write user:password before the @');
  const [user, password] = [decode(login.slice(0, colon)), decode(login.slice(colon + 1))];
  for (const credential of [user, password]) {
    const { length } = new TextEncoder().encode(credential);
    if (length < 1 || length > longestCredential) {
      throw refuse('user and password must have 1 to 255 bytes');
    }
  }
  return { user, password };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse('a % in user or password is written %25');
  }
}

const refuse = (why: string): PaygateError => new PaygateError('invalid', `SOCKS5 proxy: ${why}`);
