// Callbacks to onion services: through a SOCKS5 proxy that is given the name, or not at all.

import { afterEach, describe, expect, it } from 'vitest';
import { deadlineMs } from '../../src/delivery/callback-request.ts';
import { createSender, type OutgoingCallback } from '../../src/delivery/sender.ts';
import type { SocksProxy } from '../../src/world/world.ts';
import { type SocksOptions, type SocksServer, startSocks } from '../electrum/socks-server.ts';
import { makeAuthority } from '../support/authority.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';

const onion = '2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion';
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function shop(options?: ReceiverOptions): Promise<Receiver> {
  const started = await startReceiver(options);
  closing.push(started.close);
  return started;
}

async function tor(options?: SocksOptions): Promise<SocksServer> {
  const started = await startSocks(options);
  closing.push(started.close);
  return started;
}

function setUp(proxy: SocksProxy | undefined) {
  const looked: string[] = [];
  const plain = createTestWorld();
  const resolve = async (name: string) => {
    looked.push(name);
    return ['127.0.0.1'];
  };
  const world = { ...plain, resolve };
  const sender = createSender(world, { version: '0.1', listeners: () => [], proxy });
  const send = (callbackUrl: string, changes: Partial<OutgoingCallback> = {}) =>
    sender.send(
      {
        callbackUrl,
        query: 'status=0&addr=bc1q&value=1&txid=ab',
        eventId: 'msg_1',
        webhookSecrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
        allowPrivateCallback: false,
        allowHttpCallback: false,
        ...changes,
      },
      new AbortController().signal,
    );
  return { world, send, looked };
}

