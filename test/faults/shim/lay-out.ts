// What lies on a disk after a loss of power (disk.ts), laid out in a folder, where it can be opened.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Remains } from './disk.ts';

/** Who reads it next begins it anew, as after a start of the machine. */
const isLost = (path: string): boolean => path.endsWith('-shm');

/** Two remains with the same print are the same. */
export function printOf({ files, names }: Remains): string {
  const hash = createHash('sha1');
  for (const [path, inode] of [...names].sort()) {
    if (!isLost(path)) hash.update(`${path}\0`).update(files.get(inode) ?? '');
  }
  return hash.digest('hex');
}

/** Lays it out instead of what lay there before. @param from the folder that it was in */
export function layOut(folder: string, from: string, { files, names }: Remains): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  const inodes = new Map<string, string>();
  for (const [path, inode] of names) {
    if (isLost(path)) continue;
    const target = join(folder, path.slice(from.length));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, files.get(inode) ?? '');
    inodes.set(inode, `${statSync(target).ino}`);
  }
  renameInodes(join(folder, '.paygate-mark/paygate.db'), inodes);
}

/** On the disk that lost its power each file has the inode that it had, and its age; here they are others. */
function renameInodes(mark: string, inodes: ReadonlyMap<string, string>): void {
  const bytes = statSync(mark, { throwIfNoEntry: false })
    ? readFileSync(mark, 'latin1')
    : undefined;
  if (bytes === undefined) return;
  const unborn = bytes.replace(/"(markBorn|positionBorn)":\d+,/g, '');
  const renamed = unborn.replace(
    /"(databaseInode|markInode|positionInode)":"(\d+)"/g,
    (whole, name, inode) => {
      const now = inodes.get(inode);
      return now === undefined ? whole : `"${name}":"${now}"`;
    },
  );
  writeFileSync(mark, renamed, 'latin1');
}
