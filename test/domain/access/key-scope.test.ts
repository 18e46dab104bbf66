import { expect, test } from 'vitest';
import {
  isAllowed,
  type KeyScope,
  keyScopes,
  requireScope,
} from '../../../src/domain/access/key-scope.ts';

test.each<[KeyScope, string, boolean, boolean]>([
  ['payments', 'GET', true, true],
  ['payments', 'POST', false, true],
  ['payments', 'DELETE', false, true],
  ['address-only', 'GET', true, true],
  ['address-only', 'POST', true, true],
  ['address-only', 'GET', false, false],
  ['read', 'GET', false, true],
  ['read', 'POST', false, false],
  ['read', 'GET', true, false],
  ['read', 'POST', true, false],
])('P-52 a key for %s: %s that issues (%s) is allowed: %s', (scope, method, issues, allowed) => {
  expect(isAllowed(scope, { method, issues })).toBe(allowed);
});

test('a refusal says what the key may do', () => {
  expect(() => requireScope('read', { method: 'POST', issues: false })).toThrow('may only read');
  expect(keyScopes).toHaveLength(3);
});
