// `paygate install`, into a folder that stands for a machine: what is written, what is never
// written over, and what systemd thinks of the service.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { paths, systemdUnit } from '../../src/cli/install/install-command.ts';
import { readConfig } from '../../src/config.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, contentOf, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

const maxExposure = 2;

function machine() {
  const folder = tempFolder();
  const [root, binary] = [join(folder, 'root'), join(folder, 'paygate')];
  mkdirSync(root);
  writeFileSync(binary, 'the first');
  const at = (path: string) => join(root, path);
  const install = (...args: string[]) =>
    runCli(['install', '--root', root, '--binary', binary, ...args]);
  return { root, binary, at, install };
}

test('puts an executable, a user, settings and a service below its root', async () => {
  const { at, install } = machine();
  const done = await install('--domain', 'pay.example.com', '--acme-email', 'you@example.com');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  const modes = [paths.binary, paths.unit, paths.user, paths.settings].map(
    (path) => statSync(at(path)).mode & 0o777,
  );
  expect(modes).toEqual([0o755, 0o644, 0o644, 0o600]);
  expect(readFileSync(at(paths.binary), 'utf8')).toBe('the first');
  expect(readFileSync(at(paths.unit), 'utf8')).toBe(systemdUnit);
  // What systemd makes of them is what paygate reads.
  const settings = readFileSync(at(paths.settings), 'utf8');
  const env = Object.fromEntries(
    [...settings.matchAll(/^(\w+)=(.*)$/gm)].map(([, ...pair]) => pair),
  );
  expect(readConfig({}, env)).toMatchObject({
    db: '/var/lib/paygate/paygate.db',
    domain: 'pay.example.com',
    acmeEmail: 'you@example.com',
    listen: { host: '*', port: 443 },
  });
  for (const step of ['systemd-sysusers', 'install -d -m 0700', 'systemctl daemon-reload']) {
    expect(done.stdout).toContain(`to run  ${step}`);
  }
  for (const undone of [paths.binary, paths.unit, paths.user]) {
    expect(done.stdout).toMatch(new RegExp(`rm .*${undone}`));
  }
});

test('creates folders that every user may enter, whatever the umask', async () => {
  const { root, install } = machine();
  await install();
  const folders = Object.keys(contentOf(root)).filter((name) =>
    statSync(join(root, name)).isDirectory(),
  );
  expect(folders).toEqual(expect.arrayContaining(['etc/sysusers.d', 'usr/local/bin']));
  for (const folder of folders) {
    expect([folder, statSync(join(root, folder)).mode & 0o777]).toEqual([folder, 0o755]);
  }
});

test('changes nothing the second time, and replaces no foreign file without --force', async () => {
  const { root, binary, at, install } = machine();
  const takesUp = 'A service that runs already needs: systemctl restart paygate';
  expect((await install()).stdout).not.toContain(takesUp);
  const before = contentOf(root);
  const again = await install();
  expect(again.code).toBe(0);
  expect(again.stdout).not.toMatch(/yours|takes it up/);
  expect(contentOf(root)).toEqual(before);

  writeFileSync(at(paths.unit), 'mine');
  writeFileSync(at(paths.settings), 'PAYGATE_DB=/mine');
  writeFileSync(binary, 'the second');
  const mine = contentOf(root);
  const refused = await install();
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(
    `differ: ${paths.binary}, ${paths.unit}; overwrite them with --force`,
  );
  expect(contentOf(root)).toEqual(mine);

  const forced = await install('--force', '--domain', 'pay.example.com');
  expect(forced).toMatchObject({ code: 0, stderr: '' });
  expect(forced.stdout).toContain(
    `kept    ${paths.settings}, yours: it lacks PAYGATE_DOMAIN=pay.example.com; add that there\n`,
  );
  expect(forced.stdout).toContain(takesUp);
  expect(readFileSync(at(paths.unit), 'utf8')).toBe(systemdUnit);
  expect(readFileSync(at(paths.binary), 'utf8')).toBe('the second');
  expect(readFileSync(at(paths.settings), 'utf8')).toBe('PAYGATE_DB=/mine');
});

test('lists the given settings that the existing file lacks', async () => {
  const { at, install } = machine();
  await install('--network', 'signet');
  const kept = readFileSync(at(paths.settings), 'utf8');
  const again = await install('--network', 'signet', '--domain', 'pay.example.com');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toContain(
    `kept    ${paths.settings}, yours: it lacks PAYGATE_DOMAIN=pay.example.com; add that there\n`,
  );
  expect(readFileSync(at(paths.settings), 'utf8')).toBe(kept);
  for (const line of [
    'PAYGATE_NETWORK=signet',
    'PAYGATE_NETWORK="signet" ',
    "PAYGATE_NETWORK='signet'",
  ]) {
    writeFileSync(at(paths.settings), `${line}\n`);
    const { stdout } = await install('--network', 'signet');
    expect([line, stdout]).toEqual([line, expect.stringContaining(`kept    ${paths.settings}\n`)]);
  }
});

