// Payments as two Electrum servers report them: replacements, double spends, reorganisations, and
// payments while paygate was down. In turn each server is the watched one, and the other one is the
// cross-check. Each status is sent once and in order.

import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { eachServer } from './network.ts';
import { untilCheckedAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { test } from './stage.ts';

test.for(eachServer)(
  'a fee bump and a double spend, watched on the %s server',
  async (watched, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serveOnBoth(watched);
    const [bumped = '', stolen = ''] = await stage.newAddresses(server, 2);
    const original = await network.pay({ address: bumped, valueSat: 81_001 });
    const doomed = await network.pay({ address: stolen, valueSat: 82_002 });
    const expected = {
      [paymentKey(bumped, 81_001, original)]: '0',
      [paymentKey(stolen, 82_002, doomed)]: '0',
    };
    await expect.poll(() => shop.payments()).toEqual(expected);

    const replacement = await network.bumpFee(original);
    await network.doubleSpend(doomed);
    for (const status of ['0', '0 1', '0 1 2']) {
      if (status !== '0') await network.mine();
      expected[paymentKey(bumped, 81_001, replacement)] = status;
      await expect.poll(() => shop.payments()).toEqual(expected);
    }
    await expect
      .poll(() => server.gone(), untilCheckedAgain)
      .toEqual({ [original]: replacement, [doomed]: null });
    await server.settled();
    await server.stop();
    expect(shop.payments()).toEqual(expected);
    shop.verify(store.webhook_secret);
    await expectAgreement(stage);
  },
);

test.for(eachServer)(
  '1, 2 and 3 blocks are reorganised, watched on the %s server',
  async (watched, { stage }) => {
    const { network } = stage;
    const shop = await stage.openShop();
    const store = await stage.addStore('p2wpkh', shop.callbackUrl);
    const server = await stage.serveOnBoth(watched);
    const addresses = await stage.newAddresses(server, 4);
    const expected: Record<string, string> = {};

    /** Waits until the payment has these statuses, and the others are unchanged. */
    async function expectStatuses(key: string, statuses: string): Promise<void> {
      expected[key] = statuses;
      await expect.poll(() => shop.payments()).toEqual(expected);
    }

    for (const depth of [1, 2, 3]) {
      const [address = '', valueSat] = [addresses[depth], 83_000 + depth];
      const key = paymentKey(address, valueSat, await network.pay({ address, valueSat }));
      await expectStatuses(key, '0');
      const before = depth === 1 ? '0 1' : '0 1 2';
      for (let mined = 1; mined <= depth; mined += 1) {
        await network.mine();
        await expectStatuses(key, before.slice(0, 1 + 2 * mined));
      }
      await network.reorganise(depth, 'left out');
      await expectStatuses(key, `${before} 0`);
      await network.mine();
      await expectStatuses(key, `${before} 0 1`);
      await network.mine();
      await expectStatuses(key, `${before} 0 1 2`);
    }
    // The same transactions in other blocks: no new status.
    await network.reorganise(2, 'kept');

    // Back in the mempool, it is replaced there, and confirmed under another txid.
    const [address = ''] = addresses;
    const original = await network.pay({ address, valueSat: 84_004 });
    await expectStatuses(paymentKey(address, 84_004, original), '0');
    await network.mine();
    await expectStatuses(paymentKey(address, 84_004, original), '0 1');
    await network.reorganise(1, 'left out');
    await expectStatuses(paymentKey(address, 84_004, original), '0 1 0');
    const replacement = await network.bumpFee(original);
    for (const statuses of ['0', '0 1', '0 1 2']) {
      if (statuses !== '0') await network.mine();
      await expectStatuses(paymentKey(address, 84_004, replacement), statuses);
    }
    await expect.poll(() => server.gone(), untilCheckedAgain).toEqual({ [original]: replacement });
    await server.settled([
      '1 payment was reversed in the last 7 days after the shop received status 1 or 2; hold back the goods of those orders, or ask those customers to pay again',
    ]);
    await server.stop();
    expect(shop.payments()).toEqual(expected);
    shop.verify(store.webhook_secret, shop.received.length);
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

    const expected: Record<string, string> = {};
    for (const [index, address] of addresses.entries()) {
      const [valueSat, status] = [85_000 + index, 2 - Math.floor(index / 8)];
      let txid = await network.pay({ address, valueSat });
      if (index % 8 === 3) txid = await network.bumpFee(txid);
      expected[paymentKey(address, valueSat, txid)] = `${status}`;
      if (index === 7 || index === 15) await network.mine();
      if (index < 23) continue;
      for (const name of eachServer) {
        await expect.poll(() => network.electrum(name).shows(address, txid)).toBe(true);
      }
    }
    server = await stage.serveOnBoth(watched);
    await expect.poll(() => shop.payments()).toEqual(expected);
    await server.settled();
    await server.stop();
    expect(shop.payments()).toEqual(expected);
    shop.verify(store.webhook_secret);
    await expectAgreement(stage);
  },
);
