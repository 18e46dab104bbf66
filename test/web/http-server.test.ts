// Clients that misbehave: they offer another protocol, are slow, never read, or stay when the
// server closes.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Binding, type Fetch, type HttpListener, listen } from '../../src/web/http-server.ts';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { countIssued } from '../support/files.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterEach(closeApps);

/** A listener without deadlines: in-flight requests have unlimited time when it closes. */
async function openListener(
  answer: Fetch = () => new Response('ok'),
  binding: Partial<Binding> = {},
): Promise<HttpListener> {
  const never = () => () => {};
  const at = { host: '127.0.0.1', port: 0, flag: '--listen' };
  const listener = await listen(answer, { ...at, ...binding }, never);
  closing.push(() => listener.close());
  return listener;
}

/** Connects; each local address counts as another client. */
async function come(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

function isServed(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    if (socket.closed) resolve(false);
    socket.once('close', () => resolve(false));
    socket.once('data', (answer) => resolve(String(answer).startsWith('HTTP/1.1 200 ')));
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  });
}

/** Connects, and stays open when the server ends its side. */
async function visit(port: number, ...lines: string[]): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(`${[...lines, 'Host: localhost'].join('\r\n')}\r\n\r\n`);
  return socket;
}

const offer = (protocol: string) => ['Connection: Upgrade', `Upgrade: ${protocol}`];

/** The first bytes of the response. */
async function heard(socket: Socket): Promise<string> {
  const [data] = await once(socket, 'data');
  return String(data);
}

