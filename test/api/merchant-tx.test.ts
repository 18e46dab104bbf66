// `merchant/tx` (wire §2).

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, merchantKey, openApp, openReady, untilReady } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

test('P-28 a client asks until the payment is known, and then follows it', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const path = `/api/merchant/tx?addr=${address}`;
  expect(await house.ask(path)).toMatchObject({ status: 404, body: { status: 404 } });
  const txid = house.pay(address, 30_000);
  await house.settle();
  const time = Math.floor(house.world.now() / 1000);
  const facts = { txid, addr: address, value: 30_000, time };
  const seen = { ...facts, status: 0, confirmations: 0, rbf: 1 };
  expect((await house.ask(path)).body).toEqual({ ...seen, txs: [seen] });
  house.chain.mine();
  await house.settle();
  const mined = { ...facts, status: 1, confirmations: 1 };
  expect((await house.ask(path)).body).toEqual({ ...mined, txs: [mined] });
  house.chain.mine();
  await house.settle();
  const byTxid = await house.ask(`/api/merchant/tx?txid=${txid.toUpperCase()}`);
  expect(byTxid.body).toMatchObject({ ...facts, status: 2, confirmations: 2 });
});

test('P-29 several payments to one address: the newest on top, all in the list', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const first = house.pay(address, 1_000);
  await house.settle();
  const second = house.pay(address, 2_000);
  await house.settle();
  const { body } = await house.ask(`/api/merchant/tx?addr=${address}`);
  expect(body.txid).toBe(second);
  expect(body.txs.map((each: { txid: string }) => each.txid)).toEqual([second, first]);
  const both = await house.ask(`/api/merchant/tx?addr=${address}&txid=${first}`);
  expect(both.body.txs).toHaveLength(1);
  expect(both.body.value).toBe(1_000);
});

test('a store finds its own among more payments of one transaction than are shown', async () => {
  const house = await openReady();
  const callbackUrl = 'https://second.example/paid';
  await house.addStore({ key: merchantKey(2), startIndex: 0, callbackUrl });
  const address = await house.newAddress('?match_callback=s3cr3t');
  const outputs = [{ address, valueSat: 1_000 }];
  while (outputs.length < 220) {
    const other = await house.newAddress('?match_callback=second.example');
    outputs.push({ address: other, valueSat: 2_000 });
  }
  // Addresses that are requested quickly are watched within a second.
  await house.world.advance(2_000);
  const txid = house.chain.pay(outputs);
  await house.settle();
  const secret = house.world.randomBytes(32);
  const key = await house.withStore(({ keys, database }) =>
    database.write((tx) =>
      keys.add(tx, house.world.now(), { storeId: 1, scope: 'payments', secret }),
    ),
  );
  const headers = { Authorization: `Bearer ${key}` };
  const { body } = await house.ask(`/api/merchant/tx?txid=${txid}`, { headers });
  expect(body).toMatchObject({ addr: address, value: 1_000, txs: [{ addr: address }] });
  expect((await house.ask(`/api/tx_detail?txid=${txid}`, { headers })).status).toBe(200);
  expect((await house.ask(`/api/merchant/tx?txid=${txid}`)).body.txs).toHaveLength(200);
});

test('P-30 a payment that was replaced says so', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const old = house.pay(address, 1_000);
  await house.settle();
  const fresh = house.chain.replace(old as Txid, [{ address, valueSat: 2_000 }]);
  await house.settle();
  const { body } = await house.ask(`/api/merchant/tx?txid=${old}`);
  expect(body).toMatchObject({ status: 0, dropped: true, replaced_by: fresh });
  expect(body).not.toHaveProperty('rbf');
});

test('P-30 of several addresses that it paid, each says so, also those that its replacement does not pay', async () => {
  const house = await openReady();
  const [kept, left] = [await house.newAddress(), await house.newAddress()];
  const txid = house.chain.pay([kept, left].map((address) => ({ address, valueSat: 4_000 })));
  await house.settle();
  const next = house.chain.replace(txid, [{ address: kept, valueSat: 5_000 }]);
  await house.outlastAbsence();
  const { body } = await house.ask(`/api/merchant/tx?txid=${txid}`);
  const gone = { txid, dropped: true, replaced_by: next };
  expect(body.txs).toMatchObject([
    { ...gone, addr: left },
    { ...gone, addr: kept },
  ]);
});

