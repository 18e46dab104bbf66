import dns from 'node:dns';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
} from 'node:tls';
import { request } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { PaygateError } from '../../src/lib/errors.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import type { World } from '../../src/world/world.ts';
import { type Certificate, makeCertificate } from '../electrum/certificates.ts';
import { portOf } from '../electrum/scripted-server.ts';
import { createTestWorld } from '../support/world.ts';

const world = createNodeWorld({ logLevel: 'silent' });
const { until, turn } = createTestWorld();
const host = '127.0.0.1';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

/** Listens and collects all accepted sockets; returns the port. */
async function listen(server: Server, sockets: Socket[] = []): Promise<number> {
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((done) => server.listen(0, host, done));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((done) => server.close(done));
  });
  return portOf(server);
}

const patient = (): AbortSignal => new AbortController().signal;

describe('a connection', () => {
  it('over TCP is only a socket', async () => {
    const port = await listen(createServer((socket) => socket.end('hello')));
    const connection = await world.connect({ host, port, tls: false }, patient());
    expect(Object.keys(connection)).toEqual(['socket']);
    const [hello] = await new Promise<Buffer[]>((done) =>
      connection.socket.once('data', (chunk) => done([chunk])),
    );
    expect(String(hello)).toBe('hello');
  });

  it.each([true, false])('that is refused has that reason (tls: %s)', async (tls) => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((done) => server.close(done));
    const connecting = world.connect({ host, port, tls }, patient());
    await expect(connecting).rejects.toThrow(
      `cannot connect to ${host}:${port}: it refuses connections`,
    );
    await expect(connecting).rejects.toBeInstanceOf(PaygateError);
    const byName = world.connect({ host: 'localhost', port, tls }, patient());
    await expect(byName).rejects.toThrow(`localhost:${port}: it refuses connections`);
  });

  it('to a name that does not exist has that reason', async () => {
    const target = { host: 'no-such-host.invalid', port: 1, tls: false };
    await expect(world.connect(target, patient())).rejects.toThrow(
      /the name does not exist|the name server does not answer/,
    );
  });

  it.each([true, false])(
    'to a distant server has its whole timeout, also if the name has another address (tls: %s)',
    async (tls) => {
      const port = await listen(tls ? createTlsServer(makeCertificate()) : createServer());
      // The order of a system without IPv6: unreachable addresses come last.
      const both = [
        { address: host, family: 4 },
        { address: '::1', family: 6 },
      ];
      const lookUp = (
        _name: string,
        _options: object,
        callback: (...answer: unknown[]) => void,
      ) => {
        process.nextTick(() => {
          callback(null, both);
          // The round trip takes this long.
          for (const since = performance.now(); performance.now() - since < 400; );
        });
      };
      const lookup = vi.spyOn(dns, 'lookup').mockImplementation(lookUp as never);
      closing.push(() => lookup.mockRestore());
      const { socket } = await world.connect({ host: 'far.example', port, tls }, patient());
      expect(socket.remoteAddress).toBe(host);
      socket.destroy();
    },
  );

  it('that is aborted leaves no socket, before and during the handshake', async () => {
    const sockets: Socket[] = [];
    const port = await listen(createServer(), sockets);
    const abort = new AbortController();
    const connecting = world.connect({ host, port, tls: true }, abort.signal);
    const outcome = expect(connecting).rejects.toThrow('changed my mind');
    await until(() => sockets.length === 1);
    abort.abort(new Error('changed my mind'));
    await outcome;
    sockets[0]?.resume();
    await until(() => sockets[0]?.destroyed === true, 'the socket to close');
    const late = world.connect({ host, port, tls: false }, abort.signal);
    await expect(late).rejects.toThrow('changed my mind');
    expect(sockets).toHaveLength(1);
  });

  it('is not affected by its signal once it is open', async () => {
    const port = await listen(createServer());
    const abort = new AbortController();
    const { socket } = await world.connect({ host, port, tls: false }, abort.signal);
    abort.abort();
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('whose peer closes during the handshake fails', async () => {
    const port = await listen(createServer((socket) => socket.destroy()));
    await expect(world.connect({ host, port, tls: true }, patient())).rejects.toThrow(
      /cannot connect/,
    );
    const plain = await listen(createServer((socket) => socket.end('not TLS at all\n')));
    await expect(world.connect({ host, port: plain, tls: true }, patient())).rejects.toThrow(
      /does not speak TLS/,
    );
  });

  it('survives an error before the caller listens', async () => {
    const sockets: Socket[] = [];
    const port = await listen(createServer(), sockets);
    const { socket } = await world.connect({ host, port, tls: false }, patient());
    await until(() => sockets.length === 1);
    sockets[0]?.resetAndDestroy();
    await until(() => socket.destroyed);
  });
});

function trustAsRoot({ cert }: Certificate): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([cert]);
  closing.push(() => setDefaultCACertificates(before));
}

