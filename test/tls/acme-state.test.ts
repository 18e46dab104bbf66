// The stored state of an authority: a write is complete, or the file is as before.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openAcmeState } from '../../src/tls/acme-state.ts';
import { cleanUp, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

const keepIn = (folder: string) =>
  openAcmeState(join(folder, 'acme'), {
    domain: 'pay.example.com',
    directory: 'https://ca.example/',
  });

/** The largest file of the process. A longer write is cut, as on a disk that is almost full. */
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

it('a certificate that does not fit on the disk leaves the previous one', () => {
  const folder = tempFolder();
  const keep = keepIn(folder);
  const certificate = (text: string) => ({ cert: text.repeat(1_700), key: 'KEY'.repeat(80) });
  keep.saveCertificate(certificate('OLD'));
  const file = join(folder, 'acme', 'certificate.json');
  const before = readFileSync(file, 'utf8');
  withFilesOfAtMost(4096, () =>
    expect(() => keep.saveCertificate(certificate('NEW'))).toThrow(/EFBIG/),
  );
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(join(folder, 'acme'))).toEqual(['certificate.json']);
  keep.saveCertificate(certificate('NEW'));
  expect(JSON.parse(readFileSync(file, 'utf8')).cert).toBe(certificate('NEW').cert);
});
