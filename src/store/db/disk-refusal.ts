// Whether the disk refuses writes to the database, or to the mark file, without which no address is
// issued. A write that succeeds ends the refusal. Refused writes are not stored, so that the caller
// tries again.

import { accessSync, constants } from 'node:fs';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { systemCode } from '../../world/disk.ts';
import { sqliteCode } from './driver.ts';

/** Messages without the path, because /healthz is public. */
const reasons: Readonly<Record<string, string>> = {
  EROFS: 'its disk is mounted read-only',
  ENOSPC: 'its disk is full',
  SQLITE_FULL: 'its disk is full',
  SQLITE_IOERR_SHMSIZE: 'its disk is full',
  EDQUOT: 'the disk quota of its user is used up',
  EACCES: 'its user may not write to it any more',
  EPERM: 'its user may not write to it any more',
};

const isUnwritable = (code: string): boolean =>
  /^SQLITE_(FULL|READONLY|CANTOPEN|PERM|IOERR)/.test(code);

export class DiskRefusal {
  readonly #path: string;
  /** The codes of what went wrong. */
  #database: string | undefined;
  #mark: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  text(): string | undefined {
    if (this.#database !== undefined) {
      // SQLite hides the error of the system. A write to the mark file shows it.
      const code = this.#accessFault() ?? this.#mark ?? this.#database;
      return `the database cannot be written: ${reasonFor(code)}`;
    }
    if (this.#mark === undefined) return undefined;
    return `the high-water mark of the database cannot be written: ${reasonFor(this.#mark)}`;
  }

  /** Anything else than a refusal is no matter of the disk. */
  databaseRefused(error: unknown): void {
    const code = sqliteCode(error);
    if (isUnwritable(code)) this.#database = code;
  }

  markRefused(error: unknown): void {
    const cause = (error as Error).cause ?? error;
    this.#mark = systemCode(cause as NodeJS.ErrnoException);
  }

  databaseWritten(): void {
    this.#database = undefined;
  }

  markWritten(): void {
    this.#mark = undefined;
  }

  #accessFault(): string | undefined {
    try {
      accessSync(this.#path, constants.W_OK);
      return undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  }
}

export const reasonFor = (code: string): string =>
  code in reasons ? `${reasons[code]} (${code})` : `its disk refuses writes (${code})`;

/** A commit that may not be on the disk, and cannot be taken back. */
export class LostSync extends PaygateError {
  constructor(cause: unknown) {
    const reason = `the disk lost what was written (${reasonOf(cause)})`;
    super('unavailable', `${reason}; it may still be in the database: check before you repeat it`, {
      cause,
    });
    this.name = 'LostSync';
  }
}

/**
 * An fsync failed: the kernel may have dropped what it should have written, and nothing can be
 * taken back.
 */
export function isLostSync(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return (
    /^SQLITE_IOERR.*FSYNC/.test(sqliteCode(error)) || code === 'EIO' || syscall === 'fdatasync'
  );
}

/** SQLite did not write. The message has no path, because shops read it too. */
export class Unwritten extends PaygateError {}

export function writeFailure(error: unknown): unknown {
  const code = sqliteCode(error);
  // SQLite reports SHMSIZE if there is no space for the index of the WAL.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return new Unwritten('unavailable', `the disk is full (${code}): free some room`, {
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  if (isUnwritable(code)) {
    return new Unwritten('unavailable', `the database cannot be written (${code})`, {
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  if (code === 'SQLITE_BUSY') {
    return new Unwritten('unavailable', 'another process keeps the database locked', {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  return error;
}
