// Whether the file system under the database keeps the identity of a file, by which a copy is told from its original, and shares
// it with nobody. By the type that statfs says. https://man7.org/linux/man-pages/man2/statfs.2.html

import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CheckResult, ok, warn } from './doctor-check.ts';

const onDisk = 'keep the database on a disk of this machine, as ext4, XFS or btrfs';
const advice = {
  layer: `which a new container begins anew or shares with others, so that addresses may be given out twice; keep the database in a volume`,
  memory: `which is empty after a restart of the machine; ${onDisk}`,
  remote: `where locks and inodes may not be those of one file, so that two servers may run on it or a start may take it for a copy; ${onDisk}`,
  fat: `where the inodes of all files change with a mount, so that the database is taken for a copy; ${onDisk}`,
} as const;

const types: Readonly<Record<number, readonly [name: string, why: keyof typeof advice]>> = {
  2035054128: ['overlayfs', 'layer'],
  1635083891: ['aufs', 'layer'],
  16914836: ['tmpfs', 'memory'],
  2240043254: ['ramfs', 'memory'],
  26985: ['NFS', 'remote'],
  20859: ['SMB', 'remote'],
  4266872130: ['SMB', 'remote'],
  4283649346: ['CIFS', 'remote'],
  1702057286: ['FUSE or virtiofs', 'remote'],
  16914839: ['9p', 'remote'],
  2020557398: ['vboxsf', 'remote'],
  3133910204: ['vmhgfs', 'remote'],
  2088527475: ['prl_fs', 'remote'],
  12805120: ['Ceph', 'remote'],
  1397113167: ['AFS', 'remote'],
  1799439955: ['AFS', 'remote'],
  1937076805: ['Coda', 'remote'],
  18225520: ['GFS2', 'remote'],
  1952539503: ['OCFS2', 'remote'],
  198183888: ['Lustre', 'remote'],
  538032816: ['exFAT', 'fat'],
  19780: ['FAT', 'fat'],
};

/** @param path of the database, whose folder is there */
export const fileSystemCheck = (path: string): CheckResult =>
  fileSystemFinding(dirname(path), statfsSync(dirname(path)).type);

/** @param type as statfs says it, of which some kernels take the first bit for a sign */
export function fileSystemFinding(folder: string, type: number): CheckResult {
  const found = types[type >>> 0];
  if (found === undefined)
    return ok('it is none that is known to lose or share the identity of files');
  const [name, why] = found;
  return warn(`${folder} is on ${name}, ${advice[why]}`);
}
