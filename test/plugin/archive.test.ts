import { brotliCompressSync, crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import { limits, readArchive, writeArchive } from '../../src/plugin/archive.ts';
import { rewritePlugin } from '../../src/plugin/plugin.ts';
import { parseTarget } from '../../src/plugin/rewrite.ts';
import { type Member, zipOf } from './zip.ts';

const target = parseTarget('https://pay.example.com');
const call = "<?php get('https://www.blockonomics.co/api/price');";

/** Refused with these words, whether it is only read or rewritten. */
async function expectRefusal(archive: Buffer, said: RegExp): Promise<void> {
  await expect(readArchive(archive)).rejects.toThrow(PaygateError);
  await expect(rewritePlugin(archive, target)).rejects.toThrow(said);
}

async function expectRewriteRefusal(archive: Buffer, said: RegExp): Promise<void> {
  await expect(rewritePlugin(archive, target)).rejects.toThrow(said);
}

describe('an honest archive', () => {
  const members: Member[] = [
    { name: 'shop/', mode: 0o040755 },
    { name: 'shop/run.php', content: call, mode: 0o100755 },
    { name: 'shop/logo.png', content: Buffer.from([0x89, 0x50, 0xff, 0, 1]), stored: true },
    { name: 'shop/übersetzung.po', content: '"https://www.blockonomics.co/api"' },
    { name: 'shop/a.js', content: '/* é */ x("www.blockonomics.co/pricing")', mode: 0o100600 },
    { name: 'shop/empty.php', content: '' },
  ];

  test('retains order, names, modes, times and every unchanged byte', async () => {
    const before = await readArchive(zipOf(members));
    const { archive, report } = await rewritePlugin(zipOf(members), target);
    const after = await readArchive(archive);
    const expected = before.map((entry) =>
      entry.name === 'shop/run.php'
        ? { ...entry, content: Buffer.from("<?php get('https://pay.example.com/api/price');") }
        : entry,
    );
    expect(after).toEqual(expected);
    expect(after.map(({ mode }) => mode.toString(8))).toEqual([
      '40755',
      '100755',
      '100644',
      '100644',
      '100600',
      '100644',
    ]);
    expect(report).toEqual({
      changed: [
        {
          file: 'shop/run.php',
          line: 1,
          before: 'https://www.blockonomics.co/api/price',
          after: 'https://pay.example.com/api/price',
        },
      ],
      left: [
        {
          file: 'shop/a.js',
          line: 1,
          text: 'www.blockonomics.co/pricing',
          why: expect.stringContaining('for people'),
          look: false,
        },
      ],
      untouched: ['shop/übersetzung.po'],
    });
  });

  test('the same archive always becomes the same bytes, in every time zone', async () => {
    const { archive } = await rewritePlugin(zipOf(members), target);
    const again = await rewritePlugin(zipOf(members), target);
    expect(again.archive.equals(archive)).toBe(true);
    // The time of the members below, as MS-DOS writes it: 2024-05-06 07:08:10.
    expect(archive.subarray(10, 14).toString('hex')).toBe('0539a658');
    expect(await writeArchive(await readArchive(archive))).toEqual(archive);
  });

  test('modes of an archive that was not made on Unix', async () => {
    const [file, folder] = await readArchive(
      zipOf([
        { name: 'a.php', content: call, madeBy: 0 },
        { name: 'b/', madeBy: 0 },
      ]),
    );
    expect([file?.mode, folder?.mode]).toEqual([0o100644, 0o040755]);
  });

  test('without anything to change is refused, also one that was rewritten', async () => {
    await expect(rewritePlugin(zipOf([{ name: 'a.php' }]), target)).rejects.toThrow(/nothing in/);
    await expect(rewritePlugin(zipOf([]), target)).rejects.toThrow(/nothing in/);
    const { archive } = await rewritePlugin(zipOf(members), target);
    await expect(rewritePlugin(archive, target)).rejects.toThrow(/rewritten already/);
  });
});

describe('a nested archive', () => {
  const inner = zipOf([{ name: 'a.php', content: call }]);
  const named = {
    text: 'blockonomics.co',
    look: true,
    why: expect.stringContaining('in the archive'),
  };

  test.each<[name: string, content: Buffer]>([
    ['a.zip', inner],
    ['a.ocmod.zip', zipOf([{ name: 'b.jar', content: inner }])],
    ['checkout.js.gz', gzipSync(call)],
    ['checkout.js.br', brotliCompressSync(call)],
  ])('%s', async (name, content) => {
    const { report } = await rewritePlugin(zipOf([{ name, content }]), target);
    expect(report.left).toEqual([{ file: name, ...named }]);
  });

  test('is searched up to a limit', async () => {
    const zeros = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    const members = Array.from({ length: 40 }, (_, at) => ({ name: `${at}.gz`, content: zeros }));
    await expectRewriteRefusal(zipOf(members), /packed inside of it is larger/);
    const damaged = Buffer.concat([zeros.subarray(0, -8), Buffer.alloc(8)]);
    const broken = Array.from({ length: 80 }, (_, at) => ({ name: `${at}.gz`, content: damaged }));
    await expectRewriteRefusal(zipOf(broken), /packed inside of it is larger/);
  });
});

test('an archive with the service only in documents is refused with that reason', async () => {
  for (const name of [
    'README',
    'readme.html',
    'LICENSE',
    'CHANGELOG.md',
    'de.po',
    'de.mo',
    'a.txt',
  ]) {
    const archive = zipOf([{ name, content: call }]);
    await expectRewriteRefusal(archive, /links for people and in documents only \("/);
  }
  for (const name of [
    'install.json',
    'readme.php',
    'a',
    'history.js',
    'a.module',
    'de.json',
    'de.csv',
  ]) {
    const { report } = await rewritePlugin(zipOf([{ name, content: call }]), target);
    expect(report).toMatchObject({ changed: [{ file: name }], untouched: [] });
  }
});

describe('hostile names', () => {
  const names: [name: string | Buffer, said: RegExp][] = [
    ['../evil.php', /leads out/],
    ['shop/../../evil.php', /leads out/],
    ['shop/..', /leads out/],
    ['./a.php', /leads out/],
    ['shop//a.php', /leads out/],
    ['', /leads out/],
    ['/', /absolute/],
    ['/etc/passwd', /absolute/],
    ['C:/windows/a.php', /absolute/],
    ['c:a.php', /absolute/],
    ['..\\evil.php', /backslash/],
    ['shop\\a.php', /backslash/],
    ['a\0.php', /do not show/],
    ['a\n.php', /do not show/],
    ['a\u202ephp.php', /"a\?php\.php" has .* do not show/],
    ['a\u009b2J.php', /"a\?2J\.php" has .* do not show/],
    [Buffer.from([0x61, 0xff, 0xfe]), /not UTF-8/],
    [Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x61]), /not UTF-8/],
    ['a'.repeat(2000), /2000 bytes/],
  ];
  test.each(names)('%j', async (name, said) => {
    await expectRefusal(zipOf([{ name: 'ok.php', content: call }, { name }]), said);
  });

  test('the same name twice, also in two Unicode forms', async () => {
    const twice = (one: string, other: string) =>
      expectRefusal(zipOf([{ name: one, content: call }, { name: other }]), /two entries named/);
    await twice('a.php', 'a.php');
    await twice('a', 'a/');
    await twice('\u00e9.php', 'e\u0301.php');
  });

  test('a file that is also a folder', async () => {
    const archive = zipOf([{ name: 'a/b.php', content: call }, { name: 'a' }]);
    await expectRefusal(archive, /is a file and a folder/);
  });
});

describe('hostile entries', () => {
  test('links, devices and a file that pretends to be a folder', async () => {
    const one = (member: Member, said: RegExp) => expectRefusal(zipOf([member]), said);
    await one({ name: 'a.php', content: '/etc/passwd', mode: 0o120777 }, /is a link/);
    await one({ name: 'a/', mode: 0o120777 }, /is a link/);
    await one({ name: 'a.php', mode: 0o020666 }, /neither a file nor a folder/);
    await one({ name: 'a.php', mode: 0o010644 }, /neither/);
    await one({ name: 'a/', mode: 0o100644 }, /neither/);
    await one({ name: 'a.php', mode: 0o040755 }, /neither/);
    await one({ name: 'a/', content: 'x' }, /a folder with content/);
  });

  test('encrypted and strangely packed ones', async () => {
    await expectRefusal(zipOf([{ name: 'a.php', content: call, flags: 1 }]), /is encrypted/);
    await expectRefusal(zipOf([{ name: 'a.php', content: call, flags: 0x41 }]), /encryption/);
    await expectRefusal(zipOf([{ name: 'a.php', content: call, method: 12 }]), /\(12\)/);
  });

  test('contents that differ from the directory', async () => {
    const content = Buffer.from(call.repeat(100));
    const packed = deflateRawSync(content);
    const member = { name: 'a.php', content };
    await expectRefusal(zipOf([{ ...member, crc: crc32(content) ^ 1 }]), /is damaged/);
    await expectRefusal(zipOf([{ ...member, size: content.length - 1 }]), /damaged/);
    await expectRefusal(zipOf([{ ...member, size: content.length + 1 }]), /damaged/);
    await expectRefusal(zipOf([{ ...member, packed: packed.subarray(0, -5) }]), /damaged/);
    await expectRefusal(zipOf([{ ...member, packed: Buffer.from('no deflate') }]), /damaged/);
  });

  test('no archive at all, half of one, one of nothing', async () => {
    await expectRefusal(Buffer.from('not a zip'), /damaged or no zip/);
    await expectRefusal(Buffer.alloc(0), /damaged or no zip/);
    const archive = zipOf([{ name: 'a.php', content: call }]);
    await expectRefusal(archive.subarray(0, -10), /damaged or no zip/);
    await expectRefusal(archive.subarray(20), /damaged or no zip/);
  });
});

describe('bombs', () => {
  const mebi = 1024 * 1024;

  test('by ratio', async () => {
    const zeros = Buffer.alloc(8 * mebi);
    await expectRefusal(zipOf([{ name: 'a.js', content: zeros }]), /100 times its size/);
  });

  test('by size, declared in the directory, whatever the file header declares', async () => {
    const member = { name: 'a.js', content: call, size: limits.unpackedBytes + 1 };
    await expectRefusal(zipOf([member]), /larger than 256 MiB/);
    const many = Array.from({ length: 300 }, (_, at) => ({ name: `${at}.js`, size: mebi }));
    await expectRefusal(zipOf(many), /larger than 256 MiB/);
  });

  test('by size, hidden: the stream is cut at the declared size', async () => {
    const packed = deflateRawSync(Buffer.alloc(64 * mebi));
    await expectRefusal(zipOf([{ name: 'a.js', packed, size: 10, crc: 0 }]), /too many bytes/);
  });

  test('by number', async () => {
    const many = Array.from({ length: limits.entries + 1 }, (_, at) => ({ name: `${at}` }));
    await expectRefusal(zipOf(many), /10001 entries/);
  });

  test('by the size of the archive', async () => {
    await expectRefusal(Buffer.alloc(limits.archiveBytes + 1), /larger than 64 MiB/);
  });
});
