// Root gives up its rights before it works on a database in another user's folder. The owner of the
// folder can replace files by links at any moment, so root would write wherever that user wants.
// Root therefore becomes that user, for good, before it touches a file.
// https://nodejs.org/api/process.html#processsetuidid

import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { openSqlite } from '../../store/db/driver.ts';
import { truePath } from '../../store/db/file-path.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** An unprivileged group, for a folder whose group is root's. */
const noGroup = 65_534;

let became: Owner | undefined;

/**
 * Owner of the folder of a file, or of a link to it; undefined unless we are root and it is not.
 */
export function ownerOf(path: string): Owner | undefined {
  // It throws if the working folder was removed, for every user.
  const folder = dirname(resolve(path));
  if (process.geteuid?.() !== 0) return undefined;
  // A folder may be a link: its owner decides where the link leads.
  const stats = [lstatSync, statSync].map((stat) => stat(folder, { throwIfNoEntry: false }));
  const found = stats.find((each) => each !== undefined && each.uid !== 0);
  if (found !== undefined) return { uid: found.uid, gid: found.gid || noGroup };
  if (truePath(path) === path) return undefined;
  // Follow links one by one, because each may lie in another user's folder.
  return ownerOf(resolve(realpathSync(dirname(path)), readlinkSync(path)));
}

/**
 * Root becomes the owner of a file's folder, and cannot go back. Other users change nothing.
 * @returns the path, resolved through folders that only root may read
 * @throws PaygateError unavailable
 */
export function becomeOwner(path: string): string {
  const owner = ownerOf(path);
  if (owner === undefined) return path;
  const { uid, gid } = owner;
  const end = truePath(path);
  const folder = dirname(end);
  const resolved = existsSync(folder) ? join(realpathSync(folder), basename(end)) : end;
  // From the sources, load the SQLite driver first: it may be where only root may read.
  if (!isSea()) openSqlite(':memory:').close();
  try {
    process.setgroups?.([]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new PaygateError(
      'unavailable',
      `${path}: root cannot become user ${uid}, who owns the folder (${reasonOf(error)}); run this as that user`,
    );
  }
  became = owner;
  return resolved;
}

/** A hint for an error of permissions after root became another user; else empty. */
export const hintFor = (text: string): string =>
  became === undefined || !/\bE(ACCES|PERM)\b/.test(text)
    ? ''
    : `in the folder of user ${became.uid}, root works as that user; name files that it may read, and folders that it may write`;
