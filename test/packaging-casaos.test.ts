// The app of CasaOS: the rules of its store's validator and contribution guide.
// https://github.com/IceWhaleTech/CasaOS-AppStore/blob/main/CONTRIBUTING.md

import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../src/config.ts';
import { version } from '../src/lib/version.ts';
import { filled, imageName, pngSize, readYaml, site } from './support/packaging.ts';

const compose = readYaml('packaging/casaos/docker-compose.yml');
const { paygate } = compose.services;
const about = compose['x-casaos'];

const text = z.strictObject({ en_US: z.string().min(1) });
const described = z.array(z.strictObject({ container: z.string(), description: text }));
const rules = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(?:[._-][a-z0-9]+)*(?:\.[a-z0-9]+(?:[._-][a-z0-9]+)*)+$/),
  store_app_id: z.string(),
  main: z.string(),
  index: z.string().startsWith('/'),
  port_map: z.string().regex(/^\d+$/),
  scheme: z.enum(['http', 'https']),
  title: text,
  icon: z.url(),
  screenshot_link: z.array(z.url()).min(1),
  tagline: text,
  description: text,
  tips: z.strictObject({ before_install: text }),
  author: z.string(),
  developer: z.string(),
  category: z.string(),
  architectures: z.array(z.enum(['amd64', 'arm64', 'arm'])).min(1),
});

test('the block of CasaOS is complete, and names what exists', () => {
  expect(compose.name).toMatch(/^[a-z0-9_-]+$/);
  expect(rules.parse(about)).toEqual(about);
  expect(compose.services[about.main]).toBe(paygate);
  const pathOf = (url: string) => url.replace(site, 'packaging');
  expect(pngSize(pathOf(about.icon))).toEqual([256, 256]);
  for (const url of about.screenshot_link) expect(existsSync(pathOf(url))).toBe(true);
  expect(paygate.image).toBe(`${imageName}:${version}`);
});

test('the port that it opens is published, and paygate listens there by plain HTTP', () => {
  const { listen, dashboardPlainHttp } = readConfig({}, filled(paygate));
  expect(paygate.ports).toEqual([
    { target: listen.port, published: about.port_map, protocol: 'tcp' },
  ]);
  expect(about.scheme).toBe('http');
  expect(dashboardPlainHttp).toBe(true);
});

test('each setting that it shows is one of the service', () => {
  const { envs, ports, volumes } = z
    .strictObject({ envs: described, ports: described, volumes: described })
    .parse(paygate['x-casaos']);
  const names = Object.keys(paygate.environment);
  expect(envs.filter(({ container }) => !names.includes(container))).toEqual([]);
  expect(ports.map(({ container }) => Number(container))).toEqual([paygate.ports[0].target]);
  expect(volumes.map(({ container }) => container)).toEqual([paygate.volumes[0].target]);
  expect(Object.keys(compose.volumes)).toEqual([paygate.volumes[0].source]);
});
