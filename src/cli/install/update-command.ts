// `paygate update FILE`: replaces the executable. The new one is checked by the signature of its
// checksum and on a snapshot of the database first. A systemd service is restarted; if it does not
// answer with the new version, the old executable returns.

import { rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import { Command } from 'commander';
import { options, readConfig } from '../../config.ts';
import { listenAddressesOf } from '../../domain/delivery/public-endpoint.ts';
import { quoteForShell, timeName } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { refuseForeign } from '../../store/backup/integrity-check.ts';
import { restoreFile } from '../../store/backup/restore.ts';
import { refuseTwoNames, truePath } from '../../store/db/file-path.ts';
import { migrationsIn } from '../../store/db/migrate.ts';
import { backupAsItIs, copyBeforeUpdate, makeBackupFolder } from '../../store/file/backup.ts';
import { lockForServer, refuseLostLog } from '../../store/file/file-guards.ts';
import {
  databasePath,
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  world,
} from '../command.ts';
import { becomeOwner, ownerOf } from '../database/file-owner.ts';
import { commandLine, ownArguments } from '../own-program.ts';
import { fetchHealth } from '../service/local-health.ts';
import { environmentOf, systemctl } from './systemd-service.ts';
import {
  assertNotOlder,
  assertReadsDatabase,
  assertSamePlatform,
  assertVersion,
  copyChecked,
  type ExpectedFile,
  expectedFile,
  firstLine,
  previousOf,
  replaceBinary,
  restorePrevious,
  run,
  versionOf,
} from './update-binary.ts';

const defaultWaitMs = 120_000;
const pollMs = 1_000;
/** One answer may be the last before a crash. */
const minAnswers = 3;
/** The version of an executable that does not run. */
const unknown = 'unknown';

interface UpdateOptions extends FileOptions {
  readonly sha256?: string;
  readonly binary?: string;
  readonly unit: string;
  readonly listen?: string;
  readonly downgrade?: boolean;
  /** Milliseconds. */
  readonly wait?: number;
}

export function updateCommand(): Command {
  return fileCommand('update', 'replace this version by a new one, and go back if that fails')
    .argument('<file>', 'archive of a release, or an executable')
    .option('--sha256 <hex>', 'its checksum (default: from SHA256SUMS beside it, which is signed)')
    .option('--binary <file>', 'executable to replace (default: this one)')
    .option('--unit <name>', 'systemd service that runs it', 'paygate.service')
    .option(
      `${options.listen.flag} <host:port>`,
      'address at which it must answer after the restart',
    )
    .option('--downgrade', 'accept an older version')
    .option(
      '--wait <time>',
      'timeout for its first answer after the restart (default: 2m)',
      parseDuration,
    )
    .action(update);
}

async function update(file: string, flags: UpdateOptions): Promise<void> {
  const env = await environmentOf(flags.unit);
  const db = flags.db ?? readConfig({}, env).db;
  const given = { ...flags, db, binary: flags.binary ?? ownBinary(), env };
  const expected = expectedFile(file, given.sha256);
  const lock = lockForUpdate(given.binary);
  try {
    await replace(file, expected, given);
  } finally {
    lock.release();
  }
}

/** The options of the command line, completed from the service. */
interface ResolvedOptions extends UpdateOptions {
  readonly db: string;
  readonly binary: string;
  readonly env: NodeJS.ProcessEnv;
}

async function replace(
  file: string,
  expected: ExpectedFile,
  given: ResolvedOptions,
): Promise<void> {
  const { binary, db } = given;
  const fresh = await copyChecked(file, binary, expected);
  let before: string;
  let after: string;
  let snapshot: string;
  try {
    // An executable that does not run may be replaced too.
    before = await versionOf(binary).catch(() => unknown);
    assertSamePlatform(fresh, binary);
    after = await versionOf(fresh);
    assertVersion(after, expected);
    if (before !== unknown && given.downgrade !== true) assertNotOlder(before, after);
    snapshot = await snapshotBefore(before, db);
    assertReadsDatabase(fresh, snapshot, ownerOf(db));
    replaceBinary(fresh, binary);
  } catch (error) {
    rmSync(fresh, { force: true });
    const code = error instanceof PaygateError ? error.code : 'unavailable';
    throw new PaygateError(code, `${file}: ${reasonOf(error)}; nothing was changed`);
  }
  const updated = { from: before, to: after, snapshot, previous: previousOf(binary) };
  // Whether systemd runs here and knows the unit.
  const restarted = await systemctl('cat', given.unit).then(
    () => true,
    () => false,
  );
  if (restarted) await restartOrRollBack(updated, given);
  print(given, { ...updated, restarted }, () => describe(updated, restarted, given));
}

/** Two updates at once would share file names, and lose the former executable. */
function lockForUpdate(binary: string): { release(): void } {
  const path = join(dirname(binary), `.${basename(binary)}-update`);
  try {
    const lock = lockForServer(path);
    return {
      release() {
        rmSync(`${path}.lock`, { force: true });
        lock.release();
      },
    };
  } catch (error) {
    if (!(error instanceof PaygateError) || error.code !== 'conflict') throw error;
    throw new PaygateError(
      'conflict',
      `${binary}: another \`paygate update\` is running; wait until it ends`,
    );
  }
}

function ownBinary(): string {
  if (isSea()) return process.execPath;
  throw new PaygateError(
    'invalid',
    'this paygate runs from its sources; name the executable to replace with --binary',
  );
}

interface UpdateResult {
  readonly from: string;
  readonly to: string;
  readonly snapshot: string;
  readonly previous: string;
}

/** @throws PaygateError if the new version failed, naming the version that is in place now */
async function restartOrRollBack(
  { from, to, snapshot, previous }: UpdateResult,
  given: ResolvedOptions,
): Promise<void> {
  const fault = await faultAfterRestart(given, to);
  if (fault === undefined) return;
  // systemd may restart it again and again.
  await systemctl('stop', given.unit).catch(() => {});
  const failed = `${to} did not come up (${fault})`;
  try {
    restorePrevious(given.binary);
  } catch (error) {
    throw new PaygateError(
      'unavailable',
      `${failed} and is stopped; the former one could not be put back (${reasonOf(error)}); ` +
        `run \`${moveBackCommand(previous, given.binary)}\`, and start ${given.unit}`,
    );
  }
  const restored = await restoreIfMigrated(given, snapshot);
  const back = await faultAfterRestart(given, from);
  const old = from === unknown ? 'the former one' : from;
  const state = back === undefined ? `${old} runs again` : `${old} is back, but: ${back}`;
  throw new PaygateError('unavailable', `${failed}; ${state}${restored}`);
}

async function faultAfterRestart(
  given: ResolvedOptions,
  version: string,
): Promise<string | undefined> {
  try {
    await systemctl('restart', given.unit);
    return await startFault(given, version);
  } catch (error) {
    return reasonOf(error).trim();
  }
}

/**
 * Waits until the service has answered several times with that version.
 * @returns why it did not, undefined if it did
 */
async function startFault(given: ResolvedOptions, version: string): Promise<string | undefined> {
  const until = world.monotonic() + (given.wait ?? defaultWaitMs);
  let fault: string | undefined = 'no request was made';
  let answers = 0;
  while (world.monotonic() < until) {
    fault = await currentFault(given, version);
    answers = fault === undefined ? answers + 1 : 0;
    if (answers === minAnswers) return undefined;
    await new Promise<void>((resolve) => void world.after(pollMs, resolve));
  }
  return fault ?? 'it stops answering';
}

/** Asks the started process, whose settings may differ from those before. */
async function currentFault(
  { unit, listen, env }: ResolvedOptions,
  version: string,
): Promise<string | undefined> {
  const now = await environmentOf(unit, env);
  const addresses = listenAddressesOf(readConfig(listen ? { listen: [listen] } : {}, now));
  const text = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  const report = await fetchHealth(addresses);
  if (report === undefined) return `nothing answers at ${text}`;
  return report.version === version ? undefined : `version ${report.version} answers at ${text}`;
}

/** Puts the old database back if the new version migrated it: the old one cannot read that. */
async function restoreIfMigrated({ db, unit }: ResolvedOptions, snapshot: string): Promise<string> {
  const { copy, previous, fault } = await rollBackDatabase(snapshot, db);
  if (copy === undefined) return '';
  if (fault === undefined) {
    return `, on the database from before the update (the newer one is ${previous})`;
  }
  return (
    `; the database was not put back (${fault}): if the log calls it newer, ` +
    `stop ${unit}, correct that, run \`${restoreCommandLine(copy, db)}\`, and start ${unit}`
  );
}

const moveBackCommand = (previous: string, binary: string): string =>
  `mv ${quoteForShell(previous)} ${quoteForShell(binary)}`;

const restoreCommandLine = (snapshot: string, db: string): string =>
  `${commandLine('restore', { db })} ${quoteForShell(snapshot)}`;

function describe(
  { from, to, snapshot, previous }: UpdateResult,
  restarted: boolean,
  { binary, db }: ResolvedOptions,
): string {
  const old = from === unknown ? 'A version that did not run' : from;
  const done = `${old} was replaced by ${to}; the snapshot from before is ${snapshot}`;
  if (restarted) return `${done}\nIt runs and answers.`;
  return `${done}
systemd does not run it here: restart \`paygate serve\` yourself. If the new one does not start, go back with

  ${moveBackCommand(previous, binary)}

and, if that calls the database newer, \`${restoreCommandLine(snapshot, db)}\`.`;
}

// The database of `update`: a snapshot before it, and a rollback if the new version migrated it.
// Both are hidden commands that only `update` runs, as processes that become the owner of the
// files: root must not touch another user's files.
const fileName = 'update-file';

export function updateFileCommand(): Command {
  const keep = fileCommand('keep', '')
    .argument('<version>', 'version that is replaced')
    .action((version: string, given: FileOptions) => takeSnapshot(version, given));
  const back = fileCommand('back', '')
    .argument('<snapshot>')
    .action((snapshot: string, given: FileOptions) => {
      const rollback = restoreSnapshot(snapshot, fileOf(given));
      print({ json: true }, rollback, String);
    });
  return new Command(fileName).addCommand(keep).addCommand(back);
}

const fileOf = (given: FileOptions): string => truePath(becomeOwner(databasePath(given)));

/** Copies without migrating, because the version that still runs may use the database. */
async function takeSnapshot(version: string, given: FileOptions): Promise<void> {
  const db = fileOf(given);
  refuseForeign(db);
  // Neither version would start on it.
  refuseTwoNames(db);
  // If the WAL file was deleted, the snapshot would lack what the server wrote there.
  refuseLostLog(db);
  const target = join(makeBackupFolder(db), `before-${version}-${timeName(world.now())}.db`);
  await backupAsItIs(db, target);
  print({ json: true }, target, String);
}

/** The database after a failed update. */
interface Rollback {
  /** The copy that took its place, or could not; undefined if the file was not migrated. */
  readonly copy?: string;
  readonly previous?: string | undefined;
  readonly fault?: string;
}

/**
 * Restores the copy from before if the new version migrated the database, which the old one cannot
 * read. A copy that the new version made before migrating is newer than the snapshot, and is
 * preferred. A database that was not migrated stays: a busy file or a full disk must not lose what
 * was written since.
 */
function restoreSnapshot(snapshot: string, db: string): Rollback {
  let copy = snapshot;
  try {
    const count = migrationsIn(snapshot);
    if (migrationsIn(db) <= count) return {};
    copy = newest(snapshot, copyBeforeUpdate(db, count));
    const { previous } = restoreFile(copy, db, `before-restore-${timeName(world.now())}`);
    return { copy, previous };
  } catch (error) {
    return { copy, fault: reasonOf(error) };
  }
}

/** The second file, unless it is missing or older. */
const newest = (first: string, second: string): string =>
  (statSync(second, { throwIfNoEntry: false })?.mtimeMs ?? 0) > statSync(first).mtimeMs
    ? second
    : first;

/** @returns the path of the snapshot @throws PaygateError */
const snapshotBefore = (version: string, db: string): Promise<string> =>
  call<string>('keep', version, '--db', db);

/** Never throws, because the old version must be started afterwards. */
const rollBackDatabase = (snapshot: string, db: string): Promise<Rollback> =>
  call<Rollback>('back', snapshot, '--db', db).catch((error) => ({
    copy: snapshot,
    fault: reasonOf(error),
  }));

/** Runs one of these commands as a process of its own. */
async function call<T>(...words: readonly string[]): Promise<T> {
  try {
    const { stdout } = await run(process.execPath, [...ownArguments(), fileName, ...words]);
    return JSON.parse(stdout) as T;
  } catch (error) {
    throw new PaygateError('unavailable', firstLine(error).replace(/^paygate: /, ''));
  }
}
