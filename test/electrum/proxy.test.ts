import dns from 'node:dns';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseProxy, parseServerAddress } from '../../src/electrum/server-address.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { createTestWorld } from '../support/world.ts';
import { makeCertificate } from './certificates.ts';
import { open, start } from './open-session.ts';
import { portOf } from './scripted-server.ts';
import { type Fault, type SocksOptions, type SocksServer, startSocks } from './socks-server.ts';

const onion = `${'a'.repeat(56)}.onion`;
const patient = (): AbortSignal => new AbortController().signal;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0).reverse()) await close();
});

async function socksServer(options: SocksOptions = {}): Promise<SocksServer> {
  const server = await startSocks(options);
  closing.push(() => server.close());
  return server;
}

async function listen(server: Server): Promise<number> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((done) => server.close(done));
  });
  return portOf(server);
}

describe('the address of a proxy', () => {
  it.each([
    ['socks5://127.0.0.1:9050', { host: '127.0.0.1', port: 9050 }],
    ['SOCKS5://Tor:9050/', { host: 'tor', port: 9050 }],
    ['socks5h://tor:9050', { host: 'tor', port: 9050 }],
    ['socks5://[::1]:1', { host: '::1', port: 1 }],
    [
      'socks5://me:p%40ss:w%25rd@h:1',
      { host: 'h', port: 1, credentials: { user: 'me', password: 'p@ss:w%rd' } },
    ],
    ['socks5://a@b:c@h:1', { host: 'h', port: 1, credentials: { user: 'a@b', password: 'c' } }],
  ])('%s', (text, proxy) => {
    expect(parseProxy(text)).toEqual(proxy);
  });

  it.each([
    ['', /write socks5:\/\/host:port/],
    ['127.0.0.1:9050', /write socks5:\/\/host:port/],
    ['http://h:1', /write socks5:\/\/host:port/],
    ['socks4://h:1', /write socks5:\/\/host:port/],
    ['socks5://h:1/path', /write socks5:\/\/host:port/],
    ['socks5://h', /port is missing/],
    ['socks5://h:0', /between 1 and 65535/],
    ['socks5://h:70000', /between 1 and 65535/],
    ['socks5://:1', /host is not/],
    ['socks5://b ü:1', /host is not/],
    ['socks5://secret@h:1', /user:password/],
    ['socks5://:secret@h:1', /1 to 255 bytes/],
    ['socks5://secret:@h:1', /1 to 255 bytes/],
    [`socks5://me:${'secret'.repeat(50)}@h:1`, /1 to 255 bytes/],
    ['socks5://me:secret%@h:1', /%25/],
    ['socks5://me:secret@h', /port is missing/],
  ])('%s is refused, without repeating it', (text, why) => {
    expect(() => parseProxy(text)).toThrow(why);
    expect(() => parseProxy(text)).not.toThrow(/secret/);
  });
});

