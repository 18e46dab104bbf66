import { expect, test } from 'vitest';
import { clientPrefixesOf, connectionToClose } from '../../src/domain/connection-eviction.ts';

/** Connections of these addresses, oldest first, by address and position. */
const leaver = (...addresses: string[]): number | undefined =>
  connectionToClose(new Map(addresses.map((address, index) => [index, clientPrefixesOf(address)])));

test('the newest connection of the prefix with the most is closed', () => {
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.2', '192.0.2.3')).toBe(2);
});

test('the new connection itself is closed if no prefix has more', () => {
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.3')).toBe(2);
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.2')).toBe(2);
});

test('a client with a whole IPv6 network counts once, with any number of /64 prefixes', () => {
  const ofOneLine = ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1'];
  expect(leaver('192.0.2.1', '192.0.2.1', ...ofOneLine, '192.0.2.9')).toBe(4);
  expect(leaver(...ofOneLine, '2001:db8:2:1::1', '2001:db8:2:1::2')).toBe(2);
});

test('within a /48 prefix, the /64 prefix with the most loses one', () => {
  const [greedy, modest] = ['2001:db8:1:1::1', '2001:db8:1:2::1'];
  expect(leaver(modest, greedy, greedy, '192.0.2.9')).toBe(2);
  expect(leaver(greedy, greedy, modest)).toBe(1);
});

test('without connections none is closed', () => {
  expect(leaver()).toBeUndefined();
});
