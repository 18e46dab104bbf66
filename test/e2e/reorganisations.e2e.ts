// Reorganisations. A callback whose status no longer holds is followed by a new event with the new
// status. The database always names the block in which the payment is now.

import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { test } from './stage.ts';

test('a payment falls back to the mempool and is confirmed again', async ({ stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serve();
  await server.settled();
  const [address = ''] = await stage.newAddresses(server, 1);
  const attempts = () => shop.attempts(address).join(' ');

  await network.pay({ address, valueSat: 71_000 });
  await expect.poll(attempts).toBe('0:200');
  await network.mine();
  await expect.poll(attempts).toBe('0:200 1:200');
  await network.reorganise(1, 'left out');
  await expect.poll(attempts).toBe('0:200 1:200 0:200');
  await network.mine();
  await expect.poll(attempts).toBe('0:200 1:200 0:200 1:200');
  await network.mine();
  await expect.poll(attempts).toBe('0:200 1:200 0:200 1:200 2:200');
  await network.reorganise(2, 'left out');
  await expect.poll(attempts).toBe('0:200 1:200 0:200 1:200 2:200 0:200');
  await network.mine(2);
  await expect.poll(() => shop.attempts(address).at(-1)).toBe('2:200');
  await server.settled();
  await server.stop();
  // Two blocks at once may cause callbacks 1 and 2, or 2 alone.
  expect(
    shop
      .attempts(address)
      .slice(6)
      .filter((each) => each !== '1:200'),
  ).toEqual(['2:200']);
  shop.verify(store.webhook_secret, shop.received.length);
  await expectAgreement(stage);
});

test('a payment is mined again at the same height, while paygate runs and while it is down', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  const addresses = await stage.newAddresses(server, 2);
  const [running = '', down = ''] = addresses;
  const attempts = () => addresses.map((address) => shop.attempts(address).join(' '));

  await network.pay({ address: running, valueSat: 72_000 });
  await expect.poll(attempts).toEqual(['0:200', '']);
  await network.mine();
  await expect.poll(attempts).toEqual(['0:200 1:200', '']);
  await network.reorganise(1, 'kept');
  await expect.poll(attempts).toEqual(['0:200 1:200 2:200', '']);

  await network.pay({ address: down, valueSat: 73_000 });
  await expect.poll(attempts).toEqual(['0:200 1:200 2:200', '0:200']);
  await network.mine();
  await expect.poll(attempts).toEqual(['0:200 1:200 2:200', '0:200 1:200']);
  await server.settled();
  await server.kill();
  await network.reorganise(1, 'kept');
  server = await stage.serve();
  await expect.poll(attempts).toEqual(['0:200 1:200 2:200', '0:200 1:200 2:200']);
  await server.settled();
  await server.stop();
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});
