// The folder of a run's databases. It is on a real disk, because a commit to memory costs nothing.
// The system's temporary folder is often memory; then the folder is made beside the checkout.

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
 * Makes a folder on the file system of the checkout's parent; it is removed with this process.
 * @param {string} checkout
 */
export function chooseFolder(checkout) {
  const beside = dirname(resolve(checkout));
  const isSame = statSync(tmpdir()).dev === statSync(beside).dev;
  const folder = mkdtempSync(join(isSame ? tmpdir() : beside, 'paygate-bench-'));
  const { type } = statfsSync(folder);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return { folder, fileSystem: fileSystems.get(type) ?? `0x${type.toString(16)}` };
}
