// Resolves a path to its file; a link means its target. WAL, lock, mark file and backups are beside
// the database under its name. Under two names one file would be two databases to two servers,
// which would issue the same addresses. A file whose names cannot be resolved is refused.

import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PaygateError, reasonOf } from '../../lib/errors.ts';

/** A new file is made whole in a folder that begins so, under this name, before it gets its own. */
export const makersFolder = '.paygate-new-';
export const makersName = 'paygate.db';

export const logEnds = ['-wal', '-journal'] as const;

export const besideEnds = [...logEnds, '-shm'] as const;

/** Whether there is something to be played: an empty log is none. */
export const isLog = (path: string): boolean => (found(path, statSync)?.size ?? 0) > 0;

/** Mounts of this process. https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
const mountTable = '/proc/self/mountinfo';

/**
 * @throws PaygateError unavailable for a link to nothing, for what is no file, and where this user
 * may not look
 */
export function truePath(path: string): string {
  const stat = found(path, lstatSync);
  if (!stat?.isSymbolicLink()) {
    refuseNoFile(path, stat);
    return path;
  }
  const end = found(path, statSync);
  refuseNoFile(path, end);
  if (end !== undefined) return realpathSync(path);
  throw new PaygateError(
    'unavailable',
    `${path}: is a link to a file that is not there; put that back, or remove the link`,
  );
}

function refuseNoFile(path: string, stat: Stats | undefined): void {
  if (stat === undefined || stat.isFile()) return;
  const what = stat.isDirectory()
    ? `a folder; name a file, as ${join(path, makersName)}`
    : 'a pipe, a socket or a device; name another one';
  throw new PaygateError('unavailable', `${path}: is not a file but ${what}`);
}

/** Undefined if there is nothing. @throws PaygateError unavailable if this user may not look */
export function found(path: string, look: typeof lstatSync | typeof statSync): Stats | undefined {
  try {
    return look(path, { throwIfNoEntry: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const fault =
      code === 'EACCES'
        ? 'is in a folder that this user may not read (EACCES); run this as its owner'
        : `cannot be read (${code ?? reasonOf(error)}); name another one`;
    throw new PaygateError('unavailable', `${path}: ${fault}`);
  }
}

/** @throws PaygateError unavailable for a file that another server may have under another name */
export function refuseTwoNames(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.nlink > 1) dropMakersName(path, stat.ino);
  if (statSync(path).nlink > 1) {
    throw new PaygateError(
      'unavailable',
      `${path}: has another name (a hard link), under which its write-ahead log would be missing; remove that name, or copy the file`,
    );
  }
  const mounts = existsSync(mountTable) ? mountPoints(readFileSync(mountTable, 'utf8')) : [];
  if (mounts.includes(realpathSync(path))) {
    throw new PaygateError(
      'unavailable',
      `${path}: is mounted without the files beside it, such as its write-ahead log; mount its folder instead`,
    );
  }
}

/** A new file has two names for a moment; who made it may have been killed in that. */
function dropMakersName(path: string, inode: number): void {
  const around = dirname(path);
  for (const name of readdirSync(around).filter((each) => each.startsWith(makersFolder))) {
    const folder = join(around, name);
    const made = statSync(join(folder, makersName), { throwIfNoEntry: false });
    if (made?.ino === inode) rmSync(folder, { recursive: true, force: true });
  }
}

/** Mount points: the fifth field, with white space and backslashes in octal. */
export const mountPoints = (table: string): string[] =>
  table
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((field) =>
      field.replaceAll(/\\([0-7]{3})/g, (_, octal) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
