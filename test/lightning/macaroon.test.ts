import { hexToBytes } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { permissionsOf } from '../../src/lightning/macaroon.ts';
import { writeMacaroon } from '../support/macaroon.ts';

const read = (...parameters: Parameters<typeof writeMacaroon>) =>
  permissionsOf(hexToBytes(writeMacaroon(...parameters)));

describe('permissionsOf', () => {
  test('lists what stands in the identifier, sorted', () => {
    expect(read([['invoices', ['write', 'read']]])).toEqual(['invoices:read', 'invoices:write']);
    expect(
      read([
        ['onchain', ['write']],
        ['invoices', ['read', 'write']],
        ['uri', ['/lnrpc.Lightning/SendPaymentSync']],
      ]),
    ).toEqual([
      'invoices:read',
      'invoices:write',
      'onchain:write',
      'uri:/lnrpc.Lightning/SendPaymentSync',
    ]);
    expect(read([])).toEqual([]);
  });

  test('a long list is read', () => {
    const actions = Array.from({ length: 40 }, (_, index) => `/lnrpc.Lightning/Method${index}`);
    expect(read([['uri', actions]])).toHaveLength(40);
  });

  test('other formats are not read', () => {
    expect(read([['invoices', ['read']]], { format: 1 })).toEqual([]);
    expect(read([['invoices', ['read']]], { idVersion: 2 })).toEqual([]);
    expect(permissionsOf(new Uint8Array())).toEqual([]);
  });

  test('what is cut names no more than the whole', () => {
    const whole = hexToBytes(writeMacaroon([['invoices', ['read', 'write']]]));
    for (let length = 0; length < whole.length; length += 1) {
      const found = permissionsOf(whole.subarray(0, length));
      expect(['', 'invoices:read invoices:write']).toContain(found.join(' '));
    }
  });

  test('any bytes are read without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        permissionsOf(Uint8Array.of(2, ...bytes));
        permissionsOf(Uint8Array.of(2, 2, bytes.length & 127, 3, ...bytes));
      }),
      { numRuns: 500 },
    );
  });
});
