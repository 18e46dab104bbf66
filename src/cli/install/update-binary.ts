// Replaces the executable: a new one is copied beside it, checked there, and put in place by a
// rename. An archive is unpacked there after the check. The former executable stays beside it as
// `.previous`. Nothing here knows a database.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSea } from 'node:sea';
import { promisify } from 'node:util';
import { PaygateError, reasonOf, throwInvalid } from '../../lib/errors.ts';
import { replaceFile, syncPath } from '../../world/disk.ts';
import type { Owner } from '../database/file-owner.ts';
import { isGzip, unpackExecutable } from './release-archive.ts';
import { maxSignatureBytes, releaseKey, signedVersion } from './release-signature.ts';

export const run = promisify(execFile);

/** For a program that prints something and ends. */
const runTimeoutMs = 60_000;
const sumsFileName = 'SHA256SUMS';
const maxSumsBytes = 64 * 1024;
const unsignedText =
  'download it too; for an executable that you built yourself, give its checksum with --sha256';

export interface ExpectedFile {
  /** SHA-256 in hexadecimal. */
  readonly sum: string;
  /** The version that the signature states; undefined for a checksum that the operator gave. */
  readonly version?: string;
}

/**
 * The checksum that was given, or the one in SHA256SUMS beside the file, which must be signed.
 * @throws PaygateError
 */
export function expectedFile(file: string, given: string | undefined): ExpectedFile {
  if (given !== undefined) {
    if (/^[0-9a-f]{64}$/i.test(given)) return { sum: given.toLowerCase() };
    throwInvalid('--sha256 has no 64 hexadecimal digits; copy it from SHA256SUMS');
  }
  if (!existsSync(file)) throwInvalid(`${file} does not exist`);
  const path = join(dirname(file), sumsFileName);
  const sums = readSmall(path, maxSumsBytes, unsignedText);
  const version = versionSigned(`${path}.minisig`, sums);
  const found = [...sums.toString().matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].filter(
    ([, , name]) => name === basename(file),
  );
  const [, sum] = found[0] ?? [];
  if (sum === undefined || found.length > 1) {
    throwInvalid(
      `${path} does not list ${basename(file)} exactly once; keep the name that the file had in its release`,
    );
  }
  return { sum, version };
}

/** @throws PaygateError which names the file */
function versionSigned(path: string, sums: Buffer): string {
  const signature = readSmall(path, maxSignatureBytes, unsignedText).toString('latin1');
  try {
    return signedVersion(sums, signature, releaseKey);
  } catch (error) {
    if (error instanceof PaygateError) throwInvalid(`${path}: ${error.message}`);
    throw error;
  }
}

function readSmall(path: string, maxBytes: number, advice: string): Buffer {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throwInvalid(`${path} does not exist; ${advice}`);
  if (!stat.isFile() || stat.size > maxBytes) throwInvalid(`${path} is not of a release`);
  return readFileSync(path);
}

/**
 * Copies `file` beside the executable, checks the copy, and unpacks it if it is an archive.
 * @returns the path of the new executable
 * @throws PaygateError
 */
export async function copyChecked(
  file: string,
  binary: string,
  { sum }: ExpectedFile,
): Promise<string> {
  const fresh = join(dirname(binary), `.${basename(binary)}-new`);
  const copy = `${fresh}.tar.gz`;
  try {
    // An earlier update may have been killed. A link that waits there must not be followed.
    for (const each of [copy, fresh]) rmSync(each, { force: true });
    copyFileSync(file, copy, constants.COPYFILE_EXCL);
    const found = await hashOf(copy);
    if (found !== sum) {
      throwInvalid(`${file}: the checksum is ${found}, not ${sum}; download it again`);
    }
    if (isGzip(firstBytes(copy))) await unpackExecutable(copy, fresh);
    else renameSync(copy, fresh);
    chmodSync(fresh, 0o755);
    syncPath(fresh);
    return fresh;
  } catch (error) {
    rmSync(fresh, { force: true });
    if (error instanceof PaygateError) throw error;
    throw new PaygateError('unavailable', `${fresh}: cannot be written (${reasonOf(error)})`);
  } finally {
    rmSync(copy, { force: true });
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
  return version ?? throwInvalid('it is not paygate');
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

/**
 * Compares with this program, because the replaced file may be damaged; with that file if paygate
 * runs from its sources.
 * @throws PaygateError if the new file is no program, or one for another processor
 */
export function assertSamePlatform(fresh: string, binary: string): void {
  const own = isSea() ? process.execPath : binary;
  const [before, after] = [firstBytes(own), firstBytes(fresh)];
  if (!before.subarray(0, 4).equals(elf)) return;
  // Class and byte order, then the processor (e_machine).
  const kind = (bytes: Buffer) => [bytes.subarray(0, 6), bytes.subarray(18, 20)];
  if (Buffer.concat(kind(before)).equals(Buffer.concat(kind(after)))) return;
  throwInvalid('it is not a program for this machine');
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

/** @throws PaygateError unless the executable has the version that the signature states */
export function assertVersion(version: string, { version: signed = version }: ExpectedFile): void {
  if (version === signed) return;
  throwInvalid(`it is ${version}, but the signature is for ${signed}`);
}

/**
 * @throws PaygateError if the new version is older, by the precedence of https://semver.org, §11
 */
export function assertNotOlder(before: string, after: string): void {
  const [core, candidate] = versionParts(before);
  const [nextCore, nextCandidate] = versionParts(after);
  const order = compareNumbers(nextCore, core) || compareCandidates(nextCandidate, candidate);
  if (order >= 0) return;
  throwInvalid(`it is ${after}, which is older than ${before}; add --downgrade if you want that`);
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
