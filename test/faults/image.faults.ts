// The container image: made for two processors, and run by podman as the compose file asks, on a
// read-only root, without root and capabilities. Needs podman and runc. Registries are not reached,
// so its base is made of the libraries of this machine.

import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../src/lib/version.ts';

const missing = ['podman', 'runc'].filter((name) => spawnSync(name, ['--version']).status !== 0);
if (missing.length > 0) {
  process.stdout.write(`no ${missing.join(' and no ')}: 3 tests of the image are skipped\n`);
}

const folder = mkdtempSync(join(tmpdir(), 'paygate-image-'));
const tag = 'localhost/paygate:test';
const nonroot = 65_532;
/** BIP84's own vector. */
const account =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const wallet = ['--xpub', account, '--callback-url', 'https://shop.example/callback'];
const program = '/usr/local/bin/paygate';
const env = {
  ...process.env,
  CONTAINERS_CONF: join(folder, 'containers.conf'),
  CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
};

/** @throws the command's exit code and errors */
const run = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
const podman = (...args: string[]): string => run('podman', args);

/** Images and containers of this test alone. A container in a container may set these limits. */
function configure(): void {
  const [root, state] = [join(folder, 'images'), join(folder, 'state')];
  writeFileSync(
    env.CONTAINERS_STORAGE_CONF,
    `[storage]\ndriver = "vfs"\ngraphroot = "${root}"\nrunroot = "${state}"\n`,
  );
  writeFileSync(
    env.CONTAINERS_CONF,
    `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n` +
      `[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n`,
  );
}

/** The libraries that an executable is linked to, below a root, for one processor. */
function importBase(platform: string, libraries: readonly (readonly [string, string])[]): void {
  const root = join(folder, `base-${platform}`);
  for (const [from, to] of libraries) {
    mkdirSync(dirname(root + to), { recursive: true });
    copyFileSync(from, root + to);
  }
  mkdirSync(join(root, 'home/nonroot'), { recursive: true });
  chownSync(join(root, 'home/nonroot'), nonroot, nonroot);
  const archive = `${root}.tar`;
  run('tar', ['-C', root, '-cf', archive, '.']);
  const name = `localhost/base-${platform}`;
  podman('import', '--os', 'linux', '--arch', platform, archive, name);
  podman('manifest', 'add', 'localhost/base', `containers-storage:${name}`);
}

/** Both processors have it; the other one's libraries are never loaded here. */
function makeBase(executable: string): void {
  podman('manifest', 'create', 'localhost/base');
  const linked = run('ldd', [executable]).match(/\/[^ ]+(?= \()/g) ?? [];
  expect(linked.length).toBeGreaterThan(3);
  importBase(
    'amd64',
    linked.map((path) => [path, path] as const),
  );
  importBase('arm64', [[linked[0] ?? '', `/${basename(linked[0] ?? '')}`]]);
}

const build = (arch: string): string => {
  const out = join(folder, arch);
  run(process.execPath, ['scripts/executable.mjs', '--arch', arch, '--out', out]);
  return out;
};

describe.skipIf(missing.length > 0)('the container image', () => {
  beforeAll(() => {
    configure();
    const [x64, arm64] = [build('x64'), build('arm64')];
    makeBase(x64);
    const files = ['--x64', x64, '--arm64', arm64, '--base', 'localhost/base', '--tag', tag];
    run(process.execPath, ['scripts/image.mjs', ...files]);
  });
  afterAll(() => {
    podman('rm', '--all', '--force', '--volumes');
    rmSync(folder, { recursive: true });
  });

  it('is made for amd64 and arm64, each with its own executable', () => {
    const { manifests } = JSON.parse(podman('manifest', 'inspect', tag));
    expect(manifests).toMatchObject([
      { platform: { architecture: 'amd64', os: 'linux' } },
      { platform: { architecture: 'arm64', os: 'linux' } },
    ]);
    expect(manifests[0].digest).not.toBe(manifests[1].digest);
  });

  it('runs on a read-only root, not as root, without capabilities, and ends with 0', () => {
    const rights = ['--read-only', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'];
    const limits = ['--memory', '512m', '--pids-limit', '64', '--network', 'none'];
    const server = ['serve', '--electrum', 'tcp://127.0.0.1:1'];
    podman('run', '--detach', '--name', 'shop', ...rights, ...limits, tag, ...server);
    while (!podman('logs', 'shop').includes(`paygate ${version} is up`)) {
      expect(podman('inspect', 'shop', '--format', '{{.State.Status}} {{.State.ExitCode}}')).toBe(
        'running 0',
      );
    }
    expect(podman('exec', 'shop', program, 'health')).toMatch(/^degraded/);
    const [{ Config: config }] = JSON.parse(podman('inspect', 'shop'));
    expect(config).toMatchObject({ User: `${nonroot}:${nonroot}` });
    podman('exec', 'shop', program, 'store', 'add', '--name', 'Shop', ...wallet);
    podman('stop', 'shop');
    expect(podman('inspect', 'shop', '--format', '{{.State.ExitCode}}')).toBe('0');
  });

  it('keeps its database on the volume for the next container', () => {
    const data = ['--volumes-from', 'shop', '--network', 'none', '--read-only'];
    const listed = podman('run', '--rm', ...data, tag, 'store', 'list', '--json');
    expect(JSON.parse(listed)).toMatchObject([{ name: 'Shop' }]);
  });
});
