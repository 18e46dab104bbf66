// `paygate update FILE`: the new executable is checked against its checksum and tried on a snapshot of the
// database before it takes the old one's place; where systemd runs paygate, it is restarted, and the old one
// comes back when the new one does not come up healthy.

import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { options, readConfig } from '../config.ts';
import { quoteForShell } from '../domain/format.ts';
import { type ListenAddress, listenAddressesOf } from '../domain/public-endpoint.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { lockForServer } from '../store/db/file-guards.ts';
import { type FileOptions, fileCommand, parseDuration, print, world } from './command.ts';
import { ownerOf } from './file-owner.ts';
import { again } from './own-program.ts';
import { environmentOf, faultOfStart, hasUnit, restart, stop } from './systemd-service.ts';
import {
  assertNotOlder,
  assertSameKind,
  bringIn,
  expectedSum,
  previousOf,
  readsDatabase,
  swapBack,
  swapIn,
  versionOf,
} from './update-binary.ts';
import { snapshotBefore, wayBack } from './update-file-command.ts';

const usualWaitMs = 120_000;
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
  return fileCommand(
    'update',
    'put a new version in the place of this one, and go back if it fails',
  )
    .argument('<file>', 'the new executable')
    .option('--sha256 <hex>', 'its checksum (default: as SHA256SUMS beside it says)')
    .option('--binary <file>', 'the executable that is replaced (default: this one)')
    .option('--unit <name>', 'the systemd service that runs it', 'paygate.service')
    .option(`${options.listen.flag} <host:port>`, 'where it answers, to see whether it is well')
    .option('--downgrade', 'accept a version that is older than this one')
    .option(
      '--wait <time>',
      'how long the new version may take until it answers (default: 2m)',
      parseDuration,
    )
    .action(update);
}

async function update(file: string, asked: UpdateOptions): Promise<void> {
  const env = await environmentOf(asked.unit);
  const db = asked.db ?? readConfig({}, env).db;
  const given = { ...asked, db, binary: asked.binary ?? ownBinary(), env };
  const sum = expectedSum(file, given.sha256);
  const lock = lockForUpdate(given.binary);
  try {
    await replace(file, sum, given);
  } finally {
    lock.release();
  }
}

/** As it was asked for, and else as the service is set. */
interface Given extends UpdateOptions {
  readonly db: string;
  readonly binary: string;
  readonly env: NodeJS.ProcessEnv;
}

async function replace(file: string, sum: string, given: Given): Promise<void> {
  const { binary, db } = given;
  const fresh = await bringIn(file, binary, sum);
  let before: string;
  let after: string;
  let snapshot: string;
  try {
    // One that does not run is replaced as well, and all the more.
    before = await versionOf(binary).catch(() => unknown);
    assertSameKind(fresh, binary);
    after = await versionOf(fresh);
    if (before !== unknown && given.downgrade !== true) assertNotOlder(before, after);
    snapshot = await snapshotBefore(before, db);
    readsDatabase(fresh, snapshot, ownerOf(db));
    swapIn(fresh, binary);
  } catch (error) {
    rmSync(fresh, { force: true });
    const code = error instanceof PaygateError ? error.code : 'unavailable';
    throw new PaygateError(code, `${file}: ${reasonOf(error)}; nothing was changed`);
  }
  const updated = { from: before, to: after, snapshot, previous: previousOf(binary) };
  const restarted = await hasUnit(given.unit);
  if (restarted) await bringUp(updated, given);
  print(given, { ...updated, restarted }, () => describe(updated, restarted, given));
}

/** Two at once would share a name, and the second would keep the first one's new executable as that before it. */
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
    throw new PaygateError('conflict', `${binary}: another \`paygate update\` is at work`);
  }
}

function ownBinary(): string {
  if (isSea()) return process.execPath;
  throw new PaygateError(
    'invalid',
    'this paygate runs from its sources: name the executable to replace with --binary',
  );
}

interface Updated {
  readonly from: string;
  readonly to: string;
  readonly snapshot: string;
  readonly previous: string;
}

/** @throws PaygateError when the new one failed, with what stands there now */
async function bringUp({ from, to, snapshot, previous }: Updated, given: Given): Promise<void> {
  const fault = await faultAfterRestart(given, to);
  if (fault === undefined) return;
  // It may be starting over and over.
  await stop(given.unit).catch(() => {});
  const failed = `${to} did not come up (${fault})`;
  try {
    swapBack(given.binary);
  } catch (error) {
    throw new PaygateError(
      'unavailable',
      `${failed} and is stopped; the one before could not be put back (${reasonOf(error)}): ` +
        `do it with \`${moveBack(previous, given.binary)}\`, and start ${given.unit}`,
    );
  }
  const restored = await restoreIfMigrated(given, snapshot);
  const back = await faultAfterRestart(given, from);
  const old = from === unknown ? 'the one before' : from;
  const state = back === undefined ? `${old} runs again` : `${old} is back, but: ${back}`;
  throw new PaygateError('unavailable', `${failed}; ${state}${restored}`);
}

async function faultAfterRestart(given: Given, version: string): Promise<string | undefined> {
  try {
    await restart(given.unit);
    return await faultOfStart(
      world,
      { doors: () => doorsNow(given), version },
      given.wait ?? usualWaitMs,
    );
  } catch (error) {
    return reasonOf(error).trim();
  }
}

/** Those of the process that was started: the one before may have had other settings, or there was none to ask. */
async function doorsNow({ unit, listen, env }: Given): Promise<ListenAddress[]> {
  const now = await environmentOf(unit, env);
  return listenAddressesOf(readConfig(listen ? { listen: [listen] } : {}, now));
}

/** Where the new one has migrated the database, which the old one can't read. */
async function restoreIfMigrated({ db, unit }: Given, snapshot: string): Promise<string> {
  const { copy, previous, fault } = await wayBack(snapshot, db);
  if (copy === undefined) return '';
  if (fault === undefined) {
    return `, on the database as it was before the update (the newer one is ${previous})`;
  }
  return (
    `; the database was not put back (${fault}): if the log says that it is newer, ` +
    `stop ${unit}, mend that, run \`${putBack(copy, db)}\`, and start ${unit}`
  );
}

const moveBack = (previous: string, binary: string): string =>
  `mv ${quoteForShell(previous)} ${quoteForShell(binary)}`;

const putBack = (snapshot: string, db: string): string =>
  `${again('restore', { db })} ${quoteForShell(snapshot)}`;

function describe(
  { from, to, snapshot, previous }: Updated,
  restarted: boolean,
  { binary, db }: Given,
): string {
  const old = from === unknown ? 'one that did not run' : from;
  const done = `${old} was replaced by ${to}; the database before it is ${snapshot}`;
  if (restarted) return `${done}\nIt runs and answers.`;
  return `${done}
systemd does not run it here: restart \`paygate serve\` yourself. If the new one does not come up, go back with

  ${moveBack(previous, binary)}

and, where that says that the database is newer, \`${putBack(snapshot, db)}\`.`;
}
