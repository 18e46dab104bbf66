// The package of YunoHost: manifest and tests by the rules of its schemas, scripts by their shell,
// templates by the variables that YunoHost fills in and by paygate's options.
// https://github.com/YunoHost/apps/tree/main/schemas (manifest.v2 and tests.v1)

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemdUnit } from '../src/cli/install/install-command.ts';
import { readConfig } from '../src/config.ts';
import { isGuessable } from '../src/dashboard/guard/password-strength.ts';
import { isProxy } from '../src/domain/access/client-address.ts';
import { version } from '../src/lib/version.ts';
import { read, site, unknownSettings } from './support/packaging.ts';
import { parseToml } from './support/toml.ts';

const root = 'packaging/yunohost';
const translated = z.strictObject({ en: z.string() });
const size = z.string().regex(/^[0-9]*(\.[0-9]*)?[kKmMgG]$/);
const rights = z.string().regex(/^(([a-z_][a-z0-9_-]{0,30})|([_A-Z]*))(:[rwx-]{1,3})?$/);
const folder = z.strictObject({
  dir: z.string().regex(/^(__[A-Z_]*__)?\/.*$/),
  owner: rights,
  group: rights,
});
const download = z.strictObject({ url: z.url(), sha256: z.string().regex(/^[0-9a-z]{64}$/) });
const question = z.strictObject({
  type: z.enum(['string', 'domain', 'group', 'password']),
  default: z.string().optional(),
  example: z.string().optional(),
  optional: z.boolean().optional(),
  ask: translated.optional(),
  help: translated.optional(),
});
const permission = z.strictObject({
  url: z.string().regex(/^(__[A-Z_]*__)?\/.*$/),
  show_tile: z.boolean(),
  allowed: z.string().optional(),
  auth_header: z.boolean(),
});
const manifestRules = z.strictObject({
  packaging_format: z.literal(2),
  id: z.string().regex(/^[a-z][a-z0-9_-]*$/),
  name: z.string(),
  description: translated,
  version: z.string().regex(/^[0-9a-z]*([.-][0-9a-z]*)*~ynh[0-9]*$/),
  maintainers: z.array(z.string()),
  upstream: z.strictObject({ license: z.string(), website: z.url(), code: z.url() }),
  integration: z.strictObject({
    yunohost: z.string().regex(/^>= ?[0-9]{1,2}(\.[0-9]{1,2}){0,2}$/),
    helpers_version: z.literal('2.1'),
    architectures: z.array(z.enum(['amd64', 'i386', 'armhf', 'arm64'])),
    multi_instance: z.boolean(),
    ldap: z.boolean(),
    sso: z.boolean(),
    disk: size,
    ram: z.strictObject({ build: size, runtime: size }),
  }),
  install: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), question),
  resources: z.strictObject({
    sources: z.strictObject({ main: z.strictObject({ amd64: download, arm64: download }) }),
    ports: z.strictObject({ main: z.strictObject({ default: z.int() }) }),
    system_user: z.strictObject({}),
    install_dir: folder.partial(),
    data_dir: folder,
    permissions: z.strictObject({ main: permission, dashboard: permission }),
  }),
});
const testRules = z.strictObject({
  test_format: z.literal(1),
  default: z.strictObject({
    args: z.record(z.string(), z.string()),
    curl_tests: z.record(
      z.string(),
      z.strictObject({ path: z.string(), expect_return_code: z.int() }),
    ),
  }),
});

const manifest = manifestRules.parse(parseToml(read(`${root}/manifest.toml`)));
const scripts = readdirSync(`${root}/scripts`).map((name) => `${root}/scripts/${name}`);

test('the manifest is for this version and its archives', () => {
  expect(manifest.version).toBe(`${version}~ynh1`);
  const { amd64, arm64 } = manifest.resources.sources.main;
  const archive = (arch: string) =>
    `${site}/releases/v${version}/paygate-${version}-linux-${arch}.tar.gz`;
  expect([amd64.url, arm64.url]).toEqual([archive('x64'), archive('arm64')]);
  expect(manifest.integration.architectures).toEqual(['amd64', 'arm64']);
});

test('the dashboard is for administrators, and no header of the login reaches paygate', () => {
  const { main, dashboard } = manifest.resources.permissions;
  expect(manifest.install.init_main_permission).toMatchObject({ default: 'visitors' });
  expect(dashboard).toMatchObject({ url: '/dashboard', allowed: 'admins' });
  // An Authorization header of YunoHost would take the place of the API key.
  expect([main.auth_header, dashboard.auth_header]).toEqual([false, false]);
});

