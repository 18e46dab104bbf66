// The archive of a release, read from hostile bytes. Nothing but the executable is ever written.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, it } from 'vitest';
import { unpackExecutable } from '../../src/cli/install/release-archive.ts';
import { copyChecked } from '../../src/cli/install/update-binary.ts';
import { cleanUp, noise, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

interface Member {
  readonly name: string;
  readonly type?: string;
  readonly content?: Uint8Array;
  readonly size?: string;
  readonly prefix?: string;
  readonly magic?: string;
}

/** One member of a ustar archive. */
function member({ name, type = '0', content = Buffer.alloc(0), ...odd }: Member): Buffer {
  const header = Buffer.alloc(512);
  const size = odd.size ?? `${content.length.toString(8).padStart(11, '0')}\0`;
  header.write(name, 0, 'latin1');
  header.write('0000755\x000000000\x000000000\0', 100, 'latin1');
  header.write(size, 124, 'latin1');
  header.write('00000000000\0', 136, 'latin1');
  header.write(`        ${type}`, 148, 'latin1');
  if (type === '1' || type === '2') header.write('/etc/passwd', 157, 'latin1');
  header.write(odd.magic ?? 'ustar\x0000', 257, 'latin1');
  header.write(odd.prefix ?? '', 345, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, content, Buffer.alloc(-content.length & 511)]);
}

const end = Buffer.alloc(1024);
const program = Buffer.from(noise(70_001));
const folder: Member = { name: 'paygate-0.2.0-linux-x64/', type: '5' };
const executable: Member = { name: `${folder.name}paygate`, content: program };

/** Unpacks gzipped bytes; what is left in the folder is the executable alone. */
async function unpack(bytes: Uint8Array): Promise<Buffer> {
  const where = tempFolder();
  const [archive, target] = [join(where, 'in.tar.gz'), join(where, 'out')];
  writeFileSync(archive, bytes);
  await unpackExecutable(archive, target).finally(() =>
    expect(readdirSync(where).filter((name) => name !== 'out')).toEqual(['in.tar.gz']),
  );
  return readFileSync(target);
}

const unpackAll = (...members: readonly Member[]) =>
  unpack(gzipSync(Buffer.concat([...members.map(member), end])));

it('S-132 unpacks the executable and nothing else', async () => {
  const text: Member = { name: `${folder.name}README.md`, content: Buffer.from('Read me.\n') };
  expect((await unpackAll(folder, text, executable)).equals(program)).toBe(true);
  expect((await unpackAll(executable, text)).equals(program)).toBe(true);
});

it('unpacks what tar makes', async () => {
  const where = tempFolder();
  execFileSync('mkdir', [join(where, 'paygate-0.2.0-linux-x64')]);
  writeFileSync(join(where, executable.name), program);
  const tar = execFileSync('tar', ['--format=ustar', '-c', '-C', where, 'paygate-0.2.0-linux-x64']);
  expect((await unpack(gzipSync(tar))).equals(program)).toBe(true);
});

