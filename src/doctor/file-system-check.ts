// Whether the file system of the database preserves inodes, which distinguish a copy from its
// original, and is not shared with other machines. Decided by the type that statfs reports.
// https://man7.org/linux/man-pages/man2/statfs.2.html

import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CheckResult, ok, warn } from './doctor-check.ts';

const onDisk = 'put the database on a local disk with ext4, XFS or btrfs';
const advice = {
  layer:
    'which a new container empties or shares, so addresses may be issued twice; put the database in a volume',
  memory: `which is empty after a restart of the machine; ${onDisk}`,
  remote: `where locks and inodes are unreliable: two servers may run on one file, or a start may take it for a copy; ${onDisk}`,
  fat: `where inodes change with each mount, so a start takes the database for a copy; ${onDisk}`,
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

/** @param path of the database, whose folder exists */
export const fileSystemCheck = (path: string): CheckResult =>
  fileSystemResult(dirname(path), statfsSync(dirname(path)).type);

/** @param type as statfs reports it, negative on some systems */
export function fileSystemResult(folder: string, type: number): CheckResult {
  const found = types[type >>> 0];
  if (found === undefined) return ok('not a file system that is known to change or share inodes');
  const [name, why] = found;
  return warn(`${folder} is on ${name}, ${advice[why]}`);
}