test('P-30 P-111 a payment whose replacement pays another address of ours says so', async () => {
  const house = await openReady();
  const [left, other] = [await house.newAddress(), await house.newAddress()];
  const old = house.pay(left, 4_000) as Txid;
  await house.settle();
  const next = house.chain.replace(old, [{ address: other, valueSat: 5_000 }]);
  await house.outlastAbsence();
  const { body } = await house.ask(`/api/merchant/tx?txid=${old}`);
  expect(body).toMatchObject({ addr: left, dropped: true, replaced_by: next });
  expect((await house.ask(`/api/merchant/tx?txid=${next}`)).body).not.toHaveProperty('replaced_by');
});

test('P-29 a payment that is gone stands behind one that is there: a miner took what the customer had replaced', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const old = house.pay(address, 1_000) as Txid;
  await house.settle();
  const fresh = house.chain.replace(old, [{ address, valueSat: 2_000 }]);
  await house.settle();
  house.chain.evict(fresh);
  house.chain.rebroadcast(old);
  house.chain.mine();
  await house.settle();
  const { body } = await house.ask(`/api/merchant/tx?addr=${address}`);
  expect(body).toMatchObject({ txid: old, status: 1, value: 1_000 });
  expect(body).not.toHaveProperty('dropped');
  expect(body.txs).toMatchObject([{ txid: fresh, dropped: true, replaced_by: old }, { txid: old }]);
});

test('a payment whose block has left the chain has no confirmations, whatever is mined on top of others', async () => {
  const house = await openReady();
  const address = await house.newAddress();
  const txid = house.pay(address, 1_000);
  house.chain.mine();
  await house.settle();
  const confirmations = async () =>
    (await house.ask(`/api/merchant/tx?txid=${txid}`)).body.confirmations;
  expect(await confirmations()).toBe(1);
  house.chain.reorganise(1, { transactions: 'drop' });
  await house.settle();
  house.chain.mine(3);
  await house.settle();
  // Only after half a minute it is certain that no server reports it.
  expect(await confirmations()).toBe(0);
  const visitor = await signedIn(house);
  const rows = (await visitor.get('/dashboard/payments/export')).text.split('\r\n');
  expect(rows[1]?.split(',').slice(6, 8)).toEqual(['confirming', '0']);
  const { text } = await visitor.get('/dashboard/payments/1');
  expect(text).not.toContain('2 confirmations');
  const receipt = await fetch(`http://127.0.0.1:${house.port}/api/tx?txid=${txid}&addr=${address}`);
  expect(await receipt.text()).toMatch(/Confirmations<\/th><td>0</);
});

test.each([
  ['neither', '', 400],
  ['a txid that is none', '?txid=abc', 400],
  ['an address that is none', '?addr=abc', 400],
  ['an unknown txid', `?txid=${'a'.repeat(64)}`, 404],
])('P-28 %s', async (_name, query, status) => {
  const house = await openReady();
  expect((await house.ask(`/api/merchant/tx${query}`)).status).toBe(status);
});

test('P-31 while its block has left the chain it counts as unconfirmed, as callbacks have it', async () => {
  const house = await openApp({ receiver: { answer: () => ({ status: 503 }) } });
  await untilReady(house);
  const address = await house.newAddress();
  const txid = house.pay(address, 50_000);
  house.chain.mine(2);
  await house.settle();
  const ask = async () => {
    const { body } = await house.ask(`/api/merchant/tx?addr=${address}`);
    const detail = await house.ask(`/api/tx_detail?txid=${txid}`);
    return [body.status, body.txs[0].status, detail.body.status];
  };
  expect(await ask()).toEqual([2, 2, 'Confirmed']);
  house.chain.reorganise(2, { transactions: 'drop' });
  await house.settle();
  expect(await ask()).toEqual([0, 0, 'Unconfirmed']);
});

test('P-41 tx_detail: a transaction of several stores is as far as all of them have it', async () => {
  const house = await openReady();
  const callbackUrl = `${house.receiver.origin}/second`;
  await house.addStore({ name: 'careful', callbackUrl, confirmations: 6 });
  const one = await house.newAddress('?match_callback=s3cr3t');
  const other = await house.newAddress('?match_callback=second');
  const txid = house.chain.pay([
    { address: one, valueSat: 5_000 },
    { address: other, valueSat: 6_000 },
  ]);
  house.chain.mine(3);
  await house.settle();
  const detail = async () => (await house.ask(`/api/tx_detail?txid=${txid}`)).body.status;
  expect(await detail()).toBe('Partially Confirmed');
  house.chain.mine(3);
  await house.settle();
  expect(await detail()).toBe('Confirmed');
});
