// Programs that know addresses only, beside a Lightning node. They get the same bytes as without
// one, also once an order was paid by Lightning.

import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);
afterEach(closeApps);

const hash = /"payment_hash":"([0-9a-f]{64})"/;

/** What such programs see while an order is paid, with a node also by Lightning. */
async function live(hasNode: boolean) {
  const world = createTestWorld({ seed: 7 });
  const node = new PlayedNode(() => world.now());
  const app = await openPriced({ world, openLightning: () => node });
  if (hasNode) await giveNode(app, node);
  else await world.advance(1_000);
  const { id, address } = await app.order({ amount: '12.50', currency: 'EUR' });
  const seen: unknown[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${app.port}/payment/${address}`, {
    origin: 'https://shop.example',
  });
  const messages: string[] = [];
  socket.on('message', (data) => messages.push(String(data)));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve).once('error', reject);
  });
  async function look(): Promise<void> {
    const ofAddress = ['merchant/tx', 'balance', 'searchhistory'].map(
      (path) => `${path}?addr=${address}`,
    );
    const paths = [...ofAddress, 'address', 'v2/payments', 'v2/stores', 'v2/wallets?balance=true'];
    for (const path of paths) {
      const init = { headers: { Authorization: `Bearer ${app.apiKey}` } };
      const url = `http://127.0.0.1:${app.port}/api/${path}`;
      const reply = await fetch(url, init);
      if (!path.startsWith('merchant')) expect(reply.status).toBe(200);
      const { date: _, 'content-length': _length, ...headers } = Object.fromEntries(reply.headers);
      seen.push([
        path,
        reply.status,
        headers,
        (await reply.text()).replaceAll(app.receiver.origin, ''),
      ]);
    }
    seen.push(await app.newAddress());
  }
  await look();
  let json = '';
  if (hasNode) {
    node.pay(1);
    for (let turns = 0; turns < 100 && !json.includes('"paid"'); turns += 1) {
      await world.turn();
      json = JSON.stringify((await app.get(`/orders/${id}`)).body);
    }
    const [, txid] = hash.exec(json) ?? [];
    for (const query of [`txid=${txid}`, `addr=${address}`]) {
      expect((await app.ask(`/api/merchant/tx?${query}`)).status).toBe(404);
    }
    expect((await app.ask(`/api/tx_detail?txid=${txid}`)).status).not.toBe(200);
    expect(
      (await fetch(`http://127.0.0.1:${app.port}/api/tx?txid=${txid}&addr=${address}`)).status,
    ).toBe(404);
  }
  await app.settle();
  await look();
  app.pay(address, 25_000);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  await world.until(() => messages.length > 1, 'the live socket');
  await look();
  socket.terminate();
  const callbacks = app.receiver.requests.map(({ url, method, body }) => [url, method, body]);
  return { json, wire: { seen, messages, callbacks } };
}

test('with a node, and an order paid by Lightning, the wire of addresses is the same', async () => {
  const { wire } = await live(false);
  const { json, wire: beside } = await live(true);
  expect(json).toContain('"kind":"lightning"');
  expect(wire.callbacks.length).toBeGreaterThan(0);
  expect(beside).toEqual(wire);
  expect(JSON.stringify(beside)).not.toMatch(/lightning|lnbc|preimage|payment_hash/i);
});
