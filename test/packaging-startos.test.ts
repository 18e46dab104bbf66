// The source of the StartOS package: its types by StartOS's own SDK, where that is installed, and its
// settings by paygate's options.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { version } from '../src/lib/version.ts';
import { imageName, program, read, unknownSettings } from './support/packaging.ts';

const root = 'packaging/startos';
const source = (name: string) => read(`${root}/startos/${name}.ts`);
const sdk = `${root}/node_modules/@start9labs/start-sdk/package.json`;

if (!existsSync(sdk)) {
  const how = `npm ci --prefix ${root} --omit=dev --ignore-scripts`;
  process.stderr.write(`test/packaging-startos: 1 test skipped, for its SDK is missing: ${how}\n`);
}
test.skipIf(!existsSync(sdk))('its types agree with the SDK', { timeout: 60_000 }, () => {
  const tsc = join('node_modules', '.bin', 'tsc');
  const { stdout, status } = spawnSync(tsc, ['--noEmit', '-p', root], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});

test('the SDK is locked, without a download address', () => {
  const { dependencies } = JSON.parse(read(`${root}/package.json`));
  const lock = JSON.parse(read(`${root}/package-lock.json`));
  const [name = '', wanted] = Object.entries(dependencies)[0] ?? [];
  const locked = lock.packages[`node_modules/${name}`];
  expect(locked.version).toBe(wanted);
  expect(locked.integrity).toMatch(/^sha512-/);
  expect(JSON.stringify(lock)).not.toContain('"resolved"');
});

test('the package is of this version, and runs its image', () => {
  expect(source('versions/current')).toContain(`version: '${version}:0'`);
  expect(source('manifest/index')).toContain(`dockerTag: '${imageName}:${version}'`);
  expect(source('container')).toContain(`program = '${program}'`);
});

test('the settings are ones of paygate, with the port that the interfaces use', () => {
  const container = source('container');
  const [, port = ''] = /port = (\d+)/.exec(container) ?? [];
  const [, database = ''] = /database = '([^']+)'/.exec(container) ?? [];
  const names = [...source('main').matchAll(/(PAYGATE_\w+):/g)].map(([, name = '']) => name);
  const values: Record<string, string> = {
    PAYGATE_DB: database,
    PAYGATE_LISTEN: `*:${port}`,
    PAYGATE_PLAIN_HTTP: 'allow',
    PAYGATE_TRUSTED_PROXY: '10.0.3.1',
    PAYGATE_DASHBOARD_PLAIN_HTTP: 'allow',
    PAYGATE_ELECTRUM: 'tcp://10.0.3.1:50001?own',
  };
  expect(names.sort()).toEqual(Object.keys(values).sort());
  expect(unknownSettings(values)).toEqual([]);
  expect(readConfig({}, values)).toMatchObject({ electrum: [{ own: true }] });
  expect(source('interfaces')).toContain('bindPort(port,');
});

test('every command that it runs is one of paygate', () => {
  const files = readdirSync(`${root}/startos`, { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((path) => path.endsWith('.ts'))
    .map((path) => source(path.slice(0, -'.ts'.length)));
  // The words before the first flag.
  const command = /(?:run\(\s*effects,\s*(?:\.\.\.\[)?|program, )((?:'[a-z]+',? ?)+)/g;
  const commands = texts
    .flatMap((text) => [...text.matchAll(command)])
    .map(([, list = '']) => list.match(/[a-z]+/g)?.join(' '));
  expect(commands.sort()).toEqual([
    ...['admin link', 'backup', 'health', 'key show', 'restore', 'serve'],
  ]);
});
