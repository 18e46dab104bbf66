import { describe, expect, it } from 'vitest';
import type { TlsIdentity } from '../../src/domain/payment/server-record.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { judge } from '../../src/electrum/trust.ts';

const sha256 = 'ab'.repeat(32);
const other = 'cd'.repeat(32);

describe('a server address', () => {
  it.each([
    ['tcp://127.0.0.1:50001', { host: '127.0.0.1', port: 50001, tls: false }],
    ['ssl://Electrum.Example.org:50002', { host: 'electrum.example.org', port: 50002, tls: true }],
    ['SSL://[2001:DB8::1]:443', { host: '2001:db8::1', port: 443, tls: true }],
    ['tcp://umbrel:1', { host: 'umbrel', port: 1, tls: false }],
    [`ssl://h:2?pin=${sha256}`, { host: 'h', port: 2, tls: true, pin: sha256 }],
    [`ssl://h:2?pin=${sha256.toUpperCase()}`, { host: 'h', port: 2, tls: true, pin: sha256 }],
    ['ssl://h:2?insecure', { host: 'h', port: 2, tls: true, insecure: true }],
  ])('%s', (text, address) => {
    expect(parseServerAddress(text)).toMatchObject(address);
  });

  it.each([
    [`ssl://h.org:2?own&pin=${sha256}`, { own: true, pin: sha256 }],
    [`ssl://h.org:2?pin=${sha256}&own`, { own: true, pin: sha256 }],
    ['ssl://h.org:2?insecure&own', { own: true, insecure: true }],
    ['tcp://h.org:2?own', { own: true }],
  ])('%s combines choices', (text, address) => {
    expect(parseServerAddress(text)).toMatchObject(address);
  });

  it.each([
    ['tcp://127.0.0.1:1', true],
    ['tcp://127.9.9.9:1', true],
    ['tcp://10.1.2.3:1', true],
    ['tcp://172.16.0.1:1', true],
    ['tcp://192.168.1.1:1', true],
    ['tcp://169.254.1.1:1', true],
    ['tcp://[::1]:1', true],
    ['tcp://[fd00::1]:1', true],
    ['tcp://[fe80::1]:1', true],
    ['tcp://[::ffff:10.0.0.1]:1', true],
    ['tcp://localhost:1', true],
    ['tcp://electrs:1', true],
    ['tcp://umbrel.local:1', true],
    ['tcp://node.home.arpa:1', true],
    ['tcp://8.8.8.8:1', false],
    ['tcp://172.32.0.1:1', false],
    ['tcp://100.64.0.1:1', false],
    ['tcp://[2001:db8::1]:1', false],
    ['tcp://[::ffff:8.8.8.8]:1', false],
    ['ssl://electrum.blockstream.info:50002', false],
    ['ssl://local.example.org:50002', false],
    ['ssl://notlocalhost.org:1', false],
    [`tcp://${'a'.repeat(56)}.onion:1`, false],
  ])('%s is the operator’s own: %s', (text, own) => {
    expect(parseServerAddress(text).own).toBe(own);
  });

  it('accepts a pin in the pairs of digits that openssl prints', () => {
    const pairs = Array.from({ length: 32 }, () => 'AB').join(':');
    expect(parseServerAddress(`ssl://h:2?pin=${pairs}`).pin).toBe(sha256);
  });

  it('has a label of scheme, host and port', () => {
    expect(parseServerAddress(`SSL://Host:02?pin=${sha256}`).label).toBe('ssl://host:2');
    expect(parseServerAddress('tcp://[::1]:50001').label).toBe('tcp://[::1]:50001');
  });

  it.each([
    ['', /write tcp:\/\/host:port/],
    ['electrum.example.org:50002:s', /write tcp:\/\/host:port/],
    ['http://h:1', /write tcp:\/\/host:port/],
    ['ssl://user@h:1', /has no user/],
    ['ssl://h:1/', /write tcp:\/\/host:port/],
    ['ssl://h', /port is missing/],
    ['ssl://h:', /port is missing/],
    ['ssl://h:0', /between 1 and 65535/],
    ['ssl://h:65536', /between 1 and 65535/],
    ['ssl://:50002', /host is not/],
    ['ssl://bücher.example:1', /host is not/],
    ['ssl://h h:1', /host is not/],
    ['ssl://::1:50002', /write tcp:\/\/host:port/],
    ['ssl://[::1', /write tcp:\/\/host:port/],
    ['ssl://[:::1]:1', /host is not/],
    ['ssl://[127.0.0.1]:1', /host is not/],
    ['ssl://h:1?pin=abc', /64 hex digits/],
    ['ssl://h:1?', /64 hex digits/],
    ['ssl://h:1?Insecure', /64 hex digits/],
    [`tcp://h:1?pin=${sha256}`, /ssl:\/\/ only/],
    ['tcp://h:1?insecure', /ssl:\/\/ only/],
    ['tcp://h:1?own&insecure', /ssl:\/\/ only/],
    [`ssl://h:1?insecure&pin=${sha256}`, /one choice too many/],
    [`ssl://h:1?pin=${sha256}&pin=${sha256}`, /one choice too many/],
    ['ssl://h:1?own&', /64 hex digits/],
    ['ssl://h:1?Own', /64 hex digits/],
  ])('%s is refused', (text, why) => {
    expect(() => parseServerAddress(text)).toThrow(why);
  });
});

