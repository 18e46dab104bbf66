// The live socket for the page of a shop (wire §3).

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../support/app.ts';

afterEach(closeApps);

interface Page {
  readonly messages: { status: number; timestamp: number; value: number; txid: string }[];
  readonly socket: WebSocket;
}

async function openPage(
  app: TestApp,
  path: string,
  headers: Record<string, string> = {},
): Promise<Page> {
  const origin = 'https://shop.example';
  const url = `ws://127.0.0.1:${app.port}/payment/${path}`;
  const socket = new WebSocket(url, { origin, headers });
  const messages: Page['messages'] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve).once('error', reject);
  });
  return { messages, socket };
}

const refusal = (app: TestApp, path: string, headers = {}): Promise<number> =>
  new Promise((resolve) => {
    const url = `ws://127.0.0.1:${app.port}/payment/${path}`;
    const socket = new WebSocket(url, { headers });
    socket.on('error', () => {});
    socket.on('open', () => {
      resolve(101);
      socket.terminate();
    });
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
  });

test('P-43 a page is notified of each change, once it is committed', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const page = await openPage(app, address);
  const txid = app.pay(address, 12_000);
  await app.world.until(() => page.messages.length === 1, 'status 0');
  app.chain.mine();
  await app.world.until(() => page.messages.length === 2, 'status 1');
  app.chain.mine();
  await app.world.until(() => page.messages.length === 3, 'status 2');
  const timestamp = Math.floor(app.world.now() / 1000);
  expect(page.messages).toEqual(
    [0, 1, 2].map((status) => ({ status, timestamp, value: 12_000, txid })),
  );
  page.socket.close();
});

test('P-43 a page that connects late gets the latest state at once', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  app.pay(address, 12_000);
  app.chain.mine();
  await app.settle();
  const page = await openPage(app, address);
  await app.world.until(() => page.messages.length === 1, 'the latest state');
  expect(page.messages[0]).toMatchObject({ status: 1, value: 12_000 });
  page.socket.close();
});

test('P-43 a page that connects late gets the valid payment, not a gone one', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  app.pay(address, 12_000);
  await app.settle();
  const gone = app.pay(address, 13_000) as Txid;
  await app.settle();
  app.chain.evict(gone);
  await app.outlastAbsence();
  const page = await openPage(app, address);
  await app.world.until(() => page.messages.length === 1, 'the latest state');
  expect(page.messages[0]).toMatchObject({ status: 0, value: 12_000 });
  page.socket.close();
});

test('P-43 with a timestamp, earlier payments belong to another order', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  app.pay(address, 1_000);
  await app.settle();
  await app.world.advance(5_000);
  const page = await openPage(app, `${address}?timestamp=${Math.floor(app.world.now() / 1000)}`);
  app.pay(address, 2_000);
  await app.world.until(() => page.messages.length === 1, 'the new payment');
  expect(page.messages[0]?.value).toBe(2_000);
  page.socket.close();
});

test('P-03 P-43 only addresses that were issued are answered for', async () => {
  const app = await openReady();
  expect(await refusal(app, 'nonsense')).toBe(400);
  const [stranger = ''] = firstAddresses(merchantKey(2), 1);
  expect(await refusal(app, stranger)).toBe(404);
  // Watched ahead, and never issued.
  const [, next = ''] = firstAddresses(merchantKey(), 2);
  expect(await refusal(app, next)).toBe(404);
  expect(await refusal(app, `${await app.newAddress()}?timestamp=1&timestamp=2`)).toBe(400);
  expect((await app.ask(`/payment/${await app.newAddress()}`)).status).toBe(400);
});

test('P-43 S-25 one client has a maximum of sockets, and closed ones do not count', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const pages: Page[] = [];
  for (let count = 0; count < 20; count += 1) pages.push(await openPage(app, address));
  expect(await refusal(app, address)).toBe(429);
  const closed = new Promise((resolve) => pages[0]?.socket.once('close', resolve));
  pages[0]?.socket.close();
  await closed;
  await app.world.turn();
  pages.push(await openPage(app, address));
  for (const { socket } of pages) socket.close();
});

const behindProxy = { trustedProxy: [parseProxyNetwork('127.0.0.1')] };
const from = (client: string) => ({ 'X-Forwarded-For': client });

test('one subscriber of IPv6 has as many, with any number of /64 prefixes', async () => {
  const app = await openReady({ config: behindProxy });
  const address = await app.newAddress();
  const pages: Page[] = [];
  for (let index = 0; index < 20; index += 1) {
    pages.push(await openPage(app, address, from(`2001:db8:7:${index.toString(16)}::1`)));
  }
  expect(await refusal(app, address, from('2001:db8:7:ffff::1'))).toBe(429);
  pages.push(await openPage(app, address, from('2001:db8:8::1')));
  for (const { socket } of pages) socket.terminate();
});

