// Settings of notifications as a person types them: what is refused, and what is understood.

import { expect, test } from 'vitest';
import { noticeKinds } from '../../src/domain/notice.ts';
import {
  type MailServer,
  mailServerFault,
  parseKinds,
  parseMailAddress,
  parseMailHost,
  parseMailText,
  parseRecipients,
} from '../../src/domain/notification-settings.ts';

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

test('recipients are distinct, and at most ten', () => {
  expect(parseRecipients('a@b.example, c@d.example;a@b.example\n')).toEqual([
    'a@b.example',
    'c@d.example',
  ]);
  expect(parseRecipients('')).toEqual([]);
  const many = Array.from({ length: 11 }, (_, number) => `a${number}@b.example`).join(',');
  expect(() => parseRecipients(many)).toThrow('at most 10');
});

test('a host is a name or an address, without scheme and port', () => {
  expect(parseMailHost('SMTP.Example.com')).toBe('smtp.example.com');
  expect(parseMailHost('::1')).toBe('::1');
  for (const text of ['', 'smtp://example.com', 'example.com:25', 'a b', 'x.onion']) {
    expect(() => parseMailHost(text)).toThrow();
  }
});

test('a password has one row, and keeps its white space', () => {
  expect(parseMailText(' a b ')).toBe(' a b ');
  expect(parseMailText('')).toBeNull();
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
