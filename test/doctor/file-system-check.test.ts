// What the doctor says of the file system under a database.

import { expect, it } from 'vitest';
import { fileSystemResult } from '../../src/doctor/file-system-check.ts';

it.each([
  ['overlayfs', 0x794c7630, 'in a volume'],
  ['tmpfs', 0x01021994, 'empty after a restart'],
  ['ramfs', 0x858458f6, 'empty after a restart'],
  ['NFS', 0x6969, 'on a local disk'],
  ['CIFS', 0xff534d42, 'on a local disk'],
  ['CIFS', 0xff534d42 | 0, 'on a local disk'],
  ['SMB', 0xfe534d42, 'on a local disk'],
  ['FUSE', 0x65735546, 'on a local disk'],
  ['9p', 0x01021997, 'on a local disk'],
  ['vboxsf', 0x786f4256, 'on a local disk'],
  ['exFAT', 0x2011bab0, 'takes the database for a copy'],
  ['FAT', 0x4d44, 'takes the database for a copy'],
])('warns of %s, type %d', (name, type, text) => {
  const { state, text: told } = fileSystemResult('/data', type);
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
])('accepts %s', (_name, type) => {
  expect(fileSystemResult('/data', type)).toMatchObject({ state: 'ok' });
});
