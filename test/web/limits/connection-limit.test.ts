// Clients that send requests without waiting, and clients that do not read: by plain HTTP and TLS.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it, test } from 'vitest';
import { WebSocket } from 'ws';
import {
  type Binding,
  type Fetch,
  type HttpListener,
  listen,
} from '../../../src/web/http-server.ts';
import { makeCertificate } from '../../electrum/certificates.ts';
import { closeApps, openReady } from '../../support/app.ts';
import { createTestWorld } from '../../support/world.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterEach(closeApps);

const certificate = makeCertificate();
const kilobyte = 1000;

/** What was reported of clients. */
type Abuses = [client: string, reason: string][];

async function openListener(
  answer: Fetch,
  binding: Partial<Binding> = {},
): Promise<HttpListener & { readonly abuses: Abuses }> {
  const abuses: Abuses = [];
  const onAbuse = (...abuse: Abuses[number]) => void abuses.push(abuse);
  const at = { host: '127.0.0.1', port: 0, flag: '--listen', onAbuse };
  const listener = await listen(answer, { ...at, ...binding }, () => () => {});
  if (binding.tls) listener.setCertificate(certificate);
  closing.push(() => listener.close());
  return { ...listener, abuses };
}

const impatient = 'it sent requests without waiting for the responses';
const unread = 'it did not take the responses that it asked for';
const { until, turn } = createTestWorld();

interface Client {
  readonly socket: Socket;
  /** What came so far. */
  readonly text: () => string;
  readonly closed: Promise<unknown>;
}

async function visit(port: number, tls: boolean, localAddress = '127.0.0.1'): Promise<Client> {
  const at = { port, host: '127.0.0.1', localAddress };
  const socket = tls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
  socket.on('error', () => {});
  closing.push(() => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, tls ? 'secureConnect' : 'connect');
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  return { socket, text: () => text, closed };
}

