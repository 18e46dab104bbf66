// The live socket as a shop's page uses it (wire §3).

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { closeHouses, type House, merchantKey, openReady } from '../support/house.ts';

afterEach(closeHouses);

interface Page {
  readonly messages: { status: number; timestamp: number; value: number; txid: string }[];
  readonly socket: WebSocket;
}

async function openPage(
  house: House,
  path: string,
  origin = 'https://shop.example',
): Promise<Page> {
  const socket = new WebSocket(`ws://127.0.0.1:${house.port}/payment/${path}`, { origin });
  const messages: Page['messages'] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve).once('error', reject);
  });
  return { messages, socket };
}

const refusal = (house: House, path: string): Promise<number> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${house.port}/payment/${path}`);
    socket.on('error', () => {});
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
  });

test('a page hears of each change, once it is committed', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const page = await openPage(house, address);
  const txid = house.pay(address, 12_000);
  await house.world.until(() => page.messages.length === 1, 'status 0');
  house.chain.mine();
  await house.world.until(() => page.messages.length === 2, 'status 1');
  house.chain.mine();
  await house.world.until(() => page.messages.length === 3, 'status 2');
  const timestamp = Math.floor(house.world.now() / 1000);
  expect(page.messages).toEqual(
    [0, 1, 2].map((status) => ({ status, timestamp, value: 12_000, txid })),
  );
  page.socket.close();
});

test('a page that comes late is told the latest state at once', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  house.pay(address, 12_000);
  house.chain.mine();
  await house.settle();
  const page = await openPage(house, address);
  await house.world.until(() => page.messages.length === 1, 'the latest state');
  expect(page.messages[0]).toMatchObject({ status: 1, value: 12_000 });
  page.socket.close();
});

test('a page that comes late is told of the payment that stands, not of one that is gone', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  house.pay(address, 12_000);
  await house.settle();
  const gone = house.pay(address, 13_000) as Txid;
  await house.settle();
  house.chain.evict(gone);
  await house.outlastSilence();
  const page = await openPage(house, address);
  await house.world.until(() => page.messages.length === 1, 'the latest state');
  expect(page.messages[0]).toMatchObject({ status: 0, value: 12_000 });
  page.socket.close();
});

test('with a timestamp, payments from before it are those of another order', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  house.pay(address, 1_000);
  await house.settle();
  await house.world.advance(5_000);
  const page = await openPage(
    house,
    `${address}?timestamp=${Math.floor(house.world.now() / 1000)}`,
  );
  house.pay(address, 2_000);
  await house.world.until(() => page.messages.length === 1, 'the new payment');
  expect(page.messages[0]?.value).toBe(2_000);
  page.socket.close();
});

test('only addresses that were issued are answered for', async () => {
  const house = await openReady();
  expect(await refusal(house, 'nonsense')).toBe(400);
  const [stranger = ''] = firstAddresses(merchantKey(2), 1);
  expect(await refusal(house, stranger)).toBe(404);
  // Watched ahead, and given to nobody.
  const [, next = ''] = firstAddresses(merchantKey(), 2);
  expect(await refusal(house, next)).toBe(404);
  expect(await refusal(house, `${await house.newAddress()}?timestamp=1&timestamp=2`)).toBe(400);
  expect((await house.ask(`/payment/${await house.newAddress()}`)).status).toBe(400);
});

test('one client has a bounded number of sockets, and gets them back', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const pages: Page[] = [];
  for (let count = 0; count < 20; count += 1) pages.push(await openPage(house, address));
  expect(await refusal(house, address)).toBe(429);
  const closed = new Promise((resolve) => pages[0]?.socket.once('close', resolve));
  pages[0]?.socket.close();
  await closed;
  await house.world.turn();
  pages.push(await openPage(house, address));
  for (const { socket } of pages) socket.close();
});

test('a stop ends the sockets', async () => {
  const house = await openReady();
  const page = await openPage(house, await house.newAddress());
  const code = new Promise((resolve) => page.socket.once('close', resolve));
  await house.stop();
  expect(await code).toBe(1001);
});

test('a client that does not answer is dropped after two beats', async () => {
  const house = await openReady();
  const page = await openPage(house, await house.newAddress());
  page.socket.pause();
  const gone = new Promise((resolve) => page.socket.once('close', resolve));
  await house.world.advance(60_000);
  await house.world.advance(60_000);
  page.socket.resume();
  expect(await gone).toBe(1006);
});

test.each([
  ['http://localhost/payment/', 101],
  ['/p%61yment/', 400],
])('the way to it by %s is answered with %i', async (path, status) => {
  const house = await openReady();
  const address = await house.newAddress();
  const socket = connect(house.port, '127.0.0.1');
  const headers = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket'];
  const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  socket.write([`GET ${path}${address} HTTP/1.1`, ...headers, ...key, '', ''].join('\r\n'));
  const [data] = await once(socket, 'data');
  socket.destroy();
  expect(String(data)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(String(data).includes('This is a WebSocket')).toBe(status === 400);
});
