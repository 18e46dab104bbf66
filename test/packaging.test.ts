// What is packaged, held against itself and against paygate: files that are named exist, settings are ones that
// paygate takes, ports and paths agree. No container runs here.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemdUnit } from '../src/cli/systemd-unit.ts';
import { optionNames, options, readConfig } from '../src/config.ts';
import { publicEndpointOf } from '../src/domain/public-endpoint.ts';
import { version } from '../src/lib/version.ts';

const program = '/usr/local/bin/paygate';
const read = (path: string) => readFileSync(path, 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment: Record<string, string>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly mem_limit: string;
}

/** The value of each instruction, in order. */
const dockerfile = read('packaging/Dockerfile')
  .split('\n')
  .flatMap((line) => {
    const [, word = '', value = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return word === '' ? [] : [{ word, value }];
  });
const said = (word: string) =>
  dockerfile.flatMap((each) => (each.word === word ? [each.value] : []));

const composeAt = 'packaging/docker-compose.yml';
const umbrelAt = 'packaging/umbrel/paygate/docker-compose.yml';
const compose = parse(read(composeAt));
const umbrel = parse(read(umbrelAt));
const manifest = parse(read('packaging/umbrel/paygate/umbrel-app.yml'));

/** As the container's environment would be. */
const filled = (service: Service, values: Record<string, string> = {}) =>
  Object.fromEntries(
    Object.entries(service.environment).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, key: string) => values[key] ?? ''),
    ]),
  );

const imageEnv = Object.fromEntries(said('ENV').map((text) => text.split('=')));
const knownNames = new Set(optionNames.map((name) => options[name].env));

const electrs = { APP_ELECTRS_NODE_IP: '10.21.21.10', APP_ELECTRS_NODE_PORT: '50001' };
const cases: [string, Service, Record<string, string>][] = [
  [composeAt, compose.services.paygate, { PAYGATE_DOMAIN: 'pay.example.com' }],
  [umbrelAt, umbrel.services.web, electrs],
];

describe.each(cases)('%s', (_, service, values) => {
  const env = { ...imageEnv, ...filled(service, values) };

  test('has valid settings of paygate', () => {
    expect(Object.keys(env).filter((name) => !knownNames.has(name))).toEqual([]);
    expect(() => publicEndpointOf(readConfig({}, env))).not.toThrow();
  });

  test('keeps the database on a volume', () => {
    const { db } = readConfig({}, env);
    const targets = service.volumes.map((volume) => volume.split(':').at(-1));
    expect(targets).toContain(dirname(db));
  });

  test('checks its health with the program in the image', () => {
    expect(service.healthcheck.test).toEqual(['CMD', program, 'health']);
  });

  test('has few rights, and the memory that paygate is built for', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], mem_limit: '512m' });
  });
});

test('the image has only the executable, and starts it as an unprivileged user', () => {
  expect(said('COPY')).toEqual([`--chmod=0755 dist/paygate ${program}`]);
  expect(read('scripts/executable.mjs')).toContain("default: 'dist/paygate'");
  expect(read('packaging/Dockerfile.dockerignore')).toBe('*\n!dist/paygate\n');
  expect(JSON.parse(said('ENTRYPOINT')[0] ?? '')).toEqual([program]);
  expect(JSON.parse(said('CMD')[0] ?? '')).toEqual(['serve']);
  expect(said('HEALTHCHECK')[0]).toContain(`CMD ["${program}", "health"]`);
  expect(said('USER')).toEqual(['65532:65532']);
  expect(said('VOLUME')).toEqual([dirname(imageEnv.PAYGATE_DB ?? '')]);
  // Whoever runs it bare shows nothing to the network.
  expect(readConfig({}, imageEnv).listen.host).toBe('127.0.0.1');
});

test('compose publishes the ports that paygate listens on', () => {
  const service: Service = compose.services.paygate;
  const { listen, listenHttp } = readConfig({}, filled(service, { PAYGATE_DOMAIN: 'a.example' }));
  expect(service.ports).toEqual([`443:${listen.port}`, `80:${listenHttp?.port}`]);
  const { context = '', dockerfile: file = '' } = service.build ?? {};
  expect(existsSync(join('packaging', context, file))).toBe(true);
  expect(Object.keys(compose.volumes)).toEqual(service.volumes.map((each) => each.split(':')[0]));
});

test("Umbrel's proxy leads to the container, of this version", () => {
  const { app_proxy: proxy, web } = umbrel.services;
  expect(proxy.environment.APP_PORT).toBe(readConfig({}, filled(web, electrs)).listen.port);
  expect(proxy.environment.APP_HOST).toBe(`${manifest.id}_web_1`);
  expect([manifest.version, web.image]).toEqual([version, `paygate:${version}`]);
  expect(existsSync('packaging/umbrel/paygate/data/.gitkeep')).toBe(true);
});

describe('packaging/litestream', () => {
  const config = parse(read('packaging/litestream/litestream.yml'));
  const unit = read('packaging/litestream/paygate-litestream.service');
  const page = read('docs/second-machine.md');
  const replicaPath = new URL(config.dbs[0].replica.url).pathname;

  test('replicates the database of the service, as its user', () => {
    expect(config.dbs).toHaveLength(1);
    expect(dirname(config.dbs[0].path)).toBe(/^WorkingDirectory=(.*)$/m.exec(systemdUnit)?.[1]);
    for (const name of ['User', 'Group', 'WorkingDirectory', 'UMask']) {
      const line = new RegExp(`^${name}=.+$`, 'm');
      expect(unit.match(line)?.[0]).toBe(systemdUnit.match(line)?.[0]);
    }
  });

  test('agrees with the page about paths', () => {
    for (const path of ['/etc/litestream.yml', '/usr/local/bin/litestream', config.dbs[0].path]) {
      expect(unit).toContain(path);
      expect(page).toContain(path);
    }
    expect(page).toContain(config.dbs[0].replica['key-path']);
    expect(page).toContain(`file:///srv/paygate-replica${replicaPath}`);
  });
});
