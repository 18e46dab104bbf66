// The single executable: the same sources give the same bytes. It runs as an unprivileged user in a
// root folder with only the C and C++ libraries. A release of it is downloaded, verified, run and
// updated in a root without Node. Needs root, for chroot and mount.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { billOfMaterials } from '../../scripts/executable/bill.mjs';
import { makeArchive } from '../../scripts/release/archive.mjs';
import { releaseKey } from '../../src/cli/install/release-signature.ts';
import { version } from '../../src/lib/version.ts';
import { makeSigningKey, noMinisign } from '../support/minisign.ts';
import { buy, visit } from '../support/sandbox.ts';

const nobody = 65_534;
const folder = mkdtempSync(join(tmpdir(), 'paygate-executable-'));
const program = join(folder, 'paygate');

beforeAll(() => build(program));
afterAll(() => rmSync(folder, { recursive: true }));

function build(out: string, env: NodeJS.ProcessEnv = {}): void {
  const options = { env: { ...process.env, ...env } };
  execFileSync(process.execPath, ['scripts/executable.mjs', '--out', out], options);
}

const hashOf = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex');

/** A root folder with the program, its linked libraries, and a data folder. */
function minimalRoot(name: string): string {
  const root = join(folder, name);
  copyLibraries(program, root);
  copyFileSync(program, join(root, 'paygate'));
  for (const each of ['data', 'proc', 'tmp', 'dev/shm'])
    mkdirSync(join(root, each), { recursive: true });
  chownSync(join(root, 'data'), nobody, nobody);
  return root;
}

/** Copies the libraries that a program is linked with. */
function copyLibraries(of: string, root: string): void {
  const linked = execFileSync('ldd', [of], { encoding: 'utf8' });
  const libraries = linked.match(/\/[^ ]+(?= \()/g) ?? [];
  expect(libraries.length).toBeGreaterThan(1);
  for (const library of libraries) {
    mkdirSync(dirname(root + library), { recursive: true });
    copyFileSync(library, root + library);
  }
}

const asNobody = (root: string): string[] => [
  'chroot',
  `--userspec=${nobody}:${nobody}`,
  root,
  '/paygate',
];

/** Runs `prove.mjs` on the command in a mount namespace, whose mounts end with the process. */
function prove(mounts: string, command: readonly string[], database = '/data/paygate.db') {
  const proof = [process.execPath, 'scripts/executable/prove.mjs', database, ...command];
  return spawnSync('unshare', ['--mount', 'sh', '-ec', `${mounts}\nexec "$@"`, 'sh', ...proof], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
}

it('is built to the same bytes in another environment', () => {
  const again = join(folder, 'again');
  build(again, { HOME: folder, LANG: 'de_DE.UTF-8', TZ: 'Asia/Tokyo' });
  expect(hashOf(again)).toBe(hashOf(program));
});

it('starts also when its code cache is of another V8', () => {
  // The magic number and the version of V8 begin each cache.
  const [part, foreign] = [join(folder, 'part.cjs'), join(folder, 'foreign')];
  writeFileSync(part, '(function () {})');
  execFileSync(process.execPath, ['scripts/executable/code-cache.cjs', folder, 'part.cjs']);
  const head = readFileSync(`${part}.cache`).subarray(0, 8);
  const bytes = readFileSync(program);
  let found = 0;
  for (let at = bytes.indexOf(head); at >= 0; at = bytes.indexOf(head, at + 1)) {
    bytes.writeUInt32LE(0, at + 4);
    found += 1;
  }
  expect(found).toBeGreaterThan(30);
  writeFileSync(foreign, bytes, { mode: 0o755 });
  const run = spawnSync(foreign, ['store', 'list', '--help'], { encoding: 'utf8' });
  expect(run).toMatchObject({ status: 0, stderr: '' });
});

it('S-129 ignores NODE_OPTIONS and --inspect, but writes where NODE_COMPILE_CACHE points', () => {
  const [preload, cache] = [join(folder, 'preload.cjs'), join(folder, 'cache')];
  writeFileSync(preload, "require('node:fs').writeFileSync(__filename + '.loaded', '')");
  const run = (words: string[], env: NodeJS.ProcessEnv) =>
    spawnSync(program, words, { encoding: 'utf8', env });
  const options = run(['--version'], { NODE_OPTIONS: `--require ${preload}` });
  expect(options).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  expect(existsSync(`${preload}.loaded`)).toBe(false);
  const inspected = run(['--inspect=127.0.0.1:0', '--version'], {});
  expect(inspected.stderr).not.toContain('Debugger listening');
  run(['--version'], { NODE_COMPILE_CACHE: cache });
  expect(existsSync(cache)).toBe(true);
});

it('runs in a root with only the C and C++ libraries, without /proc, as any user', () => {
  const proof = prove('', asNobody(minimalRoot('bare')));
  expect(proof).toMatchObject({ status: 0, stderr: '' });
  process.stdout.write(`minimal root: ${proof.stdout}`);
});

it.each(['paygate.db', './paygate.db', 'data/paygate.db'])(
  'runs there with the database path %s',
  (database) => {
    const root = minimalRoot(`relative-${database.replaceAll(/\W/g, '-')}`);
    chownSync(root, nobody, nobody);
    expect(prove('', asNobody(root), database)).toMatchObject({ status: 0, stderr: '' });
  },
);

it('runs on a read-only root with a noexec data folder if /dev/shm may execute', () => {
  const root = minimalRoot('read-only');
  const mounts = `
    mount --bind ${root} ${root}
    mount -o remount,ro,bind ${root}
    mount -t tmpfs -o noexec,mode=777 none ${root}/data
    mount -t tmpfs -o mode=777 none ${root}/dev/shm
    mount -t proc none ${root}/proc`;
  expect(prove(mounts, asNobody(root))).toMatchObject({ status: 0, stderr: '' });
});

it('names the noexec folders if no folder may execute', () => {
  const root = minimalRoot('noexec');
  const mounts = ['data', 'tmp', 'dev/shm']
    .map((each) => `mount -t tmpfs -o noexec,mode=777 none ${root}/${each}`)
    .concat(`mount -t proc none ${root}/proc`)
    .join('\n');
  const { status, stderr } = prove(mounts, asNobody(root));
  expect(status).not.toBe(0);
  expect(stderr).toContain('"message":"SQLite cannot be loaded, no folder lets it run (/dev/shm: ');
  expect(stderr).toMatch(
    /\/tmp: [^;]+; \/data[^;]+; \/data[^;]+\); mount one of them without noexec/,
  );
});

it('lists the packages in it with the text of each license', () => {
  const printed = execFileSync(program, ['licenses', '--json'], { encoding: 'utf8' });
  const licenses: { name: string; license: string; text: string }[] = JSON.parse(printed);
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(licenses.slice(0, 2).map(({ name }) => name)).toEqual(['paygate', 'Node.js']);
  expect(licenses.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['sonic-boom', 'asn1js', ...Object.keys(dependencies)]),
  );
  for (const { text, license } of licenses) {
    expect(text).toMatch(/copyright|Apache-2.0/i);
    expect(license).toMatch(/MIT|ISC|BSD|Apache|BlueOak/);
  }
  const text = execFileSync(program, ['licenses'], { encoding: 'utf8' });
  for (const each of licenses) expect(text).toContain(each.text);
});

