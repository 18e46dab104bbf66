// What strangers may do at the door: offer another protocol, be slow, never read, stay when it closes.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Binding, type Listening, listen } from '../../src/http/server.ts';
import { countIssued } from '../support/files.ts';
import { closeHouses, openHouse, untilReady } from '../support/house.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterEach(closeHouses);

/** A door that nothing hurries: what is under way has as long as it likes when it closes. */
async function openDoor(
  answer = () => new Response('ok'),
  patience: Binding['patience'] = {},
): Promise<Listening> {
  const never = () => () => {};
  const door = await listen(answer, { host: '127.0.0.1', port: 0, patience }, never);
  closing.push(() => door.close());
  return door;
}

/** Does not hang up when it is hung up on. */
async function visit(port: number, ...lines: string[]): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(`${[...lines, 'Host: localhost'].join('\r\n')}\r\n\r\n`);
  return socket;
}

const offer = (protocol: string) => ['Connection: Upgrade', `Upgrade: ${protocol}`];

/** The first that comes. */
async function heard(socket: Socket): Promise<string> {
  const [data] = await once(socket, 'data');
  return String(data);
}

describe('an offer to speak', () => {
  it.each([
    ['h2c', '/'],
    ['h2c', '/payment/nobody'],
    ['websocket', '/'],
    ['', '/payment/nobody'],
  ])('"%s" at %s is answered as if it were none', async (protocol, path) => {
    const { port } = await openDoor();
    const socket = await visit(port, `GET ${path} HTTP/1.1`, ...offer(protocol));
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('WebSocket that is refused does not keep the door open', async () => {
    const door = await openDoor(() => new Response('no', { status: 404 }));
    const path = '/payment/nobody';
    const socket = await visit(door.port, `GET ${path} HTTP/1.1`, ...offer('websocket'));
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    await door.close();
  });

  it.each(['HEAD', 'DELETE', 'GET'])(
    'WebSocket takes no address unheard with %s',
    async (method) => {
      const house = await openHouse();
      await untilReady(house);
      const line = `${method} /api/new_address HTTP/1.1`;
      const key = `Authorization: Bearer ${house.apiKey}`;
      const answer = await heard(await visit(house.port, line, key, ...offer('websocket')));
      const issued = await house.withStore(async ({ database }) => countIssued(database));
      expect([issued, answer.includes('bcrt1')]).toEqual(method === 'GET' ? [1, true] : [0, false]);
    },
  );
});

describe('a client is let go', () => {
  it('that does not end its headers', async () => {
    const { port } = await openDoor(undefined, { headers: 50, between: 10 });
    const socket = connect(port, '127.0.0.1');
    closing.push(() => socket.destroy());
    socket.write('GET / HTTP/1.1\r\n');
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 408 /);
    await once(socket, 'close');
  });

  it('that asks and does not read', async () => {
    const door = await openDoor(() => new Response('x'.repeat(100_000)), { silence: 100 });
    const socket = await visit(door.port, 'GET / HTTP/1.1');
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200));
    // It closes when nobody is connected.
    await door.close();
  });
});
