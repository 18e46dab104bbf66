import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import {
  baseUrlOf,
  letsEncrypt,
  localAddressOf,
  parseDirectory,
  parseDomain,
  parseEmail,
  parseListen,
  publicEndpointOf,
} from '../../../src/domain/delivery/public-endpoint.ts';
import { PaygateError } from '../../../src/lib/errors.ts';

/** As on the command line. */
const read = (line: string) =>
  readConfig(
    Object.fromEntries(
      line
        .split(/ ?--/)
        .slice(1)
        .map((option) => option.split(' '))
        .map(([name = '', value = '']) => [
          name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
          [value],
        ]),
    ),
    {},
  );
const front = (line: string) => publicEndpointOf(read(line));

describe('S-116 plain HTTP', () => {
  test.each(['', '--listen 127.0.0.2:1', '--listen [::1]:8080', '--listen localhost:80'])(
    'stays on this machine: %s',
    (line) => expect(front(line)).toEqual({ kind: 'plain' }),
  );

  test.each([
    '0.0.0.0:8080',
    '*:8080',
    '[::]:80',
    '192.0.2.1:80',
    'pay.example.com:80',
    '[::ffff:127.0.0.1]:80',
  ])('is refused at %s without the explicit option', (address) => {
    const plain = () => front(`--listen ${address}`);
    expect(plain).toThrow(PaygateError);
    expect(plain).toThrow(/^--listen: .* is not a loopback address.*--plain-http allow/);
    // A trusted proxy does not limit who can connect.
    expect(() => front(`--listen ${address} --trusted-proxy 10.0.0.1`)).toThrow(/loopback/);
    expect(front(`--listen ${address} --plain-http allow`)).toEqual({ kind: 'plain' });
  });
});

describe('HTTPS', () => {
  test('with files may listen everywhere', () => {
    expect(front('--tls-cert a.pem --tls-key b.pem --listen *:443')).toEqual({
      kind: 'files',
      cert: 'a.pem',
      key: 'b.pem',
    });
  });

  test('has no public URL with http', () => {
    for (const served of ['--domain pay.example.com', '--tls-cert a.pem --tls-key b.pem']) {
      expect(() => front(`${served} --public-url http://pay.example.com`)).toThrow(
        '--public-url: must start with https://, because paygate serves HTTPS here',
      );
      expect(front(`${served} --public-url https://pay.example.com:8443`).kind).not.toBe('plain');
    }
    expect(front('--public-url http://192.168.1.7:8080')).toEqual({ kind: 'plain' });
  });

  test('by an authority listens on all addresses by default', () => {
    const config = read('--domain Pay.example.com --acme-email you@example.com');
    expect(config.listen).toEqual({ host: '*', port: 443 });
    expect(publicEndpointOf(config)).toEqual({
      kind: 'acme',
      domain: 'pay.example.com',
      email: 'you@example.com',
      directory: letsEncrypt,
      ca: undefined,
      listenHttp: { host: '*', port: 80 },
    });
    expect(read('--domain a.example --listen 127.0.0.1:8443').listen.port).toBe(8443);
    expect(
      readConfig({ domain: ['a.example'] }, { PAYGATE_LISTEN: '127.0.0.1:1' }).listen.port,
    ).toBe(1);
  });

  test.each([
    ['--tls-cert a.pem', '--tls-cert: needs --tls-key'],
    ['--tls-key a.pem', '--tls-key: needs --tls-cert'],
    ['--domain a.example --tls-cert a.pem --tls-key b.pem', '--domain and --tls-cert: one of them'],
    ['--acme-email you@example.com', '--acme-email: needs --domain'],
    ['--acme-directory https://ca.example/dir', '--acme-directory: needs --domain'],
    ['--acme-ca a.pem', '--acme-ca: needs --domain'],
    ['--listen-http *:80', '--listen-http: needs --domain'],
  ])('%s: %s', (line, reason) => expect(() => front(line)).toThrow(reason));
});

test.each([
  ['', 'http://127.0.0.1:7'],
  ['--listen [::1]:8080', 'http://[::1]:7'],
  ['--listen *:8080 --plain-http allow', 'http://localhost:7'],
  ['--tls-cert a --tls-key b', 'https://127.0.0.1:7'],
  ['--domain pay.example.com', 'https://pay.example.com'],
  ['--domain pay.example.com --public-url https://shop.example', 'https://shop.example'],
])('%s is called %s', (line, url) => expect(baseUrlOf(read(line), 7)).toBe(url));

test.each([
  ['127.0.0.1:80', '127.0.0.1:80'],
  ['*:80', '127.0.0.1:80'],
  ['0.0.0.0:80', '127.0.0.1:80'],
  ['[::]:80', '[::1]:80'],
  ['[2001:db8::1]:80', '[2001:db8::1]:80'],
  ['localhost:80', 'localhost:80'],
])('a listener at %s is reached at %s', (text, at) => {
  expect(localAddressOf(parseListen(text))).toBe(at);
});

test('a malformed address, name or URL is an error', () => {
  for (const text of [
    '',
    ':80',
    '127.0.0.1',
    '127.0.0.1:',
    '::1:80',
    'a b:80',
    '127.0.0.1:65536',
    '127.0.0.1:8080x',
    '127.0.0.1:80800000',
    '[x]:1',
    '**:1',
  ]) {
    expect(() => parseListen(text), text).toThrow(/host:port expected/);
  }
  const long = `${'a'.repeat(64)}.example`;
  for (const text of [
    '',
    'localhost',
    '192.0.2.1',
    '*.example.com',
    'a..b',
    '-a.example',
    'a.example.',
    'a.example:443',
    'a/b.example',
    long,
  ]) {
    expect(() => parseDomain(text), text).toThrow(/a name such as/);
  }
  for (const text of ['', 'you', '@a', 'a@', 'a@b@c', 'a b@c', 'a@b?bcc=c', 'a@b,c@d']) {
    expect(() => parseEmail(text), text).toThrow(/an address such as/);
  }
  for (const text of [
    '',
    'http://ca.example/dir',
    'ca.example',
    'https://user@ca.example/',
    'ftp://a',
  ]) {
    expect(() => parseDirectory(text), text).toThrow(/an https URL/);
  }
});
