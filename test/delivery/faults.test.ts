// How a shop's server can fail or imitate another server, against real sockets. Each attempt ends
// and names the failure. The content of answers is in sender.test.ts.

import { connect, createServer, type Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deadlineMs } from '../../src/delivery/callback-request.ts';
import { createSender, type OutgoingCallback } from '../../src/delivery/sender.ts';
import { nextAttempt } from '../../src/domain/delivery/retry.ts';
import type { Resolver } from '../../src/world/world.ts';
import { makeAuthority } from '../support/authority.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function receiver(options?: ReceiverOptions): Promise<Receiver> {
  const started = await startReceiver(options);
  closing.push(started.close);
  return started;
}

interface SetUp extends Partial<OutgoingCallback> {
  readonly resolve?: Resolver;
  readonly listeners?: readonly { host: string; port: number }[];
  readonly connectTimeoutMs?: number;
}

function setUp({ resolve, listeners = [], connectTimeoutMs, ...changes }: SetUp = {}) {
  const plain = createTestWorld();
  const world = resolve === undefined ? plain : { ...plain, resolve };
  const limit = connectTimeoutMs === undefined ? {} : { connectTimeoutMs };
  const sender = createSender(world, { version: '0.1', listeners: () => listeners, ...limit });
  const order = {
    ...{ query: 'status=0&addr=bc1q&value=1&txid=ab', eventId: 'msg_1' },
    ...{ webhookSecrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] },
    ...{ allowPrivateCallback: true, allowHttpCallback: false },
    ...changes,
  };
  const { signal } = new AbortController();
  const send = (callbackUrl: string) => sender.send({ ...order, callbackUrl }, signal);
  return { world, send };
}

describe('a status', () => {
  it.each([
    [201, 'status'],
    [204, 'status'],
    [301, 'redirect'],
    [302, 'redirect'],
    [303, 'redirect'],
    [307, 'redirect'],
    [308, 'redirect'],
    [304, 'status'],
    [400, 'status'],
    [404, 'status'],
    [410, 'status'],
    [429, 'status'],
    [500, 'status'],
  ] as const)('of %i is not received, and nothing follows it', async (status, outcome) => {
    const elsewhere = await receiver();
    const shop = await receiver();
    shop.script({ status, headers: { location: `${elsewhere.origin}/moved` } });
    const attempt = await setUp().send(shop.origin);
    expect(attempt).toMatchObject({ outcome, httpStatus: status, unreachable: false });
    expect(attempt.reason).toContain(String(status));
    if (outcome === 'redirect') expect(attempt.reason).toContain(`${elsewhere.origin}/moved`);
    expect(elsewhere.requests).toEqual([]);
  });

  const dateIn = (world: { now(): number }, seconds: number) =>
    new Date(world.now() + seconds * 1000).toUTCString();

  it.each([
    ['seconds within reach', () => '6', 6],
    ['seconds beyond it', () => '86400', 8],
    ['a date within reach', (world: { now(): number }) => dateIn(world, 6), 6],
    ['a date that has passed', (world: { now(): number }) => dateIn(world, -60), 4],
    ['nonsense', () => 'when I feel like it', 4],
  ])('of 429 with a Retry-After of %s is heeded within bounds', async (_, header, waitSeconds) => {
    const shop = await receiver();
    const { world, send } = setUp();
    shop.script({ status: 429, headers: { 'retry-after': header(world) } });
    const { retryAfterSeconds } = await send(shop.origin);
    const now = world.now();
    const at = nextAttempt({ attemptCount: 1, now, jitter: 0.5, retryAfterSeconds }) ?? 0;
    expect((at - now) / 1000).toBe(waitSeconds);
  });
});

