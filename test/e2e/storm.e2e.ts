// SIGKILL in the middle of work: callbacks are in flight, answers are not recorded yet, addresses
// are being issued, histories are being processed. Only the few callbacks in flight at a kill
// arrive twice, and with the same event id. No address is issued twice.

import { expect, vi } from 'vitest';
import { expectAgreement } from './agreement.ts';
import type { Server } from './paygate.ts';
import { test } from './stage.ts';

const paidCount = 12;
/** In each round paygate is killed when the shop has received this many callbacks of the round. */
const killsAt = [1, 4, 9];
/** The in-flight limit of one store. */
const maxInFlight = 2;

test('killed again and again, it delivers every callback in order and issues no address twice', async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const account = await stage.merchant.account('p2wpkh');
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  let server = await stage.serve();
  await server.settled();
  const paid = await stage.newAddresses(server, paidCount);
  const issued = [...paid];

  /** Requests addresses while paygate is killed: some get an address, some fail. */
  async function askForAddresses(from: Server): Promise<void> {
    const replies = await Promise.allSettled([1, 2, 3].map(() => stage.askAddress(from)));
    for (const reply of replies) {
      if (reply.status === 'fulfilled') issued.push(reply.value.body.address);
    }
  }

  async function round(status: number, begin: () => Promise<unknown>): Promise<void> {
    const before = shop.received.length;
    await begin();
    for (const count of killsAt) {
      await vi.waitUntil(() => shop.received.length >= before + count, {
        timeout: 30_000,
        interval: 1,
      });
      const asked = askForAddresses(server);
      await server.kill();
      await asked;
      server = await stage.serve();
    }
    await expect
      .poll(() => paid.filter((address) => shop.attempts(address).at(-1) !== `${status}:200`))
      .toEqual([]);
    await server.settled();
  }

  const payments = paid.map((address, index) => ({ address, valueSat: 60_000 + index }));
  await round(0, async () => {
    await network.pay(...payments.slice(0, paidCount / 2));
    await network.pay(...payments.slice(paidCount / 2));
  });
  await round(1, () => network.mine());
  await round(2, () => network.mine());
  const next = await stage.newAddresses(server, 3);
  await server.stop();

  for (const address of paid) {
    const statuses = shop.attempts(address).map((each) => each.slice(0, 1));
    expect([...new Set(statuses)].join()).toBe('0,1,2');
    expect(statuses).toEqual(statuses.toSorted());
  }
  const repeated = shop.received.length - 3 * paidCount;
  expect(repeated).toBeLessThanOrEqual(3 * killsAt.length * maxInFlight);
  shop.verify(store.webhook_secret);

  issued.push(...next);
  expect(new Set(issued).size).toBe(issued.length);
  const derived = await account.addresses(paidCount + 3 * 3 * killsAt.length + next.length);
  expect(issued.filter((address) => !derived.includes(address))).toEqual([]);
  await expectAgreement(stage);
});
