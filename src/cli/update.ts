// `paygate update FILE`: the new executable is checked against its checksum and tried on a snapshot of the
// database before it takes the old one's place; where systemd runs paygate, it is restarted, and the old one
// comes back when the new one does not come up healthy.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { options, readConfig } from '../config.ts';
import { doorsOf } from '../domain/front.ts';
import { PaygateError, reasonOf } from '../errors.ts';
import { allPages, makeBackupFolder } from '../store/backup.ts';
import { restoreFile } from '../store/restore.ts';
import {
  databasePath,
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  timeName,
  withStore,
  world,
} from './command.ts';
import { environmentOf, faultOfStart, hasUnit, restart, stop } from './service.ts';
import {
  bringIn,
  expectedSum,
  previousOf,
  readsDatabase,
  swapBack,
  swapIn,
  versionOf,
} from './update-binary.ts';

const usualWaitMs = 120_000;

interface UpdateOptions extends FileOptions {
  readonly sha256?: string;
  readonly binary?: string;
  readonly unit: string;
  readonly listen?: string;
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
    .option(
      '--wait <time>',
      'how long the new version may take until it answers (default: 2m)',
      parseDuration,
    )
    .action(update);
}

async function update(file: string, asked: UpdateOptions): Promise<void> {
  const env = { ...(await environmentOf(asked.unit)), ...process.env };
  const given = { ...asked, ...(asked.db === undefined && { db: readConfig({}, env).db }), env };
  const binary = given.binary ?? ownBinary();
  const fresh = await bringIn(file, binary, expectedSum(file, given.sha256));
  const before = await versionOf(binary);
  let after: string;
  let snapshot: string;
  try {
    after = await versionOf(fresh);
    snapshot = await takeSnapshot(given, before);
    await readsDatabase(fresh, snapshot);
    swapIn(fresh, binary);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw new PaygateError('unavailable', `${file}: ${reasonOf(error)}; nothing was changed`);
  }
  const updated = { from: before, to: after, snapshot, previous: previousOf(binary) };
  const restarted = await hasUnit(given.unit);
  if (restarted) await bringUp({ ...updated, binary, given });
  print(given, { ...updated, restarted }, () => describe({ ...updated, restarted }, binary));
}

function ownBinary(): string {
  if (isSea()) return process.execPath;
  throw new PaygateError(
    'invalid',
    'this paygate runs from its sources: name the executable to replace with --binary',
  );
}

async function takeSnapshot(given: UpdateOptions, before: string): Promise<string> {
  return withStore(given, async ({ database }) => {
    const folder = makeBackupFolder(database.path);
    const target = join(folder, `before-${before}-${timeName(world.now())}.db`);
    await database.backup(target, allPages);
    return target;
  });
}

interface Updated {
  readonly from: string;
  readonly to: string;
  readonly snapshot: string;
  readonly previous: string;
}

/** As it was asked for, and else as the service is set. */
interface Given extends UpdateOptions {
  readonly env: Record<string, string | undefined>;
}

interface Rise extends Updated {
  readonly binary: string;
  readonly given: Given;
}

/** @throws PaygateError when the new one failed, with what stands there now */
async function bringUp({ from, to, snapshot, binary, given }: Rise): Promise<void> {
  const fault = await faultAfterRestart(given, to);
  if (fault === undefined) return;
  // It may be starting over and over.
  await stop(given.unit).catch(() => {});
  swapBack(binary);
  const restored = await restoreIfForeign(given, snapshot);
  const back = await faultAfterRestart(given, from);
  const state = back === undefined ? `${from} runs again` : `${from} is back, but: ${back}`;
  throw new PaygateError('unavailable', `${to} did not come up (${fault}); ${state}${restored}`);
}

async function faultAfterRestart(given: Given, version: string): Promise<string | undefined> {
  const config = readConfig(given.listen ? { listen: [given.listen] } : {}, given.env);
  try {
    await restart(given.unit);
    return await faultOfStart(
      world,
      { doors: doorsOf(config), version },
      given.wait ?? usualWaitMs,
    );
  } catch (error) {
    return reasonOf(error).trim();
  }
}

/** What the new one has made of the database, the old one may not read: then the snapshot takes its place. */
async function restoreIfForeign(given: UpdateOptions, snapshot: string): Promise<string> {
  try {
    await withStore(given, async () => {});
    return '';
  } catch {
    const path = databasePath(given);
    const name = `before-restore-${timeName(world.now())}`;
    const { previous } = restoreFile(snapshot, path, name);
    return `, on the database as it was before the update (the newer one is ${previous})`;
  }
}

function describe(
  { from, to, snapshot, previous, restarted }: Updated & { restarted: boolean },
  binary: string,
): string {
  const done = `${from} was replaced by ${to}; the database before it is ${snapshot}`;
  if (restarted) return `${done}\nIt runs and answers.`;
  return `${done}
systemd does not run it here: restart \`paygate serve\` yourself. If the new one does not come up, go back with

  mv ${previous} ${binary}

and, where that says that the database is newer, \`paygate restore ${snapshot}\`.`;
}
