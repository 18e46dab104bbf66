// The main job, end to end within the app: an address, a payment, the callbacks.

import { createHmac } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { closeApps, merchantKey, openApp, untilReady } from '../support/app.ts';

afterEach(closeApps);

test('P-56 a payment sends 0, 1 and 2, each once, with its address, value and txid', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  const txid = app.pay(address, 25_000);
  await app.settle();
  const facts = { addr: address, value: '25000', txid };
  expect(app.callbacks()).toEqual([{ ...facts, status: '0' }]);

  app.chain.mine();
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '1']);

  app.chain.mine(3);
  await app.settle();
  expect(app.callbacks()).toEqual(['0', '1', '2'].map((status) => ({ ...facts, status })));
});

test('P-17 addresses come in the order of derivation and never twice', async () => {
  const app = await openApp();
  await untilReady(app);
  const issued = await Promise.all(Array.from({ length: 60 }, () => app.newAddress()));
  expect(new Set(issued)).toEqual(new Set(firstAddresses(merchantKey(), 60)));
});

test.each([
  ['paid at once', 0],
  ['paid later', 1_000],
])(
  'every address of a burst larger than the pool is watched within a second, %s',
  async (_, ms) => {
    const app = await openApp();
    await untilReady(app);
    const issued = await Promise.all(Array.from({ length: 60 }, () => app.newAddress()));
    await app.world.advance(ms);
    await app.settle();
    app.chain.pay(issued.map((address, index) => ({ address, valueSat: 10_000 + index })));
    await app.world.advance(1_000 - ms);
    await app.settle();
    expect(
      app
        .callbacks()
        .map(({ addr }) => addr)
        .sort(),
    ).toEqual([...issued].sort());
  },
);

test('P-56 callbacks have the sum of a transaction to each address', async () => {
  const app = await openApp();
  await untilReady(app);
  const [one, two] = [await app.newAddress(), await app.newAddress()];
  app.chain.pay([
    { address: one, valueSat: 1_000 },
    { address: one, valueSat: 2_000 },
    { address: two, valueSat: 5_000 },
  ]);
  await app.settle();
  const values = app.callbacks().map(({ addr, value }) => [addr, value]);
  expect(new Map(values as [string, string][])).toEqual(
    new Map([
      [one, '3000'],
      [two, '5000'],
    ]),
  );
  expect(values).toHaveLength(2);
});

test('P-55 P-69 a callback keeps the URL byte for byte and is signed over its raw query', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  const txid = app.pay(address, 7_000);
  await app.settle();
  const [request] = app.receiver.requests;
  const query = `secret=s3cr3t&status=0&addr=${address}&value=7000&txid=${txid}&rbf=1`;
  expect(request?.url).toBe(`/cb?${query}`);
  const { 'webhook-id': id, 'webhook-timestamp': time, ...headers } = request?.headers ?? {};
  const signed = createHmac('sha256', Buffer.alloc(32, 7)).update(`${id}.${time}.${query}`);
  expect(headers['webhook-signature']).toBe(`v1,${signed.digest('base64')}`);
  expect(headers['user-agent']).toBe('paygate/0.1');
});

test('a callback answered with 500 is retried after 4 and 8 seconds, with the same id', async () => {
  const app = await openApp();
  await untilReady(app);
  app.receiver.script({ status: 500 }, { status: 500 });
  const address = await app.newAddress();
  app.pay(address, 9_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
  await app.world.advance(6_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '0']);
  await app.world.advance(11_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0', '0', '0']);
  const ids = app.receiver.requests.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(1);
  await app.world.advance(60_000);
  await app.settle();
  expect(app.statuses(address)).toHaveLength(3);
});

test('P-58 a status that is superseded while the shop is down is not sent', async () => {
  const app = await openApp({ receiver: { answer: () => ({ status: 503 }) } });
  await untilReady(app);
  const address = await app.newAddress();
  app.pay(address, 9_000);
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  await app.world.advance(60_000);
  await app.settle();
  const statuses = app.statuses(address);
  expect(statuses[0]).toBe('0');
  expect(new Set(statuses.slice(1))).toEqual(new Set(['2']));
});

test('P-18 two stores on one wallet share the counter; match_callback chooses', async () => {
  const app = await openApp();
  await app.addStore({ name: 'Second', callbackUrl: `${app.receiver.origin}/second?k=2` });
  await app.world.advance(1_000);
  await untilReady(app);
  const first = await app.newAddress('?match_callback=s3cr3t');
  const second = await app.newAddress(
    `?match_callback=${encodeURIComponent(`${app.receiver.origin}/second?k=2`)}`,
  );
  expect([first, second]).toEqual(firstAddresses(merchantKey(), 2));
  app.pay(second, 4_000);
  await app.settle();
  expect(app.receiver.requests.map(({ url }) => url.split('&')[0])).toEqual(['/second?k=2']);
});