it.each<readonly [string, RegExp, readonly Member[]]>([
  ['a symbolic link', /link or device/, [folder, { ...executable, type: '2' }]],
  ['a hard link', /link or device/, [folder, executable, { name: 'a/b', type: '1' }]],
  ['a device', /link or device/, [executable, { name: 'a/null', type: '3' }]],
  ['a FIFO', /link or device/, [executable, { name: 'a/b', type: '6' }]],
  ['a pax header', /link or device/, [{ name: 'a/b', type: 'x' }, executable]],
  ['a long name of GNU', /link or device/, [{ name: 'a/b', type: 'L' }, executable]],
  ['a type without a name', /link or device/, [{ ...executable, type: '\0' }]],
  ['a way up', /name/, [executable, { name: '../paygate' }]],
  ['a way up inside', /name/, [{ ...executable, name: 'a/../paygate' }]],
  ['an absolute name', /name/, [{ ...executable, name: '/usr/local/bin/paygate' }]],
  ['a hidden name', /name/, [executable, { name: 'a/.bashrc' }]],
  ['a name outside of the folder', /name/, [executable, { name: 'paygate' }]],
  ['a name with a control character', /name/, [executable, { name: 'a/\x1b[2J' }]],
  ['a prefix', /name/, [executable, { name: 'a/b', prefix: '/etc' }]],
  ['a name twice', /two entries/, [executable, { name: 'a/b' }, { name: 'a/b' }]],
  ['the executable twice', /two entries/, [executable, executable]],
  [
    'an executable in each of two folders',
    /one executable/,
    [executable, { ...executable, name: 'b/paygate' }],
  ],
  ['no executable', /one executable/, [folder, { name: 'a/README.md' }]],
  ['a deeper executable', /one executable/, [{ ...executable, name: 'a/b/paygate' }]],
  ['a folder with content', /damaged/, [{ ...folder, content: program }, executable]],
  ['a file that is named as a folder', /damaged/, [{ ...executable, name: 'a/paygate/' }]],
  ['a size that is no number', /damaged/, [{ ...executable, size: '-0000000001\0' }]],
  ['a size in base 256', /damaged/, [{ ...executable, size: '\x80\0\0\0\0\0\0\0\0\0\0\x01' }]],
  ['another format', /damaged/, [{ ...executable, magic: 'ustar  \0' }]],
])('refuses %s', async (_, message, members) => {
  await expect(unpackAll(...members)).rejects.toThrow(message);
});

it('refuses an archive that is cut, changed, or followed by something', async () => {
  const tar = Buffer.concat([member(executable), end]);
  const gzipped = gzipSync(tar);
  await expect(unpack(gzipped.subarray(0, -1))).rejects.toThrow(/damaged/);
  const changed = Buffer.from(gzipped);
  changed[changed.length - 6] = (changed[changed.length - 6] ?? 0) ^ 1;
  await expect(unpack(changed)).rejects.toThrow(/damaged/);
  await expect(unpack(gzipSync(tar.subarray(0, 1_000)))).rejects.toThrow(/damaged/);
  await expect(unpack(gzipSync(member(executable)))).rejects.toThrow(/damaged/);
  await expect(unpack(gzipSync(Buffer.concat([tar, program])))).rejects.toThrow(/damaged/);
  const header = Buffer.from(tar);
  header[0] = 0x70;
  header[1] = 0x71;
  await expect(unpack(gzipSync(header))).rejects.toThrow(/damaged/);
  await expect(unpack(Buffer.from('no gzip'))).rejects.toThrow(/damaged/);
});

it('refuses too many entries', async () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ name: `a/${at}` }));
  await expect(unpackAll(...many, executable)).rejects.toThrow(/too many/);
});

it('refuses more than half a gibibyte', async () => {
  const where = tempFolder();
  const [archive, target] = [join(where, 'in.tar.gz'), join(where, 'out')];
  const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  const first = member({ name: 'a/README.md', size: '77777777777\0' });
  writeFileSync(archive, Buffer.concat([gzipSync(first), ...Array(9).fill(zeros)]));
  await expect(unpackExecutable(archive, target)).rejects.toThrow(/too large/);
  expect(existsSync(target) ? readFileSync(target).length : 0).toBe(0);
});

it.each([
  ['an archive', (bytes: Buffer) => gzipSync(bytes)],
  ['an executable', () => program],
])('%s is written through no link that waits beside the old executable', async (_what, make) => {
  const where = tempFolder();
  const victim = join(tempFolder(), 'victim');
  writeFileSync(victim, 'untouched');
  for (const name of ['.paygate-new', '.paygate-new.tar.gz'])
    symlinkSync(victim, join(where, name));
  const file = join(where, 'download');
  writeFileSync(file, make(Buffer.concat([member(folder), member(executable), end])));
  const sum = createHash('sha256').update(readFileSync(file)).digest('hex');
  const fresh = await copyChecked(file, join(where, 'paygate'), { sum });
  expect(readFileSync(victim, 'utf8')).toBe('untouched');
  expect(lstatSync(fresh).isFile()).toBe(true);
  expect(readFileSync(fresh).equals(program)).toBe(true);
});
