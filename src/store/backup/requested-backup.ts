// A backup that a person asks for while the server runs. It stays until somebody deletes it, and
// never fills the disk, because issuing addresses needs that space.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { timeName } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { freeBytesAt, systemCode } from '../../world/disk.ts';
import { reasonFor } from '../db/disk-refusal.ts';
import { sqliteCode } from '../db/driver.ts';
import { makeBackupFolder, pagesAtOnce } from '../file/backup.ts';
import type { Database } from '../file/database.ts';

export type RequestedBackups = ReturnType<typeof createRequestedBackups>;

/** @param floorBytes what must stay free on the disk of the backups */
export function createRequestedBackups(database: Database, floorBytes: number) {
  // While the working folder is there, of which it may be a part.
  const path = resolve(database.path);
  let stopped = false;
  let underWay: Promise<string> | undefined;

  function pace(): number {
    if (stopped) throw new PaygateError('unavailable', 'paygate is stopping');
    return pagesAtOnce;
  }

  async function makeNow(now: number): Promise<string> {
    const name = `${timeName(now)}.db`;
    try {
      const folder = makeBackupFolder(path);
      // The form was sent twice.
      if (existsSync(join(folder, name))) return name;
      requireRoom(database, folder, floorBytes);
      await database.backup(join(folder, name), pace);
      return name;
    } catch (error) {
      throw notMade(error);
    }
  }

  return {
    /**
     * Makes one, or waits for the one that is under way.
     * @param now epoch ms, names the file
     * @returns the name of the file
     * @throws PaygateError unavailable, without a path because a page shows it
     */
    async make(now: number): Promise<string> {
      underWay ??= makeNow(now);
      try {
        return await underWay;
      } finally {
        underWay = undefined;
      }
    },
    async stop(): Promise<void> {
      stopped = true;
      await underWay?.catch(() => {});
    },
  };
}

/** @throws PaygateError unavailable if a copy would leave less than the floor */
export function requireRoom(database: Database, folder: string, floorBytes: number): void {
  if (freeBytesAt(folder) < database.bytes() + database.walBytes() + floorBytes) {
    throw new PaygateError('unavailable', 'there is no room for one on the disk');
  }
}

function notMade(error: unknown): unknown {
  const cause = (error as Error).cause ?? error;
  if (cause instanceof PaygateError) {
    return new PaygateError('unavailable', `no backup was made: ${cause.message}`, { cause });
  }
  const code = sqliteCode(cause) || systemCode(cause as NodeJS.ErrnoException);
  if (code === '') return error;
  return new PaygateError('unavailable', `no backup was made: ${reasonFor(code)}`, { cause });
}
