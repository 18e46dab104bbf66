// `merchant/tx` (wire §2).

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { closeApps, merchantKey, openApp, openReady, untilReady } from '../../support/app.ts';
import { signedIn } from '../../support/visitor.ts';

afterEach(closeApps);

test('P-28 a client asks until the payment is known, and then follows it', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const path = `/api/merchant/tx?addr=${address}`;
  expect(await app.ask(path)).toMatchObject({ status: 404, body: { status: 404 } });
  const txid = app.pay(address, 30_000);
  await app.settle();
  const time = Math.floor(app.world.now() / 1000);
  const facts = { txid, addr: address, value: 30_000, time };
  const seen = { ...facts, status: 0, confirmations: 0, rbf: 1 };
  expect((await app.ask(path)).body).toEqual({ ...seen, txs: [seen] });
  app.chain.mine();
  await app.settle();
  const mined = { ...facts, status: 1, confirmations: 1 };
  expect((await app.ask(path)).body).toEqual({ ...mined, txs: [mined] });
  app.chain.mine();
  await app.settle();
  const byTxid = await app.ask(`/api/merchant/tx?txid=${txid.toUpperCase()}`);
  expect(byTxid.body).toMatchObject({ ...facts, status: 2, confirmations: 2 });
});

test('P-29 several payments to one address: the newest on top, all in the list', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const first = app.pay(address, 1_000);
  await app.settle();
  const second = app.pay(address, 2_000);
  await app.settle();
  const { body } = await app.ask(`/api/merchant/tx?addr=${address}`);
  expect(body.txid).toBe(second);
  expect(body.txs.map((each: { txid: string }) => each.txid)).toEqual([second, first]);
  const both = await app.ask(`/api/merchant/tx?addr=${address}&txid=${first}`);
  expect(both.body.txs).toHaveLength(1);
  expect(both.body.value).toBe(1_000);
});

test('a store finds its own among more payments of one transaction than are shown', async () => {
  const app = await openReady();
  const callbackUrl = 'https://second.example/paid';
  await app.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl });
  const address = await app.newAddress('?match_callback=s3cr3t');
  const outputs = [{ address, valueSat: 1_000 }];
  while (outputs.length < 220) {
    const other = await app.newAddress('?match_callback=second.example');
    outputs.push({ address: other, valueSat: 2_000 });
  }
  // Addresses that are requested quickly are watched within a second.
  await app.world.advance(2_000);
  const txid = app.chain.pay(outputs);
  await app.settle();
  const secret = app.world.randomBytes(32);
  const key = await app.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, app.world.now(), { storeId: 1, scope: 'payments', secret }),
    ),
  );
  const headers = { Authorization: `Bearer ${key}` };
  const { body } = await app.ask(`/api/merchant/tx?txid=${txid}`, { headers });
  expect(body).toMatchObject({ addr: address, value: 1_000, txs: [{ addr: address }] });
  expect((await app.ask(`/api/tx_detail?txid=${txid}`, { headers })).status).toBe(200);
  expect((await app.ask(`/api/merchant/tx?txid=${txid}`)).body.txs).toHaveLength(200);
});

test('P-30 a replaced payment names its replacement', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const old = app.pay(address, 1_000);
  await app.settle();
  const fresh = app.chain.replace(old as Txid, [{ address, valueSat: 2_000 }]);
  await app.settle();
  const { body } = await app.ask(`/api/merchant/tx?txid=${old}`);
  expect(body).toMatchObject({ status: 0, dropped: true, replaced_by: fresh });
  expect(body).not.toHaveProperty('rbf');
});

test('P-30 each address of a replaced transaction names the replacement, also if that does not pay it', async () => {
  const app = await openReady();
  const [kept, left] = [await app.newAddress(), await app.newAddress()];
  const txid = app.chain.pay([kept, left].map((address) => ({ address, valueSat: 4_000 })));
  await app.settle();
  const next = app.chain.replace(txid, [{ address: kept, valueSat: 5_000 }]);
  await app.outlastAbsence();
  const { body } = await app.ask(`/api/merchant/tx?txid=${txid}`);
  const gone = { txid, dropped: true, replaced_by: next };
  expect(body.txs).toMatchObject([
    { ...gone, addr: left },
    { ...gone, addr: kept },
  ]);
});