describe('an answer', () => {
  /** Writes a little at a time, each time the test's clock has moved a second. */
  it('of one byte a second ends at the deadline', async () => {
    const { world, send } = setUp();
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
        const drip = (): void => {
          if (socket.write('x')) world.after(1000, drip);
        };
        drip();
      });
    });
    const sent = send(`http://127.0.0.1:${await listen(server)}/`);
    await world.until(() => connectionsOf(server) > 0, 'a connection');
    await world.turn();
    await world.advance(deadlineMs);
    const attempt = await sent;
    expect(attempt).toMatchObject({ outcome: 'timeout', httpStatus: 200, durationMs: deadlineMs });
    expect(attempt.body).toMatch(/^x{15,21}$/);
    expect(attempt.reason).toContain('the end of its answer');
  });

  it.each([
    ['an endless body', 'endless', { outcome: 'delivered', httpStatus: 200 }],
    [
      'headers of 100 KB',
      { bytes: `HTTP/1.1 200 OK\r\n${header(100_000)}\r\n`, end: 'hang' },
      { outcome: 'response', reason: expect.stringContaining('too large') },
    ],
    [
      '10,000 headers',
      { bytes: `HTTP/1.1 200 OK\r\n${header(20).repeat(10_000)}\r\n`, end: 'hang' },
      { outcome: 'response', reason: expect.stringContaining('too large') },
    ],
    [
      'a reset after the status line',
      { bytes: 'HTTP/1.1 200 OK\r\n', end: 'reset' },
      { outcome: 'response', httpStatus: null },
    ],
    [
      'bad chunking',
      { bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nok', end: 'hang' },
      { outcome: 'body', httpStatus: 200 },
    ],
    [
      'two lengths',
      { bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok', end: 'hang' },
      { outcome: 'response' },
    ],
  ] as const)('of %s', async (_, answer, expected) => {
    const shop = await receiver();
    shop.script(answer);
    const attempt = await setUp().send(shop.origin);
    expect(attempt).toMatchObject({ ...expected, unreachable: false });
    expect(Buffer.byteLength(attempt.body ?? '')).toBeLessThanOrEqual(1024);
  });
});

const header = (length: number): string => `x-filler: ${'x'.repeat(length)}\r\n`;

const sockets = new WeakMap<Server, number>();
const connectionsOf = (server: Server): number => sockets.get(server) ?? 0;

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => {
    sockets.set(server, connectionsOf(server) + 1);
    closing.push(async () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as { port: number }).port;
}

const neverAccepts = `
const { createServer } = require('node:net');
const { parentPort } = require('node:worker_threads');
const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

describe('a host', () => {
  it('that never accepts a connection', async () => {
    // Its thread stands still after `listen`; what the kernel takes for it is used up first.
    const worker = new Worker(neverAccepts, { eval: true });
    closing.push(() => worker.terminate());
    const port = await new Promise<number>((resolve) => worker.once('message', resolve));
    const fillers = Array.from({ length: 4 }, () =>
      connect(port, '127.0.0.1').on('error', () => {}),
    );
    closing.push(async () => {
      for (const filler of fillers) filler.destroy();
    });
    const { world, send } = setUp({ connectTimeoutMs: 200 });
    await world.until(() => fillers.filter((each) => !each.connecting).length >= 2, 'a full queue');
    const attempt = await send(`http://127.0.0.1:${port}/`);
    expect(attempt).toMatchObject({ outcome: 'timeout', unreachable: true, httpStatus: null });
    expect(attempt.reason).toContain('waited in vain for a connection');
  });

  it('that accepts and never speaks TLS', async () => {
    const port = await listen(createServer((socket) => socket.resume()));
    const attempt = await setUp({ connectTimeoutMs: 50 }).send(`https://127.0.0.1:${port}/`);
    expect(attempt).toMatchObject({ outcome: 'timeout', unreachable: true, address: '127.0.0.1' });
    expect(Object.keys(attempt.phases)).toEqual(['connect', 'tls']);
  });

  it('that is left in the TLS handshake', async () => {
    const port = await listen(
      createServer((socket) => socket.once('data', () => socket.destroy())),
    );
    const attempt = await setUp().send(`https://127.0.0.1:${port}/`);
    expect(attempt).toMatchObject({ outcome: 'tls', unreachable: false });
    expect(attempt.reason).toContain('during the TLS handshake');
  });
});

