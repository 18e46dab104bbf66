import { describe, expect, test } from 'vitest';
import {
  clientPrefixesOf,
  connectionToClose,
} from '../../../src/domain/access/connection-eviction.ts';

/** The position of the connection to close, among connections of these addresses, oldest first. */
const leaver = (...addresses: string[]): number | undefined => {
  const connections = addresses.map(clientPrefixesOf);
  const closing = connectionToClose(connections);
  return closing && connections.indexOf(closing);
};

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

describe('by weight', () => {
  /** Like `leaver`, for connections with a weight each. */
  const heaviest = (...weighed: (readonly [string, number])[]): number | undefined => {
    const connections = weighed.map(([address, weight]) => ({
      ...clientPrefixesOf(address),
      weight,
    }));
    const closing = connectionToClose(connections, ({ weight }) => weight);
    return closing && connections.indexOf(closing);
  };

  test('the heaviest connection of the heaviest prefix is closed, not the newest', () => {
    expect(heaviest(['192.0.2.1', 5], ['192.0.2.2', 2], ['192.0.2.2', 4], ['192.0.2.2', 1])).toBe(
      2,
    );
    expect(heaviest(['192.0.2.1', 8], ['192.0.2.2', 2], ['192.0.2.2', 4], ['192.0.2.2', 1])).toBe(
      0,
    );
  });

  test('a /48 is weighed as a whole, then its /64 prefixes', () => {
    const [one, other] = ['2001:db8:1:1::1', '2001:db8:1:2::1'];
    expect(heaviest([one, 3], [other, 2], [other, 2], ['192.0.2.1', 6])).toBe(2);
  });

  test('of equal ones, the newest is closed', () => {
    expect(heaviest(['192.0.2.1', 2], ['192.0.2.2', 2])).toBe(1);
    expect(heaviest(['192.0.2.1', 2], ['192.0.2.1', 2], ['192.0.2.1', 1])).toBe(1);
  });
});
