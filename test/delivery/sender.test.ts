import { getEventListeners } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createSender,
  type OutgoingCallback,
  type SenderOptions,
} from '../../src/delivery/sender.ts';
import { signatureHeaders } from '../../src/delivery/signature.ts';
import type { Resolver, World } from '../../src/world/world.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';

const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const query = 'status=0&addr=bc1q&value=1&txid=ab';
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function receiver(options?: ReceiverOptions): Promise<Receiver> {
  const started = await startReceiver(options);
  closing.push(started.close);
  return started;
}

function order(callbackUrl: string, changes: Partial<OutgoingCallback> = {}): OutgoingCallback {
  return {
    callbackUrl,
    query,
    eventId: 'msg_1',
    webhookSecrets: [webhookSecret],
    allowPrivateCallback: true,
    allowHttpCallback: false,
    ...changes,
  };
}

interface SetUp extends Partial<SenderOptions> {
  readonly resolve?: Resolver;
}

function setUp({ resolve, ...options }: SetUp = {}) {
  const plain = createTestWorld();
  const world = resolve === undefined ? plain : { ...plain, resolve };
  const sender = createSender(world, { version: '0.1', listeners: () => [], ...options });
  const { signal } = new AbortController();
  return { world, send: (what: OutgoingCallback) => sender.send(what, signal) };
}

/** Sends to a receiver that answers by a script, and moves the clock past the deadline. */
async function sendLate(shop: Receiver) {
  const { world, send } = setUp();
  const sent = send(order(`${shop.origin}/cb`));
  await shop.waitFor(1);
  await world.turn();
  await world.advance(19_999);
  const early = await Promise.race([sent, world.turn()]);
  await world.advance(1);
  return { early, attempt: await sent };
}

describe('the request', () => {
  it('P-70 is a GET of the URL byte for byte, signed, without cookies or a body', async () => {
    const shop = await receiver();
    const { world, send } = setUp();
    const attempt = await send(order(`${shop.origin}//a/../%7e?k=s+%20&`));
    const signed = `k=s+%20&${query}`;
    const timestamp = Math.floor(world.now() / 1000);
    expect(attempt).toMatchObject({
      outcome: 'delivered',
      httpStatus: 200,
      reason: null,
      startedAt: world.now(),
    });
    expect(shop.requests).toEqual([
      {
        method: 'GET',
        url: `//a/../%7e?${signed}`,
        headers: {
          host: `127.0.0.1:${shop.port}`,
          connection: 'keep-alive',
          accept: '*/*',
          'user-agent': 'paygate/0.1',
          ...signatureHeaders({ eventId: 'msg_1', timestamp, payload: signed }, [webhookSecret]),
        },
      },
    ]);
  });

  it('P-69 is signed anew for every attempt, under the same id', async () => {
    const shop = await receiver();
    const { world, send } = setUp();
    await send(order(shop.origin));
    await world.advance(60_000);
    await send(order(shop.origin));
    const [first, second] = shop.requests.map((request) => request.headers);
    expect(second?.['webhook-id']).toBe(first?.['webhook-id']);
    expect(Number(second?.['webhook-timestamp'])).toBe(Number(first?.['webhook-timestamp']) + 60);
    expect(second?.['webhook-signature']).not.toBe(first?.['webhook-signature']);
  });

  it('P-72 goes to the addresses of a single look-up', async () => {
    const shop = await receiver();
    const asked: string[] = [];
    const resolve: Resolver = async (name) => {
      asked.push(name);
      return ['127.0.0.1'];
    };
    const attempt = await setUp({ resolve }).send(order(`http://shop.test:${shop.port}/cb`));
    expect(attempt.outcome).toBe('delivered');
    expect(asked).toEqual(['shop.test']);
    expect(shop.requests[0]?.headers.host).toBe(`shop.test:${shop.port}`);
  });
});