describe('a certificate', () => {
  const made: Record<string, { key: string; cert: string }> = {};
  let authority = '';

  beforeAll(() => {
    const ours = makeAuthority();
    authority = ours.certificate;
    made.good = ours.issue('shop.test', '20200101000000Z', '20990101000000Z');
    made.expired = ours.issue('shop.test', '20200101000000Z', '20210101000000Z');
    made.early = ours.issue('shop.test', '20980101000000Z', '20990101000000Z');
    made.other = ours.issue('elsewhere.test', '20200101000000Z', '20990101000000Z');
    ours.remove();
  });

  const resolve: Resolver = async () => ['127.0.0.1'];

  it.each([
    ['good', 'delivered', null],
    ['expired', 'tls', 'its certificate has expired'],
    ['early', 'tls', 'its certificate is not valid yet'],
    ['other', 'tls', 'its certificate is for another name'],
  ] as const)('that is %s, of the store’s own authority', async (name, outcome, fault) => {
    const shop = await receiver({ tls: made[name] ?? false });
    const attempt = await setUp({ resolve, ca: authority }).send(`https://shop.test:${shop.port}/`);
    expect(attempt.reason).toEqual(fault && expect.stringContaining(fault));
    expect(attempt).toMatchObject({ outcome, unreachable: false, address: '127.0.0.1' });
    expect(shop.requests).toHaveLength(outcome === 'delivered' ? 1 : 0);
  });

  it('of an authority that is not trusted everywhere is not trusted without it', async () => {
    const shop = await receiver({ tls: made.good ?? false });
    const attempt = await setUp({ resolve }).send(`https://shop.test:${shop.port}/`);
    expect(attempt).toMatchObject({ outcome: 'tls', httpStatus: null });
    expect(attempt.reason).toContain('not trusted here');
    expect(shop.requests).toEqual([]);
  });

  it('that is self-signed is not trusted for naming another authority', async () => {
    const shop = await receiver({ tls: true });
    const attempt = await setUp({ resolve, ca: authority }).send(`https://localhost:${shop.port}/`);
    expect(attempt.reason).toContain('self-signed');
    expect(shop.requests).toEqual([]);
  });
});

describe('an address of this machine', () => {
  const strict = { allowPrivateCallback: false, allowHttpCallback: true };

  it.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '0x7f000001',
    '0x7f.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
  ])('written as %s is not called', async (host) => {
    const shop = await receiver();
    const attempt = await setUp(strict).send(`http://${host}:${shop.port}/`);
    expect(attempt).toMatchObject({ outcome: 'refused', address: null, httpStatus: null });
    expect(shop.requests).toEqual([]);
  });

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '0.0.0.0'])(
    'is not called if a name resolves to %s, also among public addresses',
    async (address) => {
      const shop = await receiver();
      for (const answers of [[address], ['1.1.1.1', address], [address, '1.1.1.1']]) {
        const { send } = setUp({ ...strict, resolve: async () => answers });
        for (const name of ['shop.test', 'shop.test.', 'localhost', 'LOCALHOST.']) {
          const attempt = await send(`http://${name}:${shop.port}/`);
          expect(attempt).toMatchObject({ outcome: 'refused', address: null });
        }
      }
      expect(shop.requests).toEqual([]);
    },
  );

  it('of paygate itself is not called, even if private addresses are allowed', async () => {
    const shop = await receiver();
    const listeners = [{ host: '127.0.0.1', port: shop.port }];
    const { send } = setUp({ listeners, resolve: async () => ['1.1.1.1', '127.0.0.1'] });
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'shop.test']) {
      expect(await send(`http://${host}:${shop.port}/`)).toMatchObject({ outcome: 'refused' });
    }
    expect(shop.requests).toEqual([]);
  });
});
