// As whom root works on a database. Whoever owns the folder around it may lay links there and swap what has a name, at any
// moment: root would write wherever that user wants. So it becomes that user, for good, before it touches a file.
// https://nodejs.org/api/process.html#processsetuidid

import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { openSqlite } from '../store/db/driver.ts';
import { truePath } from '../store/db/file-path.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** A group of nobody's, for a folder whose own one is root's. */
const noGroup = 65_534;

let became: Owner | undefined;

/** Whose folder a file lies in, or a link to it; undefined where this is not root, or that is. */
export function ownerOf(path: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  // Who has laid a link in the place of a folder decides where it leads.
  const places = [lstatSync, statSync].map((look) =>
    look(dirname(resolve(path)), { throwIfNoEntry: false }),
  );
  const found = places.find((each) => each !== undefined && each.uid !== 0);
  if (found !== undefined) return { uid: found.uid, gid: found.gid || noGroup };
  if (truePath(path) === path) return undefined;
  // One link after the other, for in between they may be anybody's.
  return ownerOf(resolve(realpathSync(dirname(path)), readlinkSync(path)));
}

/**
 * Root becomes the owner of a file's folder, and cannot go back. Anybody else stays who he is.
 * @returns the path, past what only root may look into
 * @throws PaygateError unavailable
 */
export function becomeOwner(path: string): string {
  const owner = ownerOf(path);
  if (owner === undefined) return path;
  const { uid, gid } = owner;
  const end = truePath(path);
  const folder = dirname(end);
  const there = existsSync(folder) ? join(realpathSync(folder), basename(end)) : end;
  // The driver of who runs from the sources, which may be where only root may read.
  if (!isSea()) openSqlite(':memory:').close();
  try {
    process.setgroups?.([]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new PaygateError(
      'unavailable',
      `${path}: root cannot become user ${uid}, whose folder it is in (${reasonOf(error)}); be that user`,
    );
  }
  became = owner;
  return there;
}

/** What to say of a failure to who was root, and may wonder what he may not do. */
export const hintFor = (text: string): string =>
  became === undefined || !/\bE(ACCES|PERM)\b/.test(text)
    ? ''
    : `paygate: root works in the folder of user ${became.uid} as that user: name files that it may read, and folders that it may write\n`;