test('--dry-run shows every file and command, and writes none', async () => {
  const { root, install } = machine();
  const shown = await install('--dry-run');
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain(systemdUnit);
  for (const path of Object.values(paths)) expect(shown.stdout).toContain(path);
  expect(shown.stdout).toContain('systemctl daemon-reload');
  expect(contentOf(root)).toEqual({});
});

test.each([
  [['--domain', 'a b\nPAYGATE_DB=/x'], 'a name such as'],
  [['--acme-email', 'a@b\nPAYGATE_DB=/x'], 'an address such as'],
  [['--network', 'moon'], 'unknown network'],
  [['--binary', '/nowhere/paygate'], '/nowhere/paygate does not exist'],
])('%j is refused before anything is written', async (args, reason) => {
  const { root, install } = machine();
  const refused = await install(...args);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain(reason);
  expect(contentOf(root)).toEqual({});
});

test('only the single executable can install itself', async () => {
  const refused = await runCli(['install', '--root', tempFolder()]);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(
    /^paygate: this is not the single executable; make it with `npm run build`, then name it with --binary \/\S+\/paygate\n$/,
  );
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.skipIf(!hasSystemd)('systemd', () => {
  function unitFile(): string {
    const path = join(tempFolder(), 'paygate.service');
    writeFileSync(path, systemdUnit);
    return path;
  }

  test(`S-128 finds the service exposed by ${maxExposure} of 10 at most`, () => {
    const args = ['security', '--offline=true', '--no-pager', unitFile()];
    const report = execFileSync('systemd-analyze', args, { encoding: 'utf8' });
    const exposure = Number(/exposure level for paygate.service: ([\d.]+)/.exec(report)?.[1]);
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThanOrEqual(maxExposure);
  });

  test('accepts every directive of the unit', () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', unitFile()], { encoding: 'utf8' });
    expect(stderr.replaceAll(/^.*Command .*\/paygate is not executable.*\n/gm, '')).toBe('');
  });
});

test('the service keeps within the memory that paygate is built for, and may compile', () => {
  expect(systemdUnit).toMatch(/^MemoryMax=512M$/m);
  expect(systemdUnit).not.toMatch(/^MemoryDenyWriteExecute=/m);
});

test('the service writes no core dump, which would contain every key', () => {
  expect(systemdUnit).toMatch(/^LimitCORE=0$/m);
});

if (!hasSystemd) {
  process.stderr.write('test/cli/install: 2 tests skipped, for there is no systemd-analyze\n');
}

test.each([
  [['--acme-email', 'you@example.com'], '--acme-email: needs --domain'],
  [['--domain', 'pay'], '--domain: a name such as'],
  [['--network', 'mars'], '--network: unknown network'],
])('refuses a service that would not start: %j', async (args, reason) => {
  const { root, install } = machine();
  const refused = await install(...args);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(reason)]);
  expect(readdirSync(root)).toEqual([]);
  expect((await install(...args, '--dry-run')).code).toBe(2);
});

test('treats the domain in an existing settings file as given', async () => {
  const { install } = machine();
  await install('--domain', 'pay.example.com');
  const again = await install('--acme-email', 'you@example.com');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toContain('it lacks PAYGATE_ACME_EMAIL=you@example.com');
});

test('fails with one line if the executable is a folder, and if nothing can be written', async () => {
  const { root, binary } = machine();
  const file = join(root, 'file');
  writeFileSync(file, '');
  const folder = await runCli(['install', '--root', root, '--binary', root]);
  expect(folder).toMatchObject({ code: 2, stdout: '' });
  expect(folder.stderr).toMatch(/^paygate: --binary: .*\n$/);
  const nowhere = await runCli(['install', '--root', file, '--binary', binary]);
  expect(nowhere).toMatchObject({ code: 1, stdout: '' });
  expect(nowhere.stderr).toMatch(/^paygate: .*cannot be written \(ENOTDIR.*\n$/);
  expect(readdirSync(root)).toEqual(['file']);
});

test.each([paths.binary, paths.settings])('fails with one line if %s is a folder', async (path) => {
  const { at, install } = machine();
  mkdirSync(at(path), { recursive: true });
  const refused = await install('--force');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^paygate: .*cannot be read \(EISDIR.*\n$/);
});
