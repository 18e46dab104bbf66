// The operator's own certificate files (`--tls-cert`, `--tls-key`), reloaded when they change. A
// valid new pair replaces the old one. An invalid pair is refused, and the old one stays in use.
// Tools such as certbot replace the two files one after the other.

import { readFileSync, statSync } from 'node:fs';
import type { CertificateFiles } from '../domain/delivery/public-endpoint.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Cancel, World } from '../world/world.ts';
import {
  type Certificate,
  type CertificateSource,
  expiryWarnings,
  readCertificate,
} from './certificate.ts';

const everyTenSeconds = '*/10 * * * * *';
const maxFileBytes = 256 * 1024;

/** @throws PaygateError invalid or unavailable if the files are invalid at the start */
export function certificateFiles(
  files: CertificateFiles,
  { now, schedule, log }: Pick<World, 'now' | 'schedule' | 'log'>,
): CertificateSource {
  // Taken before the files are read, so that a change in between is noticed.
  let seen = stampOf(files);
  let current = readPair(files, now());
  let refused: string | undefined;
  let cancel: Cancel = () => {};

  function reloadIfChanged(onChange: (certificate: Certificate) => void): void {
    const stamp = stampOf(files);
    const isNew = stamp !== seen;
    // A refused pair is read again each time: a chmod may repair it without a new stamp.
    if (!isNew && refused === undefined) return;
    seen = stamp;
    try {
      current = readPair(files, now());
      refused = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (isNew || reason !== refused) {
        log.error('new certificate files are refused, the old ones stay in use', { reason });
      }
      refused = reason;
      return;
    }
    log.info('new certificate files are in use', { names: current.names });
    onChange(current);
  }

  return {
    current: () => current,
    warnings: () => [
      ...expiryWarnings(current, now()),
      ...(refused === undefined
        ? []
        : [`the new HTTPS certificate is refused and the old one in use: ${refused}`]),
    ],
    start(onChange) {
      cancel = schedule(everyTenSeconds, () => reloadIfChanged(onChange));
    },
    stop: () => cancel(),
  };
}

/** Changes whenever a file changes. A file that cannot be read has its error code as the stamp. */
function stampOf({ cert, key }: CertificateFiles): string {
  return [cert, key]
    .map((path) => {
      try {
        const { ino, size, mtimeNs } = statSync(path, { bigint: true });
        return `${ino}:${size}:${mtimeNs}`;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      }
    })
    .join(' ');
}

/** @throws PaygateError invalid for an unreadable file, unavailable for an invalid pair */
function readPair({ cert, key }: CertificateFiles, now: number): Certificate {
  const [certText, keyText] = [readText('--tls-cert', cert), readText('--tls-key', key)];
  try {
    return readCertificate(certText, keyText, now);
  } catch (error) {
    // Not `invalid`: a service would not restart after that, and the next renewal repairs the pair.
    throw new PaygateError('unavailable', `${cert}, ${key}: ${reasonOf(error)}`);
  }
}

function readText(option: string, path: string): string {
  try {
    if (statSync(path).size <= maxFileBytes) return readFileSync(path, 'utf8');
  } catch (error) {
    throw new PaygateError(
      'invalid',
      `${option}: ${path}: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
  throw new PaygateError('invalid', `${option}: ${path}: too large for a certificate`);
}