describe('a certificate', () => {
  it('that is self-signed is reported with its error and fingerprint', async () => {
    const certificate = makeCertificate();
    const port = await listen(createTlsServer(certificate));
    const shown = await world.connect({ host, port, tls: true }, patient());
    expect(shown.certificate).toEqual({
      isValid: false,
      error: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      sha256: certificate.sha256,
    });
    shown.socket.destroy();
  });

  it('is valid for its names, and only names are sent for SNI', async () => {
    const certificate = makeCertificate();
    trustAsRoot(certificate);
    const names: unknown[] = [];
    const server = createTlsServer(certificate, (socket: TLSSocket & { servername?: unknown }) =>
      names.push(socket.servername),
    );
    const port = await listen(server);
    for (const name of ['localhost', host]) {
      const { certificate: shown, socket } = await world.connect(
        { host: name, port, tls: true },
        patient(),
      );
      closing.push(() => socket.destroy());
      expect(shown).toEqual({ isValid: true, sha256: certificate.sha256 });
    }
    await until(() => names.length === 2);
    expect(names).toEqual(['localhost', false]);
  });

  it('that is valid for another name is not valid', async () => {
    const certificate = makeCertificate({ host: 'elsewhere.example' });
    trustAsRoot(certificate);
    const port = await listen(createTlsServer(certificate));
    for (const name of ['localhost', host]) {
      const shown = await world.connect({ host: name, port, tls: true }, patient());
      closing.push(() => shown.socket.destroy());
      expect(shown.certificate).toMatchObject({
        isValid: false,
        error: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
    }
  });
});

describe('names', () => {
  it('resolve to all their addresses', async () => {
    expect(await world.resolve('localhost')).toContain(host);
    await expect(world.resolve('no-such-host.invalid')).rejects.toThrow();
  });
});

describe('HTTP', () => {
  const client = (origin: string, resolver: World['resolve']): ReturnType<World['http']> => {
    const dispatcher = world.http({ origin, resolver, connectTimeoutMs: 5_000 });
    closing.push(() => dispatcher.close());
    return dispatcher;
  };

  it('dials only the addresses of the resolver, over a persistent connection', async () => {
    const sockets: Socket[] = [];
    const server = createHttpServer((asked, answer) => answer.end(asked.headers.host));
    const port = await listen(server, sockets);
    const asked: string[] = [];
    const origin = `http://shop.example:${port}`;
    const dispatcher = client(origin, async (name) => {
      asked.push(name);
      return [host];
    });
    for (let round = 0; round < 3; round++) {
      const { body } = await request(`${origin}/`, { dispatcher });
      expect(await body.text()).toBe(`shop.example:${port}`);
      await turn();
    }
    expect(asked).toEqual(['shop.example']);
    expect(sockets).toHaveLength(1);
  });

  it('dials nothing if the resolver fails or finds nothing', async () => {
    const sockets: Socket[] = [];
    const port = await listen(createHttpServer(), sockets);
    const origin = `http://localhost:${port}`;
    for (const resolver of [
      () => Promise.reject(new Error('a private address')),
      () => Promise.reject('a private address'),
    ]) {
      const asking = request(`${origin}/`, { dispatcher: client(origin, resolver) });
      await expect(asking).rejects.toThrow('a private address');
    }
    const none = request(`${origin}/`, { dispatcher: client(origin, async () => []) });
    await expect(none).rejects.toThrow('localhost has no address');
    expect(sockets).toEqual([]);
  });

  it('follows no redirect', async () => {
    const server = createHttpServer((_, answer) => {
      answer.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    });
    const port = await listen(server);
    const dispatcher = client(`http://${host}:${port}`, async () => [host]);
    const { statusCode, body } = await request(`http://${host}:${port}/`, { dispatcher });
    await body.dump();
    expect(statusCode).toBe(302);
  });

  it('takes response headers of 16 KiB at most', async () => {
    const server = createHttpServer((_, answer) => {
      answer.writeHead(200, { 'x-long': 'x'.repeat(17_000) }).end();
    });
    const port = await listen(server);
    const dispatcher = client(`http://${host}:${port}`, async () => [host]);
    await expect(request(`http://${host}:${port}/`, { dispatcher })).rejects.toThrow(/[Hh]eader/);
  });

  it('verifies TLS, whatever the environment', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    closing.push(
      () => vi.unstubAllEnvs(),
      () => warning.mockRestore(),
    );
    const port = await listen(createHttpsServer(makeCertificate(), (_, answer) => answer.end()));
    const dispatcher = client(`https://localhost:${port}`, async () => [host]);
    await expect(request(`https://localhost:${port}/`, { dispatcher })).rejects.toThrow(
      /self-signed/,
    );
  });
});