it('has a bill of materials of exactly these packages, each with its hash', async () => {
  const printed = execFileSync(program, ['licenses', '--json'], { encoding: 'utf8' });
  const licenses: { name: string; version: string }[] = JSON.parse(printed);
  const text = await billOfMaterials(licenses);
  const bill: {
    components: { name: string; version: string; hashes: { alg: string; content: string }[] }[];
    dependencies: { ref: string }[];
  } = JSON.parse(text);
  const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
  const inside = licenses
    .filter(({ name }) => name !== 'paygate' && name !== 'Node.js')
    .map(({ name, version }) => `${name}@${version}`);
  expect(listed.filter((each) => !each.startsWith('node-linux-')).toSorted()).toEqual(
    [...new Set(inside)].toSorted(),
  );
  expect(listed.filter((each) => each.startsWith('node-linux-'))).toHaveLength(2);
  for (const { hashes } of bill.components) {
    expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
  }
  expect(bill.dependencies).toHaveLength(bill.components.length + 1);
  expect(await billOfMaterials(licenses)).toBe(text);
});

describe('a release, on a machine without Node', () => {
  const key = makeSigningKey();
  const name = `paygate-${version}-linux-${process.arch}`;
  const hasMinisign = noMinisign(0) === undefined;
  const download = 'download/';
  let root = '';

  /** A root with the tools of a small Debian that the page uses, and the files of a release. */
  beforeAll(async () => {
    root = minimalRoot('release');
    rmSync(join(root, 'paygate'));
    mkdirSync(join(root, 'bin'));
    const tools = ['sh', 'curl', 'tar', 'gzip', 'sha256sum', ...(hasMinisign ? ['minisign'] : [])];
    for (const tool of tools) {
      const path = execFileSync('which', [tool], { encoding: 'utf8' }).trim();
      copyFileSync(realpathSync(path), join(root, 'bin', tool));
      copyLibraries(path, root);
    }
    for (const each of ['download', 'data', 'tmp']) {
      mkdirSync(join(root, each), { recursive: true });
      chownSync(join(root, each), nobody, nobody);
    }
    await makeArchive(program, join(root, download), name);
    signFile(`${name}.tar.gz`);
  });

  /** Writes and signs the checksum of one file of the downloads. */
  function signFile(file: string): void {
    const sums = `${hashOf(join(root, download, file))}  ${file}\n`;
    writeFileSync(join(root, download, 'SHA256SUMS'), sums);
    const signature = key.signature(Buffer.from(sums), `paygate ${version}`);
    writeFileSync(join(root, download, 'SHA256SUMS.minisig'), signature);
  }

  const inRoot = (user: number, ...command: readonly string[]) =>
    spawnSync('chroot', [`--userspec=${user}:${user}`, root, ...command], {
      encoding: 'utf8',
      env: { PATH: '/bin:/usr/sbin', HOME: '/data' },
    });

  it('is downloaded, verified, unpacked and looked at as docs/releases.md describes', () => {
    const text = readFileSync('docs/releases.md', 'utf8');
    const [, section = ''] = /\n## Download a release\n(.*?)\n## /s.exec(text) ?? [];
    const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) => code);
    const [fetched = '', verified = '', looked = ''] = blocks;
    const steps = `${fetched}${verified}${looked}`
      .replace('version=0.1.0 arch=x64', `version=${version} arch=${process.arch}`)
      .replace('https://REPOSITORY/releases/download/v$version', `file:///${download}`)
      .replace(releaseKey, key.publicKey)
      .replace('./paygate serve\n', '');
    const possible = hasMinisign ? steps : steps.replaceAll(/^minisign .*$/gm, '');
    expect(inRoot(nobody, 'sh', '-c', 'command -v node').status).not.toBe(0);
    const done = inRoot(nobody, 'sh', '-ec', `cd /data\n${possible}`);
    expect(done).toMatchObject({ status: 0 });
    expect(done.stdout).toContain(`${name}.tar.gz: OK\n`);
    expect(done.stdout).toContain('# /etc/systemd/system/paygate.service (0644)\n');
    if (hasMinisign) expect(done.stdout).toContain(`Trusted comment: paygate ${version}\n`);
  });

  it('runs the sandbox from the unpacked folder, and takes a payment there', async () => {
    const options = ['--listen', '127.0.0.1:0', '--shop', '127.0.0.1:0', '--db', '/data/shop.db'];
    const command = [...asNobody(root).slice(0, -1), `/data/${name}/paygate`, 'sandbox'];
    const child = spawn(command[0] ?? '', [...command.slice(1), ...options], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    try {
      let printed = '';
      for await (const chunk of child.stdout
        .setEncoding('utf8')
        .iterator({ destroyOnReturn: false })) {
        printed += chunk;
        if (/KEY=\S+\n/.test(printed)) break;
      }
      const [, shop = ''] = /Shop +(\S+)\n/.exec(printed) ?? [];
      const { states } = await buy(visit(new URL(shop).origin));
      expect(states).toEqual(['open', 'processing', 'paid']);
    } finally {
      child.kill('SIGTERM');
    }
    expect((await ended)[0]).toBe(0);
  });

  it('is put in place by update if the key signed it, and nothing else is', () => {
    const installed = join(root, 'usr/local/bin/paygate');
    const built = readFileSync(program);
    const keyed = Buffer.from(built);
    // It stands in the source, and in what V8 compiled of it.
    let places = 0;
    for (let at = keyed.indexOf(releaseKey); at > 0; at = keyed.indexOf(releaseKey, at)) {
      keyed.write(key.publicKey, at, 'latin1');
      places += 1;
    }
    expect([places > 0, keyed.indexOf(releaseKey)]).toEqual([true, -1]);
    mkdirSync(dirname(installed), { recursive: true });
    writeFileSync(installed, keyed, { mode: 0o755 });
    const update = (file: string) =>
      inRoot(0, '/usr/local/bin/paygate', 'update', `/${download}${file}`, '--db', '/data/shop.db');
    const refused = (file: string, text: string) => {
      expect(update(file)).toMatchObject({ status: 2, stderr: expect.stringContaining(text) });
      expect(readFileSync(installed).equals(keyed)).toBe(true);
    };
    const provide = (file: string, content: string | Uint8Array) => {
      writeFileSync(join(root, download, file), content);
      signFile(file);
    };
    provide('script', '#!/bin/sh\necho 9.9.9\n');
    refused('script', 'it is not a program for this machine; nothing was changed');
    const other = Buffer.from(built.subarray(0, 4096));
    other.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18);
    provide('other', other);
    refused('other', 'it is not a program for this machine; nothing was changed');
    signFile(`${name}.tar.gz`);
    expect(update(`${name}.tar.gz`)).toMatchObject({ status: 0, stderr: '' });
    expect(hashOf(installed)).toBe(hashOf(program));
    expect(readFileSync(`${installed}.previous`).equals(keyed)).toBe(true);
    // The one in place has the key of the sources, which did not sign this.
    const stranger = update(`${name}.tar.gz`);
    expect(stranger.stderr).toMatch(/SHA256SUMS\.minisig: key [0-9A-F]{16} made it, not paygate's/);
  });
});