test('P-30 P-111 a payment names its replacement that pays another address of ours', async () => {
  const app = await openReady();
  const [left, other] = [await app.newAddress(), await app.newAddress()];
  const old = app.pay(left, 4_000) as Txid;
  await app.settle();
  const next = app.chain.replace(old, [{ address: other, valueSat: 5_000 }]);
  await app.outlastAbsence();
  const { body } = await app.ask(`/api/merchant/tx?txid=${old}`);
  expect(body).toMatchObject({ addr: left, dropped: true, replaced_by: next });
  expect((await app.ask(`/api/merchant/tx?txid=${next}`)).body).not.toHaveProperty('replaced_by');
});

test('P-29 a gone payment is listed after a valid one, also if the replaced transaction was mined', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const old = app.pay(address, 1_000) as Txid;
  await app.settle();
  const fresh = app.chain.replace(old, [{ address, valueSat: 2_000 }]);
  await app.settle();
  app.chain.evict(fresh);
  app.chain.rebroadcast(old);
  app.chain.mine();
  await app.settle();
  const { body } = await app.ask(`/api/merchant/tx?addr=${address}`);
  expect(body).toMatchObject({ txid: old, status: 1, value: 1_000 });
  expect(body).not.toHaveProperty('dropped');
  expect(body.txs).toMatchObject([{ txid: fresh, dropped: true, replaced_by: old }, { txid: old }]);
});

test('a payment whose block has left the chain has no confirmations, whatever is mined on top of others', async () => {
  const app = await openReady();
  const address = await app.newAddress();
  const txid = app.pay(address, 1_000);
  app.chain.mine();
  await app.settle();
  const confirmations = async () =>
    (await app.ask(`/api/merchant/tx?txid=${txid}`)).body.confirmations;
  expect(await confirmations()).toBe(1);
  app.chain.reorganise(1, { transactions: 'drop' });
  await app.settle();
  app.chain.mine(3);
  await app.settle();
  // Only after half a minute it is certain that no server reports it.
  expect(await confirmations()).toBe(0);
  const visitor = await signedIn(app);
  const rows = (await visitor.get('/dashboard/payments/export')).text.split('\r\n');
  expect(rows[1]?.split(',').slice(6, 8)).toEqual(['confirming', '0']);
  const { text } = await visitor.get('/dashboard/payments/1');
  expect(text).not.toContain('2 confirmations');
  const receipt = await fetch(`http://127.0.0.1:${app.port}/api/tx?txid=${txid}&addr=${address}`);
  expect(await receipt.text()).toMatch(/Confirmations<\/dt><dd>0</);
});

test.each([
  ['neither', '', 400],
  ['a txid that is none', '?txid=abc', 400],
  ['an address that is none', '?addr=abc', 400],
  ['an unknown txid', `?txid=${'a'.repeat(64)}`, 404],
])('P-28 %s', async (_name, query, status) => {
  const app = await openReady();
  expect((await app.ask(`/api/merchant/tx${query}`)).status).toBe(status);
});

test('P-31 while its block is off the chain a payment is unconfirmed, as in callbacks', async () => {
  const app = await openApp({ receiver: { answer: () => ({ status: 503 }) } });
  await untilReady(app);
  const address = await app.newAddress();
  const txid = app.pay(address, 50_000);
  app.chain.mine(2);
  await app.settle();
  const ask = async () => {
    const { body } = await app.ask(`/api/merchant/tx?addr=${address}`);
    const detail = await app.ask(`/api/tx_detail?txid=${txid}`);
    return [body.status, body.txs[0].status, detail.body.status];
  };
  expect(await ask()).toEqual([2, 2, 'Confirmed']);
  app.chain.reorganise(2, { transactions: 'drop' });
  await app.settle();
  expect(await ask()).toEqual([0, 0, 'Unconfirmed']);
});

test('P-41 tx_detail: a transaction of several stores has the lowest of their statuses', async () => {
  const app = await openReady();
  const callbackUrl = `${app.receiver.origin}/second`;
  await app.addStore({ name: 'careful', callbackUrl, confirmations: 6 });
  const one = await app.newAddress('?match_callback=s3cr3t');
  const other = await app.newAddress('?match_callback=second');
  const txid = app.chain.pay([
    { address: one, valueSat: 5_000 },
    { address: other, valueSat: 6_000 },
  ]);
  app.chain.mine(3);
  await app.settle();
  const detail = async () => (await app.ask(`/api/tx_detail?txid=${txid}`)).body.status;
  expect(await detail()).toBe('Partially Confirmed');
  app.chain.mine(3);
  await app.settle();
  expect(await detail()).toBe('Confirmed');
});
