// The state of an ACME authority between two starts, in a folder beside the database. It is the
// account key, the certificate with its key, and the time of the last attempt. Certificate and key
// are one file, so that they never contradict each other. Only paygate's own user may read it.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AcmeOptions } from '../domain/delivery/public-endpoint.ts';
import { makePrivateFolder, replaceFile } from '../world/disk.ts';
import { type Certificate, readCertificate } from './certificate.ts';

export type AcmeState = ReturnType<typeof openAcmeState>;

interface StoredCertificate {
  readonly domain: string;
  readonly directory: string;
  readonly cert: string;
  readonly key: string;
}

export function openAcmeState(
  folder: string,
  { domain, directory }: Pick<AcmeOptions, 'domain' | 'directory'>,
) {
  const at = (name: string): string => join(folder, name);
  const read = (name: string): string | undefined =>
    existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined;
  const write = (name: string, text: string): void => {
    makePrivateFolder(folder);
    writePrivateFile(at(name), text);
  };
  return {
    /** PEM. The first call makes it. */
    accountKey(make: () => string): string {
      const known = read('account.pem');
      if (known !== undefined) return known;
      const key = make();
      write('account.pem', key);
      return key;
    },
    /** Undefined without a valid certificate of this name and authority. */
    certificate(now: number): Certificate | undefined {
      const stored = parse(read('certificate.json'));
      if (stored?.domain !== domain || stored.directory !== directory) return undefined;
      try {
        return readCertificate(stored.cert, stored.key, now);
      } catch {
        // Expired or damaged: a new certificate is ordered.
        return undefined;
      }
    },
    saveCertificate({ cert, key }: Pick<Certificate, 'cert' | 'key'>): void {
      write(
        'certificate.json',
        JSON.stringify({ domain, directory, cert, key } satisfies StoredCertificate),
      );
    },
    /** Epoch milliseconds; 0 before the first attempt. */
    lastAttemptAt: (): number => Number(read('last-try') ?? 0) || 0,
    recordAttempt: (now: number): void => write('last-try', String(now)),
  };
}

function parse(
  text: string | undefined,
): (Partial<StoredCertificate> & { cert: string; key: string }) | undefined {
  try {
    const { domain, directory, cert, key } = JSON.parse(text ?? '');
    return { domain, directory, cert: String(cert), key: String(key) };
  } catch {
    return undefined;
  }
}

/** Replaces a file. After a power failure or on a full disk, it is the old or the new one. */
function writePrivateFile(path: string, text: string): void {
  const fresh = `${path}.new`;
  // A process that was killed may have left it.
  rmSync(fresh, { force: true });
  try {
    writeFileSync(fresh, text, { flag: 'wx', mode: 0o600 });
    replaceFile(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
