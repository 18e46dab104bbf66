// Reads certificate authorities from a PEM file: those that a store trusts for its callback URL, or
// those of the mail server. Only the certificates are stored. A private key in the file is refused.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PaygateError, reasonOf } from '../../lib/errors.ts';

const maxFileBytes = 256 * 1024;
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * @param file `-` is standard input. False removes the store's authorities, undefined changes
 * nothing
 * @returns PEM, null to remove, undefined for no change
 * @throws PaygateError invalid
 */
export const readCallbackCa = (file: string | false | undefined): string | null | undefined =>
  readAuthorities('--callback-ca', file);

/** Reads the file of an option as `readCallbackCa` does. @throws PaygateError invalid */
export function readAuthorities(
  option: string,
  file: string | false | undefined,
): string | null | undefined {
  if (file === undefined) return undefined;
  if (file === false) return null;
  const fault = (what: string): PaygateError =>
    new PaygateError('invalid', `${option}: ${file} ${what}`);
  const text = read(file, fault);
  if (/PRIVATE KEY-----/.test(text)) {
    throw fault('contains a private key; give the certificates alone');
  }
  const found = text.match(certificate) ?? [];
  if (found.length === 0) throw fault('contains no PEM certificate; give the authorities as PEM');
  for (const each of found) check(each, fault);
  return `${found.join('\n')}\n`;
}

type Fault = (what: string) => PaygateError;

function read(file: string, fault: Fault): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    if (bytes.length <= maxFileBytes) return bytes.toString('latin1');
  } catch (error) {
    throw fault(`cannot be read (${reasonOf(error)})`);
  }
  throw fault(`is larger than ${maxFileBytes / 1024} KiB; give the authorities of this host only`);
}

function check(pem: string, fault: Fault): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw fault('contains a damaged certificate; export it again');
  }
}
