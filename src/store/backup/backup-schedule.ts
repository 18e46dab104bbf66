// Snapshots of a running server: `latest.db`, which is replaced, and the first of each UTC day, of
// which the newest seven stay. A daily one is checked first, so that a damaged one never replaces a
// good one. Snapshots never fill the disk, because issuing addresses needs that space.

import { copyFileSync, existsSync, linkSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { type AgeJudge, trustedClock } from '../../world/clock-watch.ts';
import { syncPath } from '../../world/disk.ts';
import { allPages, latestName, makeBackupFolder, type Pace, pagesAtOnce } from '../file/backup.ts';
import type { Database } from '../file/database.ts';
import { DailyCheck, type DailyCheckOptions, Unchecked, uncheckedName } from './daily-check.ts';
import { requireRoom } from './requested-backup.ts';

export type Snapshots = ReturnType<typeof createSnapshots>;

export interface SnapshotOptions extends DailyCheckOptions {
  /** What must stay free on the disk of the snapshots, mostly that of the database. */
  readonly floorBytes: number;
  /** While the clock may be wrong, no day is removed. */
  readonly clock?: AgeJudge;
}

/** One of a gigabyte takes a minute or so. */
const endlessMs = 3_600_000;
const dailyCopies = 7;
const dayFile = /^\d{4}-\d\d-\d\d\.db$/;
const unfinished = /^\.+latest(-damaged)?\.db-/;

export function createSnapshots(database: Database, options: SnapshotOptions) {
  // While the working folder is there, of which it may be a part.
  const path = resolve(database.path);
  const { clock = trustedClock } = options;
  const daily = new DailyCheck(path, options);
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
    // First, because the folder can be gone together with the file, and the free space is asked of
    // it.
    const folder = makeBackupFolder(path);
    if (changes === seen && existsSync(join(folder, latestName))) return;
    // A file that is not in its place issues no addresses, and this may be all that stays of it.
    const isOurs = database.place() === 'ours';
    requireRoom(database, folder, isOurs ? options.floorBytes : 0);
    // A killed process leaves such files.
    for (const name of readdirSync(folder)) {
      if (unfinished.test(name)) rmSync(join(folder, name));
    }
    if (isOurs && daily.isDue(dayOf(now))) await takeChecked(folder, now, pace);
    else {
      await database.backup(daily.target, pace);
      if (options.check === undefined) keepDay(folder, now, clock);
    }
    seen = changes;
  }

  async function takeChecked(folder: string, now: number, pace: Pace): Promise<void> {
    const fresh = join(folder, uncheckedName);
    try {
      await database.backup(fresh, pace);
      if (await daily.pass(dayOf(now))) keepDay(folder, now, clock);
    } finally {
      rmSync(fresh, { force: true });
    }
  }

  return {
    /** Takes one when anything changed since the last. @param now epoch ms, names the day */
    async take(now: number): Promise<void> {
      if (stopped) return;
      if (underWay !== undefined) {
        if (now - begunAt >= endlessMs) fault = endless(now - begunAt, daily.isLooking);
        return;
      }
      try {
        begunAt = now;
        underWay = takeNow(now, pace);
        await underWay;
        fault = undefined;
      } catch (error) {
        if (stopped) return;
        const reason = reasonOf(error);
        fault = error instanceof Unchecked ? reason : `the last snapshot failed: ${reason}`;
        throw error;
      } finally {
        underWay = undefined;
      }
    },
    warnings: (): readonly string[] => (fault === undefined ? [] : [fault]),
    /** That the last one that was checked is damaged, and what to do. */
    damage: (): readonly string[] => [daily.damage ?? []].flat(),
    async stop(): Promise<void> {
      stopped = true;
      daily.stop();
      await underWay?.catch(() => {});
    },
    /** After the stop, in one go: for a file that would be lost. @throws PaygateError */
    last: (now: number): Promise<void> => takeNow(now, allPages),
  };
}

/** A copy begins anew whenever another process writes. */
function endless(forMs: number, isLooking: boolean): string {
  const minutes = Math.floor(forMs / 60_000);
  return isLooking
    ? `the check of the last snapshot has not ended for ${minutes} minutes: see how busy the machine and its disk are`
    : `the last snapshot has not ended for ${minutes} minutes: another program may be writing to the database all the time`;
}

const dayOf = (now: number): string => `${new Date(now).toISOString().slice(0, 10)}.db`;

function keepDay(folder: string, now: number, clock: AgeJudge): void {
  const today = dayOf(now);
  if (existsSync(join(folder, today))) return;
  linkOrCopy(join(folder, latestName), join(folder, today));
  const days = readdirSync(folder).filter((name) => dayFile.test(name));
  const old = clock.isSure() ? superseded(days, today) : [];
  for (const name of old) rmSync(join(folder, name));
  syncPath(folder);
}

/**
 * All but the newest. A day after today means that the clock was ahead then, or is behind now. Such
 * days go once there is a week of others, because the others are the latest in any case.
 */
function superseded(days: readonly string[], today: string): string[] {
  const past = days.filter((name) => name <= today).sort();
  const ahead = past.length < dailyCopies ? [] : days.filter((name) => name > today);
  return [...past.slice(0, -dailyCopies), ...ahead];
}

/**
 * `latest.db` is never written to again, only replaced: a second name costs nothing. See
 * docs/decisions/023.
 */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // A file system without links (FAT).
    copyFileSync(from, to);
    syncPath(to);
  }
}
