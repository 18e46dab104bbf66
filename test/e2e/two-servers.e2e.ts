// What the chain does to payments, as two servers tell of it, each of them once the one that is watched
// and once the second voice: replacements, double spends, blocks taken back, payments while paygate was
// down. Everything is told once and in order.

import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { eachServer } from './network.ts';
import { untilLookedAtAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { test } from './stage.ts';

test.for(eachServer)(
  'a fee is bumped and a coin spent twice, watched on the %s server',
  async (watched, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serveOnBoth(watched);
    const [bumped = '', stolen = ''] = await stage.newAddresses(server, 2);
    const original = await network.pay({ address: bumped, valueSat: 81_001 });
    const doomed = await network.pay({ address: stolen, valueSat: 82_002 });
    const told = {
      [paymentKey(bumped, 81_001, original)]: '0',
      [paymentKey(stolen, 82_002, doomed)]: '0',
    };
    await expect.poll(() => shop.payments()).toEqual(told);

    const replacement = await network.bumpFee(original);
    await network.doubleSpend(doomed);
    for (const status of ['0', '0 1', '0 1 2']) {
      if (status !== '0') await network.mine();
      told[paymentKey(bumped, 81_001, replacement)] = status;
      await expect.poll(() => shop.payments()).toEqual(told);
    }
    await expect
      .poll(() => server.gone(), untilLookedAtAgain)
      .toEqual({ [original]: replacement, [doomed]: null });
    await server.settled();
    await server.stop();
    expect(shop.payments()).toEqual(told);
    shop.verify(store.webhook_secret);
    await expectAgreement(stage);
  },
);

test.for(eachServer)(
  '1, 2 and 3 blocks are taken back, watched on the %s server',
  async (watched, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serveOnBoth(watched);
    const addresses = await stage.newAddresses(server, 4);
    const told: Record<string, string> = {};

    /** Waits until this is told of a payment, and nothing else of any other. */
    async function expectTold(key: string, statuses: string): Promise<void> {
      told[key] = statuses;
      await expect.poll(() => shop.payments()).toEqual(told);
    }

    for (const depth of [1, 2, 3]) {
      const [address = '', valueSat] = [addresses[depth], 83_000 + depth];
      const key = paymentKey(address, valueSat, await network.pay({ address, valueSat }));
      await expectTold(key, '0');
      const before = depth === 1 ? '0 1' : '0 1 2';
      for (let mined = 1; mined <= depth; mined += 1) {
        await network.mine();
        await expectTold(key, before.slice(0, 1 + 2 * mined));
      }
      await network.reorganise(depth, 'left out');
      await expectTold(key, `${before} 0`);
      await network.mine();
      await expectTold(key, `${before} 0 1`);
      await network.mine();
      await expectTold(key, `${before} 0 1 2`);
    }
    // The same transactions in other blocks: nothing to tell.
    await network.reorganise(2, 'kept');

    // Back in the mempool, it is replaced there, and confirmed under another txid.
    const [address = ''] = addresses;
    const original = await network.pay({ address, valueSat: 84_004 });
    await expectTold(paymentKey(address, 84_004, original), '0');
    await network.mine();
    await expectTold(paymentKey(address, 84_004, original), '0 1');
    await network.reorganise(1, 'left out');
    await expectTold(paymentKey(address, 84_004, original), '0 1 0');
    const replacement = await network.bumpFee(original);
    for (const statuses of ['0', '0 1', '0 1 2']) {
      if (statuses !== '0') await network.mine();
      await expectTold(paymentKey(address, 84_004, replacement), statuses);
    }
    await expect.poll(() => server.gone(), untilLookedAtAgain).toEqual({ [original]: replacement });
    await server.settled([
      '1 payment(s) were reversed in the last 7 days after the shop received status 1 or 2; hold back the goods of those orders, or ask those customers to pay again',
    ]);
    await server.stop();
    expect(shop.payments()).toEqual(told);
    shop.verify(store.webhook_secret, shop.told.length);
    await expectAgreement(stage);
  },
);

test.for(eachServer)(
  '24 payments while paygate is down, found on the %s server',
  async (watched, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2tr', shop.callbackUrl);
    let server = await stage.serveOnBoth(watched);
    const addresses = await stage.newAddresses(server, 24);
    await server.stop();

    const told: Record<string, string> = {};
    for (const [index, address] of addresses.entries()) {
      const [valueSat, status] = [85_000 + index, 2 - Math.floor(index / 8)];
      let txid = await network.pay({ address, valueSat });
      if (index % 8 === 3) txid = await network.bumpFee(txid);
      told[paymentKey(address, valueSat, txid)] = `${status}`;
      if (index === 7 || index === 15) await network.mine();
      if (index < 23) continue;
      for (const name of eachServer) {
        await expect.poll(() => network.electrum(name).shows(address, txid)).toBe(true);
      }
    }
    server = await stage.serveOnBoth(watched);
    await expect.poll(() => shop.payments()).toEqual(told);
    await server.settled();
    await server.stop();
    expect(shop.payments()).toEqual(told);
    shop.verify(store.webhook_secret);
    await expectAgreement(stage);
  },
);
