// `paygate callbacks test --addr …` beside a running server, and without one.

import { afterEach, expect, it } from 'vitest';
import { testTxid } from '../../src/delivery/test-callback.ts';
import { closeApps } from '../support/app.ts';
import { openTill, type Till } from '../support/checkout.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';

afterEach(closeApps);
afterEach(cleanUp);

const test = ({ app }: Till, ...args: string[]) =>
  runCli(['callbacks', 'test', ...args, '--db', app.path]);

it('sends a test payment to an order, with and without a server, and says what it means', async () => {
  const till = await openTill({ expires_in: 86_400 });
  const { app, address } = till;
  app.receiver.script({ status: 200, body: 'ok' });
  const tested = await test(till, '--addr', address, '--status', '2', '--json');
  expect([tested.code, tested.stderr]).toEqual([0, '']);
  expect(JSON.parse(tested.stdout)).toMatchObject({
    ...{ store_id: 1, addr: address, value: 25_000, status: 2, txid: testTxid },
    ...{ http_status: 200, body: 'ok', verdict: 'accepted', accepts: true },
    meaning: 'the shop accepted it',
  });
  expect(app.callbacks()).toEqual([{ status: '2', addr: address, value: '25000', txid: testTxid }]);
  await app.stop();
  app.receiver.script({ status: 200, body: 'Error: Blockonomics order not found' });
  const { code, stdout } = await test(till, '--addr', address, '--value', '600');
  expect(code).toBe(1);
  for (const words of [
    `Test payment of 600 sat to ${address}, an address of store 1`,
    'at status 2 it treats the order as paid. paygate records no payment.',
    'the shop knows no order with this address',
  ]) {
    expect(stdout).toContain(words);
  }
  await app.start();
  const order = (await app.ask(`/api/v3/orders/${till.id}`)).body;
  expect(order).toMatchObject({ status: 'open', received_sat: 0 });
  await till.pay(25_000);
  const refused = await test(till, '--addr', address);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('this address has a payment'),
  ]);
});

it('needs a store or an address, a status of a payment, and a value if no order has one', async () => {
  const till = await openTill();
  const { app, address } = till;
  const other = await app.newAddress();
  for (const [words, ...args] of [
    ['--store ID, or --addr ADDRESS'],
    ['cannot be used with', '--store', '1', '--addr', address],
    ['needs --status 0, 1 or 2', '--addr', address, '--status', '-1'],
    ['give --value', '--addr', other],
  ] as const) {
    const { code, stderr } = await test(till, ...args);
    expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining(words)]);
  }
  expect(app.receiver.requests).toEqual([]);
});
