// Reads the certificate authorities that a store trusts for its callback URL from a PEM file. Only
// the certificates are stored. A file that also contains a private key is refused.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PaygateError, reasonOf } from '../lib/errors.ts';

const maxFileBytes = 256 * 1024;
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * @param file `-` is standard input. False removes the store's authorities, undefined changes
 * nothing
 * @returns PEM, null to remove, undefined for no change
 * @throws PaygateError invalid
 */
export function readCallbackCa(file: string | false | undefined): string | null | undefined {
  if (file === undefined) return undefined;
  if (file === false) return null;
  const text = read(file);
  if (/PRIVATE KEY-----/.test(text)) {
    throw fault(file, 'contains a private key; give the certificates alone');
  }
  const found = text.match(certificate) ?? [];
  if (found.length === 0)
    throw fault(file, 'contains no PEM certificate; give the authorities as PEM');
  for (const each of found) check(file, each);
  return `${found.join('\n')}\n`;
}

function read(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    if (bytes.length <= maxFileBytes) return bytes.toString('latin1');
  } catch (error) {
    throw fault(file, `cannot be read (${reasonOf(error)})`);
  }
  throw fault(
    file,
    `is larger than ${maxFileBytes / 1024} KiB; give the authorities of this shop only`,
  );
}

function check(file: string, pem: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw fault(file, 'contains a damaged certificate; export it again');
  }
}

const fault = (file: string, what: string): PaygateError =>
  new PaygateError('invalid', `--callback-ca: ${file} ${what}`);
