// The main job on a real chain: an xpub, addresses, payments, and the callbacks 0, 1 and 2 exactly
// once. Meanwhile paygate is killed three times, and uses each kind of connection to the server.

import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { test } from './stage.ts';

/** The first delays of the retry schedule, shortened by the most that jitter allows. */
const firstRetryMs = 4_000 * 0.8;
const secondRetryMs = 8_000 * 0.8;

test('an xpub, addresses, payments, callbacks 0, 1 and 2', async ({ stage }) => {
  const { network, merchant } = stage;
  /** The shop answers the one with 500 twice, and the first attempt of the other not at all. */
  const failing = { addr: '', status: '0' };
  const hanging = { addr: '', status: '2' };
  const shop = await stage.openShop(({ addr, status }, before) => {
    if (addr === failing.addr && status === failing.status && before < 2) return 500;
    return addr === hanging.addr && status === hanging.status && before < 1 ? 'hang' : 200;
  });

  const account = await merchant.account('p2wpkh');
  const expected = await account.addresses(20);
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  expect(store).toEqual({
    id: 1,
    name: 'p2wpkh',
    http_callback: shop.callbackUrl,
    wallet: { id: 1, script: 'p2wpkh', account: account.tpub },
    first_addresses: expected.slice(0, 3),
    api_key: expect.stringMatching(/^pgk_\w{40,60}$/),
    webhook_secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
  });

  // Addresses.
  let server = await stage.serve('--network', 'regtest');
  await server.settled();
  const addresses = await stage.newAddresses(server, 20);
  expect(addresses).toEqual(expected);
  expect(new Set(addresses).size).toBe(20);

  // Payments: a plain one, one in two outputs, two in one transaction, one whose callback fails.
  const [plain = '', parts = '', left = '', right = '', hard = ''] = addresses;
  hanging.addr = plain;
  failing.addr = hard;
  const both = [
    { address: left, valueSat: 30_003 },
    { address: right, valueSat: 40_004 },
  ];
  const bothTxid = await network.pay(...both);
  const payments = [
    {
      addr: plain,
      value: 10_001,
      txid: await network.pay({ address: plain, valueSat: 10_001 }),
    },
    { addr: parts, value: 20_002, txid: await network.payInParts(parts, [15_000, 5_002]) },
    { addr: left, value: 30_003, txid: bothTxid },
    { addr: right, value: 40_004, txid: bothTxid },
    { addr: hard, value: 50_005, txid: await network.pay({ address: hard, valueSat: 50_005 }) },
  ];
  const attempts = () => payments.map(({ addr }) => shop.attempts(addr).join(' '));
  await expect.poll(attempts).toEqual(['0:200', '0:200', '0:200', '0:200', '0:500']);

  // Killed while a callback waits for its retry. A command of an emulated paygate takes longer than
  // the callback waits, so the command runs afterwards.
  await expect.poll(() => server.output()).toContain('"httpStatus":500');
  await expect.poll(() => server.health()).toMatchObject({ callbacks: { owed: 1 } });
  await server.kill();
  const waiting = (await stage.callbacks()).filter(({ state }) => state === 'owed');
  expect(waiting).toMatchObject([{ addr: hard, status: 0, attempts: 1 }]);
  server = await stage.serve(
    ...['--network', 'regtest'],
    ...['--electrum', `${network.ssl}?pin=${network.certificateSha256}`],
  );
  await expect.poll(() => attempts().at(-1)).toBe('0:500 0:500 0:200');
  await server.settled();
  const [first, second, third] = shop.received
    .filter(({ addr }) => addr === hard)
    .map(({ at }) => at);
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(firstRetryMs - 50);
  expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(secondRetryMs - 50);

  // One confirmation, then killed before the second.
  await network.mine();
  await expect
    .poll(attempts)
    .toEqual([
      '0:200 1:200',
      '0:200 1:200',
      '0:200 1:200',
      '0:200 1:200',
      '0:500 0:500 0:200 1:200',
    ]);
  await server.settled();
  await server.kill();

  // Two confirmations; killed while the shop has received a callback and has not answered.
  server = await stage.serve('--electrum', `${network.ssl}?insecure`);
  await server.settled();
  await network.mine();
  await expect.poll(() => attempts()[0]).toBe('0:200 1:200 2:hang');
  // Until the shop has received a first callback, it gets one at a time.
  await expect.poll(() => server.health()).toMatchObject({ callbacks: { owed: 5 } });
  await server.kill();

  server = await stage.serve();
  await server.settled();
  expect(attempts()).toEqual([
    '0:200 1:200 2:hang 2:200',
    '0:200 1:200 2:200',
    '0:200 1:200 2:200',
    '0:200 1:200 2:200',
    '0:500 0:500 0:200 1:200 2:200',
  ]);

  // No address was issued twice, and none was lost in the kills.
  const [next] = await stage.newAddresses(server, 1);
  expect(next).toBe((await account.addresses(21)).at(-1));
  await server.stop();

  shop.verify(store.webhook_secret);
  expect(shop.received).toHaveLength(4 + 3 + 3 + 3 + 5);
  for (const { addr, value, txid } of shop.received)
    expect(payments).toContainEqual({ addr, value, txid });
  await expectAgreement(stage);
  const callbacks = await stage.callbacks();
  expect(callbacks.map(({ state }) => state)).toEqual(Array(15).fill('delivered'));
});