describe('S-115 a certificate', () => {
  const address = parseServerAddress('ssl://h:1');
  const valid = { isValid: true, sha256 };
  const selfSigned = { isValid: false, error: 'is self-signed', sha256 };
  const learntValid: TlsIdentity = { kind: 'valid' };
  const pinned: TlsIdentity = { kind: 'pinned', sha256 };

  it('is not required on a plain connection', () => {
    expect(judge(undefined, parseServerAddress('tcp://h:1'), undefined)).toEqual({ accept: true });
  });

  it('is required on TLS', () => {
    expect(judge(undefined, address, undefined)).toMatchObject({ accept: false });
  });

  it('that validates makes validation required', () => {
    expect(judge(valid, address, undefined)).toEqual({ accept: true, learn: learntValid });
    expect(judge(valid, address, learntValid)).toEqual({ accept: true });
    expect(judge(selfSigned, address, learntValid)).toMatchObject({
      accept: false,
      shown: sha256,
      reason: expect.stringContaining('is self-signed'),
    });
  });

  it('that is self-signed is pinned at first use', () => {
    expect(judge(selfSigned, address, undefined)).toEqual({ accept: true, learn: pinned });
    expect(judge(selfSigned, address, pinned)).toEqual({ accept: true });
  });

  it('that replaces a pinned one is refused, naming both', () => {
    const verdict = judge({ ...selfSigned, sha256: other }, address, pinned);
    expect(verdict).toMatchObject({ accept: false, shown: other });
    expect(JSON.stringify(verdict)).toContain(sha256);
    expect(JSON.stringify(verdict)).toContain(other);
  });

  it('that validates may replace a pinned one, and is required then', () => {
    const verdict = judge({ isValid: true, sha256: other }, address, pinned);
    expect(verdict).toEqual({ accept: true, learn: learntValid });
  });

  it('must match an explicit pin, whatever was pinned before', () => {
    const withPin = parseServerAddress(`ssl://h:1?pin=${sha256}`);
    expect(judge(selfSigned, withPin, learntValid)).toEqual({ accept: true });
    expect(judge(selfSigned, withPin, { kind: 'pinned', sha256: other })).toEqual({ accept: true });
    const verdict = judge({ isValid: true, sha256: other }, withPin, learntValid);
    expect(verdict).toMatchObject({ accept: false });
    // It is accepted where the pin is named.
    expect(verdict).not.toHaveProperty('shown');
  });

  it('is not checked with ?insecure', () => {
    const insecure = parseServerAddress('ssl://h:1?insecure');
    expect(judge(selfSigned, insecure, learntValid)).toEqual({ accept: true });
  });
});
