// The signature of a release, hostile until verified, and both ways against minisign itself.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { releaseKey, signedVersion } from '../../src/cli/install/release-signature.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { makeSigningKey, noMinisign } from '../support/minisign.ts';

afterEach(cleanUp);

const sums = Buffer.from(`${'a'.repeat(64)}  paygate-0.2.0-linux-x64.tar.gz\n`);
const id = Buffer.from('0102030405060708', 'hex');
const key = makeSigningKey(id);
const good = key.signature(sums, 'paygate 0.2.0');
const [untrusted = '', signature = '', comment = '', whole = ''] = good.split('\n');

it('returns the version that is signed', () => {
  expect(signedVersion(sums, good, key.publicKey)).toBe('0.2.0');
  const candidate = key.signature(sums, 'paygate 0.3.0-rc.1');
  expect(signedVersion(sums, candidate, key.publicKey)).toBe('0.3.0-rc.1');
});

it('knows a release key', () => {
  expect(() => signedVersion(sums, good, releaseKey)).toThrow(/^key 0807060504030201 made it/);
  expect(() => signedVersion(sums, good, releaseKey.slice(4))).toThrow(/not a public key/);
});

/** The signature with one byte changed, in base64 again. */
function withByte(base64: string, at: number): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes.toString('base64');
}

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`;

it.each([
  ['empty', '', /no prehashed signature/],
  ['longer', `${good}\n`, /no prehashed signature/],
  ['shorter', lines(untrusted, signature), /no prehashed signature/],
  ['of other line ends', good.replaceAll('\n', '\r\n'), /no prehashed signature/],
  ['with a control character', good.replace(' 0.2.0', ' 0.2.0\x1b[2J'), /no prehashed signature/],
  ['of the older form', lines(untrusted, withByte(signature, 1), comment, whole), /key|prehashed/],
  ['of another key id', lines(untrusted, withByte(signature, 2), comment, whole), /release key/],
  ['of another R', lines(untrusted, withByte(signature, 10), comment, whole), /does not match/],
  ['of another S', lines(untrusted, withByte(signature, 73), comment, whole), /does not match/],
  ['with another version', good.replace('0.2.0', '0.9.0'), /trusted comment was changed/],
  ['with another end', lines(untrusted, signature, comment, withByte(whole, 63)), /was changed/],
  ['without base64', lines(untrusted, signature.replace('E', '*'), comment, whole), /prehashed/],
  ['for another program', key.signature(sums, 'paygated 0.2.0'), /not for a version of paygate/],
  ['for no version', key.signature(sums, 'timestamp:1795252061'), /not for a version of paygate/],
])('refuses one that is %s', (_, text, message) => {
  expect(() => signedVersion(sums, text, key.publicKey)).toThrow(message);
});

it('S-130 refuses one over other checksums, and one by another key of the same id', () => {
  const other = Buffer.concat([sums, Buffer.from('\n')]);
  expect(() => signedVersion(other, good, key.publicKey)).toThrow(/does not match SHA256SUMS/);
  const stranger = makeSigningKey(id).signature(sums, 'paygate 0.2.0');
  expect(() => signedVersion(sums, stranger, key.publicKey)).toThrow(/does not match SHA256SUMS/);
});

it('refuses base64 that is not canonical', () => {
  // The last character before `==` has four bits that count for nothing.
  const last = whole.at(-3) ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const same = `${whole.slice(0, -3)}${alphabet[alphabet.indexOf(last) + 1]}==`;
  expect(Buffer.from(same, 'base64').equals(Buffer.from(whole, 'base64'))).toBe(true);
  const text = lines(untrusted, signature, comment, same);
  expect(() => signedVersion(sums, text, key.publicKey)).toThrow(/was changed/);
});

describe.skipIf(noMinisign(2))('minisign', () => {
  const minisign = (folder: string, ...args: readonly string[]) =>
    execFileSync('minisign', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });

  it('makes signatures that paygate accepts, and older ones that it refuses', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'SHA256SUMS'), sums);
    minisign(folder, '-G', '-W', '-p', 'release.pub', '-s', 'release.key');
    const [, publicKey = ''] = readFileSync(join(folder, 'release.pub'), 'utf8').split('\n');
    const signed = (...more: readonly string[]) => {
      const args = ['-s', 'release.key', '-m', 'SHA256SUMS', '-t', 'paygate 0.2.0', ...more];
      minisign(folder, '-S', ...args);
      return readFileSync(join(folder, 'SHA256SUMS.minisig'), 'utf8');
    };
    expect(signedVersion(sums, signed(), publicKey)).toBe('0.2.0');
    expect(() => signedVersion(sums, signed('-l'), publicKey)).toThrow(/no prehashed signature/);
  });

  it('accepts the signatures of these tests', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'SHA256SUMS'), sums);
    writeFileSync(join(folder, 'SHA256SUMS.minisig'), good);
    const printed = minisign(folder, '-V', '-P', key.publicKey, '-m', 'SHA256SUMS', '-Q');
    expect(printed.toString()).toBe('paygate 0.2.0\n');
  });
});
