// What the simulation (or a look at why it passed) has found, each as small as it gets.

import { afterEach, expect, test } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { readBooks } from './invariants.ts';

afterEach(closeApps);

test('a false proof of the second voice bans that server, not the one that is watched', async () => {
  const house = await openApp({ servers: 2 });
  await untilReady(house);
  const watched = house.inUse();
  const second = house.servers.findIndex((server) => server !== watched);
  const address = await house.newAddress();
  house.chain.pay([{ address, valueSat: 9_000 }]);
  const [{ txid } = { txid: '' as Txid }] = house.chain.mempool();
  watched.inject({ kind: 'omit', txids: [txid], deny: true });
  house.servers[second]?.inject({ kind: 'lie', about: 'merkle' });
  house.chain.mine();
  await house.settle();
  // The sweep finds what the watched server keeps to itself.
  for (let minute = 0; minute < 11; minute += 1) {
    await house.world.advance(60_000);
    await house.settle();
  }
  const banned = house.world.logs.flatMap(({ message, fields }) =>
    message === 'electrum server banned' ? [house.labels.indexOf(String(fields.server))] : [],
  );
  expect(banned).toContain(second);
  expect(banned).not.toContain(house.servers.indexOf(watched));
  expect(house.inUse()).toBe(watched);
  expect(house.callbacks()).toEqual([]);
});

const stateOf = (house: TestApp, wanted: Txid): string | undefined =>
  readBooks(house.path).payments.find(({ txid }) => txid === wanted)?.state;

test('a payment seen in a half-told history is not forgotten when the old status comes back', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  const early = house.pay(address, 10_000) as Txid;
  await house.settle();
  const truth = house.server.inject({ kind: 'omit', txids: [early] });
  const late = house.pay(address, 20_000) as Txid;
  await house.settle();
  expect(stateOf(house, late)).toBe('unconfirmed');
  truth();
  house.chain.evict(late);
  await house.settle();
  await house.world.advance(61_000);
  await house.settle();
  expect([stateOf(house, early), stateOf(house, late)]).toEqual(['unconfirmed', 'dropped']);
});

test('silence that nobody could explain is asked about until somebody can', async () => {
  const house = await openApp({ servers: 2 });
  await untilReady(house);
  const watched = house.inUse();
  const second = house.servers.find((server) => server !== watched);
  const txid = house.pay(await house.newAddress(), 10_000) as Txid;
  house.chain.mine();
  await house.settle();
  const refusal = second?.inject({ kind: 'refuse' });
  second?.disconnectAll();
  await house.world.turn();
  // The history without the payment comes before the headers that explain it.
  watched.inject({ kind: 'lag', blocks: 2 });
  house.chain.reorganise(1, { transactions: 'drop' });
  await house.settle();
  house.chain.mine(2);
  await house.settle();
  expect(stateOf(house, txid)).toBe('confirming');
  refusal?.();
  for (let minute = 0; minute < 3; minute += 1) {
    await house.world.advance(60_000);
    await house.settle();
  }
  expect(stateOf(house, txid)).toBe('dropped');
});

test('a status that was told before its history is asked about again, for nothing more is told of it', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  // A minute's share of the round, newest first, must not come to it.
  for (let newer = 0; newer < 20; newer += 1) await house.newAddress();
  const txid = house.pay(address, 10_000) as Txid;
  // The notification is on its way; the history that it announces is not to be had yet.
  const truth = house.server.inject({ kind: 'omit', txids: [txid] });
  await house.settle();
  truth();
  await house.settle();
  expect(stateOf(house, txid)).toBeUndefined();
  await house.world.advance(61_000);
  await house.settle();
  expect(stateOf(house, txid)).toBe('unconfirmed');
});

test('a coinbase that left with its block was replaced by no other coinbase of its address', async () => {
  const house = await openApp();
  await untilReady(house);
  const address = await house.newAddress();
  const to = addressToScript(address, networks.regtest);
  house.chain.mine(2, { to });
  await house.settle();
  const gone = house.chain.tip.txids[0] as Txid;
  house.chain.reorganise(1, { transactions: 'mempool' });
  await house.settle();
  // All of them spend the same: nothing.
  expect(stateOf(house, gone)).toBe('confirming');
  await house.outlastAbsence();
  const { body } = await house.ask(`/api/merchant/tx?addr=${address}&txid=${gone}`);
  expect(body).toMatchObject({ dropped: true, confirmations: 0 });
  expect(body).not.toHaveProperty('replaced_by');
});
