// What the doctor says of the file system under a database.

import { expect, it } from 'vitest';
import { fileSystemFinding } from '../../src/doctor/file-system-check.ts';

it.each([
  ['overlayfs', 0x794c7630, 'in a volume'],
  ['tmpfs', 0x01021994, 'empty after a restart'],
  ['ramfs', 0x858458f6, 'empty after a restart'],
  ['NFS', 0x6969, 'on a disk of this machine'],
  ['CIFS', 0xff534d42, 'on a disk of this machine'],
  ['CIFS', 0xff534d42 | 0, 'on a disk of this machine'],
  ['SMB', 0xfe534d42, 'on a disk of this machine'],
  ['FUSE', 0x65735546, 'on a disk of this machine'],
  ['9p', 0x01021997, 'on a disk of this machine'],
  ['vboxsf', 0x786f4256, 'on a disk of this machine'],
  ['exFAT', 0x2011bab0, 'taken for a copy'],
  ['FAT', 0x4d44, 'taken for a copy'],
])('warns of %s, type %d', (name, type, text) => {
  const { state, text: told } = fileSystemFinding('/data', type);
  expect([state, told.includes(`/data is on ${name}`)]).toEqual(['warn', true]);
  expect(told).toContain(text);
  expect(told).not.toContain('\n');
});

it.each([
  ['ext4', 0xef53],
  ['XFS', 0x58465342],
  ['btrfs', 0x9123683e],
  ['ZFS', 0x2fc12fc1],
  ['f2fs', 0xf2f52010],
])('has nothing against %s', (_name, type) => {
  expect(fileSystemFinding('/data', type)).toMatchObject({ state: 'ok' });
});
