// One of two Electrum servers hangs or dies, or the node of both restarts. paygate detects it in
// time, uses the other server, and reconnects later. The shop's callbacks are the same as ever.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { expectAgreement } from './agreement.ts';
import { type ElectrumName, eachServer } from './network.ts';
import { untilCheckedAgain } from './paygate.ts';
import { paymentKey } from './shop.ts';
import { type Stage, test } from './stage.ts';

/** paygate pings a server that has sent nothing for 30 s, and waits 15 s for the response. */
const detectedWithinMs = 45_000;
const pausedMs = 60_000;
/** The test's own delay on a busy machine; test/electrum checks the exact time. */
const slackMs = 3_000;
/** The warning, which may name the missing server and the reason. */
const onlyOne =
  /^only one Electrum server is in use: no second server detects what it omits(; tcp:\S+ .+)?$/;

test('either server hangs for a minute, which is detected within 45 s', {
  timeout: 300_000,
}, async ({ stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth('first');
  const expected: Record<string, string> = {};
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
    const detectedMs = performance.now() - pausedAt;
    process.stdout.write(`the ${name} server hung: detected after ${Math.round(detectedMs)} ms\n`);
    expect(detectedMs).toBeLessThan(detectedWithinMs + slackMs);

    // One server alone can report a new payment, but cannot declare a payment gone.
    expected[paymentKey(address, valueSat, original)] = '0';
    await expect.poll(() => shop.payments()).toEqual(expected);
    await server.settled([expect.stringMatching(onlyOne)]);
    const replacement = await network.bumpFee(original);
    const key = paymentKey(address, valueSat, replacement);
    expected[key] = '0';
    await expect.poll(() => shop.payments()).toEqual(expected);
    await network.mine();
    expected[key] = '0 1';
    await expect.poll(() => shop.payments()).toEqual(expected);
    expect(server.gone()).toEqual(gone);
    await sleep(Math.max(0, pausedMs - (performance.now() - pausedAt)));

    // Both servers again.
    network.electrum(name).resume();
    await server.settled();
    await network.mine();
    expected[key] = '0 1 2';
    await expect.poll(() => shop.payments()).toEqual(expected);
    gone[original] = replacement;
    await expect.poll(() => server.gone(), untilCheckedAgain).toEqual(gone);
  }

  await hang('first', 'second', 91_001);
  await hang('second', 'first', 92_002);
  await server.settled();
  await server.stop();
  expect(shop.payments()).toEqual(expected);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

test('either server is killed and comes back', async ({ stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth('second');
  const expected: Record<string, string> = {};

  async function kill(name: ElectrumName, valueSat: number): Promise<void> {
    expect((await server.health()).electrum.server).toBe(network.electrum(name).tcp);
    const [before = '', during = ''] = await stage.newAddresses(server, 2);
    const early = await pay(stage, before, valueSat);
    expected[early] = '0';
    await expect.poll(() => shop.payments()).toEqual(expected);
    await network.electrum(name).kill();
    const late = await pay(stage, during, valueSat);
    expected[late] = '0';
    await expect.poll(() => shop.payments()).toEqual(expected);
    for (const statuses of ['0 1', '0 1 2']) {
      await network.mine();
      expected[early] = statuses;
      expected[late] = statuses;
      await expect.poll(() => shop.payments()).toEqual(expected);
    }
    await network.electrum(name).start();
    await server.settled();
  }

  await kill('second', 93_003);
  await kill('first', 94_004);
  await server.stop();
  expect(shop.payments()).toEqual(expected);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

test.for(eachServer)('the node restarts, watched on the %s server', async (watched, { stage }) => {
  const { network } = stage;
  const shop = await stage.openShop();
  const store = await stage.addStore('p2wpkh', shop.callbackUrl);
  const server = await stage.serveOnBoth(watched);
  const [before = '', after = ''] = await stage.newAddresses(server, 2);
  const expected: Record<string, string> = {};

  const early = await pay(stage, before, 95_005);
  expected[early] = '0';
  await expect.poll(() => shop.payments()).toEqual(expected);
  await network.restartNode();
  await network.mine();
  expected[early] = '0 1';
  await expect.poll(() => shop.payments()).toEqual(expected);
  const late = await pay(stage, after, 96_006);
  expected[late] = '0';
  await expect.poll(() => shop.payments()).toEqual(expected);
  await network.mine();
  expected[early] = '0 1 2';
  expected[late] = '0 1';
  await expect.poll(() => shop.payments()).toEqual(expected);
  await server.settled();
  await server.stop();
  expect(shop.payments()).toEqual(expected);
  shop.verify(store.webhook_secret);
  await expectAgreement(stage);
});

/** Returns the key of the payment. */
async function pay({ network }: Stage, address: string, valueSat: number): Promise<string> {
  return paymentKey(address, valueSat, await network.pay({ address, valueSat }));
}