describe('when all sockets are in use', () => {
  test.each([
    ['a /44 of IPv6', (index: number) => `2001:db8:${index.toString(16)}::1`],
    ['a few addresses of IPv4', (index: number) => `192.0.2.${index}`],
  ])('P-43 S-26 by %s, a customer of another network still gets one', async (_name, client) => {
    const app = await openReady({ config: behindProxy });
    const address = await app.newAddress();
    const greedy: Page[] = [];
    for (let index = 0; index < 15; index += 1) {
      const headers = from(client(index));
      const pages = Array.from({ length: 20 }, () => openPage(app, address, headers));
      greedy.push(...(await Promise.all(pages)));
    }
    let closed = 0;
    for (const { socket } of greedy) socket.once('close', () => (closed += 1));
    const customers: Page[] = [];
    for (const customer of ['203.0.113.9', '198.51.100.7', '2001:db8:8888:1::1']) {
      customers.push(await openPage(app, address, from(customer)));
    }
    await app.world.until(() => closed === 3, 'the newest to give way');
    app.pay(address, 1_000);
    await app.settle();
    await app.world.until(() => customers.every(({ messages }) => messages.length === 1), 'news');
    expect(await refusal(app, address, from(client(0)))).toBe(429);
    for (const { socket } of [...greedy, ...customers]) socket.terminate();
  });

  test('by as many customers, one more gets 429', async () => {
    const app = await openReady({ config: behindProxy });
    const address = await app.newAddress();
    const client = (index: number) => `198.18.${index >> 8}.${index & 255}`;
    const pages = await Promise.all(
      Array.from({ length: 300 }, (_, index) => openPage(app, address, from(client(index)))),
    );
    expect(await refusal(app, address, from(client(300)))).toBe(429);
    for (const { socket } of pages) socket.terminate();
  });
});

describe('a client that asks about foreign addresses', () => {
  const strangers = firstAddresses(merchantKey(2), 12);
  const limited = { ...behindProxy, limitUnknownKey: { perMinute: 10, burst: 10 } };
  const receiptOf = async (app: TestApp, addr: string, txid: string, client: string) => {
    const url = `http://127.0.0.1:${app.port}/api/tx?addr=${addr}&txid=${txid}`;
    const { status, headers } = await fetch(url, { headers: from(client) });
    return [status, headers.get('Retry-After')];
  };

  test('P-13 S-27 gets no answer after ten, not even about ours, while other clients do', async () => {
    const app = await openReady({ config: limited });
    const address = await app.newAddress();
    const txid = app.pay(address, 1_000);
    await app.settle();
    const statuses: number[] = [];
    // All addresses of a /48 count as one client.
    for (const [index, stranger] of strangers.entries()) {
      statuses.push(await refusal(app, stranger, from(`2001:db8:7:${index}::1`)));
    }
    expect(statuses).toEqual([...Array(10).fill(404), 429, 429]);
    const again = '2001:db8:7:99::1';
    expect(await refusal(app, address, from(again))).toBe(429);
    expect(await receiptOf(app, address, txid, again)).toEqual([429, '6']);
    for (const customer of ['203.0.113.9', '2001:db8:8::1']) {
      const page = await openPage(app, address, from(customer));
      expect(await receiptOf(app, address, txid, customer)).toEqual([200, null]);
      page.socket.terminate();
    }
    await app.world.advance(60_000);
    (await openPage(app, address, from(again))).socket.terminate();
  });

  test('S-28 on the page of a receipt as well, also about an address of ours with another payment', async () => {
    const app = await openReady({ config: limited });
    const address = await app.newAddress();
    const txid = app.pay(address, 1_000);
    await app.settle();
    const client = '203.0.113.9';
    for (const stranger of strangers.slice(0, 5)) {
      expect(await receiptOf(app, stranger, txid, client)).toEqual([404, null]);
    }
    for (let count = 0; count < 5; count += 1) {
      expect(await receiptOf(app, address, '00'.repeat(32), client)).toEqual([404, null]);
    }
    for (const each of [address, ...strangers]) {
      expect(await receiptOf(app, each, txid, client)).toEqual([429, '6']);
    }
    expect(await refusal(app, address, from(client))).toBe(429);
    const lines = app.world.logs.filter(({ message }) => message === 'a request was refused');
    expect(lines.length).toBeGreaterThan(5);
    expect(lines[0]?.fields).toEqual({
      ...{ client, path: '/tx', reason: 'an address or a payment that is not ours' },
    });
    expect(JSON.stringify(lines)).not.toContain(strangers[0]);
  });

  test('is never limited if it asks about its own address', async () => {
    const app = await openReady({ config: limited });
    const address = await app.newAddress();
    const txid = app.pay(address, 1_000);
    await app.settle();
    for (let count = 0; count < 30; count += 1) {
      const page = await openPage(app, address, from('203.0.113.9'));
      page.socket.terminate();
      expect(await receiptOf(app, address, txid, '203.0.113.9')).toEqual([200, null]);
      await app.world.turn();
    }
  });
});

test('a stop ends the sockets', async () => {
  const app = await openReady();
  const page = await openPage(app, await app.newAddress());
  const code = new Promise((resolve) => page.socket.once('close', resolve));
  await app.stop();
  expect(await code).toBe(1001);
});

test('a client that does not answer is dropped after two beats', async () => {
  const app = await openReady();
  const page = await openPage(app, await app.newAddress());
  page.socket.pause();
  const gone = new Promise((resolve) => page.socket.once('close', resolve));
  await app.world.advance(60_000);
  await app.world.advance(60_000);
  page.socket.resume();
  expect(await gone).toBe(1006);
});

test.each([
  ['http://localhost/payment/', 101],
  ['/p%61yment/', 400],
])('the path %s is answered with %i', async (path, status) => {
  const app = await openReady();
  const address = await app.newAddress();
  const socket = connect(app.port, '127.0.0.1');
  const headers = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket'];
  const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  socket.write([`GET ${path}${address} HTTP/1.1`, ...headers, ...key, '', ''].join('\r\n'));
  const [data] = await once(socket, 'data');
  socket.destroy();
  expect(String(data)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(String(data).includes('This is a WebSocket')).toBe(status === 400);
});
