// Writes the files that survive a power loss (disk.ts) to a folder, where they can be opened.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Remains } from './disk.ts';

/** SQLite rebuilds the WAL index when the machine has restarted, so it need not survive. */
const isLost = (path: string): boolean => path.endsWith('-shm');

/** Equal fingerprints mean equal files. */
export function fingerprintOf({ files, names }: Remains): string {
  const hash = createHash('sha1');
  for (const [path, inode] of [...names].sort()) {
    if (!isLost(path)) hash.update(`${path}\0`).update(files.get(inode) ?? '');
  }
  return hash.digest('hex');
}

/** Replaces the content of a folder. @param from the original folder */
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

/** Copies have other inodes and ages than the original files, so the mark file gets theirs. */
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