describe('an answer', () => {
  it.each([
    [200, 'delivered'],
    [201, 'status'],
    [202, 'status'],
    [204, 'status'],
    [301, 'redirect'],
    [304, 'status'],
    [400, 'status'],
    [404, 'status'],
    [410, 'status'],
    [500, 'status'],
    [503, 'status'],
  ])('of %i is %s', async (status, outcome) => {
    const shop = await receiver();
    shop.script({ status });
    const attempt = await setUp().send(order(shop.origin));
    expect(attempt).toMatchObject({ outcome, httpStatus: status });
    expect(attempt.reason ?? '').toContain(outcome === 'delivered' ? '' : String(status));
  });

  it('P-62 S-23 that redirects is not followed, and the log says where it pointed, without secrets', async () => {
    const shop = await receiver();
    const location = `${shop.origin}/login?secret=hidden`;
    shop.script({ status: 302, headers: { location } });
    const attempt = await setUp().send(order(`${shop.origin}/cb?secret=hidden`));
    expect(attempt.reason).toContain(`302, pointing to ${shop.origin}/login?…`);
    expect(attempt.reason).not.toContain('hidden');
    expect(shop.requests).toHaveLength(1);
  });

  it.each([
    ['120', 120],
    ['Tue, 01 Jan 2030 00:00:00 GMT', expect.any(Number)],
    ['soon', undefined],
  ])('may delay the next attempt: Retry-After %s', async (header, seconds) => {
    const shop = await receiver();
    shop.script({ status: 429, headers: { 'retry-after': header } });
    expect((await setUp().send(order(shop.origin))).retryAfterSeconds).toEqual(seconds);
  });

  it('of 200 ends the attempts, whatever its Retry-After', async () => {
    const shop = await receiver();
    shop.script({ status: 200, headers: { 'retry-after': '120' } });
    const { outcome, retryAfterSeconds } = await setUp().send(order(shop.origin));
    expect([outcome, retryAfterSeconds]).toEqual(['delivered', undefined]);
  });

  it('is doubtful if a 200 reads like a refusal; a 500 is a failure', async () => {
    const shop = await receiver();
    const body = 'Invalid secret';
    shop.script({ status: 200, body }, { status: 500, body });
    const { send } = setUp();
    expect([
      (await send(order(shop.origin))).doubt,
      (await send(order(shop.origin))).doubt,
    ]).toEqual(['Invalid secret', null]);
  });

  it('is judged by the text after PHP notices, even if the log shows only the notices', async () => {
    const shop = await receiver();
    const notice = `<br />\n<b>Warning</b>:  ${'x'.repeat(1_200)} in <b>/a.php</b> on line <b>1</b><br />\n`;
    shop.script({ status: 200, body: `${notice}Invalid secret` });
    const { body, doubt, verdict } = await setUp().send(order(shop.origin));
    expect({ doubt, verdict }).toEqual({ doubt: 'Invalid secret', verdict: 'wrong-secret' });
    expect(body).not.toContain('Invalid secret');
  });

  it('is reported with the headers of the request and the duration', async () => {
    const shop = await receiver();
    const { world, send } = setUp();
    await world.advance(5_000);
    const { request, durationMs } = await send(order(`${shop.origin}/cb?secret=s`));
    expect(request).toMatchObject({
      headers: { 'webhook-id': 'msg_1', 'user-agent': 'paygate/0.1' },
    });
    expect(shop.requests[0]).toMatchObject({ url: `/cb?secret=s&${query}`, ...request });
    expect(durationMs).toBe(0);
  });

  describe('S-73 that repeats the request leads to no secret', () => {
    const secret = 'velvet0tterLadder77';
    const encoded = Buffer.from(secret).toString('base64');
    const cut = (text: string) => text.slice(0, 12);

    it.each([200, 302, 500])('with status %i, for a callback and an event', async (status) => {
      const signatures: string[] = [];
      const shop = await receiver({
        answer({ url, headers }) {
          const signature = headers['webhook-signature'] ?? '';
          signatures.push(signature.slice('v1,'.length));
          const echo = [
            url,
            encodeURIComponent(url),
            signature,
            encoded,
            cut(secret),
            cut(encoded),
          ];
          const location = `https://${secret}.example${url}`;
          return { status, headers: { Location: location }, body: `Invalid ${echo.join(' ')}` };
        },
      });
      const world = createTestWorld();
      const sender = createSender(world, { version: '0.1', listeners: () => [] });
      const { signal } = new AbortController();
      const url = `${shop.origin}/${secret}/cb?secret=${secret}`;
      const event = { ...order(''), webhookUrl: url, body: '{}' };
      for (const send of [
        () => sender.send(order(url), signal),
        () => sender.post(event, signal),
      ]) {
        const { request, ...kept } = await send();
        expect(request?.headers['webhook-signature']).toContain(signatures.at(-1));
        const shown = JSON.stringify(kept);
        expect(kept.body).toContain('Invalid /…/cb?…');
        for (const text of [cut(secret), cut(encoded), cut(signatures.at(-1) ?? '')]) {
          expect(shown).not.toContain(text);
        }
      }
    });
  });

  it('P-62 is stored up to 1 KiB, without control characters', async () => {
    const shop = await receiver();
    shop.script({ status: 200, body: `a\u0000\u001b[31mb\r\n\u202ec${'é'.repeat(2000)}` });
    const { body } = await setUp().send(order(shop.origin));
    expect(body).toMatch(/^a \[31mb cé+$/);
    expect(Buffer.byteLength(body ?? '')).toBeLessThanOrEqual(1024);
  });

  it('P-62 counts when its body has no end: 16 KiB of it are read', async () => {
    const shop = await receiver();
    shop.script('endless');
    expect(await setUp().send(order(shop.origin))).toMatchObject({ outcome: 'delivered' });
  });

  it('with huge headers does not count', async () => {
    const shop = await receiver();
    const filler = `x-filler: ${'x'.repeat(100_000)}\r\n`;
    shop.script({ bytes: `HTTP/1.1 200 OK\r\n${filler}\r\n`, end: 'hang' });
    expect(await setUp().send(order(shop.origin))).toMatchObject({
      outcome: 'response',
      httpStatus: null,
      reason: expect.stringContaining('too large'),
    });
  });

  it('that is not HTTP does not count', async () => {
    const shop = await receiver();
    shop.script({ bytes: 'SSH-2.0-OpenSSH_9.9\r\n', end: 'hang' });
    expect(await setUp().send(order(shop.origin))).toMatchObject({ outcome: 'response' });
  });

  it('after 100 Continue and 103 Early Hints is read', async () => {
    const shop = await receiver();
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    for (const status of ['100 Continue', '103 Early Hints']) {
      shop.script({ bytes: `HTTP/1.1 ${status}\r\n\r\n${ok}`, end: 'hang' });
      expect(await setUp().send(order(shop.origin))).toMatchObject({ outcome: 'delivered' });
      shop.script({ bytes: `HTTP/1.1 ${status}\r\n\r\n`, end: 'close' });
      expect(await setUp().send(order(shop.origin))).toMatchObject({
        outcome: 'response',
        reason: expect.stringContaining('closed the connection without an answer'),
      });
    }
  });

  it.each([
    ['reset', { bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', end: 'reset' }],
    ['closed', { bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', end: 'close' }],
    [
      'badly chunked',
      { bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokay', end: 'hang' },
    ],
  ] as const)('%s in the midst of its body does not count', async (_, answer) => {
    const shop = await receiver();
    shop.script(answer);
    const attempt = await setUp().send(order(shop.origin));
    expect(attempt).toMatchObject({ outcome: 'body', httpStatus: 200 });
  });

  it('P-62 that never comes ends at the deadline, and not before', async () => {
    const shop = await receiver();
    shop.script('hang');
    const { early, attempt } = await sendLate(shop);
    expect(early).toBeUndefined();
    expect(attempt).toMatchObject({ outcome: 'timeout', httpStatus: null, durationMs: 20_000 });
    expect(attempt.reason).toContain('an answer');
  });

  it('whose body never ends has the same deadline', async () => {
    const shop = await receiver();
    shop.script({ bytes: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', end: 'hang' });
    const { early, attempt } = await sendLate(shop);
    expect(early).toBeUndefined();
    expect(attempt).toMatchObject({ outcome: 'timeout', httpStatus: 200, body: 'abc' });
    expect(attempt.reason).toContain('the end of its answer');
  });

  it('of 500 stays a 500 when its body never ends', async () => {
    const shop = await receiver();
    shop.script({ bytes: 'HTTP/1.1 500 No\r\ncontent-length: 10\r\n\r\nabc', end: 'hang' });
    expect((await sendLate(shop)).attempt).toMatchObject({ outcome: 'status', body: 'abc' });
  });
});

describe('a connection', () => {
  it('that is reset without an answer', async () => {
    const shop = await receiver();
    shop.script('reset');
    expect(await setUp().send(order(shop.origin))).toMatchObject({
      outcome: 'response',
      reason: expect.stringContaining('without an answer'),
    });
  });

  it('that is refused', async () => {
    const shop = await startReceiver();
    await shop.close();
    expect(await setUp().send(order(shop.origin))).toMatchObject({
      outcome: 'connect',
      reason: `127.0.0.1:${shop.port} could not be reached: it refuses connections`,
    });
  });

  it('that is refused at the address of a name', async () => {
    const shop = await startReceiver();
    await shop.close();
    const { send } = setUp({ resolve: async () => ['127.0.0.1'] });
    const attempt = await send(order(`http://shop.test:${shop.port}`));
    expect(attempt.outcome).toBe('connect');
  });

  it('with a certificate of an unknown authority', async () => {
    const shop = await receiver({ tls: true });
    const attempt = await setUp().send(order(shop.origin));
    expect(attempt).toMatchObject({
      outcome: 'tls',
      reason: expect.stringContaining('self-signed'),
    });
    expect(shop.requests).toHaveLength(0);
  });

  it('of TLS to a port that speaks plain http', async () => {
    const shop = await receiver();
    const attempt = await setUp().send(order(`https://127.0.0.1:${shop.port}`));
    expect(attempt.outcome).toBe('tls');
  });

  it('that never completes the TLS handshake', async () => {
    const mute = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => mute.close(resolve)));
    const { port } = mute.address() as { port: number };
    const attempt = await setUp({ connectTimeoutMs: 50 }).send(order(`https://127.0.0.1:${port}`));
    expect(attempt).toMatchObject({
      outcome: 'timeout',
      reason: expect.stringContaining('the TLS handshake'),
    });
  });
});

describe('a name', () => {
  const failing = (code: string) => async (): Promise<never> => {
    throw Object.assign(new Error('no'), { code });
  };

  it('that does not exist', async () => {
    const attempt = await setUp({ resolve: failing('ENOTFOUND') }).send(order('http://shop.test'));
    expect(attempt).toMatchObject({
      outcome: 'dns',
      reason: 'shop.test could not be resolved: the name does not exist',
    });
  });

  it('that is never resolved', async () => {
    const resolve = () => new Promise<never>(() => {});
    const { send } = setUp({ resolve, connectTimeoutMs: 50 });
    const attempt = await send(order('http://shop.test'));
    expect(attempt).toMatchObject({
      outcome: 'timeout',
      reason: expect.stringContaining('its name to be resolved'),
    });
  });

  it('with one private address among its answers is not dialled at all', async () => {
    const shop = await receiver();
    const { send } = setUp({ resolve: async () => ['1.1.1.1', '127.0.0.1'] });
    const flags = { allowPrivateCallback: false, allowHttpCallback: true };
    const attempt = await send(order(`http://shop.test:${shop.port}`, flags));
    expect(attempt).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('private address'),
    });
    expect(shop.requests).toHaveLength(0);
  });

  it('of paygate itself is refused', async () => {
    const shop = await receiver();
    const listeners = () => [{ host: '127.0.0.1', port: shop.port }];
    const { send } = setUp({ listeners, resolve: async () => ['127.0.0.1'] });
    for (const host of ['shop.test', '127.0.0.1', '0x7f.1']) {
      expect(await send(order(`http://${host}:${shop.port}`))).toMatchObject({
        outcome: 'refused',
        reason: expect.stringContaining('paygate itself'),
      });
    }
    expect(shop.requests).toHaveLength(0);
  });
});

describe('an attempt that is aborted', () => {
  it('rejects with the reason, at once', async () => {
    const shop = await receiver();
    shop.script('hang');
    const cutOff = new AbortController();
    const sender = createSender(createTestWorld(), { version: '0.1', listeners: () => [] });
    const sent = sender.send(order(shop.origin), cutOff.signal);
    await shop.waitFor(1);
    cutOff.abort(new Error('stopping'));
    await expect(sent).rejects.toThrow('stopping');
  });

  it('leaves no listener and no timer, like one that ends by itself', async () => {
    const shop = await receiver();
    const { signal } = new AbortController();
    const world = createTestWorld();
    let timers = 0;
    const after: World['after'] = (delayMs, run) => {
      const cancel = world.after(delayMs, run);
      timers += 1;
      return () => {
        timers -= 1;
        cancel();
      };
    };
    const sender = createSender({ ...world, after }, { version: '0.1', listeners: () => [] });
    await sender.send(order(shop.origin), signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(timers).toBe(0);
  });

  it('before its start does not start', async () => {
    const shop = await receiver();
    const sender = createSender(createTestWorld(), { version: '0.1', listeners: () => [] });
    const signal = AbortSignal.abort(new Error('stopping'));
    await expect(sender.send(order(shop.origin), signal)).rejects.toThrow('stopping');
    expect(shop.requests).toHaveLength(0);
  });
});

describe('a connection after a callback', () => {
  /** A shop's server that notes where each of its connections came to. */
  async function counted(hosts: readonly string[] = ['127.0.0.1']) {
    const dialled: string[] = [];
    const sockets: Socket[] = [];
    const server = createHttpServer((_, response) => void response.end('ok'));
    server.on('connection', (socket) => {
      dialled.push(socket.localAddress ?? '');
      sockets.push(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
    const { port } = server.address() as { port: number };
    let asked = 0;
    const resolve: Resolver = async () => [hosts[Math.min(asked++, hosts.length - 1)] ?? ''];
    return { dialled, sockets, resolve, port, asked: () => asked };
  }

  it('serves the next callback to the same destination', async () => {
    const shop = await counted();
    const { world, send } = setUp();
    const to = order(`http://127.0.0.1:${shop.port}/`);
    await send(to);
    await world.turn();
    const second = await send(to);
    expect(second).toMatchObject({ outcome: 'delivered', address: '127.0.0.1', body: 'ok' });
    expect(shop.dialled).toHaveLength(1);
  });

  it.each([
    ['chunks', 'transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 1],
    ['a length', 'content-length: 2\r\n\r\nok', 1],
    ['a length and more', 'content-length: 2\r\n\r\nok\r\nHTTP/1.1 500 No\r\n\r\n', 2],
    ['a header as no one writes it', 'A : b\r\ncontent-length: 2\r\n\r\nok', 2],
    ['a length twice', 'content-length: 2\r\ncontent-length: 2\r\n\r\nok', 2],
  ])('is used again after an answer with %s: %s', async (_, rest, count) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {}).on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${rest}`));
      closing.push(async () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const { world, send } = setUp();
    const to = order(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
    for (const _attempt of [1, 2]) {
      expect(await send(to)).toMatchObject({ outcome: 'delivered', body: 'ok' });
      await world.turn();
    }
    expect(connections).toBe(count);
  });

  it('serves one callback at a time', async () => {
    const shop = await counted();
    const { world, send } = setUp();
    const to = order(`http://127.0.0.1:${shop.port}/`);
    await send(to);
    await world.turn();
    await Promise.all([send(to), send(to)]);
    expect(shop.dialled).toHaveLength(2);
  });

  it('P-72 is not used when the name resolves to other addresses; each attempt looks it up once', async () => {
    const shop = await counted(['127.0.0.1', '127.0.0.1', '127.0.0.2']);
    const { world, send } = setUp({ resolve: shop.resolve });
    for (const dialled of [1, 1, 2]) {
      const attempt = await send(order(`http://shop.test:${shop.port}/`));
      expect(attempt.outcome).toBe('delivered');
      expect(shop.dialled).toHaveLength(dialled);
      await world.turn();
    }
    expect(shop.dialled).toEqual(['127.0.0.1', '127.0.0.2']);
    expect(shop.asked()).toBe(3);
  });

  it('serves none when the name resolves to a forbidden address', async () => {
    const shop = await counted(['127.0.0.1', '169.254.169.254']);
    const { world, send } = setUp({ resolve: shop.resolve });
    const to = order(`http://shop.test:${shop.port}/`);
    expect(await send(to)).toMatchObject({ outcome: 'delivered' });
    await world.turn();
    expect(await send(to)).toMatchObject({ outcome: 'refused', httpStatus: null });
  });

  it('is replaced within the attempt when the shop closed it before the response', async () => {
    const shop = await counted();
    const { world, send } = setUp();
    const to = order(`http://127.0.0.1:${shop.port}/`);
    await send(to);
    await world.turn();
    const sent = send(to);
    for (const socket of shop.sockets) socket.resetAndDestroy();
    expect(await sent).toMatchObject({ outcome: 'delivered', httpStatus: 200 });
    expect(shop.dialled).toHaveLength(2);
  });
});