const get = (path = '/', ...headers: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;

const upgrade = get('/payment/nobody', 'Connection: Upgrade', 'Upgrade: websocket');

const responsesIn = ({ text }: Client): number => text().split('HTTP/1.1 ').length - 1;

/** Counts the requests that Node parses, also those that it answers by itself. */
function countParsed(): () => number {
  let count = 0;
  const channel = 'http.server.request.start';
  const add = (): void => {
    count += 1;
  };
  subscribe(channel, add);
  closing.push(() => unsubscribe(channel, add));
  return () => count;
}

const isServed = async (port: number, tls: boolean): Promise<boolean> => {
  const client = await visit(port, tls, '127.0.0.2');
  client.socket.write(get());
  await once(client.socket, 'data');
  return client.text().startsWith('HTTP/1.1 200 ');
};

describe.each([
  ['plain HTTP', false],
  ['TLS', true],
])('by %s', (_name, tls) => {
  it.each([
    ['requests', get()],
    ['requests that Node refuses with 417', get('/', 'Expect: a miracle')],
    ['requests without a host, which Node refuses', 'GET / HTTP/1.1\r\n\r\n'],
    ['requests with a body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx'],
  ])('a third of a thousand %s closes the connection', async (_what, request) => {
    const answered: string[] = [];
    const answer: Fetch = ({ url }) => {
      answered.push(url);
      return new Response('x'.repeat(kilobyte));
    };
    const { port, abuses } = await openListener(answer, { tls });
    const parsed = countParsed();
    const client = await visit(port, tls);
    client.socket.write(request.repeat(1000));
    await client.closed;
    expect(parsed()).toBe(3);
    expect(answered.length).toBeLessThanOrEqual(2);
    expect(responsesIn(client)).toBeLessThanOrEqual(2);
    expect(await isServed(port, tls)).toBe(true);
    expect(abuses).toEqual([['127.0.0.1', impatient]]);
  });

  it('S-80 none of three requests in one packet is processed', async () => {
    let answers = 0;
    const answer: Fetch = () => {
      answers += 1;
      return new Response('x');
    };
    const { port } = await openListener(answer, { tls });
    const client = await visit(port, tls);
    client.socket.write(get().repeat(3));
    await client.closed;
    expect(answers).toBe(0);
  });

  it('a third request in a packet of its own closes the connection, too', async () => {
    let answers = 0;
    const never: Fetch = () => {
      answers += 1;
      return new Promise<Response>(() => {});
    };
    const { port } = await openListener(never, { tls });
    const client = await visit(port, tls);
    for (const count of [1, 2]) {
      client.socket.write(get());
      await until(() => answers === count, 'the request');
    }
    expect(client.socket.destroyed).toBe(false);
    client.socket.write(get());
    await client.closed;
    expect(answers).toBe(2);
  });

  it('two requests at once are answered in their order, as often as a client likes', async () => {
    const echo: Fetch = async ({ url }) => new Response(new URL(url).pathname);
    const { port } = await openListener(echo, { tls });
    const client = await visit(port, tls);
    for (let count = 1; count <= 50; count += 1) {
      client.socket.write(get(`/one-${count}`) + get(`/two-${count}`));
      await until(() => client.text().includes(`/two-${count}`), 'responses');
    }
    expect(client.text().match(/\/(one|two)-\d+/g)).toHaveLength(100);
    expect(client.text().match(/\/(one|two)-50/g)).toEqual(['/one-50', '/two-50']);
  });

  it('a request to upgrade never overtakes an earlier one', async () => {
    const paths: string[] = [];
    const { port } = await openListener(
      ({ url }) => {
        paths.push(new URL(url).pathname);
        return new Promise<Response>(() => {});
      },
      { tls },
    );
    const client = await visit(port, tls);
    client.socket.write(get('/first'));
    await until(() => paths.length === 1, 'the request');
    client.socket.write(upgrade + get('/third'));
    await client.closed;
    expect(paths).toEqual(['/first']);
    expect(client.text()).toBe('');
  });

  it('S-82 clients that do not read lose the connection with the most unsent bytes', async () => {
    // The kernel takes some 4 MB of each.
    const bytes = 20_000 * kilobyte;
    const large: Fetch = ({ url }) =>
      new Response('x'.repeat(url.endsWith('/half') ? bytes / 2 : bytes));
    const { port, abuses } = await openListener(large, { tls, maxUnsentBytes: 1.55 * bytes });
    const ask = async (path: string, localAddress: string): Promise<Client> => {
      const client = await visit(port, tls, localAddress);
      client.socket.pause();
      client.socket.write(get(path));
      return client;
    };
    const modest = await ask('/', '127.0.0.2');
    const half = await ask('/half', '127.0.0.3');
    const whole = await ask('/', '127.0.0.3');
    await until(() => abuses.length > 0, 'a closed connection');
    for (const { socket } of [modest, half, whole]) socket.resume();
    await whole.closed;
    await until(() => modest.text().length > bytes, 'the whole response');
    await until(() => half.text().length > bytes / 2, 'the small response');
    expect(abuses).toEqual([['127.0.0.3', unread]]);
  });

  it('a response that waits behind another one counts as unsent', async () => {
    const answer: Fetch = ({ url }) =>
      url.endsWith('/never')
        ? new Promise<Response>(() => {})
        : new Response('x'.repeat(100 * kilobyte));
    const { port, abuses } = await openListener(answer, { tls, maxUnsentBytes: 99 * kilobyte });
    const client = await visit(port, tls);
    client.socket.write(get('/never') + get());
    await client.closed;
    expect(abuses).toEqual([['127.0.0.1', unread]]);
  });

  it.each([
    ['gets what was sent', 100 * kilobyte, true],
    ['is reset if that is not all', 12_000 * kilobyte, false],
  ])('a client that loses its connection to another one %s', async (_name, bytes, isWhole) => {
    let answers = 0;
    const answer: Fetch = () => {
      answers += 1;
      return new Response('x'.repeat(bytes));
    };
    const { port, abuses } = await openListener(answer, { tls, maxConnections: 2 });
    await visit(port, tls);
    const newest = await visit(port, tls);
    let error: NodeJS.ErrnoException | undefined;
    newest.socket.on('error', (fault) => {
      error = fault;
    });
    newest.socket.pause();
    newest.socket.write(get());
    await until(() => answers === 1, 'the request');
    await turn();
    await visit(port, tls, '127.0.0.2');
    newest.socket.resume();
    await newest.closed;
    expect(newest.text().length > bytes).toBe(isWhole);
    expect(error?.code).toBe(isWhole ? undefined : 'ECONNRESET');
    expect(abuses).toEqual([]);
  });
});

test('S-81 of many closed connections, a few a minute are logged, with a count of the rest', async () => {
  const { world, port } = await openReady();
  const abuse = async (): Promise<void> => {
    const client = await visit(port, false);
    client.socket.write(get().repeat(3));
    await client.closed;
  };
  const logged = () => world.logs.filter(({ message }) => message === 'a connection was closed');
  for (let count = 0; count < 15; count += 1) await abuse();
  expect(logged()).toHaveLength(10);
  await world.advance(10_000);
  await abuse();
  const fields = { client: '127.0.0.1', reason: impatient, unlogged: 5 };
  expect(logged().at(-1)).toEqual({ level: 'warn', message: 'a connection was closed', fields });
});

test('pings of a client that does not read get no pong each', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const socket = new WebSocket(`ws://127.0.0.1:${app.port}/payment/${address}`);
  closing.push(() => socket.terminate());
  await once(socket, 'open');
  let pongs = 0;
  socket.on('pong', () => {
    pongs += 1;
  });
  socket.pause();
  const [sent, data] = [200_000, Buffer.alloc(125)];
  for (let count = 1; count < sent; count += 1) socket.ping(data);
  await new Promise((resolve) => socket.ping(data, undefined, resolve));
  await app.world.turn();
  socket.resume();
  await app.world.until(() => pongs > 0, 'a pong');
  await app.world.turn();
  const before = pongs;
  expect(before).toBeLessThan(sent / 2);
  socket.ping('last');
  await new Promise((resolve) =>
    socket.on('pong', (pong) => String(pong) === 'last' && resolve(pong)),
  );
});
