// /readyz: 503 with the reason while no address can be issued, or no callback is sent.

import { afterEach, expect, test } from 'vitest';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { createReadiness } from '../../src/status/readiness.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';

afterEach(closeApps);

const minuteMs = 60_000;
const ready = { status: 200, ready: true, reasons: [] };

async function readiness(app: TestApp) {
  const { status, body, headers } = await app.ask('/readyz');
  expect(headers.get('cache-control')).toBe('no-store');
  return { status, ...body };
}

test('not before a wallet is scanned; a second one that waits does not delay it', async () => {
  // No server listens there.
  const electrum = [parseServerAddress('tcp://127.0.0.1:1')];
  const app = await openApp({ config: { electrum } });
  expect(await readiness(app)).toEqual({
    status: 503,
    ready: false,
    reasons: ['no address is issued: every wallet waits for a scan of the chain'],
  });
  await app.addStore({ key: merchantKey(2), startIndex: 0 });
  expect(await readiness(app)).toEqual(ready);
  expect((await app.ask('/healthz')).body.status).toBe('degraded');
});

test('not while all shops with pending callbacks are unreachable', async () => {
  const shop = await startReceiver();
  const app = await openApp({ store: { callbackUrl: `${shop.origin}/cb?secret=s3cr3t` } });
  await untilReady(app);
  expect(await readiness(app)).toEqual(ready);
  const { port } = shop;
  await shop.close();
  app.pay(await app.newAddress(), 5_000);
  await app.settle();
  for (let failures = 1; failures < 6; failures += 1) {
    await app.world.advance(minuteMs);
    await app.settle();
  }
  const reasons = [
    'callbacks are not sent: none of the shops with pending callbacks can be reached',
  ];
  expect(await readiness(app)).toEqual({ status: 503, ready: false, reasons });

  const back = await startReceiver({ port });
  await app.world.advance(10 * minuteMs);
  await app.settle();
  expect(back.requests).toHaveLength(1);
  expect(await readiness(app)).toEqual(ready);
  await back.close();
});

test('not while a server omits the transaction that its history names', async () => {
  const app = await openApp();
  await untilReady(app);
  const when = (method: string) => method === 'blockchain.transaction.get';
  const end = app.server.inject({ kind: 'error', code: 2, message: 'no txindex', when });
  const address = await app.newAddress();
  app.pay(address, 5_000);
  await app.settle();
  // It may appear a moment later.
  expect(await readiness(app)).toEqual(ready);
  await app.world.advance(minuteMs);
  await app.settle();
  const fault = 'the server refused blockchain.transaction.get: no txindex (2)';
  const reasons = [`payments are not reported to shops: ${app.labels[0]}: ${fault}`];
  expect(await readiness(app)).toEqual({ status: 503, ready: false, reasons });
  expect(app.world.logs).toContainEqual({
    level: 'warn',
    message: 'a transaction that a history names is not shown',
    fields: expect.objectContaining({ server: app.labels[0], reason: fault }),
  });
  end();
  await app.world.advance(minuteMs);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
  expect(await readiness(app)).toEqual(ready);
  expect((await app.ask('/healthz')).body.warnings).toEqual([]);
});

test('not on a full disk, nor while the queue fails', () => {
  const parts = {
    records: { catalog: { wallets: () => [] } },
    hasRoom: () => false,
    refused: () => 'the database cannot be written: its disk is mounted read-only (EROFS)',
    displaced: () => undefined,
    overwritten: () => undefined,
    watcher: { status: () => ({ failures: [] }) },
    channels: [{ noun: 'callback' as const, dispatcher: { stallReason: () => 'the queue fails' } }],
  };
  expect(createReadiness(parts)()).toEqual({
    ready: false,
    reasons: [
      'no address is issued: the disk is almost full',
      'no address is issued: the database cannot be written: its disk is mounted read-only (EROFS)',
      'callbacks are not sent: the queue fails',
    ],
  });
});
