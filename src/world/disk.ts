// What must last: a file's bytes, and the names that stand in a folder, which the kernel syncs as it does
// a file. And how much room must stay.

import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { dayMs } from '../lib/time-units.ts';

/** Below this much free disk no address is issued and no snapshot taken: what is owed must still find room. */
export const minFreeBytes = 64 * 1024 * 1024;

/** What is free on the disk of a folder, for who is not root. */
export function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The system's name for what went wrong; Node has none for a quota that is used up. */
export const systemCode = ({ code, errno }: NodeJS.ErrnoException): string =>
  errno === -constants.errno.EDQUOT ? 'EDQUOT' : (code ?? '');

/** Of a file or a folder: what was written, made or renamed there survives a power loss. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces what stands under the name: whenever the power fails it is that or this. @param fresh in the same folder, whole */
export function replaceFile(fresh: string, target: string): void {
  syncPath(fresh);
  renameSync(fresh, target);
  syncPath(dirname(target));
}

/**
 * Removes what a process that was cut off has left in a folder of its work.
 * @param fresh what was just made there: what is a day older is nobody's any more
 */
export function removeLeftovers(folder: string, pattern: RegExp, fresh: string): void {
  const madeAt = statSync(fresh).mtimeMs;
  for (const name of readdirSync(folder).filter((each) => pattern.test(each))) {
    const path = join(folder, name);
    try {
      const stat = lstatSync(path);
      // Into a folder of somebody else's, as among temporary files, anything may be led meanwhile.
      if (stat.isDirectory() && stat.uid !== process.geteuid?.()) continue;
      if (madeAt - stat.mtimeMs > dayMs) rmSync(path, { recursive: true });
    } catch {
      // Another process was first, or it is another user's.
    }
  }
}

/** A folder for its user alone; and those around it. */
export const makePrivateFolder = (folder: string): void =>
  void mkdirSync(folder, { recursive: true, mode: 0o700 });
