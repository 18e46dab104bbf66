// The doctor's checks of the database and its surroundings: mark file, disk, permissions, clock,
// wallets, snapshots. The database is opened as every command opens it, and only read.

import { existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clockError } from '../domain/payment/clock-check.ts';
import { resume } from '../domain/store/allocation.ts';
import { formatCount } from '../domain/text/format.ts';
import { hourMs } from '../lib/time-units.ts';
import { createGapWarnings } from '../status/gap-warnings.ts';
import { besideEnds } from '../store/db/file-path.ts';
import { backupFolder, damagedName, latestName, restoreHint } from '../store/file/backup.ts';
import type { Database } from '../store/file/database.ts';
import { unwritableAt } from '../store/file/file-guards.ts';
import { markPath, openHighWaterMark } from '../store/mark/high-water-mark.ts';
import type { Records } from '../store/open-records.ts';
import { countersOf } from '../store/resume/resume.ts';
import { freeBytesAt, minFreeBytes } from '../world/disk.ts';
import type { World } from '../world/world.ts';
import { type Check, type CheckResult, fail, ok, skip, warn } from './doctor-check.ts';
import { fileSystemCheck } from './file-system-check.ts';

export interface FileChecksInput {
  readonly world: Pick<World, 'now' | 'monotonic'>;
  readonly records: Records;
  readonly walletGap: number;
  /** Release date of this version, epoch ms; a clock before it is wrong. */
  readonly releasedAt?: number;
  /** The user who runs the doctor; undefined on systems without user ids. */
  readonly uid: number | undefined;
}

const mebibyte = 1024 * 1024;
/** Snapshots are taken each quarter of an hour. */
const snapshotDueMs = hourMs;
const snapshotLateMs = 24 * hourMs;

export const fileChecks = (input: FileChecksInput): Check[] => [
  { name: 'database', run: () => databaseCheck(input) },
  { name: 'mark', run: () => markCheck(input) },
  ...diskChecks(input.records.database, input.uid),
  { name: 'clock', run: () => clockCheck(input) },
  { name: 'wallets', run: () => walletsCheck(input) },
  { name: 'snapshot', run: () => snapshotCheck(input) },
];

/** What is known even of a database that is not open. */
type DatabaseFile = Pick<Database, 'path' | 'bytes' | 'walBytes' | 'freeBytes'>;

const diskChecks = (place: DatabaseFile, uid: number | undefined): Check[] => [
  { name: 'disk', run: () => diskCheck(place) },
  { name: 'file system', run: () => fileSystemCheck(place.path) },
  { name: 'permissions', run: () => permissionsCheck(place.path, uid) },
];

/** The checks of a database that cannot be opened, or must not be. */
export const closedFileChecks = (path: string, uid: number | undefined): Check[] => {
  if (!existsSync(dirname(path))) return [];
  const size = (end: string) => statSync(`${path}${end}`, { throwIfNoEntry: false })?.size ?? 0;
  const sizes = { bytes: () => size(''), walBytes: () => size('-wal') };
  return diskChecks({ path, ...sizes, freeBytes: () => freeBytesAt(dirname(path)) }, uid);
};

const inMebibytes = (bytes: number): string => `${Math.round(bytes / mebibyte)} MiB`;

function databaseCheck({ records: { database, network, catalog } }: FileChecksInput): CheckResult {
  const stores = catalog.stores().length;
  const size = `${inMebibytes(database.bytes())}, ${inMebibytes(database.walBytes())} of WAL`;
  const text = `${database.path}: ${network}, ${formatCount(stores, 'store')}, ${size}`;
  return stores === 0
    ? warn(`${text}; add a store with \`paygate store add\``)
    : ok(`${text}; \`paygate check\` checks every page`);
}

/** Reads the mark file first: addresses issued meanwhile only raise the counters. */
function markCheck({ records }: FileChecksInput): CheckResult {
  const mark = openHighWaterMark(records.database.path, records.instance);
  mark.close();
  const resumption = resume(countersOf(records), mark.reading);
  if (resumption.kind === 'copy') {
    return fail(
      `the next start takes the database for a copy and skips addresses: ${resumption.reason}; ` +
        'if it is no copy, run `paygate restore --moved`',
    );
  }
  return ok(
    mark.reading === undefined
      ? 'no mark file yet, because there is no wallet'
      : 'the mark file belongs to this database and agrees with its counters',
  );
}

