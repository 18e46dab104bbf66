import { expect, test } from 'vitest';
import {
  clientAddress,
  isProxy,
  networkPrefix64,
  parseProxyNetwork,
} from '../../../src/domain/access/client-address.ts';

const proxies = ['127.0.0.1', '10.0.0.0/8', '::1'].map(parseProxyNetwork);

test.each([
  ['no header', '127.0.0.1', undefined, '127.0.0.1'],
  ['a stranger, who writes what he likes', '203.0.113.5', '198.51.100.1', '203.0.113.5'],
  ['one proxy', '127.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['a proxy, mapped into IPv6', '::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['a forged beginning', '127.0.0.1', '192.0.2.1, 198.51.100.1', '198.51.100.1'],
  ['two proxies of ours', '127.0.0.1', '198.51.100.1, 10.1.2.3', '198.51.100.1'],
  ['nonsense', '127.0.0.1', 'me <script>', '127.0.0.1'],
  ['nonsense behind a proxy of ours', '127.0.0.1', 'x, 10.0.0.1', '10.0.0.1'],
  ['a port beside it', '127.0.0.1', '192.0.2.1, 198.51.100.1:51234', '198.51.100.1'],
  ['a port beside it, of IPv6', '127.0.0.1', '[2001:db8::7]:51234', '2001:db8::7'],
  ['no port in brackets', '127.0.0.1', '[2001:db8::7]', '2001:db8::7'],
  ['IPv6 that ends like a port', '127.0.0.1', '2001:db8::7:8080', '2001:db8::7:8080'],
  ['proxies alone', '127.0.0.1', '10.0.0.1', '10.0.0.1'],
  ['no socket', 'unknown', '198.51.100.1', 'unknown'],
])('%s', (_name, socket, header, client) => {
  expect(clientAddress(socket, header, proxies)).toBe(client);
});

test('S-124 without a trusted proxy the header is ignored', () => {
  expect(clientAddress('127.0.0.1', '198.51.100.1', [])).toBe('127.0.0.1');
});

test('a network prefix is a /64 or /48 of IPv6, or one IPv4 address', () => {
  expect(networkPrefix64('2001:db8:1:2:3::4')).toBe(networkPrefix64('2001:db8:1:2:ffff::1'));
  expect(networkPrefix64('2001:db8:1:2::1')).not.toBe(networkPrefix64('2001:db8:1:3::1'));
  expect(networkPrefix64('192.0.2.1')).toBe('192.0.2.1');
});

test.each(['10/8', '010.0.0.1', '0x0a.0.0.1/8', '10.1', '10'])(
  'the ambiguous %s is refused',
  (text) => {
    expect(() => parseProxyNetwork(text)).toThrow('expected');
  },
);

test('a network of IPv4 in IPv6 holds the same clients as in IPv4', () => {
  for (const text of ['::ffff:10.0.0.0/104', '::ffff:a00:0/104', '10.0.0.0/8']) {
    const networks = [parseProxyNetwork(text)];
    expect([text, isProxy('10.9.8.7', networks)]).toEqual([text, true]);
    expect(isProxy('::ffff:10.9.8.7', networks)).toBe(true);
    expect(isProxy('11.0.0.1', networks)).toBe(false);
  }
  // A wider one is no network of IPv4.
  expect(isProxy('10.9.8.7', [parseProxyNetwork('::/0')])).toBe(false);
  expect(isProxy('2001:db8::1', [parseProxyNetwork('2001:db8::/32')])).toBe(true);
});

test('a malformed network is an error', () => {
  expect(() => parseProxyNetwork('proxy.example')).toThrow('expected');
});
