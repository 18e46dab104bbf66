// What is kept of an authority between two starts, in a folder beside the database: the account's key, the
// certificate with its key (in one file, so that they never contradict each other), when it was asked
// last. All of it for paygate's own user alone.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AcmeOptions } from '../domain/public-endpoint.ts';
import { makePrivateFolder, replaceFile } from '../world/disk.ts';
import { type Certificate, readCertificate } from './certificate.ts';

export interface AcmeState {
  /** PEM; made with the first call. */
  accountKey(make: () => string): string;
  /** Undefined for one of another name or authority, an ended one, and where there is none. */
  certificate(now: number): Certificate | undefined;
  saveCertificate(certificate: Pick<Certificate, 'cert' | 'key'>): void;
  /** Epoch milliseconds; 0 for never. */
  lastAttemptAt(): number;
  recordAttempt(now: number): void;
}

interface StoredCertificate {
  readonly domain: string;
  readonly directory: string;
  readonly cert: string;
  readonly key: string;
}

export function openAcmeState(
  folder: string,
  { domain, directory }: Pick<AcmeOptions, 'domain' | 'directory'>,
): AcmeState {
  const at = (name: string): string => join(folder, name);
  const read = (name: string): string | undefined =>
    existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined;
  const write = (name: string, text: string): void => {
    makePrivateFolder(folder);
    writePrivateFile(at(name), text);
  };
  return {
    accountKey(make) {
      const known = read('account.pem');
      if (known !== undefined) return known;
      const key = make();
      write('account.pem', key);
      return key;
    },
    certificate(now) {
      const kept = parse(read('certificate.json'));
      if (kept?.domain !== domain || kept.directory !== directory) return undefined;
      try {
        return readCertificate(kept.cert, kept.key, now);
      } catch {
        // Ended or damaged: another one is fetched.
        return undefined;
      }
    },
    saveCertificate({ cert, key }) {
      write(
        'certificate.json',
        JSON.stringify({ domain, directory, cert, key } satisfies StoredCertificate),
      );
    },
    lastAttemptAt: () => Number(read('last-try') ?? 0) || 0,
    recordAttempt: (now) => write('last-try', String(now)),
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

/** The file is the old one or the new one, whenever the power fails or the disk is full. */
function writePrivateFile(path: string, text: string): void {
  const fresh = `${path}.new`;
  // What a start left that was killed.
  rmSync(fresh, { force: true });
  try {
    writeFileSync(fresh, text, { flag: 'wx', mode: 0o600 });
    replaceFile(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
