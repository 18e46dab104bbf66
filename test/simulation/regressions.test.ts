// Faults that the simulation or its review found, each reduced to a minimal test.

import { afterEach, expect, test } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { readRecords } from './invariants.ts';

afterEach(closeApps);

test('a false proof from the cross-checking server bans that server, not the watched one', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  const watched = app.inUse();
  const second = app.servers.findIndex((server) => server !== watched);
  const address = await app.newAddress();
  app.chain.pay([{ address, valueSat: 9_000 }]);
  const [{ txid } = { txid: '' as Txid }] = app.chain.mempool();
  watched.inject({ kind: 'omit', txids: [txid], deny: true });
  app.servers[second]?.inject({ kind: 'lie', about: 'merkle' });
  app.chain.mine();
  await app.settle();
  // The sweep finds the payment that the watched server omits.
  for (let minute = 0; minute < 11; minute += 1) {
    await app.world.advance(60_000);
    await app.settle();
  }
  const banned = app.world.logs.flatMap(({ message, fields }) =>
    message === 'electrum server banned' ? [app.labels.indexOf(String(fields.server))] : [],
  );
  expect(banned).toContain(second);
  expect(banned).not.toContain(app.servers.indexOf(watched));
  expect(app.inUse()).toBe(watched);
  expect(app.callbacks()).toEqual([]);
});

const stateOf = (app: TestApp, wanted: Txid): string | undefined =>
  readRecords(app.path).payments.find(({ txid }) => txid === wanted)?.state;

test('a payment from an incomplete history is dropped if the previous status returns', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  const early = app.pay(address, 10_000) as Txid;
  await app.settle();
  const truth = app.server.inject({ kind: 'omit', txids: [early] });
  const late = app.pay(address, 20_000) as Txid;
  await app.settle();
  expect(stateOf(app, late)).toBe('unconfirmed');
  truth();
  app.chain.evict(late);
  await app.settle();
  await app.world.advance(61_000);
  await app.settle();
  expect([stateOf(app, early), stateOf(app, late)]).toEqual(['unconfirmed', 'dropped']);
});

test('an unexplained absence is checked again until a server explains it', async () => {
  const app = await openApp({ servers: 2 });
  await untilReady(app);
  const watched = app.inUse();
  const second = app.servers.find((server) => server !== watched);
  const txid = app.pay(await app.newAddress(), 10_000) as Txid;
  app.chain.mine();
  await app.settle();
  const refusal = second?.inject({ kind: 'refuse' });
  second?.disconnectAll();
  await app.world.turn();
  // The history without the payment comes before the headers that explain it.
  watched.inject({ kind: 'lag', blocks: 2 });
  app.chain.reorganise(1, { transactions: 'drop' });
  await app.settle();
  app.chain.mine(2);
  await app.settle();
  expect(stateOf(app, txid)).toBe('confirming');
  refusal?.();
  for (let minute = 0; minute < 3; minute += 1) {
    await app.world.advance(60_000);
    await app.settle();
  }
  expect(stateOf(app, txid)).toBe('dropped');
});

test('a history that is older than its notified status is requested again', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  // A minute's share of the sweep, newest first, must not reach it.
  for (let newer = 0; newer < 20; newer += 1) await app.newAddress();
  const txid = app.pay(address, 10_000) as Txid;
  // The notification arrives before the server has the history that it announces.
  const truth = app.server.inject({ kind: 'omit', txids: [txid] });
  await app.settle();
  truth();
  await app.settle();
  expect(stateOf(app, txid)).toBeUndefined();
  await app.world.advance(61_000);
  await app.settle();
  expect(stateOf(app, txid)).toBe('unconfirmed');
});

test('a coinbase lost in a reorganisation is not replaced by another coinbase to its address', async () => {
  const app = await openApp();
  await untilReady(app);
  const address = await app.newAddress();
  const to = addressToScript(address, networks.regtest);
  app.chain.mine(2, { to });
  await app.settle();
  const gone = app.chain.tip.txids[0] as Txid;
  app.chain.reorganise(1, { transactions: 'mempool' });
  await app.settle();
  // All coinbases have the same input, the null outpoint.
  expect(stateOf(app, gone)).toBe('confirming');
  await app.outlastAbsence();
  const { body } = await app.ask(`/api/merchant/tx?addr=${address}&txid=${gone}`);
  expect(body).toMatchObject({ dropped: true, confirmations: 0 });
  expect(body).not.toHaveProperty('replaced_by');
});
