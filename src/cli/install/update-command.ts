// `paygate update FILE`: replaces the executable. The new one is checked by the signature of its
// checksum and on a snapshot of the database first. A systemd service is restarted; if it does not
// answer with the new version, the old executable returns.

import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { options, readConfig } from '../../config.ts';
import { type ListenAddress, listenAddressesOf } from '../../domain/delivery/public-endpoint.ts';
import { quoteForShell } from '../../domain/text/format.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { lockForServer } from '../../store/file/file-guards.ts';
import { type FileOptions, fileCommand, parseDuration, print, world } from '../command.ts';
import { ownerOf } from '../database/file-owner.ts';
import { commandLine } from '../own-program.ts';
import { environmentOf } from './service-environment.ts';
import { hasUnit, restart, startFault, stop } from './systemd-service.ts';
import {
  assertNotOlder,
  assertReadsDatabase,
  assertSamePlatform,
  assertVersion,
  copyChecked,
  type ExpectedFile,
  expectedFile,
  previousOf,
  replaceBinary,
  restorePrevious,
  versionOf,
} from './update-binary.ts';
import { rollBackDatabase, snapshotBefore } from './update-file-command.ts';

const defaultWaitMs = 120_000;
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
  const restarted = await hasUnit(given.unit);
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
  await stop(given.unit).catch(() => {});
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
    await restart(given.unit);
    return await startFault(
      world,
      { addresses: () => listenAddressesNow(given), version },
      given.wait ?? defaultWaitMs,
    );
  } catch (error) {
    return reasonOf(error).trim();
  }
}

/** The addresses of the started process, whose settings may differ from those before. */
async function listenAddressesNow({
  unit,
  listen,
  env,
}: ResolvedOptions): Promise<ListenAddress[]> {
  const now = await environmentOf(unit, env);
  return listenAddressesOf(readConfig(listen ? { listen: [listen] } : {}, now));
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
