// The community store of Umbrel: its files as umbrelOS reads them, and its proxy's list of open
// paths against paygate's routes.
// https://github.com/getumbrel/umbrel-apps/blob/master/README.md, and the type AppManifest in
// packages/umbreld/source/modules/apps/schema.ts of https://github.com/getumbrel/umbrel

import { existsSync, readdirSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../src/config.ts';
import { clientAddress, isProxy } from '../src/domain/access/client-address.ts';
import { version } from '../src/lib/version.ts';
import { closeApps } from './support/app.ts';
import { openTill } from './support/checkout.ts';
import { cleanUp } from './support/files.ts';
import { filled, imageName, pngSize, read, readYaml, site } from './support/packaging.ts';
import { visitorOf } from './support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const root = 'packaging/umbrel';
const store = readYaml(`${root}/umbrel-app-store.yml`);
const [folder = '', ...otherFolders] = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const manifest = readYaml(`${root}/${folder}/umbrel-app.yml`);
const { app_proxy: proxy, web } = readYaml(`${root}/${folder}/docker-compose.yml`).services;

const ofPlatform = {
  APP_ELECTRS_NODE_IP: '10.21.21.10',
  APP_ELECTRS_NODE_PORT: '50001',
  APP_PASSWORD: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
};

const appId = z.string().regex(/^[a-z]+(-[a-z]+)*$/);
const manifestRules = z.strictObject({
  manifestVersion: z.union([z.literal(1), z.literal(1.1)]),
  id: appId.max(64),
  name: z.string().max(50),
  tagline: z.string().max(100).regex(/[^.]$/),
  icon: z.url(),
  category: z.enum(['bitcoin', 'finance']),
  version: z.string(),
  port: z.int().min(1_024).max(65_535),
  description: z.string().max(2_000),
  developer: z.string(),
  website: z.url(),
  submitter: z.string(),
  submission: z.url(),
  repo: z.url(),
  support: z.url(),
  gallery: z.array(z.url()).min(3).max(5),
  releaseNotes: z.string(),
  dependencies: z.array(appId),
  path: z.string().startsWith('/'),
  defaultUsername: z.literal(''),
  // The interface shows the generated password if this one is empty.
  defaultPassword: z.literal(''),
  deterministicPassword: z.literal(true),
});

test('the store has an id, which begins the id and the folder of its only app', () => {
  expect(z.strictObject({ id: appId, name: z.string() }).parse(store)).toEqual(store);
  expect(otherFolders).toEqual([]);
  expect(folder.startsWith(`${store.id}-`)).toBe(true);
  expect(manifest.id).toBe(folder);
});

test('the manifest is one of umbrelOS, for this version', () => {
  expect(manifestRules.parse(manifest)).toEqual(manifest);
  expect([manifest.version, web.image]).toEqual([version, `${imageName}:${version}`]);
});

test('icon and gallery exist in the sizes that Umbrel asks for', () => {
  const pathOf = (url: string) => url.replace(site, 'packaging');
  expect(manifest.gallery.map((url: string) => pngSize(pathOf(url)))).toEqual(
    manifest.gallery.map(() => [1440, 900]),
  );
  const icon = read(pathOf(manifest.icon));
  expect(icon).toMatch(/^<svg [^>]*width="256" height="256"/);
  // Umbrel rounds the corners itself.
  expect(icon).not.toContain(' rx=');
});

test('the proxy leads to the container, which keeps its data where Umbrel saves it', () => {
  const { listen, db } = readConfig({}, filled(web, ofPlatform));
  expect(proxy.environment.APP_PORT).toBe(listen.port);
  expect(proxy.environment.APP_HOST).toBe(`${manifest.id}_web_1`);
  expect([proxy.image, web.ports]).toEqual([undefined, undefined]);
  expect(web.volumes).toEqual([`$\{APP_DATA_DIR}/data:/data`]);
  expect(db).toBe('/data/paygate.db');
  expect(existsSync(`${root}/${folder}/data/.gitkeep`)).toBe(true);
});

test('the variables are those of Umbrel and of the apps that it depends on', () => {
  const used = Object.values(web.environment).flatMap((text) =>
    [...String(text).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name),
  );
  expect(used.sort()).toEqual(Object.keys(ofPlatform).sort());
  expect(manifest.dependencies).toEqual(['electrs']);
  expect(readConfig({}, filled(web, ofPlatform)).electrum).toMatchObject([{ own: true }]);
});

describe("behind Umbrel's login", () => {
  const open: string[] = proxy.environment.PROXY_AUTH_WHITELIST.split(',');
  const isOpen = (path: string) =>
    open.some((each) => (each.endsWith('/*') ? path.startsWith(each.slice(0, -1)) : path === each));

  test('is the dashboard, and nothing that shops and customers open', async () => {
    for (const path of ['/', '/dashboard', '/dashboard/stores', '/docs', '/readyz']) {
      expect([path, isOpen(path)]).toEqual([path, false]);
    }
    const api = ['/api/new_address', '/api/tx', '/api/v2/orders', '/payment/bc1q', '/healthz'];
    expect(api.filter((path) => !isOpen(path))).toEqual([]);
    const till = await openTill();
    const { text } = await visitorOf(till.app).get(till.path);
    const base = `http://host${till.path}`;
    const loaded = [...text.matchAll(/(?:src|href|action)="([^"]+)"/g)]
      .map(([, url = '']) => new URL(url, base))
      .filter(({ protocol, host }) => protocol === 'http:' && host === 'host')
      .map(({ pathname }) => pathname);
    expect(loaded.length).toBeGreaterThan(1);
    expect(isOpen(till.path)).toBe(true);
    expect(loaded.filter((path) => !isOpen(path))).toEqual([]);
  });

  test('the dashboard accepts the plain HTTP of the proxy', () => {
    const { trustedProxy, dashboardPlainHttp } = readConfig({}, filled(web, ofPlatform));
    expect(dashboardPlainHttp).toBe(true);
    expect(isProxy('10.21.0.5', trustedProxy)).toBe(true);
    expect(isProxy('192.168.1.20', trustedProxy)).toBe(false);
  });

  // Umbrel gives its proxy any address of the network of its apps.
  test('S-79 every app of the machine counts as the proxy, and names the client', () => {
    const { trustedProxy } = readConfig({}, filled(web, ofPlatform));
    expect(clientAddress('10.21.7.7', '203.0.113.5', trustedProxy)).toBe('203.0.113.5');
    expect(clientAddress('192.168.1.20', '203.0.113.5', trustedProxy)).toBe('192.168.1.20');
  });
});
