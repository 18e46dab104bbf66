// `paygate health`, as a person or a script asks it.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { version } from '../../src/lib/version.ts';
import { makeCertificate } from '../electrum/certificates.ts';
import { closeApps, openReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, whenOver } from '../support/files.ts';

afterEach(closeApps);
afterEach(cleanUp);

const at = (port: number): string[] => ['health', '--listen', `127.0.0.1:${port}`];

test('exits with 0 for a paygate that answers, with --strict only if there is no warning', async () => {
  const well = await openReady();
  expect(await runCli([...at(well.port), '--strict'])).toMatchObject({ code: 0, stdout: 'ok\n' });
  // So many addresses without a payment are warned of.
  const ill = await openReady();
  for (let count = 0; count < 16; count += 1) await ill.newAddress();
  const plain = await runCli(at(ill.port));
  expect(plain).toMatchObject({ code: 0, stderr: '' });
  expect(plain.stdout).toMatch(/^degraded\n./);
  const strict = await runCli([...at(ill.port), '--strict']);
  expect(strict).toMatchObject({ code: 1, stdout: plain.stdout, stderr: '' });
  const json = await runCli([...at(ill.port), '--strict', '--json']);
  expect([json.code, JSON.parse(json.stdout).status]).toEqual([1, 'degraded']);
});

test('exits with 1 if no paygate answers', async () => {
  const port = await freePort();
  expect(await runCli(at(port))).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `paygate: no paygate answers at 127.0.0.1:${port}; start it, or name its address with --listen\n`,
  });
});

test('is found by the address of the environment, and says which of them is wrong', async () => {
  const app = await openReady();
  const PAYGATE_LISTEN = `127.0.0.1:${app.port}`;
  expect(await runCli(['health'], { PAYGATE_LISTEN })).toMatchObject({ code: 0, stdout: 'ok\n' });
  const option = await runCli(['health', `--listen=${PAYGATE_LISTEN}`], { PAYGATE_LISTEN: 'x' });
  expect(option).toMatchObject({ code: 0, stdout: 'ok\n' });
  const wrong = await runCli(['health', '--listen', 'x', '--json'], { PAYGATE_LISTEN });
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(JSON.parse(wrong.stderr).error.message).toMatch(/^--listen: host:port expected/);
  const variable = await runCli(['health'], { PAYGATE_LISTEN: 'x' });
  expect(variable).toMatchObject({ code: 2, stdout: '' });
  expect(variable.stderr).toMatch(/^paygate: PAYGATE_LISTEN: host:port expected/);
  const missing = await runCli(['health', '--listen']);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('argument missing') });
});

test('a private key beside it is refused and not shown', async () => {
  const key = 'cVt4o7BGAig1UXywgGSmARhxMdzP5qvQsxKkSsc1XEkw3tDTQFpy';
  const words = `${'abandon '.repeat(11)}about`;
  const at = ['health', '--listen', `127.0.0.1:${await freePort()}`];
  const refused = [
    await runCli(['health', '--listen', key]),
    await runCli(['health', `--listen=${words}`]),
    await runCli(at, { PAYGATE_ELECTRUM: `ssl://${key}:50002` }),
    await runCli(at, { PAYGATE_DB: words }),
  ];
  for (const { code, stderr } of refused) {
    expect([code, stderr]).toEqual([2, expect.stringMatching(/private key or recovery words/)]);
    expect(stderr).not.toMatch(/cVt4|abandon/);
  }
});

describe('another server at that address is no paygate', () => {
  async function listen(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    whenOver(() => void server.close());
    return (server.address() as AddressInfo).port;
  }
  const answering = (status: number, body: string | Buffer) =>
    createServer((_, response) => void response.writeHead(status).end(body));

  // The command closes its connections when it has seen enough.
  const tcpServer = (answer: (socket: Socket) => void) =>
    createTcpServer((socket) => answer(socket.on('error', () => {})));

  test.each<[string, () => Server]>([
    ['another report', () => answering(200, '{"status":"ok"}')],
    ['null', () => answering(200, 'null')],
    ['a page', () => answering(200, '<h1>It works!</h1>')],
    ['an error', () => answering(503, '{"status":"ok","warnings":[]}')],
    ['endless text', () => answering(200, Buffer.alloc(5_000_000, ' '))],
    ['noise', () => tcpServer((socket) => socket.end('\0\x01noise'))],
    ['a closed connection', () => tcpServer((socket) => socket.destroy())],
  ])('with %s', async (_, make) => {
    const port = await listen(make());
    const { code, stderr } = await runCli(at(port));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`no paygate answers at 127.0.0.1`)]);
  });

  test('but one with HTTPS alone is asked by HTTPS', async () => {
    const report = { status: 'ok', warnings: ['a \x1b[31mred one'] };
    const server = createSecureServer(makeCertificate(), (_, response) =>
      response.end(JSON.stringify(report)),
    );
    const { code, stdout } = await runCli(at(await listen(server)));
    expect([code, stdout]).toEqual([0, 'ok\na [31mred one\n']);
  });
});

test('--version prints the version alone', async () => {
  for (const flag of ['--version', '-V']) {
    expect(await runCli([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  }
});