describe('S-126 an upgrade request', () => {
  it.each([
    ['h2c', '/'],
    ['h2c', '/payment/nobody'],
    ['websocket', '/'],
    ['', '/payment/nobody'],
  ])('"%s" at %s is answered as if it were none', async (protocol, path) => {
    const { port } = await openListener();
    const socket = await visit(port, `GET ${path} HTTP/1.1`, ...offer(protocol));
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('WebSocket that is refused does not delay the close', async () => {
    const listener = await openListener(() => new Response('no', { status: 404 }));
    const path = '/payment/nobody';
    const socket = await visit(listener.port, `GET ${path} HTTP/1.1`, ...offer('websocket'));
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    await listener.close();
  });

  it.each(['HEAD', 'DELETE', 'GET'])('WebSocket issues no address with %s', async (method) => {
    const app = await openApp();
    await untilReady(app);
    const line = `${method} /api/new_address HTTP/1.1`;
    const key = `Authorization: Bearer ${app.apiKey}`;
    const answer = await heard(await visit(app.port, line, key, ...offer('websocket')));
    const issued = await app.withStore(async ({ database }) => countIssued(database));
    expect([issued, answer.includes('bcrt1')]).toEqual(method === 'GET' ? [1, true] : [0, false]);
  });
});

describe('a client that names no host', () => {
  // Health checks of load balancers ask so. HTTP/1.1 requires a host (RFC 9112 section 3.2).
  it('gets a response in HTTP/1.0', async () => {
    const app = await openApp();
    await untilReady(app);
    const socket = connect(app.port, '127.0.0.1');
    closing.push(() => socket.destroy());
    socket.write('GET /readyz HTTP/1.0\r\n\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('sees no dashboard over plain HTTP', async () => {
    const app = await openApp();
    const socket = connect(app.port, '127.0.0.1');
    closing.push(() => socket.destroy());
    socket.write('GET /dashboard/sign-in HTTP/1.0\r\n\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  });
});

describe('S-125 a client is disconnected', () => {
  it('that does not end its headers', async () => {
    const { port } = await openListener(undefined, {
      timeouts: { headersMs: 50, checkEveryMs: 10 },
    });
    const socket = connect(port, '127.0.0.1');
    closing.push(() => socket.destroy());
    socket.write('GET / HTTP/1.1\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 408 /);
    await once(socket, 'close');
  });

  it('that sends requests and does not read', async () => {
    const listener = await openListener(() => new Response('x'.repeat(100_000)), {
      timeouts: { idleMs: 100 },
    });
    const socket = await visit(listener.port, 'GET / HTTP/1.1');
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200));
    // It closes when no client is connected.
    await listener.close();
  });
});

it('a stream that ends when the server closes does not delay that, though its client stays', async () => {
  let end = () => {};
  const body = new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode('begun'));
      end = () => stream.close();
    },
  });
  const listener = await openListener(() => new Response(body));
  expect(await heard(await visit(listener.port, 'GET / HTTP/1.1'))).toMatch(/^HTTP\/1\.1 200 /);
  const closed = listener.close();
  end();
  await closed;
});

describe('a client that aborts its request causes no error in the log', () => {
  it.each([
    ['/api/new_address', 'Transfer-Encoding: chunked'],
    ['/nowhere', 'Transfer-Encoding: chunked'],
    ['/dashboard/sign-in', 'Content-Length: 9'],
  ])('to %s (%s)', async (path, length) => {
    const app = await openApp();
    await untilReady(app);
    const host = `localhost:${app.port}`;
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const headers = [`Host: ${host}`, `Origin: http://${host}`, type, length];
    const socket = connect(app.port, '127.0.0.1');
    socket.end([`POST ${path} HTTP/1.1`, ...headers, '', '5\r\nhell'].join('\r\n'));
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 400 /);
    await once(socket, 'close');
    await app.world.turn();
    expect(app.world.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('user info in the absolute URL of a request', () => {
  it.each(['GET', 'POST', 'DELETE'])('is refused with %s, and is not logged', async (method) => {
    const app = await openApp();
    await untilReady(app);
    const line = `${method} http://user:s3cr3t@localhost/api/new_address HTTP/1.1`;
    const key = `Authorization: Bearer ${app.apiKey}`;
    const answer = await heard(await visit(app.port, line, key, 'Content-Length: 0'));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(app.world.logs.filter(({ level }) => level === 'error')).toEqual([]);
    expect(JSON.stringify(app.world.logs)).not.toContain('s3cr3t');
  });
});

describe('at the maximum of connections', () => {
  it('S-29 a new client replaces the newest connection of the client with the most', async () => {
    const { port } = await openListener(undefined, { maxConnections: 4 });
    const first = await come(port, '127.0.0.2');
    const greedy = [];
    for (let count = 0; count < 3; count += 1) greedy.push(await come(port, '127.0.0.3'));
    const other = await come(port, '127.0.0.4');
    expect(await isServed(other)).toBe(true);
    const served = [];
    for (const socket of [first, ...greedy]) served.push(await isServed(socket));
    expect(served).toEqual([true, true, true, false]);
  });

  it('the client with the most gets no further one, and neither does any if all have as many', async () => {
    const { port } = await openListener(undefined, { maxConnections: 3 });
    const greedy = [];
    for (let count = 0; count < 4; count += 1) greedy.push(await come(port, '127.0.0.3'));
    const served = [];
    for (const socket of greedy) served.push(await isServed(socket));
    expect(served).toEqual([true, true, true, false]);
    for (const address of ['127.0.0.4', '127.0.0.5']) {
      expect(await isServed(await come(port, address))).toBe(true);
    }
    expect(await isServed(await come(port, '127.0.0.6'))).toBe(false);
  });

  it('a connection slot is free again when its client has gone', async () => {
    const { port } = await openListener(undefined, { maxConnections: 1 });
    for (let count = 0; count < 3; count += 1) {
      const socket = await come(port, '127.0.0.2');
      expect(await isServed(socket)).toBe(true);
      socket.end();
      await once(socket, 'close');
    }
  });

  it('simultaneous clients get as many connections as the maximum', async () => {
    const { port } = await openListener(undefined, { maxConnections: 5 });
    const crowd = await Promise.all(Array.from({ length: 40 }, () => come(port, '127.0.0.3')));
    const served = await Promise.all(crowd.map(isServed));
    expect(served.filter(Boolean)).toHaveLength(5);
  });
});
