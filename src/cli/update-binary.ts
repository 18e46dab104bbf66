// The executable's place: a new one is copied beside it, checked there, byte for byte what will run, and put
// in place by a rename. The one before stays beside it as `.previous`. Nothing here knows of a database.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { replaceFile, syncPath } from '../world/disk.ts';
import type { Owner } from './file-owner.ts';

export const run = promisify(execFile);

/** For a program that only says something and ends. */
const runTimeoutMs = 60_000;
const sumsName = 'SHA256SUMS';

/** What a file must hash to: what was given, or what SHA256SUMS beside it says. @throws PaygateError */
export function expectedSum(file: string, given: string | undefined): string {
  if (given !== undefined) {
    if (/^[0-9a-f]{64}$/i.test(given)) return given.toLowerCase();
    throw new PaygateError('invalid', '--sha256: 64 hexadecimal digits expected');
  }
  if (!existsSync(file)) throw new PaygateError('invalid', `there is no ${file}`);
  const sums = join(dirname(file), sumsName);
  if (!existsSync(sums)) {
    throw new PaygateError('invalid', `there is no ${sums}: give the checksum with --sha256`);
  }
  const found = [...readFileSync(sums, 'utf8').matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].filter(
    ([, , name]) => name === basename(file),
  );
  const [, sum] = found[0] ?? [];
  if (sum === undefined || found.length > 1) {
    throw new PaygateError('invalid', `${sums} does not name ${basename(file)} once`);
  }
  return sum;
}

/** Copies it beside the executable and checks the copy. @returns where it lies @throws PaygateError */
export async function bringIn(file: string, binary: string, sum: string): Promise<string> {
  const fresh = join(dirname(binary), `.${basename(binary)}-new`);
  try {
    copyFileSync(file, fresh);
    const found = await hashOf(fresh);
    if (found !== sum) {
      throw new PaygateError('invalid', `${file}: its checksum is ${found}, not ${sum}`);
    }
    chmodSync(fresh, 0o755);
    syncPath(fresh);
    return fresh;
  } catch (error) {
    rmSync(fresh, { force: true });
    if (error instanceof PaygateError) throw error;
    throw new PaygateError('unavailable', `${fresh}: cannot be written (${reasonOf(error)})`);
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** @throws PaygateError where it does not run here, or is no paygate */
export async function versionOf(binary: string): Promise<string> {
  const said = await run(binary, ['--version'], { timeout: runTimeoutMs }).catch((error) => {
    throw new PaygateError('unavailable', `it does not run on this machine: ${firstLine(error)}`);
  });
  const [version] = /^\d+\.\d+\.\d+\S*$/m.exec(said.stdout) ?? [];
  if (version === undefined) throw new PaygateError('invalid', 'it is no paygate');
  return version;
}

/**
 * Whether it understands a database; it looks at a copy.
 * @param owner as whom: who is told nothing of our environment, and has no way to our terminal
 * @throws PaygateError
 */
export function readsDatabase(binary: string, snapshot: string, owner: Owner | undefined): void {
  const { status, signal, stdout, stderr, error } = spawnSync(binary, ['check', snapshot], {
    timeout: 10 * runTimeoutMs,
    encoding: 'utf8',
    ...(owner && { ...owner, env: {}, detached: true }),
  });
  if (status === 0) return;
  const said = [stderr, stdout, `it ended with ${status ?? signal}`].find(Boolean);
  const why = firstLine(error ?? { stderr: said });
  throw new PaygateError('unavailable', `it cannot read the database: ${why}`);
}

/** The first bytes of a Linux program, up to the processor that it is for (https://refspecs.linuxfoundation.org/elf/elf.pdf). */
const elf = Buffer.from('\x7fELF', 'latin1');
const elfHeaderBytes = 20;

/** @throws PaygateError where a program would be replaced by something else, or by one for another processor */
export function assertSameKind(fresh: string, binary: string): void {
  const [before, after] = [startOf(binary), startOf(fresh)];
  if (!before.subarray(0, 4).equals(elf)) return;
  // Class and byte order, then the processor (e_machine).
  const kind = (bytes: Buffer) => [bytes.subarray(0, 6), bytes.subarray(18, 20)];
  if (Buffer.concat(kind(before)).equals(Buffer.concat(kind(after)))) return;
  throw new PaygateError('invalid', 'it is no program of this machine');
}

function startOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(elfHeaderBytes);
    readSync(file, bytes, 0, elfHeaderBytes, 0);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** @throws PaygateError where the version to come is older; by the precedence of https://semver.org, §11 */
export function assertNotOlder(before: string, after: string): void {
  const [core, candidate] = partsOf(before);
  const [nextCore, nextCandidate] = partsOf(after);
  const order = byNumbers(nextCore, core) || byCandidate(nextCandidate, candidate);
  if (order >= 0) return;
  throw new PaygateError(
    'invalid',
    `it is ${after}, which is older than ${before}: add --downgrade if that is what you want`,
  );
}

const byNumbers = new Intl.Collator('en', { numeric: true }).compare;

function byCandidate(a: string, b: string): number {
  if (a === '' || b === '') return Number(a === '') - Number(b === '');
  return byNumbers(a, b);
}

function partsOf(version: string): [core: string, candidate: string] {
  const [core = '', ...candidate] = version.split('+')[0]?.split('-') ?? [];
  return [core, candidate.join('-')];
}

export const previousOf = (binary: string): string => `${binary}.previous`;

/** The fresh one takes the executable's place, which is never empty. */
export function swapIn(fresh: string, binary: string): void {
  const previous = previousOf(binary);
  rmSync(previous, { force: true });
  try {
    linkSync(binary, previous);
  } catch {
    // A file system without links.
    copyFileSync(binary, previous);
  }
  replaceFile(fresh, binary);
}

export const swapBack = (binary: string): void => replaceFile(previousOf(binary), binary);

/** Of what a program complained of, for one line. */
export function firstLine(error: unknown): string {
  const { stderr, stdout } = Object(error) as { stderr?: unknown; stdout?: unknown };
  const said = [stderr, stdout].find((each) => typeof each === 'string' && each.trim() !== '');
  return (
    String(said ?? reasonOf(error))
      .trim()
      .split('\n')[0]
      ?.slice(0, 300) ?? ''
  );
}
