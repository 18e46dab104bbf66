// One Electrum server alone: what it leaves out is gone only when it and its node say so, for a while.

import { expect } from 'vitest';
import { eachServer } from './network.ts';
import { untilLookedAtAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { test } from './stage.ts';

test.for(eachServer)(
  'a coin is spent twice, before and after it was in a block, and the %s server is the only one',
  async (only, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serve('--electrum', network.electrum(only).tcp);
    await server.settled();
    const [first = '', second = ''] = await stage.newAddresses(server, 2);
    const waiting = await network.pay({ address: first, valueSat: 86_001 });
    const mined = await network.pay({ address: second, valueSat: 86_002 });
    const told = {
      [paymentKey(first, 86_001, waiting)]: '0',
      [paymentKey(second, 86_002, mined)]: '0',
    };
    await expect.poll(() => shop.payments()).toEqual(told);
    await network.doubleSpend(waiting);
    await network.mine();
    told[paymentKey(second, 86_002, mined)] = '0 1';
    await expect.poll(() => shop.payments()).toEqual(told);

    await network.reorganise(1, 'left out');
    told[paymentKey(second, 86_002, mined)] = '0 1 0';
    await expect.poll(() => shop.payments()).toEqual(told);
    // The node keeps the block that left, and finds the transaction in it whenever it is asked.
    await network.doubleSpend(mined);
    await network.mine();
    await expect
      .poll(() => server.gone(), untilLookedAtAgain)
      .toEqual({ [waiting]: null, [mined]: null });
    await server.settled([
      '1 payment(s) were reversed in the last 7 days after the shop received status 1 or 2; hold back the goods of those orders, or ask those customers to pay again',
    ]);
    await server.stop();
    expect(shop.payments()).toEqual(told);
    shop.verify(store.webhook_secret, shop.told.length);
  },
);
