// The image and its services, held against each other and against paygate: named files exist,
// settings are ones that paygate takes, ports and paths agree. No container runs here.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemdUnit } from '../src/cli/install/install-command.ts';
import { readConfig } from '../src/config.ts';
import { publicEndpointOf } from '../src/domain/delivery/public-endpoint.ts';
import {
  filled,
  imageEnv,
  instructions,
  program,
  read,
  readYaml,
  type Service,
  unknownSettings,
  volumeTargets,
} from './support/packaging.ts';

const composeAt = 'packaging/docker-compose.yml';
const umbrelAt = 'packaging/umbrel/paygate-gateway/docker-compose.yml';
const casaosAt = 'packaging/casaos/docker-compose.yml';
const compose = readYaml(composeAt);

const ofUmbrel = {
  APP_ELECTRS_NODE_IP: '10.21.21.10',
  APP_ELECTRS_NODE_PORT: '50001',
  APP_PASSWORD: '9f86d081884c7d659a2feaa0c55ad015',
};
const cases: [string, Service, Record<string, string>][] = [
  [composeAt, compose.services.paygate, { PAYGATE_DOMAIN: 'pay.example.com' }],
  [umbrelAt, readYaml(umbrelAt).services.web, ofUmbrel],
  [casaosAt, readYaml(casaosAt).services.paygate, {}],
];

describe.each(cases)('%s', (_, service, values) => {
  const env = { ...imageEnv, ...filled(service, values) };

  test('has valid settings of paygate', () => {
    expect(unknownSettings(env)).toEqual([]);
    expect(() => publicEndpointOf(readConfig({}, env))).not.toThrow();
  });

  test('keeps the database on a volume', () => {
    const { db } = readConfig({}, env);
    expect(volumeTargets(service)).toContain(dirname(db));
  });

  test('checks its health with the program in the image', () => {
    expect(service.healthcheck.test).toEqual(['CMD', program, 'health']);
  });

  test('has few rights, and the memory that paygate is built for', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], mem_limit: '512m' });
  });
});

test('S-91 each service of the tree has a log of bounded size', () => {
  const files = readdirSync('packaging', { recursive: true, encoding: 'utf8' })
    .filter((path) => /compose[^/]*\.ya?ml$/.test(path))
    .map((path) => join('packaging', path));
  expect(files.sort()).toEqual(cases.map(([path]) => path).sort());
  for (const path of files) {
    const services: Service[] = Object.values(readYaml(path).services);
    // The proxy of Umbrel is its own.
    const ours = services.filter(({ image }) => image !== undefined);
    expect([path, ours.map(({ logging }) => logging)]).toEqual([
      path,
      [{ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } }],
    ]);
  }
});

test('the image has only the executable, and starts it as an unprivileged user', () => {
  expect(instructions('COPY')).toEqual([`--chmod=0755 dist/paygate ${program}`]);
  expect(read('scripts/executable.mjs')).toContain("default: 'dist/paygate'");
  expect(read('packaging/Dockerfile.dockerignore')).toBe('*\n!dist/paygate\n');
  expect(JSON.parse(instructions('ENTRYPOINT')[0] ?? '')).toEqual([program]);
  expect(JSON.parse(instructions('CMD')[0] ?? '')).toEqual(['serve']);
  expect(instructions('HEALTHCHECK')[0]).toContain(`CMD ["${program}", "health"]`);
  expect(instructions('USER')).toEqual(['65532:65532']);
  expect(instructions('VOLUME')).toEqual([dirname(imageEnv.PAYGATE_DB ?? '')]);
  // Whoever runs it bare shows nothing to the network.
  expect(readConfig({}, imageEnv).listen.host).toBe('127.0.0.1');
});

test('compose publishes the ports that paygate listens on', () => {
  const service = compose.services.paygate;
  const { listen, listenHttp } = readConfig({}, filled(service, { PAYGATE_DOMAIN: 'a.example' }));
  expect(service.ports).toEqual([`443:${listen.port}`, `80:${listenHttp?.port}`]);
  const { context = '', dockerfile: file = '' } = service.build ?? {};
  expect(existsSync(join('packaging', context, file))).toBe(true);
  const sources = service.volumes.map((each: string) => each.split(':')[0]);
  expect(Object.keys(compose.volumes)).toEqual(sources);
});

describe('packaging/litestream', () => {
  const config = readYaml('packaging/litestream/litestream.yml');
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