test('the tests of the package answer every question that has no default', () => {
  const { default: suite } = testRules.parse(parseToml(read(`${root}/tests.toml`)));
  const given = Object.keys(suite.args);
  // YunoHost fills in the domain.
  const asked = Object.keys(manifest.install).filter(
    (name) => name !== 'domain' && manifest.install[name]?.default === undefined,
  );
  expect(given.sort()).toEqual(asked.sort());
  expect(isGuessable(suite.args.password ?? '', ['paygate'])).toBe(false);
});

describe('templates', () => {
  const values: Readonly<Record<string, string>> = {
    __APP__: 'paygate',
    __DATA_DIR__: '/var/lib/paygate',
    __DOMAIN__: 'pay.example.com',
    __ELECTRUM__: '',
    __INSTALL_DIR__: '/var/www/paygate',
    __PORT__: '8080',
  };
  const fill = (path: string) =>
    read(path).replaceAll(/__[A-Z_]+__/g, (name) => values[name] ?? name);
  const files = readdirSync(`${root}/conf`).map((name) => `${root}/conf/${name}`);

  test.each(files)('%s has no other variable', (path) => {
    expect(fill(path)).not.toMatch(/__[A-Z]/);
  });

  test('the settings are valid, and trust the proxy that nginx is', () => {
    const rows = fill(`${root}/conf/paygate.env`).split('\n');
    const pairs = rows.filter((row) => /^[A-Z]/.test(row)).map((row) => row.split(/=(.*)/));
    const env: Record<string, string> = Object.fromEntries(pairs.map(([k, v]) => [k, v]));
    expect(unknownSettings(env)).toEqual([]);
    const config = readConfig({}, env);
    expect(config).toMatchObject({
      db: '/var/lib/paygate/paygate.db',
      listen: { host: '127.0.0.1', port: 8080 },
      publicUrl: 'https://pay.example.com',
      adminPasswordFile: '/var/www/paygate/first-password',
    });
    expect(isProxy('127.0.0.1', config.trustedProxy)).toBe(true);
    const nginx = fill(`${root}/conf/nginx.conf`);
    expect(nginx.match(/proxy_pass [^;]+/g)).toEqual([
      'proxy_pass http://127.0.0.1:8080',
      'proxy_pass http://127.0.0.1:8080',
    ]);
    expect(nginx.match(/X-Forwarded-Proto \$scheme/g)).toHaveLength(2);
  });

  test('the service is sandboxed like that of paygate install', () => {
    const directives = (unit: string) =>
      unit
        .split('\n')
        .filter((row) => /^(Protect|Private|Restrict|SystemCall|No|Memory)/.test(row));
    const own = fill(`${root}/conf/systemd.service`);
    expect(directives(own)).toEqual(directives(systemdUnit));
    expect(own).toContain('ExecStart=/var/www/paygate/paygate serve\n');
    expect(own).toContain('EnvironmentFile=/var/www/paygate/paygate.env\n');
    expect(own).toContain('ReadWritePaths=/var/lib/paygate\n');
  });
});

describe('scripts', () => {
  test('are all that a package needs, and may be run', () => {
    const names = ['backup', 'change_url', 'install', 'remove', 'restore', 'upgrade'];
    expect(readdirSync(`${root}/scripts`).sort()).toEqual(['_common.sh', ...names]);
    for (const name of names) {
      // What others may do is left to the umask of a clone.
      expect(statSync(`${root}/scripts/${name}`).mode & 0o100).toBe(0o100);
    }
  });

  test.each(scripts)('%s is valid for its shell', (path) => {
    execFileSync('bash', ['-n', path]);
    expect(read(path)).toMatch(/^#!\/bin\/bash\n/);
  });

  const hasShellcheck = spawnSync('shellcheck', ['--version']).error === undefined;
  if (!hasShellcheck) {
    process.stderr.write('test/packaging-yunohost: 1 test skipped, for there is no shellcheck\n');
  }
  test.skipIf(!hasShellcheck)('pass shellcheck', () => {
    const { stdout } = spawnSync('shellcheck', scripts, { encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  test('a backup has a snapshot, and a restore goes through paygate restore', () => {
    const [backup, restore] = ['backup', 'restore'].map((name) => read(`${root}/scripts/${name}`));
    expect(backup).toContain('paygate" backup --db "$data_dir/paygate.db" "$snapshot"');
    expect(backup).not.toContain('ynh_backup "$data_dir');
    expect(restore).toContain('paygate" restore --db "$data_dir/paygate.db" "$snapshot"');
    expect(restore).not.toContain('ynh_restore "$data_dir');
  });
});
