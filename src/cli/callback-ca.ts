// The authorities that a store trusts for its callback URL, read from a PEM file. Only the certificates
// are kept; a file that also holds a private key is refused, for it was not meant to be given away.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PaygateError, reasonOf } from '../lib/errors.ts';

const longestFile = 256 * 1024;
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * @param file false takes the store's own away, undefined leaves things as they are
 * @returns PEM, null for none of its own, undefined for no change
 * @throws PaygateError invalid
 */
export function readAuthorities(file: string | false | undefined): string | null | undefined {
  if (file === undefined) return undefined;
  if (file === false) return null;
  const text = read(file);
  if (/PRIVATE KEY-----/.test(text)) {
    throw fault(file, 'holds a private key; give the certificate alone');
  }
  const found = text.match(certificate) ?? [];
  if (found.length === 0) throw fault(file, 'holds no PEM certificate');
  for (const each of found) check(file, each);
  return `${found.join('\n')}\n`;
}

function read(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    if (bytes.length <= longestFile) return bytes.toString('latin1');
  } catch (error) {
    throw fault(file, `cannot be read (${reasonOf(error)})`);
  }
  throw fault(file, 'is too long for a list of authorities');
}

function check(file: string, pem: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw fault(file, 'holds a certificate that cannot be read');
  }
}

const fault = (file: string, what: string): PaygateError =>
  new PaygateError('invalid', `--callback-ca: ${file} ${what}`);