function diskCheck(place: DatabaseFile): CheckResult {
  const free = place.freeBytes();
  const text = `${inMebibytes(free)} free beside the database`;
  if (free < minFreeBytes) {
    return fail(`${text}: no address is issued below ${inMebibytes(minFreeBytes)}`);
  }
  const needed = place.bytes() + place.walBytes() + minFreeBytes;
  const other = otherDiskOf(place.path);
  const freeThere = other === undefined ? free : freeBytesAt(other);
  const where = other === undefined ? text : `${inMebibytes(freeThere)} free in ${other}`;
  return freeThere < needed
    ? warn(`${where}: a snapshot needs ${inMebibytes(needed)}, so none is taken`)
    : ok(text);
}

/** The folder of the snapshots, if it is on another disk than the database. */
function otherDiskOf(path: string): string | undefined {
  const folder = backupFolder(path);
  // The first snapshot makes the folder in its parent.
  const existing = [folder, dirname(folder)].find((each) => existsSync(each)) ?? dirname(path);
  return statSync(existing).dev === statSync(dirname(path)).dev ? undefined : existing;
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
    faults.push(`${folder}: others may write there; run chmod go-w`);
  }
  return faults.length === 0
    ? ok('only its user may read the database, the mark file and the snapshots')
    : fail(faults.join('; '));
}

function secretFaults(path: string, { mode, uid: owner }: Stats, uid: number | undefined) {
  return [
    ...((mode & 0o077) === 0 ? [] : [`${path}: others may read the keys in it; run chmod 600`]),
    ...(uid === undefined || owner === uid
      ? []
      : [`${path}: belongs to user ${owner}, not to ${uid}`]),
  ];
}

function namesIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder).map((name) => join(folder, name));
}

function clockCheck({ world, records, releasedAt }: FileChecksInput): CheckResult {
  const now = world.now();
  const text = `it is ${new Date(now).toISOString().slice(0, 19)}Z`;
  const tip = records.headers.tip();
  const newestBlockTime = tip?.header.time;
  if (tip !== undefined && clockError(now, { newestBlockTime }) !== undefined) {
    const hours = Math.round((tip.header.time * 1000 - now) / hourMs);
    return fail(`${text}, ${hours} hours before block ${tip.height}: set the clock`);
  }
  if (clockError(now, { releasedAt, newestBlockTime }) !== undefined) {
    return fail(`${text}, before this paygate was released: set the clock`);
  }
  return tip === undefined
    ? ok(`${text}; there is no block yet to compare with`)
    : ok(`${text}, not before block ${tip.height}`);
}

function walletsCheck({ records, walletGap, world }: FileChecksInput): CheckResult {
  const wallets = records.catalog.wallets();
  const warnings = createGapWarnings({ records, walletGap, monotonic: () => world.monotonic() })();
  const scanning = wallets.filter(({ scannedAt }) => scannedAt === null);
  const problems = [
    ...warnings.map(({ fact, hint }) => fact + hint),
    ...scanning.map(({ id }) => `wallet ${id} issues no address until the chain is scanned`),
  ];
  if (wallets.length === 0) return skip('there is no wallet yet');
  return problems.length === 0
    ? ok(`${formatCount(wallets.length, 'wallet')}, none beyond a gap limit of ${walletGap}`)
    : warn(problems.join('; '));
}

/** Compares the last snapshot with the last change: an unchanged database needs no new one. */
function snapshotCheck({ world, records: { database } }: FileChecksInput): CheckResult {
  const [latest = '', damaged = ''] = [latestName, damagedName].map((name) =>
    join(backupFolder(database.path), name),
  );
  if (existsSync(damaged)) {
    return fail(
      `${damaged}: the daily check found this snapshot damaged, and the database may be too (\`paygate check\`); ` +
        `stop serve and restore an intact copy: ${restoreHint(database.path)}, or a daily snapshot`,
    );
  }
  const taken = statSync(latest, { throwIfNoEntry: false })?.mtimeMs;
  if (taken === undefined) {
    return warn(
      `${latest} does not exist; serve takes one every 15 minutes, \`paygate backup\` takes one now`,
    );
  }
  const minutes = Math.max(0, Math.round((world.now() - taken) / 60_000));
  const changedAt = Math.max(
    ...[database.path, `${database.path}-wal`].map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // Opening the database creates an empty WAL file: that is no change.
      return stat === undefined || stat.size === 0 ? 0 : stat.mtimeMs;
    }),
  );
  const lateMs = changedAt - taken;
  const text = `the last snapshot is ${minutes} minutes old`;
  if (lateMs > snapshotLateMs)
    return fail(`${text}, and the database has changed since; see the log`);
  return lateMs > snapshotDueMs ? warn(`${text}, and the database has changed since`) : ok(text);
}
