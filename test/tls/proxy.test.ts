// Behind a real nginx, configured as in docs/operations.md. The dashboard detects HTTPS, and the
// live socket works. Without nginx it is skipped with a message.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/ports.mjs';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { makeAuthority } from '../support/authority.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { askByTls } from '../support/tls.ts';
import { setPassword } from '../support/visitor.ts';

const host = 'pay.example.com';
const hasNginx = spawnSync('nginx', ['-v']).status === 0;

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const [, documented = ''] =
  /```nginx\n([\s\S]*?)```/.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];

/** @returns its port and who vouches for its certificate */
async function startNginx(app: TestApp): Promise<{ port: number; ca: string }> {
  const folder = tempFolder();
  const authority = makeAuthority();
  const { cert, key } = authority.issue(host, '20200101000000Z', '20400101000000Z');
  authority.remove();
  writeFileSync(join(folder, 'cert'), cert);
  writeFileSync(join(folder, 'key'), key);
  const port = await freePort();
  const site = documented
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace(/ssl_certificate \S+;/, `ssl_certificate ${folder}/cert;`)
    .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${folder}/key;`)
    .replace('127.0.0.1:8080', `127.0.0.1:${app.port}`);
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {} http { access_log off; ${temps.join(' ')} ${site} }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')]);
  let said = '';
  child.stderr.on('data', (text: Buffer) => {
    said += text;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  whenOver(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await app.world.until(() => child.pid !== undefined, 'nginx');
  await answering(port, () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
  });
  return { port, ca: authority.certificate };
}

/** Until somebody accepts connections there. */
async function answering(port: number, check: () => void): Promise<void> {
  for (;;) {
    check();
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
  }
}

describe.skipIf(!hasNginx)('nginx as documented', () => {
  const open = () => openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });

  test('the dashboard detects HTTPS, in its cookie and its origin', async () => {
    const app = await open();
    await setPassword(app);
    const { port, ca } = await startNginx(app);
    const path = '/dashboard/sign-in';
    const headers = { Host: host, 'X-Forwarded-Proto': 'http' };
    const seen = await askByTls({ port, path, ca, servername: host, headers });
    expect(seen.status).toBe(200);
    expect(seen.headers['set-cookie']?.[0]).toMatch(/^__Host-paygate-visitor=.*Secure/);
    // It is known as a proxy of ours.
    expect(app.running.health().warnings.join()).not.toContain('trusted-proxy');
  });

  test('the live socket works', async () => {
    const app = await open();
    await untilReady(app);
    const { port, ca } = await startNginx(app);
    const address = await app.newAddress();
    const url = `wss://127.0.0.1:${port}/payment/${address}`;
    const socket = new WebSocket(url, [], { ca, servername: host } as object);
    whenOver(() => socket.terminate());
    const said: string[] = [];
    socket.on('message', (text) => said.push(String(text)));
    await new Promise((resolve, reject) => {
      socket.once('open', resolve).once('error', reject);
    });
    app.pay(address, 20_000);
    await app.settle();
    await app.world.until(() => said.length > 0, 'the news');
    expect(said[0]).toContain('20000');
  });
});

test('the documented Caddy configuration leads to paygate', () => {
  const page = readFileSync('docs/operations.md', 'utf8');
  const [, caddy = ''] = /```caddy\n([\s\S]*?)```/.exec(page) ?? [];
  expect(caddy).toContain('reverse_proxy 127.0.0.1:8080');
  expect(documented).toContain('proxy_pass http://127.0.0.1:8080;');
});

if (!hasNginx) {
  process.stderr.write('test/tls/proxy: 2 tests skipped, for there is no nginx\n');
}
