import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventIdFor, idBytes, idOf, isId } from '../../../src/domain/order/order-id.ts';

const randomBytes = fc.uint8Array({ minLength: idBytes, maxLength: idBytes });

test('an id has 22 characters, whatever its bytes are', () => {
  expect(idOf('ord', new Uint8Array(16))).toBe(`ord_${'1'.repeat(22)}`);
  expect(idOf('lnk', new Uint8Array(16).fill(255))).toBe('lnk_YcVfxkQb6JRzqk5kF2tNLv');
  fc.assert(
    fc.property(randomBytes, (bytes) => {
      expect(isId('ord', idOf('ord', bytes))).toBe(true);
    }),
  );
});

test('other bytes are another id', () => {
  const few = fc.uint8Array({ minLength: idBytes, maxLength: idBytes, max: 1 });
  fc.assert(
    fc.property(few, few, (one, other) => {
      const isSame = one.every((byte, at) => byte === other[at]);
      expect(idOf('ord', one) === idOf('ord', other)).toBe(isSame);
    }),
  );
});

test('S-118 an id takes exactly 128 bits', () => {
  expect(() => idOf('ord', new Uint8Array(15))).toThrow('16 bytes');
});

test.each([
  'ord_',
  `lnk_${'1'.repeat(22)}`,
  `ord_${'1'.repeat(21)}`,
  `ord_${'1'.repeat(23)}`,
  `ord_${'1'.repeat(21)}0`,
  `ord_${'1'.repeat(22)}\n`,
  `Ord_${'1'.repeat(22)}`,
])('%j is no id of an order', (text) => {
  expect(isId('ord', text)).toBe(false);
});

test('an event has its id by its facts', () => {
  const id = eventIdFor(['ord_1', 2, 'order.paid']);
  expect(id).toBe(eventIdFor(['ord_1', 2, 'order.paid']));
  expect(isId('evt', id)).toBe(true);
  expect(id).not.toBe(eventIdFor(['ord_1', 2, 'order.updated']));
  // The boundary between two facts counts.
  expect(eventIdFor(['a', 'bc'])).not.toBe(eventIdFor(['ab', 'c']));
});
