// What is kept of an authority: whole or as it was, of the user whose folder it is, and never written through a link.

import { execFileSync } from 'node:child_process';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { acmeKeep } from '../../src/tls/acme-keep.ts';
import { cleanUp, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

const isRoot = process.geteuid?.() === 0;
/** Of nobody in particular. */
const user = 54_321;

const keepIn = (folder: string) =>
  acmeKeep(join(folder, 'acme'), { domain: 'pay.example.com', directory: 'https://ca.example/' });

/** No file of this process grows beyond it: as on a disk that is almost full, a part is written without an error. */
function withFilesOfAtMost(bytes: number, work: () => void): void {
  const limit = (soft: string) =>
    execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${soft}:`]);
  limit(String(bytes));
  try {
    work();
  } finally {
    limit('unlimited');
  }
}

it('a certificate that does not fit on the disk leaves the one that was there', () => {
  const folder = tempFolder();
  const keep = keepIn(folder);
  const certificate = (text: string) => ({ cert: text.repeat(1_700), key: 'KEY'.repeat(80) });
  keep.keepCertificate(certificate('OLD'));
  const file = join(folder, 'acme', 'certificate.json');
  const before = readFileSync(file, 'utf8');
  withFilesOfAtMost(4096, () =>
    expect(() => keep.keepCertificate(certificate('NEW'))).toThrow(/EFBIG/),
  );
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(join(folder, 'acme'))).toEqual(['certificate.json']);
  keep.keepCertificate(certificate('NEW'));
  expect(JSON.parse(readFileSync(file, 'utf8')).cert).toBe(certificate('NEW').cert);
});

it('writes through no link that stands in its way', () => {
  const folder = tempFolder();
  const other = join(folder, 'important');
  writeFileSync(other, 'of root');
  mkdirSync(join(folder, 'acme'));
  symlinkSync(other, join(folder, 'acme', 'last-try.new'));
  keepIn(folder).noteTry(7);
  expect(readFileSync(other, 'utf8')).toBe('of root');
  expect(lstatSync(join(folder, 'acme', 'last-try')).isFile()).toBe(true);
  expect(keepIn(folder).lastTryAt()).toBe(7);
});

it.skipIf(!isRoot)('is of the user whose folder it is, also where root made it', () => {
  const folder = tempFolder();
  chownSync(folder, user, user);
  keepIn(folder).noteTry(1);
  const paths = ['acme', 'acme/last-try'].map((name) => join(folder, name));
  expect(paths.map((path) => statSync(path).uid)).toEqual([user, user]);
});

if (!isRoot) process.stderr.write('test/tls/acme-keep: a test skipped, for it needs root\n');
