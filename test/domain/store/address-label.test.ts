// Labels of addresses for another wallet (BIP-329).

import { expect, test } from 'vitest';
import { addressLabel } from '../../../src/domain/store/address-label.ts';

const order = { publicId: 'ord_3yQ8tZr6WmB1nK5vXc2dLp', address: 'bc1qaddress' };

const labelOf = (reference: string | null) => addressLabel({ ...order, reference }).label;

test('a label has the three fields of an address, and names the order', () => {
  expect(addressLabel({ ...order, reference: '1007' })).toEqual({
    ...{ type: 'addr', ref: order.address },
    label: `Order 1007 ${order.publicId}`,
  });
  expect(labelOf(null)).toBe(`Order ${order.publicId}`);
});

test('a label has only what an order is named by', () => {
  const whole = { ...order, reference: '7', description: 'For Ada', metadata: { mail: 'a@b' } };
  expect(Object.keys(addressLabel(whole))).toEqual(['type', 'ref', 'label']);
  expect(JSON.stringify(addressLabel(whole))).not.toMatch(/Ada|a@b/);
});

test.each([
  ['a line feed', 'a\nb'],
  ['a carriage return', 'a\r\nb'],
  ['a next line', 'a\u0085b'],
  ['a line separator', 'a\u2028b'],
  ['a paragraph separator', 'a\u2029b'],
  ['a null', 'a\0b'],
  ['a right-to-left override', 'a\u202eb'],
])('%s becomes a space', (_what, reference) => {
  expect(labelOf(reference)).toBe(`Order a b ${order.publicId}`);
});

test('what does not show is no reference', () => {
  expect(labelOf('\u2028 \u200b')).toBe(`Order ${order.publicId}`);
});
