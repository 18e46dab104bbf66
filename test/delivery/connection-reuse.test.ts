// Idle connections for the next callback: how many, for which destination, and never a closed one.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import {
  type CallbackConnection,
  type ConnectionHooks,
  createCallbackConnections,
  type Destination,
} from '../../src/delivery/connection-reuse.ts';
import { createTestWorld } from '../support/world.ts';

const servers: Server[] = [];
const lines: CallbackConnection[] = [];
afterEach(async () => {
  for (const { client } of lines.splice(0)) await client.destroy();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const hooks: ConnectionHooks = {
  resolver: async () => ['127.0.0.1'],
  onConnected: () => {},
  onReady: () => {},
};
const anywhere = () => true;

/** A shop that leaves connections open until it is asked to end them. */
async function shop() {
  const sockets: Socket[] = [];
  const server = createServer((_, response) => void response.end('ok'));
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => sockets.push(socket));
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const place: Destination = {
    origin: `http://127.0.0.1:${port}`,
    ca: undefined,
    connectTimeoutMs: 10_000,
  };
  return { place, sockets };
}

function kept() {
  const { open, ...rest } = createCallbackConnections(createTestWorld());
  return {
    ...rest,
    open(place: Destination) {
      const line = open(place, hooks);
      lines.push(line);
      return line;
    },
  };
}

/** Over this connection, to its end. */
async function ask({ client }: CallbackConnection): Promise<number> {
  const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
  await body.dump();
  return statusCode;
}

async function used(
  lines: ReturnType<typeof kept>,
  place: Destination,
): Promise<CallbackConnection> {
  const line = lines.open(place);
  expect(line.isReused).toBe(false);
  expect(await ask(line)).toBe(200);
  return line;
}

test('a connection that is taken is marked as reused and not given out twice', async () => {
  const { place, sockets } = await shop();
  const lines = kept();
  lines.putBack(place, await used(lines, place));
  expect(lines.hasIdle(place)).toBe(true);
  const taken = lines.takeIdle(place, hooks, anywhere);
  expect(taken).toMatchObject({ isReused: true, address: '127.0.0.1' });
  expect(lines.hasIdle(place)).toBe(false);
  expect(lines.takeIdle(place, hooks, anywhere)).toBeUndefined();
  expect(sockets).toHaveLength(1);
});

test('the most recently used connection is taken first', async () => {
  const { place } = await shop();
  const lines = kept();
  const [first, second] = [await used(lines, place), await used(lines, place)];
  lines.putBack(place, first);
  lines.putBack(place, second);
  expect(lines.takeIdle(place, hooks, anywhere)).toBe(second);
  expect(lines.hasIdle(place)).toBe(true);
  expect(lines.takeIdle(place, hooks, () => false)).toBeUndefined();
  expect(lines.takeIdle(place, hooks, anywhere)).toBe(first);
});

test('a connection that the shop closed is gone, also after it was put back', async () => {
  const { place, sockets } = await shop();
  const lines = kept();
  for (const times of [1, 2]) {
    let line = await used(lines, place);
    for (let time = 1; time < times; time += 1) {
      lines.putBack(place, line);
      line = lines.takeIdle(place, hooks, anywhere) ?? line;
      expect(await ask(line)).toBe(200);
    }
    lines.putBack(place, line);
    const ended = once(line.client, 'disconnect');
    sockets.at(-1)?.end();
    await ended;
    expect(lines.hasIdle(place)).toBe(false);
  }
});

test('256 connections may be idle; one more is closed', async () => {
  const [{ place, sockets }, other] = [await shop(), await shop()];
  const lines = kept();
  const [first, ...more] = await Promise.all(Array.from({ length: 256 }, () => used(lines, place)));
  if (first === undefined) throw new Error('none');
  for (const line of [first, ...more]) lines.putBack(place, line);
  const beyond = await used(lines, other.place);
  lines.putBack(other.place, beyond);
  expect(lines.hasIdle(other.place)).toBe(false);
  await expect(ask(beyond)).rejects.toThrow('destroyed');
  expect(await ask(first)).toBe(200);
  const ended = once(first.client, 'disconnect');
  for (const socket of sockets) socket.end();
  await ended;
  lines.putBack(other.place, await used(lines, other.place));
  expect(lines.hasIdle(other.place)).toBe(true);
});
