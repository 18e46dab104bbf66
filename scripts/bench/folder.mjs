// Where the databases of a run lie: on a real disk, for a commit in memory costs nothing. The system's
// folder for temporary files is often memory; then it is a new folder beside the checkout.

import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** https://man7.org/linux/man-pages/man2/statfs.2.html */
const fileSystems = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x794c7630, 'overlay'],
  [0x01021994, 'tmpfs (memory!)'],
  [0x858458f6, 'ramfs (memory!)'],
]);

/**
 * Makes a new folder on the file system of the checkout's parent, which goes with this process.
 * @param {string} checkout
 */
export function chooseFolder(checkout) {
  const beside = dirname(resolve(checkout));
  const isSame = statSync(tmpdir()).dev === statSync(beside).dev;
  const folder = mkdtempSync(join(isSame ? tmpdir() : beside, 'paygate-bench-'));
  const { type } = statfsSync(folder);
  const fileSystem = fileSystems.get(type) ?? `0x${type.toString(16)}`;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return { folder, fileSystem };
}
