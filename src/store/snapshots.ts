// Snapshots that a running server takes by itself: `latest.db`, replaced whole, and the first of each UTC
// day, of which the newest seven are kept. It never fills the disk: addresses need that room.

import { copyFileSync, existsSync, linkSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PaygateError, reasonOf } from '../errors.ts';
import { allPages, latestName, makeBackupFolder, type Pace } from './backup.ts';
import type { Database } from './database.ts';
import { freeBytesAt, syncPath } from './disk.ts';

export interface Snapshots {
  /** Takes one when anything changed since the last. @param now epoch ms, names the day */
  take(now: number): Promise<void>;
  /** That the last one failed, and why. */
  warnings(): readonly string[];
  /** Gives up the one that is under way. */
  stop(): Promise<void>;
  /** After the stop, in one go: for a file that would be lost. @throws PaygateError */
  last(now: number): Promise<void>;
}

/** One of a gigabyte takes a minute or so. */
const endlessMs = 3_600_000;
const daysKept = 7;
const dayFile = /^\d{4}-\d\d-\d\d\.db$/;
const unfinished = /^\.latest\.db-/;
/** A millisecond's work or two: then others get their turn. What is written meanwhile is in it. */
const pagesAtOnce = 250;

/** @param floorBytes what must stay free on the disk of the snapshots, mostly that of the database */
export function createSnapshots(database: Database, floorBytes: number): Snapshots {
  // While the working folder is there, of which it may be a part.
  const path = resolve(database.path);
  let seen: string | undefined;
  let fault: string | undefined;
  let stopped = false;
  let underWay: Promise<void> | undefined;
  let begunAt = 0;

  function pace(): number {
    if (stopped) throw new PaygateError('unavailable', 'paygate is stopping');
    return pagesAtOnce;
  }

  async function takeNow(now: number, pace: Pace): Promise<void> {
    const changes = database.changes();
    // First, for with the file the folder around it may be gone, and it is asked how much room there is.
    const folder = makeBackupFolder(path);
    const latest = join(folder, latestName);
    if (changes === seen && existsSync(latest)) return;
    // A file that is not in its place issues no addresses, and this may be all that stays of it.
    const floor = database.place() === 'ours' ? floorBytes : 0;
    if (freeBytesAt(folder) < database.bytes() + database.walBytes() + floor) {
      throw new PaygateError('unavailable', 'there is no room for one on the disk');
    }
    // Of a process that was killed.
    for (const name of readdirSync(folder)) {
      if (unfinished.test(name)) rmSync(join(folder, name));
    }
    await database.backup(latest, pace);
    keepDay(folder, latest, now);
    seen = changes;
  }

  return {
    async take(now) {
      if (stopped) return;
      if (underWay !== undefined) {
        if (now - begunAt >= endlessMs) fault = endless(now - begunAt);
        return;
      }
      try {
        begunAt = now;
        underWay = takeNow(now, pace);
        await underWay;
        fault = undefined;
      } catch (error) {
        if (stopped) return;
        fault = `the last snapshot failed: ${reasonOf(error)}`;
        throw error;
      } finally {
        underWay = undefined;
      }
    },
    warnings: () => (fault === undefined ? [] : [fault]),
    async stop() {
      stopped = true;
      await underWay?.catch(() => {});
    },
    last: (now) => takeNow(now, allPages),
  };
}

/** It begins anew whenever another process writes. */
const endless = (forMs: number): string =>
  `the last snapshot has not ended for ${Math.floor(forMs / 60_000)} minutes: another program may be writing to the ` +
  'database all the time';

function keepDay(folder: string, latest: string, now: number): void {
  const today = `${new Date(now).toISOString().slice(0, 10)}.db`;
  if (existsSync(join(folder, today))) return;
  linkOrCopy(latest, join(folder, today));
  const days = readdirSync(folder).filter((name) => dayFile.test(name));
  for (const old of superseded(days, today)) rmSync(join(folder, old));
  syncPath(folder);
}

/**
 * All but the newest. Days after today are of a clock that was ahead, or today is of one that is behind: they go when there is
 * a week of others, for then those were taken last, whichever clock was wrong.
 */
function superseded(days: readonly string[], today: string): string[] {
  const past = days.filter((name) => name <= today).sort();
  const ahead = past.length < daysKept ? [] : days.filter((name) => name > today);
  return [...past.slice(0, -daysKept), ...ahead];
}

/** `latest.db` is never written to again, only replaced: a second name costs nothing. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // A file system without links (FAT).
    copyFileSync(from, to);
    syncPath(to);
  }
}