describe('a callback to an onion service', () => {
  it('goes through the proxy, which looks up the name; plain http needs no permission', async () => {
    const receiver = await shop();
    const socks = await tor({ names: { [onion]: receiver.port } });
    const { send, looked } = setUp(socks.proxy);
    expect(await send(`http://${onion}/cb?secret=x`)).toMatchObject({
      outcome: 'delivered',
      httpStatus: 200,
      address: onion,
    });
    expect(socks.asked).toEqual([{ type: 3, host: onion, port: 80 }]);
    expect(receiver.requests[0]).toMatchObject({ url: expect.stringMatching(/^\/cb\?secret=x&/) });
    expect(receiver.requests[0]?.headers.host).toBe(onion);
    expect(looked).toEqual([]);
  });

  it.each([
    [`http://${onion.toUpperCase()}:8080/`, onion, 8080],
    [`http://www.${onion}/`, `www.${onion}`, 80],
    [`http://${onion}./`, onion, 80],
  ])('may be written %s', async (url, host, port) => {
    const receiver = await shop();
    const socks = await tor({ names: { [host]: receiver.port } });
    expect(await setUp(socks.proxy).send(url)).toMatchObject({ outcome: 'delivered' });
    expect(socks.asked).toEqual([{ type: 3, host, port }]);
  });

  it('uses its connection again', async () => {
    const receiver = await shop();
    const socks = await tor({ names: { [onion]: receiver.port } });
    const { world, send } = setUp(socks.proxy);
    for (const _attempt of [1, 2]) {
      expect(await send(`http://${onion}/`)).toMatchObject({ outcome: 'delivered' });
      await world.turn();
    }
    expect(receiver.requests).toHaveLength(2);
    expect(socks.asked).toHaveLength(1);
  });

  it('speaks TLS to the service, whose certificate must fit', async () => {
    const ours = makeAuthority();
    const good = ours.issue(onion, '20200101000000Z', '20990101000000Z');
    ours.remove();
    for (const [ca, outcome] of [
      [ours.certificate, 'delivered'],
      [undefined, 'tls'],
    ] as const) {
      const receiver = await shop({ tls: good });
      const socks = await tor({ names: { [onion]: receiver.port } });
      const attempt = await setUp(socks.proxy).send(`https://${onion}/`, { ca });
      expect(attempt).toMatchObject({ outcome, unreachable: false });
      expect(socks.asked).toEqual([{ type: 3, host: onion, port: 443 }]);
    }
  });

  it('gives the proxy its user and password', async () => {
    const receiver = await shop();
    const socks = await tor({ names: { [onion]: receiver.port }, login: true });
    const credentials = { user: 'u', password: 'p' };
    const { send } = setUp({ ...socks.proxy, credentials });
    expect(await send(`http://${onion}/`)).toMatchObject({ outcome: 'delivered' });
    expect(socks.logins).toEqual(['u:p']);
  });

  it.each([
    ['refuses the host', 'connect', 'found no way to it'],
    ['refuses the login', 'connect', 'found no way to it'],
    ['closes', 'connect', 'found no way to it'],
    ['talks garbage', 'connect', 'found no way to it'],
  ] as const)('fails with a reason if the proxy %s', async (fault, outcome, said) => {
    const socks = await tor({ fault, login: fault === 'refuses the login' });
    const credentials = { user: 'u', password: 's3cr3t' };
    const attempt = await setUp({ ...socks.proxy, credentials }).send(`http://${onion}/`);
    expect(attempt).toMatchObject({ outcome, unreachable: true, httpStatus: null });
    expect(attempt.reason).toContain(`${onion} could not be reached: the SOCKS5 proxy of --proxy`);
    expect(attempt.reason).toContain(said);
    expect(attempt.reason).not.toContain('s3cr3t');
  });

  it('fails if the proxy is down, and never goes out directly', async () => {
    const receiver = await shop();
    const socks = await tor();
    await socks.close();
    const { send, looked } = setUp(socks.proxy);
    const attempt = await send(`http://${onion}:${receiver.port}/`);
    expect(attempt).toMatchObject({ outcome: 'connect', unreachable: true });
    expect(attempt.reason).toContain(
      'the SOCKS5 proxy of --proxy does not answer; see that Tor runs',
    );
    expect([looked, receiver.requests]).toEqual([[], []]);
  });

  it('has the whole deadline to be reached', async () => {
    const socks = await tor({ fault: 'hangs at the request' });
    const { world, send } = setUp(socks.proxy);
    const sent = send(`http://${onion}/`);
    await world.until(() => socks.asked.length > 0, 'a request to the proxy');
    await world.advance(deadlineMs - 1);
    expect(await Promise.race([sent, world.turn()])).toBeUndefined();
    await world.advance(1);
    expect(await sent).toMatchObject({ outcome: 'timeout', unreachable: true });
  });

  it('is refused without a proxy, with the option to set', async () => {
    const { send, looked } = setUp(undefined);
    const anything = { allowPrivateCallback: true, allowHttpCallback: true };
    expect(await send(`http://${onion}/`, anything)).toMatchObject({
      outcome: 'refused',
      reason: `${onion} is reached only through Tor: start serve with --proxy socks5://127.0.0.1:9050`,
    });
    expect(looked).toEqual([]);
  });

  it.each([
    ['http://expyuzz4wqqyqhjn.onion/', 'version 2'],
    [`http://${onion.replace('2gzy', '2gzz')}/`, 'checksum is wrong'],
    ['http://shop.onion/', 'no onion address'],
  ])('is refused if no such service can exist: %s', async (url, said) => {
    const socks = await tor();
    const { send, looked } = setUp(socks.proxy);
    const refused = { outcome: 'refused', reason: expect.stringContaining(said) };
    expect(await send(url)).toMatchObject(refused);
    expect([looked, socks.asked]).toEqual([[], []]);
  });
});

it('a callback to any other host does not use the proxy', async () => {
  const receiver = await shop();
  const socks = await tor();
  const { send, looked } = setUp(socks.proxy);
  const attempt = await send(`http://shop.example:${receiver.port}/`, {
    allowPrivateCallback: true,
  });
  expect(attempt).toMatchObject({ outcome: 'delivered', address: '127.0.0.1' });
  expect([looked, socks.asked]).toEqual([['shop.example'], []]);
});
