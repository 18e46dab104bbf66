import { expect, test } from 'vitest';
import { clientPrefixesOf, connectionToClose } from '../../src/domain/connection-eviction.ts';

/** Connections of these addresses, oldest first; the address and its place among them. */
const leaver = (...addresses: string[]): number | undefined =>
  connectionToClose(new Map(addresses.map((address, index) => [index, clientPrefixesOf(address)])));

test('the newest connection of who has most makes room', () => {
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.2', '192.0.2.3')).toBe(2);
});

test('the newcomer itself does where no other has more', () => {
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.3')).toBe(2);
  expect(leaver('192.0.2.1', '192.0.2.2', '192.0.2.2')).toBe(2);
});

test('a stranger with a whole network of IPv6 counts once, however many households are in it', () => {
  const ofOneLine = ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1'];
  expect(leaver('192.0.2.1', '192.0.2.1', ...ofOneLine, '192.0.2.9')).toBe(4);
  expect(leaver(...ofOneLine, '2001:db8:2:1::1', '2001:db8:2:1::2')).toBe(2);
});

test('within a line it is who has most of it', () => {
  const [greedy, modest] = ['2001:db8:1:1::1', '2001:db8:1:2::1'];
  expect(leaver(modest, greedy, greedy, '192.0.2.9')).toBe(2);
  expect(leaver(greedy, greedy, modest)).toBe(1);
});

test('nobody leaves where nobody is', () => {
  expect(leaver()).toBeUndefined();
});
