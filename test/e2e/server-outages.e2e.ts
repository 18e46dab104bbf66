// One of two Electrum servers fails: it hangs, dies, or the node under both restarts. paygate notices in
// time, goes on by the other one, and takes the lost one back; the shop notices nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { type ElectrumName, eachServer } from './network.ts';
import { untilLookedAtAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { type Stage, test } from './stage.ts';

/** A server that is silent for 30 s is asked whether it lives, and has 15 s to answer. */
const noticedWithinMs = 45_000;
const pausedMs = 60_000;
/** Of the test's own looking, on a busy machine: test/electrum holds the exact time. */
const slackMs = 3_000;
/** With the server that is missing, and why. */
const onlyOne =
  /^only one Electrum server is in use: no second server detects what it omits(; tcp:\S+ .+)?$/;

test('either server hangs for a minute, and is noticed within 45 s', { timeout: 300_000 }, async ({
  stage,
}) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth('first');
  const told: Record<string, string> = {};
  const gone: Record<string, string> = {};

  async function hang(name: ElectrumName, other: ElectrumName, valueSat: number): Promise<void> {
    expect((await server.health()).electrum.server).toBe(network.electrum(name).tcp);
    const [address = ''] = await stage.newAddresses(server, 1);
    network.electrum(name).pause();
    const pausedAt = performance.now();
    const original = await network.pay({ address, valueSat });
    await expect
      .poll(async () => (await server.health()).electrum.server, { timeout: pausedMs })
      .toBe(network.electrum(other).tcp);
    const noticedMs = performance.now() - pausedAt;
    process.stdout.write(`the ${name} server hung: noticed after ${Math.round(noticedMs)} ms\n`);
    expect(noticedMs).toBeLessThan(noticedWithinMs + slackMs);

    // The other one alone: its word is enough for a payment, not for the end of one.
    told[paymentKey(address, valueSat, original)] = '0';
    await expect.poll(() => shop.payments()).toEqual(told);
    await server.settled([expect.stringMatching(onlyOne)]);
    const replacement = await network.bumpFee(original);
    const key = paymentKey(address, valueSat, replacement);
    told[key] = '0';
    await expect.poll(() => shop.payments()).toEqual(told);
    await network.mine();
    told[key] = '0 1';
    await expect.poll(() => shop.payments()).toEqual(told);
    expect(server.gone()).toEqual(gone);
    await sleep(Math.max(0, pausedMs - (performance.now() - pausedAt)));

    // Both again.
    network.electrum(name).resume();
    await server.settled();
    await network.mine();
    told[key] = '0 1 2';
    await expect.poll(() => shop.payments()).toEqual(told);
    gone[original] = replacement;
    await expect.poll(() => server.gone(), untilLookedAtAgain).toEqual(gone);
  }

  await hang('first', 'second', 91_001);
  await hang('second', 'first', 92_002);
  await server.settled();
  await server.stop();
  expect(shop.payments()).toEqual(told);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

test('either server is killed and comes back', async ({ stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth('second');
  const told: Record<string, string> = {};

  async function kill(name: ElectrumName, valueSat: number): Promise<void> {
    expect((await server.health()).electrum.server).toBe(network.electrum(name).tcp);
    const [before = '', during = ''] = await stage.newAddresses(server, 2);
    const early = await pay(stage, before, valueSat);
    told[early] = '0';
    await expect.poll(() => shop.payments()).toEqual(told);
    await network.electrum(name).kill();
    const late = await pay(stage, during, valueSat);
    told[late] = '0';
    await expect.poll(() => shop.payments()).toEqual(told);
    for (const statuses of ['0 1', '0 1 2']) {
      await network.mine();
      told[early] = statuses;
      told[late] = statuses;
      await expect.poll(() => shop.payments()).toEqual(told);
    }
    await network.electrum(name).start();
    await server.settled();
  }

  await kill('second', 93_003);
  await kill('first', 94_004);
  await server.stop();
  expect(shop.payments()).toEqual(told);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

test.for(eachServer)('the node restarts, watched on the %s server', async (watched, { stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth(watched);
  const [before = '', after = ''] = await stage.newAddresses(server, 2);
  const told: Record<string, string> = {};

  const early = await pay(stage, before, 95_005);
  told[early] = '0';
  await expect.poll(() => shop.payments()).toEqual(told);
  await network.restartNode();
  await network.mine();
  told[early] = '0 1';
  await expect.poll(() => shop.payments()).toEqual(told);
  const late = await pay(stage, after, 96_006);
  told[late] = '0';
  await expect.poll(() => shop.payments()).toEqual(told);
  await network.mine();
  told[early] = '0 1 2';
  told[late] = '0 1';
  await expect.poll(() => shop.payments()).toEqual(told);
  await server.settled();
  await server.stop();
  expect(shop.payments()).toEqual(told);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

/** Answers the key of the payment. */
async function pay({ network }: Stage, address: string, valueSat: number): Promise<string> {
  return paymentKey(address, valueSat, await network.pay({ address, valueSat }));
}
