// Files on disk: fsync of files and folders, atomic replacement, free space, leftovers.

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

/** With less free disk, no address is issued and no snapshot made, so that callbacks still fit. */
export const minFreeBytes = 64 * 1024 * 1024;

/** Free bytes on the disk of a folder, for users other than root. */
export function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The system's name of an error. Node has no name for EDQUOT (a full quota). */
export const systemCode = ({ code, errno }: NodeJS.ErrnoException): string =>
  errno === -constants.errno.EDQUOT ? 'EDQUOT' : (code ?? '');

/** Fsync of a file or folder: its bytes, or its new and renamed entries, survive a power loss. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Replaces a file atomically, even at a power loss.
 * @param fresh the complete new file, in the same folder
 */
export function replaceFile(fresh: string, target: string): void {
  syncPath(fresh);
  renameSync(fresh, target);
  syncPath(dirname(target));
}

/**
 * Removes files that killed processes left in a folder.
 * @param fresh a file that was just made there; what is more than a day older is a leftover
 */
export function removeLeftovers(folder: string, pattern: RegExp, fresh: string): void {
  const madeAt = statSync(fresh).mtimeMs;
  for (const name of readdirSync(folder).filter((each) => pattern.test(each))) {
    const path = join(folder, name);
    try {
      const stat = lstatSync(path);
      // Another user can replace entries of its own folder by links meanwhile.
      if (stat.isDirectory() && stat.uid !== process.geteuid?.()) continue;
      if (madeAt - stat.mtimeMs > dayMs) rmSync(path, { recursive: true });
    } catch {
      // Another process removed it first, or it belongs to another user.
    }
  }
}

/** Makes a folder and its parents with mode 0700. */
export const makePrivateFolder = (folder: string): void =>
  void mkdirSync(folder, { recursive: true, mode: 0o700 });