describe('S-113 through a proxy', () => {
  it('the proxy resolves a name, and only the proxy is dialled', async () => {
    const server = await start();
    const socks = await socksServer({ names: { [onion]: server.port } });
    const lookup = vi.spyOn(dns, 'lookup');
    const promised = vi.spyOn(dns.promises, 'lookup');
    const world = createTestWorld();
    const resolve = vi.spyOn(world, 'resolve');
    const { session, peer } = await open(
      {},
      {
        world,
        server: { ...server, address: parseServerAddress(`tcp://${onion}:50001`) },
        options: { proxy: socks.proxy },
      },
    );
    expect(socks.asked).toEqual([{ type: 3, host: onion, port: 50_001 }]);
    expect(session.software).toBe('Scripted 1.0');
    expect(server.peers).toHaveLength(1);
    expect(resolve).not.toHaveBeenCalled();
    expect(promised).not.toHaveBeenCalled();
    expect(lookup.mock.calls.filter(([name]) => name !== socks.proxy.host)).toEqual([]);
    session.close('enough');
    await world.until(() => peer.socket.destroyed && socks.sockets.size === 0, 'all to close');
  });

  it('an address is given as an address', async () => {
    const port = await listen(createServer((socket) => socket.end('hello')));
    const { proxy, asked } = await socksServer();
    const world = createTestWorld();
    const { socket } = await world.connect(
      { host: '127.0.0.1', port, tls: false, proxy },
      patient(),
    );
    const said = await new Promise((done) => socket.once('data', (chunk) => done(String(chunk))));
    expect(said).toBe('hello');
    expect(asked).toEqual([{ type: 1, host: '127.0.0.1', port }]);
    const version6 = { host: '::1', port, tls: false, proxy };
    const other = await world.connect(version6, patient());
    closing.push(() => other.socket.destroy());
    expect(asked[1]?.type).toBe(4);
  });

  it('TLS runs inside, its certificate judged for the name', async () => {
    const certificate = makeCertificate({ host: onion });
    const names: unknown[] = [];
    const tls = createTlsServer(certificate, (socket) => {
      names.push((socket as { servername?: unknown }).servername);
      socket.on('data', (chunk) => socket.write(chunk));
    });
    const { proxy } = await socksServer({ names: { [onion]: await listen(tls) } });
    const world = createTestWorld();
    const target = { host: onion, port: 50_002, tls: true, proxy };
    const { socket, certificate: shown } = await world.connect(target, patient());
    closing.push(() => socket.destroy());
    expect(shown).toEqual({
      isValid: false,
      error: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      sha256: certificate.sha256,
    });
    const long = 'x'.repeat(100_000);
    let echo = '';
    socket.on('data', (chunk) => {
      echo += chunk;
    });
    socket.write(long);
    await world.until(() => echo === long, 'the echo');
    expect(names).toEqual([onion]);
  });

  it('a certificate is valid for its own name alone', async () => {
    const certificate = makeCertificate({ host: onion });
    const before = getCACertificates('default');
    setDefaultCACertificates([certificate.cert]);
    closing.push(() => setDefaultCACertificates(before));
    const port = await listen(createTlsServer(certificate));
    const { proxy } = await socksServer({ names: { [onion]: port, 'other.example': port } });
    const world = createTestWorld();
    const faultOf = async (host: string): Promise<string | undefined> => {
      const { socket, certificate: shown } = await world.connect(
        { host, port, tls: true, proxy },
        patient(),
      );
      closing.push(() => socket.destroy());
      return shown?.isValid ? 'none' : shown?.error;
    };
    expect(await faultOf(onion)).toBe('none');
    expect(await faultOf('other.example')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await faultOf('127.0.0.1')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('the login is sent if the proxy requires it, and its bytes may arrive slowly', async () => {
    const server = await start();
    const socks = await socksServer({ names: { h: server.port }, login: true, drips: true });
    const proxy = { ...socks.proxy, credentials: { user: 'me', password: 'p@ß' } };
    const { socket } = await createTestWorld().connect(
      { host: 'h', port: 1, tls: false, proxy },
      patient(),
    );
    closing.push(() => socket.destroy());
    expect(socks.logins).toEqual(['me:p@ß']);
  });

  it.each<[Fault, RegExp]>([
    ['wants no method', /accepted authentication|auth/i],
    ['refuses the login', /authentication/i],
    ['refuses the host', /HostUnreachable/],
    ['talks garbage', /version/i],
    ['talks garbage at the request', /rejected/i],
    ['closes', /closed/i],
    ['closes at the request', /closed/i],
  ])('that %s there is no connection, and none beside it', async (fault, reason) => {
    const direct = await start();
    const socks = await socksServer({ fault, login: fault === 'refuses the login' });
    const proxy = { ...socks.proxy, credentials: { user: 'me', password: 'hidden' } };
    const world = createTestWorld();
    for (const tls of [false, true]) {
      const target = { host: '127.0.0.1', port: direct.port, tls, proxy };
      const error = await world.connect(target, patient()).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(PaygateError);
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(reason) });
      expect((error as Error).message).toContain(`through 127.0.0.1:${proxy.port}: `);
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hidden');
      expect((error as Error).cause).not.toHaveProperty('options');
    }
    expect(direct.peers).toEqual([]);
    await world.until(() => socks.sockets.size === 0, 'the sockets to close');
  });

  it('that is down, no connection is made', async () => {
    const direct = await start();
    const socks = await socksServer();
    await socks.close();
    const target = { host: '127.0.0.1', port: direct.port, tls: false, proxy: socks.proxy };
    const connecting = createTestWorld().connect(target, patient());
    await expect(connecting).rejects.toThrow(
      `through 127.0.0.1:${socks.proxy.port}: it refuses connections`,
    );
    expect(direct.peers).toEqual([]);
  });

  it.each<Fault>(['hangs', 'hangs at the request'])(
    'that %s, it ends when aborted',
    async (fault) => {
      const socks = await socksServer({ fault });
      const world = createTestWorld();
      const abort = new AbortController();
      const target = { host: 'h', port: 1, tls: true, proxy: socks.proxy };
      const outcome = expect(world.connect(target, abort.signal)).rejects.toThrow(
        'changed my mind',
      );
      await world.until(() => socks.sockets.size === 1);
      await world.turn();
      abort.abort(new Error('changed my mind'));
      await outcome;
      await world.until(() => socks.sockets.size === 0, 'the socket to close');
      await expect(world.connect(target, abort.signal)).rejects.toThrow('changed my mind');
      expect(socks.sockets.size).toBe(0);
    },
  );

  it('a TLS handshake that hangs ends when aborted', async () => {
    const far: Socket[] = [];
    const port = await listen(createServer((socket) => void far.push(socket)));
    const socks = await socksServer({ names: { h: port } });
    const world = createTestWorld();
    const abort = new AbortController();
    const target = { host: 'h', port: 1, tls: true, proxy: socks.proxy };
    const outcome = expect(world.connect(target, abort.signal)).rejects.toThrow('changed my mind');
    await world.until(() => far.length === 1);
    await world.turn();
    abort.abort(new Error('changed my mind'));
    await outcome;
    await world.until(() => socks.sockets.size === 0, 'the socket to close');
  });

  it('deadlines are twenty seconds, for the connection and for a request', async () => {
    const world = createTestWorld();
    const socks = await socksServer({ fault: 'hangs' });
    const hanging = open({}, { world, options: { proxy: socks.proxy } }).catch(String);
    await world.until(() => socks.sockets.size === 1);
    await world.advance(19_999);
    expect(socks.sockets.size).toBe(1);
    await world.advance(1);
    expect(await hanging).toContain('it did not answer in time');

    const { proxy } = await socksServer();
    const { session, peer } = await open({}, { world, options: { proxy } });
    let outcome = '';
    session.ping().catch((error: unknown) => {
      outcome = String(error);
    });
    await world.until(() => peer.asked('server.ping').length === 1);
    await world.advance(19_999);
    expect(outcome).toBe('');
    await world.advance(1);
    expect(outcome).toContain('in time');
  });
});

describe('without a proxy', () => {
  it('a .onion name is refused before anything is looked up', async () => {
    const lookup = vi.spyOn(dns, 'lookup');
    const connecting = createTestWorld().connect({ host: onion, port: 1, tls: true }, patient());
    await expect(connecting).rejects.toThrow(/\.onion name can be reached only through a proxy/);
    expect(lookup).not.toHaveBeenCalled();
  });
});
