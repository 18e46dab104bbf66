// What the doctor looks at in the file and around it: database, mark, disk, permissions, clock, wallets,
// snapshots. The file is opened as every command opens it, and only read.

import { existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { resume } from '../domain/allocation.ts';
import { clockError } from '../domain/clock-check.ts';
import { hourMs } from '../lib/time-units.ts';
import { createGapWarnings } from '../status/gap-warnings.ts';
import { backupFolder, damagedName, latestName, restoreHint } from '../store/backup/backup.ts';
import type { Database } from '../store/db/database.ts';
import { unwritableAt } from '../store/db/file-guards.ts';
import { besideEnds } from '../store/db/file-path.ts';
import { markPath, openHighWaterMark } from '../store/mark/high-water-mark.ts';
import { countersOf } from '../store/mark/resume.ts';
import type { Store } from '../store/open-store.ts';
import { freeBytesAt, minFreeBytes } from '../world/disk.ts';
import type { World } from '../world/world.ts';
import { type Check, type CheckResult, fail, ok, skip, warn } from './doctor-check.ts';
import { fileSystemCheck } from './file-system-check.ts';

export interface FileParts {
  readonly world: Pick<World, 'now' | 'monotonic'>;
  readonly store: Store;
  readonly walletGap: number;
  /** When this paygate was released, epoch milliseconds; a clock that shows an earlier time is wrong. */
  readonly releasedAt?: number;
  /** Of the one who runs the doctor; undefined where users have no numbers. */
  readonly uid: number | undefined;
}

const mebibyte = 1024 * 1024;
/** Snapshots are taken each quarter of an hour. */
const snapshotDueMs = hourMs;
const snapshotLateMs = 24 * hourMs;

export const fileChecks = (parts: FileParts): Check[] => [
  { name: 'database', run: () => databaseCheck(parts) },
  { name: 'mark', run: () => markCheck(parts) },
  ...placeChecks(parts.store.database, parts.uid),
  { name: 'clock', run: () => clockCheck(parts) },
  { name: 'wallets', run: () => walletsCheck(parts) },
  { name: 'snapshot', run: () => snapshotCheck(parts) },
];

/** What can be said of a file that is not opened as well. */
type Place = Pick<Database, 'path' | 'bytes' | 'walBytes' | 'freeBytes'>;

const placeChecks = (place: Place, uid: number | undefined): Check[] => [
  { name: 'disk', run: () => diskCheck(place) },
  { name: 'file system', run: () => fileSystemCheck(place.path) },
  { name: 'permissions', run: () => permissionsCheck(place.path, uid) },
];

/** Of a file that cannot be opened, or is not to be. */
export const closedChecks = (path: string, uid: number | undefined): Check[] => {
  if (!existsSync(dirname(path))) return [];
  const size = (end: string) => statSync(`${path}${end}`, { throwIfNoEntry: false })?.size ?? 0;
  const sizes = { bytes: () => size(''), walBytes: () => size('-wal') };
  return placeChecks({ path, ...sizes, freeBytes: () => freeBytesAt(dirname(path)) }, uid);
};

const inMebibytes = (bytes: number): string => `${Math.round(bytes / mebibyte)} MiB`;

function databaseCheck({ store: { database, network, catalog } }: FileParts): CheckResult {
  const stores = catalog.stores().length;
  const size = `${inMebibytes(database.bytes())}, ${inMebibytes(database.walBytes())} of log`;
  const text = `${database.path}: ${network}, ${stores} store(s), ${size}`;
  return stores === 0
    ? warn(`${text}: add a store with \`paygate store add\``)
    : ok(`${text}; \`paygate check\` looks at every page`);
}

/** The mark is read first: what is issued meanwhile puts the counters further, never behind. */
function markCheck({ store }: FileParts): CheckResult {
  const mark = openHighWaterMark(store.database.path, store.instance);
  mark.close();
  const resumption = resume(countersOf(store), mark.reading);
  if (resumption.kind === 'copy') {
    return fail(
      `the next start takes the database for a copy and skips addresses: ${resumption.reason}; ` +
        '`paygate restore --moved` where that is not so',
    );
  }
  return ok(
    mark.reading === undefined
      ? 'none yet, for there is no wallet'
      : 'it is of this database, and the counters are where it says',
  );
}

function diskCheck(place: Place): CheckResult {
  const free = place.freeBytes();
  const text = `${inMebibytes(free)} free beside the database`;
  if (free < minFreeBytes) {
    return fail(`${text}: no address is issued below ${inMebibytes(minFreeBytes)}`);
  }
  const needed = place.bytes() + place.walBytes() + minFreeBytes;
  const other = otherDiskOf(place.path);
  const room = other === undefined ? free : freeBytesAt(other);
  const where = other === undefined ? text : `${inMebibytes(room)} free in ${other}`;
  return room < needed
    ? warn(`${where}: a snapshot needs ${inMebibytes(needed)}, so none is taken`)
    : ok(text);
}

/** The folder of the snapshots, where it is on another disk than the database. */
function otherDiskOf(path: string): string | undefined {
  const folder = backupFolder(path);
  // One that the first snapshot makes is made in the folder around it.
  const there = [folder, dirname(folder)].find((each) => existsSync(each)) ?? dirname(path);
  return statSync(there).dev === statSync(dirname(path)).dev ? undefined : there;
}

function permissionsCheck(path: string, uid: number | undefined): CheckResult {
  const folder = dirname(path);
  const secrets = [
    ...['', ...besideEnds, '.lock'].map((end) => `${path}${end}`),
    markPath(path),
    ...namesIn(backupFolder(path)),
  ];
  const faults = secrets.flatMap((each) => {
    const stat = statSync(each, { throwIfNoEntry: false });
    return stat?.isFile() ? secretFaults(each, stat, uid) : [];
  });
  faults.push(...unwritableAt(path));
  if ((statSync(folder).mode & 0o022) !== 0) {
    faults.push(`${folder}: others may put files there; chmod go-w it`);
  }
  return faults.length === 0
    ? ok('only its user may read the database, its mark and its snapshots')
    : fail(faults.join('; '));
}

function secretFaults(path: string, { mode, uid: owner }: Stats, uid: number | undefined) {
  return [
    ...((mode & 0o077) === 0 ? [] : [`${path}: others may read keys in it; chmod 600 it`]),
    ...(uid === undefined || owner === uid
      ? []
      : [`${path}: belongs to user ${owner}, not to ${uid}`]),
  ];
}

function namesIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder).map((name) => join(folder, name));
}

