// Outages: paygate is down, its Electrum server is unreachable, or the node behind that server
// dies. No payment is lost, and each callback has the status of the moment.

import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { untilReconnected } from './paygate.ts';
import { test } from './stage.ts';

test('a payment made while paygate was down gets one callback, with its current status', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2tr', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  const addresses = await stage.newAddresses(server, 3);
  const [deep = '', shallow = '', fresh = ''] = addresses;
  expect(addresses).toEqual(await (await stage.merchant.account('p2tr')).addresses(3));
  await server.stop();

  await network.pay({ address: deep, valueSat: 11_000 });
  await network.mine();
  await network.pay({ address: shallow, valueSat: 12_000 });
  await network.mine();
  await network.pay({ address: fresh, valueSat: 13_000 });

  server = await stage.serve();
  const attempts = () => addresses.map((address) => shop.attempts(address).join(' '));
  await expect.poll(attempts).toEqual(['2:200', '1:200', '0:200']);
  await server.settled();
  await network.mine();
  await expect.poll(attempts).toEqual(['2:200', '1:200 2:200', '0:200 1:200']);
  await server.settled();
  await server.stop();
  expect(attempts()).toEqual(['2:200', '1:200 2:200', '0:200 1:200']);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

test('started without an Electrum server, it issues addresses, reports that, and catches up', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const first = await stage.addStore('p2pkh', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  await server.stop();

  await network.electrum('first').stop();
  const store = await stage.addStore('p2sh-p2wpkh', `${shop.callbackUrl}&never=scanned`);
  expect(store.api_key).toBe(first.api_key);
  server = await stage.serve();
  const [address = ''] = await stage.newAddresses(
    server,
    1,
    `?match_account=${first.wallet.account}`,
  );
  await network.pay({ address, valueSat: 21_000 });
  await network.mine();
  await expect
    .poll(() => server.health())
    .toMatchObject({
      status: 'degraded',
      warnings: [
        expect.stringMatching(/^no Electrum server is connected: tcp:.*it refuses connections/),
        'no address is issued yet for 1 wallet: a scan of the chain comes first',
      ],
      electrum: { server: null, caught_up: false },
    });
  expect(server.output()).toContain('"message":"electrum server unreachable"');
  const refused = await stage.askAddress(server, '?match_callback=never');
  expect(refused).toMatchObject({ status: 503, body: { status: 503 } });
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);

  await network.electrum('first').start();
  await expect.poll(() => shop.attempts(address), untilReconnected).toEqual(['1:200']);
  await server.settled();
  const [scanned = ''] = await stage.newAddresses(server, 1, '?match_callback=never');
  expect([scanned]).toEqual(store.first_addresses.slice(0, 1));
  await server.stop();
  expect(shop.attempts(address)).toEqual(['1:200']);
  await expectAgreement(stage);
});

test('it reconnects to a lost Electrum server, and refuses a certificate other than the pinned one', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  await stage.addStore('p2wpkh', shop.callbackUrl);
  const wrongPin = `${network.ssl}?pin=${'0'.repeat(64)}`;
  let server = await stage.serve('--electrum', wrongPin);
  const reason = `its certificate has the SHA-256 ${network.certificateSha256}, pinned is 0`;
  await expect.poll(async () => (await server.health()).warnings.join('\n')).toContain(reason);
  await server.stop();

  server = await stage.serve('--electrum', network.ssl); // pinned at first use
  await server.settled();
  const [address = ''] = await stage.newAddresses(server, 1);
  await network.electrum('first').stop();
  await expect.poll(() => server.health()).toMatchObject({ electrum: { server: null } });
  await network.pay({ address, valueSat: 22_000 });
  await network.electrum('first').start();
  await expect.poll(() => shop.attempts(address), untilReconnected).toEqual(['0:200']);
  await server.settled();
  await server.stop();
  await expectAgreement(stage);
});

test('the node dies while its Electrum server lives', async ({ stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  const [before = '', after = ''] = await stage.newAddresses(server, 2);
  await server.stop();

  // The Electrum server has the payment in its history; only the node has the transaction.
  const txid = await network.pay({ address: before, valueSat: 31_000 });
  await expect.poll(() => network.electrum('first').shows(before, txid)).toBe(true);
  await network.killNode();
  server = await stage.serve();
  await expect
    .poll(() => server.output())
    .toMatch(
      /"reason":"the server did not answer [a-z._]+ in time","message":"a history could not/,
    );
  expect(shop.received).toEqual([]);
  const [third = ''] = await stage.newAddresses(server, 1);

  await network.mend();
  await network.mine();
  await expect.poll(() => shop.attempts(before).at(-1)).toBe('1:200');
  await network.pay({ address: after, valueSat: 32_000 }, { address: third, valueSat: 33_000 });
  await expect
    .poll(() => [shop.attempts(after), shop.attempts(third)])
    .toEqual([['0:200'], ['0:200']]);
  await network.mine();
  await expect
    .poll(() => [before, after, third].map((address) => shop.attempts(address).at(-1)))
    .toEqual(['2:200', '1:200', '1:200']);
  await server.settled();
  await server.stop();
  // The first may get status 0, if the node's mempool is back before the block.
  expect(shop.attempts(before).filter((each) => each !== '0:200')).toEqual(['1:200', '2:200']);
  expect(shop.attempts(after)).toEqual(['0:200', '1:200']);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});
