import { expect, test } from 'vitest';
import {
  errorCodeOf,
  isDnsError,
  isNotTls,
  networkErrorText,
} from '../../../src/domain/delivery/network-error.ts';

test.each([
  ['ENOTFOUND', 'the name does not exist'],
  ['EAI_AGAIN', 'the name server does not answer'],
  ['EAI_FAIL', 'the name server refuses to answer'],
  ['ECONNREFUSED', 'it refuses connections'],
  ['ECONNRESET', 'it closed the connection at once'],
  ['ETIMEDOUT', 'it does not answer'],
  ['EHOSTUNREACH', 'there is no way to this host'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate leads to an authority that is not trusted here'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is self-signed'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another name'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'it does not speak TLS on this port'],
  ['EPROTO', 'it does not speak TLS as it is used today'],
])('%s is a sentence: %s', (code, text) => {
  expect(networkErrorText(code)).toBe(text);
});

test('with TLS a lost connection is one of the handshake', () => {
  expect(networkErrorText('ECONNRESET', true)).toBe(
    'it closed the connection during the TLS handshake',
  );
});

test('an unknown code has no text, and neither has the name of an object method', () => {
  for (const code of ['EWHATEVER', 'constructor', ''])
    expect(networkErrorText(code)).toBeUndefined();
});

test('of the errors of several addresses, the code of the first', () => {
  const each = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
  expect(errorCodeOf(new AggregateError([each, new Error('other')]))).toBe('ECONNREFUSED');
  expect([errorCodeOf(each), errorCodeOf(new Error('none')), errorCodeOf(undefined)]).toEqual([
    'ECONNREFUSED',
    '',
    '',
  ]);
});

test('names that do not resolve, and ports without TLS', () => {
  expect(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED'].map(isDnsError)).toEqual([true, true, false]);
  expect(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'CERT_HAS_EXPIRED'].map(isNotTls)).toEqual([
    true,
    true,
    false,
  ]);
});