function clockCheck({ world, store, releasedAt }: FileParts): CheckResult {
  const now = world.now();
  const text = `it is ${new Date(now).toISOString().slice(0, 19)}Z`;
  const tip = store.headers.tip();
  const newestBlockTime = tip?.header.time;
  if (tip !== undefined && clockError(now, { newestBlockTime }) !== undefined) {
    const hours = Math.round((tip.header.time * 1000 - now) / hourMs);
    return fail(`${text}, ${hours} hours before block ${tip.height}: set the clock`);
  }
  if (clockError(now, { releasedAt, newestBlockTime }) !== undefined) {
    return fail(`${text}, before this paygate was released: set the clock`);
  }
  return tip === undefined
    ? ok(`${text}; there is no block yet to compare that with`)
    : ok(`${text}, not before block ${tip.height}`);
}

function walletsCheck({ store, walletGap, world }: FileParts): CheckResult {
  const wallets = store.catalog.wallets();
  const warnings = createGapWarnings({ store, walletGap, monotonic: () => world.monotonic() })();
  const scanning = wallets.filter(({ scannedAt }) => scannedAt === null);
  const troubles = [
    ...warnings,
    ...scanning.map(({ id }) => `wallet ${id} waits for a scan of the chain: no address yet`),
  ];
  if (wallets.length === 0) return skip('there is none yet');
  return troubles.length === 0
    ? ok(`${wallets.length} wallet(s), none beyond a gap limit of ${walletGap}`)
    : warn(troubles.join('; '));
}

/** Compared with the last change: what has not changed needs no new one. */
function snapshotCheck({ world, store: { database } }: FileParts): CheckResult {
  const [latest = '', damaged = ''] = [latestName, damagedName].map((name) =>
    join(backupFolder(database.path), name),
  );
  if (existsSync(damaged)) {
    return fail(
      `${damaged}: the check of each day found it damaged, and so may the database be (\`paygate check\`); stop serve and ` +
        `put a copy in its place that is whole, by ${restoreHint(database.path)} or one of a day`,
    );
  }
  const taken = statSync(latest, { throwIfNoEntry: false })?.mtimeMs;
  if (taken === undefined) {
    return warn(
      `${latest}: there is none; serve takes one each quarter of an hour, \`paygate backup\` now`,
    );
  }
  const minutes = Math.max(0, Math.round((world.now() - taken) / 60_000));
  const changedAt = Math.max(
    ...[database.path, `${database.path}-wal`].map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // An empty log is made by whoever opens the file.
      return stat === undefined || stat.size === 0 ? 0 : stat.mtimeMs;
    }),
  );
  const lateMs = changedAt - taken;
  const text = `the last one is ${minutes} minutes old`;
  if (lateMs > snapshotLateMs) return fail(`${text}, and the database changed since: see the log`);
  return lateMs > snapshotDueMs ? warn(`${text}, and the database changed since`) : ok(text);
}
