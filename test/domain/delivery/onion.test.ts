import { describe, expect, it } from 'vitest';
import { checkCallbackUrl } from '../../../src/domain/delivery/callback.ts';
import { isOnion, onionError } from '../../../src/domain/delivery/onion.ts';

/** The sites of the Tor project and of DuckDuckGo. */
const torproject = '2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion';
const duckDuckGo = 'duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion';
const strict = { allowPrivateCallback: false, allowHttpCallback: false };

describe('an onion address', () => {
  it.each([
    torproject,
    duckDuckGo,
    torproject.toUpperCase(),
    `www.${torproject}`,
    `${torproject}.`,
  ])('may be %s', (host) => {
    expect([isOnion(host), onionError(host)]).toEqual([true, undefined]);
    for (const url of [`http://${host}/cb?secret=x`, `https://${host}:8443/cb`, `HTTP://${host}`]) {
      expect(() => checkCallbackUrl(url, strict)).not.toThrow();
      const there = { hasProxy: true };
      expect(() => checkCallbackUrl(url, strict, undefined, there)).not.toThrow();
    }
  });

  it.each([
    ['expyuzz4wqqyqhjn.onion', 'version 2'],
    ['www.EXPYUZZ4WQQYQHJN.onion', 'version 2'],
    [torproject.replace('2gzy', '2gzz'), 'checksum is wrong'],
    [torproject.replace('wid.', 'wie.'), 'checksum is wrong'],
    [`a${torproject}`, 'no onion address'],
    [torproject.slice(1), 'no onion address'],
    [torproject.replace('2g', '1g'), 'no onion address'],
    ['shop.onion', 'no onion address'],
    ['onion', 'no onion address'],
  ])('is not %s: %s', (host, said) => {
    expect(isOnion(host)).toBe(true);
    expect(onionError(host)).toContain(said);
    expect(() => checkCallbackUrl(`https://${host}/cb`, strict)).toThrow(said);
  });

  it.each(['onion.example', 'shop.onion.example', 'myonion', 'shop.xonion'])(
    'is no onion address: %s',
    (host) => {
      expect(isOnion(host)).toBe(false);
    },
  );

  it('is refused without a proxy', () => {
    const here = { hasProxy: false };
    expect(() => checkCallbackUrl(`http://${torproject}/`, strict, undefined, here)).toThrow(
      `${torproject} is reached only through Tor: start serve with --proxy socks5://127.0.0.1:9050`,
    );
  });
});
