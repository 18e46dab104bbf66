// The single executable: the same sources give the same bytes. It runs as an unprivileged user in a
// root folder with only the C and C++ libraries. Needs root, for chroot and mount.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { billOfMaterials } from '../../scripts/executable/bill.mjs';

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
  const linked = execFileSync('ldd', [program], { encoding: 'utf8' });
  const libraries = linked.match(/\/[^ ]+(?= \()/g) ?? [];
  expect(libraries.length).toBeGreaterThan(3);
  for (const library of libraries) {
    mkdirSync(dirname(root + library), { recursive: true });
    copyFileSync(library, root + library);
  }
  copyFileSync(program, join(root, 'paygate'));
  for (const each of ['data', 'proc', 'tmp', 'dev/shm'])
    mkdirSync(join(root, each), { recursive: true });
  chownSync(join(root, 'data'), nobody, nobody);
  return root;
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
