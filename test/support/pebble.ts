// A real certificate authority: Pebble, the test server of Let's Encrypt, and a DNS server that
// resolves every name to this machine. Pebble validates http-01 at a given port. It rejects some
// nonces on purpose, and creates a new root at each start.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../scripts/ports.mjs';
import { makeAuthority } from './authority.ts';
import { tempFolder, whenOver } from './files.ts';
import { askByTls } from './tls.ts';

/** Path of Pebble, or the reason why it is missing. */
export function findPebble(): { readonly path: string } | { readonly missing: string } {
  const named = process.env.PAYGATE_PEBBLE;
  if (named !== undefined) return existsSync(named) ? { path: named } : { missing: `no ${named}` };
  try {
    return { path: execFileSync('sh', ['-c', 'command -v pebble'], { encoding: 'utf8' }).trim() };
  } catch {
    return { missing: 'there is no pebble: .ci/run installs it, or name it by PAYGATE_PEBBLE' };
  }
}

export interface PebbleOptions {
  /** Port for http-01; real authorities use port 80. */
  readonly httpPort: number;
  readonly lifetimeSeconds?: number;
}

export interface Pebble {
  readonly directory: string;
  /** A PEM file that vouches for the server of the directory. */
  readonly ca: string;
  /** PEM: vouches for what it issues. */
  root(): Promise<string>;
  stop(): Promise<void>;
}

export async function startPebble(path: string, options: PebbleOptions): Promise<Pebble> {
  const folder = tempFolder();
  const at = (name: string): string => join(folder, name);
  const authority = makeAuthority();
  const { cert, key } = authority.issue('localhost', '20200101000000Z', '20400101000000Z');
  authority.remove();
  writeFileSync(at('ca.pem'), authority.certificate);
  writeFileSync(at('cert.pem'), cert);
  writeFileSync(at('key.pem'), key);
  const [port, management] = [await freePort(), await freePort()];
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: at('cert.pem'),
    privateKey: at('key.pem'),
    httpPort: options.httpPort,
    tlsPort: 1,
    retryAfter: { authz: 1, order: 1 },
    profiles: {
      default: { description: 'of a test', validityPeriod: options.lifetimeSeconds ?? 7_776_000 },
    },
  };
  writeFileSync(at('config.json'), JSON.stringify({ pebble }));
  const dns = await startDns();
  const child = spawn(path, ['-config', at('config.json'), '-dnsserver', `127.0.0.1:${dns}`], {
    env: { PATH: process.env.PATH, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '5' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = endOf(child);
  whenOver(stop);
  await saysSo(child, /ACME directory available/);
  const ask = (path: string) =>
    askByTls({ port: management, path, ca: authority.certificate, servername: 'localhost' });
  return {
    directory: `https://localhost:${port}/dir`,
    ca: at('ca.pem'),
    root: async () => (await ask('/roots/0')).text,
    stop,
  };
}

const endOf = (child: ChildProcess) => {
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
};

function saysSo({ stdout, stderr }: ChildProcess, wanted: RegExp): Promise<void> {
  let said = '';
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream?.on('data', (text: Buffer) => {
        said += text;
        if (wanted.test(said)) resolve();
      });
      stream?.once('close', () => reject(new Error(`pebble ended: ${said}`)));
    }
  });
}

/** DNS over TCP: A is 127.0.0.1, other types have no record (RFC 1035 section 4). */
async function startDns(): Promise<number> {
  const server = createServer((socket) => {
    let heard = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      while (heard.length >= 2 && heard.length >= 2 + heard.readUInt16BE(0)) {
        const length = heard.readUInt16BE(0);
        const answer = answerTo(heard.subarray(2, 2 + length));
        heard = heard.subarray(2 + length);
        socket.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length]), answer]));
      }
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  whenOver(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return port;
}

function answerTo(query: Buffer): Buffer {
  const nameEnd = query.indexOf(0, 12);
  const question = query.subarray(12, nameEnd + 5);
  const isA = query.readUInt16BE(nameEnd + 1) === 1;
  const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
  query.copy(header, 0, 0, 2);
  const answer = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1];
  return Buffer.concat([header, question, Buffer.from(isA ? answer : [])]);
}
