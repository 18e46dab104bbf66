// One Electrum server alone. A payment that the server omits is gone only after its node has not
// reported the payment for a while either.

import { expect } from 'vitest';
import { eachServer } from './network.ts';
import { untilCheckedAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { test } from './stage.ts';

test.for(eachServer)(
  'a double spend before and after the first confirmation, with the %s server alone',
  async (only, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serve('--electrum', network.electrum(only).tcp);
    await server.settled();
    const [first = '', second = ''] = await stage.newAddresses(server, 2);
    const waiting = await network.pay({ address: first, valueSat: 86_001 });
    const mined = await network.pay({ address: second, valueSat: 86_002 });
    const expected = {
      [paymentKey(first, 86_001, waiting)]: '0',
      [paymentKey(second, 86_002, mined)]: '0',
    };
    await expect.poll(() => shop.payments()).toEqual(expected);
    await network.doubleSpend(waiting);
    await network.mine();
    expected[paymentKey(second, 86_002, mined)] = '0 1';
    await expect.poll(() => shop.payments()).toEqual(expected);

    await network.reorganise(1, 'left out');
    expected[paymentKey(second, 86_002, mined)] = '0 1 0';
    await expect.poll(() => shop.payments()).toEqual(expected);
    // The node stores the orphaned block, and still returns the transaction from it.
    await network.doubleSpend(mined);
    await network.mine();
    await expect
      .poll(() => server.gone(), untilCheckedAgain)
      .toEqual({ [waiting]: null, [mined]: null });
    await server.settled([
      '1 payment was reversed in the last 7 days after the shop received status 1 or 2; hold back the goods of those orders, or ask those customers to pay again',
    ]);
    await server.stop();
    expect(shop.payments()).toEqual(expected);
    shop.verify(store.webhook_secret, shop.received.length);
  },
);
