// Replaces the executable: a new one is copied beside it, checked there, and put in place by a
// rename. The former one stays beside it as `.previous`. Nothing here knows a database.

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

/** For a program that prints something and ends. */
const runTimeoutMs = 60_000;
const sumsFileName = 'SHA256SUMS';

/**
 * The expected SHA-256: the one given, or the one in SHA256SUMS beside the file.
 * @throws PaygateError
 */
export function expectedSum(file: string, given: string | undefined): string {
  if (given !== undefined) {
    if (/^[0-9a-f]{64}$/i.test(given)) return given.toLowerCase();
    throw new PaygateError(
      'invalid',
      '--sha256 has no 64 hexadecimal digits; copy it from SHA256SUMS',
    );
  }
  if (!existsSync(file)) throw new PaygateError('invalid', `${file} does not exist`);
  const sums = join(dirname(file), sumsFileName);
  if (!existsSync(sums)) {
    throw new PaygateError('invalid', `${sums} does not exist; give the checksum with --sha256`);
  }
  const found = [...readFileSync(sums, 'utf8').matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].filter(
    ([, , name]) => name === basename(file),
  );
  const [, sum] = found[0] ?? [];
  if (sum === undefined || found.length > 1) {
    throw new PaygateError(
      'invalid',
      `${sums} does not list ${basename(file)} exactly once; give the checksum with --sha256`,
    );
  }
  return sum;
}

/**
 * Copies `file` beside the executable and checks the copy.
 * @returns its path
 * @throws PaygateError
 */
export async function copyChecked(file: string, binary: string, sum: string): Promise<string> {
  const fresh = join(dirname(binary), `.${basename(binary)}-new`);
  try {
    copyFileSync(file, fresh);
    const found = await hashOf(fresh);
    if (found !== sum) {
      throw new PaygateError(
        'invalid',
        `${file}: the checksum is ${found}, not ${sum}; download it again`,
      );
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

/** @throws PaygateError if it does not run here, or is not paygate */
export async function versionOf(binary: string): Promise<string> {
  const result = await run(binary, ['--version'], { timeout: runTimeoutMs }).catch((error) => {
    throw new PaygateError('unavailable', `it does not run on this machine: ${firstLine(error)}`);
  });
  const [version] = /^\d+\.\d+\.\d+\S*$/m.exec(result.stdout) ?? [];
  if (version === undefined) throw new PaygateError('invalid', 'it is not paygate');
  return version;
}

/**
 * Runs the new executable's `check` on a snapshot, as `owner` without our environment and terminal.
 * @throws PaygateError if it cannot read the database
 */
export function assertReadsDatabase(
  binary: string,
  snapshot: string,
  owner: Owner | undefined,
): void {
  const { status, signal, stdout, stderr, error } = spawnSync(binary, ['check', snapshot], {
    timeout: 10 * runTimeoutMs,
    encoding: 'utf8',
    ...(owner && { ...owner, env: {}, detached: true }),
  });
  if (status === 0) return;
  const output = [stderr, stdout, `it ended with ${status ?? signal}`].find(Boolean);
  const why = firstLine(error ?? { stderr: output });
  throw new PaygateError('unavailable', `it cannot read the database: ${why}`);
}

/**
 * The header of a Linux program, up to its processor:
 * https://refspecs.linuxfoundation.org/elf/elf.pdf
 */
const elf = Buffer.from('\x7fELF', 'latin1');
const elfHeaderBytes = 20;

/** @throws PaygateError if the new file is no program, or one for another processor */
export function assertSamePlatform(fresh: string, binary: string): void {
  const [before, after] = [firstBytes(binary), firstBytes(fresh)];
  if (!before.subarray(0, 4).equals(elf)) return;
  // Class and byte order, then the processor (e_machine).
  const kind = (bytes: Buffer) => [bytes.subarray(0, 6), bytes.subarray(18, 20)];
  if (Buffer.concat(kind(before)).equals(Buffer.concat(kind(after)))) return;
  throw new PaygateError('invalid', 'it is not a program for this machine');
}

function firstBytes(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(elfHeaderBytes);
    readSync(file, bytes, 0, elfHeaderBytes, 0);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/**
 * @throws PaygateError if the new version is older, by the precedence of https://semver.org, §11
 */
export function assertNotOlder(before: string, after: string): void {
  const [core, candidate] = versionParts(before);
  const [nextCore, nextCandidate] = versionParts(after);
  const order = compareNumbers(nextCore, core) || compareCandidates(nextCandidate, candidate);
  if (order >= 0) return;
  throw new PaygateError(
    'invalid',
    `it is ${after}, which is older than ${before}; add --downgrade if you want that`,
  );
}

const compareNumbers = new Intl.Collator('en', { numeric: true }).compare;

function compareCandidates(a: string, b: string): number {
  if (a === '' || b === '') return Number(a === '') - Number(b === '');
  return compareNumbers(a, b);
}

function versionParts(version: string): [core: string, candidate: string] {
  const [core = '', ...candidate] = version.split('+')[0]?.split('-') ?? [];
  return [core, candidate.join('-')];
}

export const previousOf = (binary: string): string => `${binary}.previous`;

/** Replaces the executable; at every moment one of the two is in place. */
export function replaceBinary(fresh: string, binary: string): void {
  const previous = previousOf(binary);
  rmSync(previous, { force: true });
  try {
    linkSync(binary, previous);
  } catch {
    // The file system has no hard links.
    copyFileSync(binary, previous);
  }
  replaceFile(fresh, binary);
}

export const restorePrevious = (binary: string): void => replaceFile(previousOf(binary), binary);

/** The first line of a program's error output, else of its output, else of the error. */
export function firstLine(error: unknown): string {
  const { stderr, stdout } = Object(error) as { stderr?: unknown; stdout?: unknown };
  const output = [stderr, stdout].find((each) => typeof each === 'string' && each.trim() !== '');
  return (
    String(output ?? reasonOf(error))
      .trim()
      .split('\n')[0]
      ?.slice(0, 300) ?? ''
  );
}
