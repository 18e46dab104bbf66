// Settings of notifications as a person types them: what is refused, and what is understood.

import { expect, test } from 'vitest';
import { noticeKinds } from '../../../src/domain/delivery/notice.ts';
import {
  type MailServer,
  mailServerFault,
  parseKinds,
  parseMailAddress,
  parseMailHost,
  parseMailText,
  parseRecipients,
} from '../../../src/domain/delivery/notification-settings.ts';

test.each(['me@example.com', "o'neil+shop@mail.example.co.uk", 'root@localhost'])(
  '%s is a mail address',
  (text) => {
    expect(parseMailAddress(` ${text} `)).toBe(text);
  },
);

test.each([
  '',
  'me',
  'me@',
  '@example.com',
  'me@exam ple.com',
  'me@example.com\nBcc: you@example.com',
  'me@example.com,you@example.com',
  'Me <me@example.com>',
  'me@@example.com',
  'me@-example.com',
  `${'a'.repeat(65)}@example.com`,
])('%j is no mail address', (text) => {
  expect(() => parseMailAddress(text)).toThrow('no mail address');
});

test.each([
  ['kasse@müller.example', 'kasse@xn--mller-kva.example'],
  ['kasse@mu\u0308ller.example', 'kasse@xn--mller-kva.example'],
  ['me@例え.テスト', 'me@xn--r8jz45g.xn--zckzah'],
  ['\u2066me@exam\u200bple.com\u2069\u00a0', 'me@example.com'],
  ['\ufeffme@example.com\r\n', 'me@example.com'],
])('%j is the mail address %s', (text, address) => {
  expect(parseMailAddress(text)).toBe(address);
  expect(parseRecipients(`${text}; ${text}`)).toEqual([address]);
});

test.each([
  ['kässe@example.com', 'beyond ASCII stand before the @'],
  ['кассa@müller.example', 'beyond ASCII stand before the @'],
  ['me@exam\u00a0ple.com', 'no mail address'],
  ['me@-ü.example@x', 'no mail address'],
  [`me@${'ü'.repeat(300)}.example`, 'no mail address'],
])('%j is refused with the reason', (text, reason) => {
  expect(() => parseMailAddress(text)).toThrow(reason);
});

test('recipients are distinct, and at most ten', () => {
  expect(parseRecipients('a@b.example, c@d.example;a@b.example\n')).toEqual([
    'a@b.example',
    'c@d.example',
  ]);
  expect(parseRecipients('')).toEqual([]);
  expect(parseRecipients('\u200b, \u00a0;\ufeff')).toEqual([]);
  const many = Array.from({ length: 11 }, (_, number) => `a${number}@b.example`).join(',');
  expect(() => parseRecipients(many)).toThrow('at most 10');
});

test('a host is a name or an address, without scheme and port', () => {
  expect(parseMailHost('SMTP.Example.com')).toBe('smtp.example.com');
  expect(parseMailHost('::1')).toBe('::1');
  expect(parseMailHost('\u200email.Müller.example\u00a0')).toBe('mail.xn--mller-kva.example');
  for (const text of ['', 'smtp://example.com', 'example.com:25', 'a b', 'x.onion']) {
    expect(() => parseMailHost(text)).toThrow();
  }
});

test('a password has one row, and keeps its white space', () => {
  expect(parseMailText(' a b ')).toBe(' a b ');
  expect(parseMailText('abcd\u00a0efgh\u200b\u00a0')).toBe('abcd efgh');
  expect(parseMailText('')).toBeNull();
  expect(parseMailText('\u00a0\u200b')).toBeNull();
  expect(() => parseMailText(`${'\u00a0'.repeat(500)}x`)).toThrow('one row');
  expect(() => parseMailText('a\r\nRCPT TO')).toThrow('one row');
});

test('kinds are known ones', () => {
  expect(parseKinds('findings, order.paid')).toEqual(['order.paid', 'findings']);
  expect(parseKinds(noticeKinds.join())).toEqual(noticeKinds);
  expect(() => parseKinds('order.paid,order')).toThrow('"order" is none of');
});

test.each([
  [{}, undefined],
  [{ security: 'none', host: 'localhost' }, undefined],
  [{ security: 'none' }, 'security'],
  [{ security: 'none', host: '192.168.1.2' }, 'security'],
  [{ host: '192.168.1.2' }, undefined],
  [{ host: '169.254.169.254' }, 'host'],
  [{ password: null }, 'password'],
  [{ user: null }, 'user'],
  [{ user: null, password: null }, undefined],
] as const)('a mail server with %j has its fault at %s', (changes, field) => {
  const server: MailServer = {
    ...{ host: 'smtp.example.com', port: 465, security: 'tls' },
    ...{ user: 'me', password: 'secret', from: 'me@example.com', ca: null },
    ...changes,
  };
  expect(mailServerFault(server)?.field).toBe(field);
});
