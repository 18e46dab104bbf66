// The second opinion with a single server: a fresh connection to it, and an answer of its node.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp } from '../../support/files.ts';
import { prepareLying } from '../../support/lying.ts';
import { prepareWatching } from '../../support/watching.ts';

afterEach(cleanUp);

test('a lost mempool is checked over one new connection, which is closed afterwards', async () => {
  const app = await prepareLying({ servers: 1 });
  const { world, chain, watcher, liars } = app;
  await app.start();
  const issued = await Promise.all(Array.from({ length: 100 }, () => app.issue()));
  await world.advance(2_000);
  await watcher.idle();
  const txid = chain.pay(issued.map(({ address }) => ({ address, valueSat: 7_000 })));
  await watcher.idle();
  const states = () => new Set(issued.flatMap(app.payments).map(({ state }) => state));
  expect(states()).toEqual(new Set(['unconfirmed']));

  const accepted = () => liars[0]?.accepted ?? 0;
  const open = () => liars[0]?.open ?? 0;
  const before = accepted();
  chain.evict(txid);
  await watcher.idle();
  expect(accepted() - before).toBe(1);
  // An absence counts after 30 s.
  await world.advance(31_000);
  await watcher.idle();
  expect(states()).toEqual(new Set(['dropped']));
  expect(accepted() - before).toBe(2);
  await world.advance(6_000);
  await world.until(() => open() === 1, 'the fresh one to be closed');
});

test('a payment that the histories omit is valid as long as the node reports it', async () => {
  const { chain, records, servers, watcher, world, start } = await prepareWatching({ servers: 1 });
  await start();
  const issued = await records.issue();
  watcher.issued(issued.scripthash);
  const txid = chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  await watcher.idle();
  servers[0]?.inject({ kind: 'omit', txids: [txid] });
  servers[0]?.notifyAll();
  for (let minute = 0; minute < 3; minute += 1) {
    await world.advance(60_000);
    await watcher.idle();
  }
  const isThere = [{ txid, state: 'unconfirmed' }];
  expect(records.ledger.paymentsOf(issued.id)).toMatchObject(isThere);
  // It is unreported only from now on.
  chain.evict(txid);
  servers[0]?.notifyAll();
  await watcher.idle();
  await world.advance(29_000);
  await watcher.idle();
  expect(records.ledger.paymentsOf(issued.id)).toMatchObject(isThere);
  await world.advance(60_000);
  await watcher.idle();
  expect(records.ledger.paymentsOf(issued.id)).toMatchObject([{ txid, state: 'dropped' }]);
});

test('the absence of a payment at both servers begins anew once it was reported again', async () => {
  const { chain, records, servers, watcher, world, start } = await prepareWatching({ servers: 2 });
  await start();
  const issued = await records.issue();
  watcher.issued(issued.scripthash);
  const txid = chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  await watcher.idle();
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await world.advance(1_000);
      await watcher.idle();
    }
    return records.ledger.paymentsOf(issued.id).map(({ state }) => state);
  };
  await pass(5);
  const omit = (): void => {
    for (const server of servers) server.inject({ kind: 'omit', txids: [txid] });
    for (const server of servers) server.notifyAll();
  };
  omit();
  expect(await pass(10)).toEqual(['unconfirmed']);
  for (const server of servers) server.heal();
  for (const server of servers) server.notifyAll();
  expect(await pass(10)).toEqual(['unconfirmed']);
  omit();
  expect(await pass(28)).toEqual(['unconfirmed']);
  expect(await pass(10)).toEqual(['dropped']);
});

describe('very many small payments that vanish together, at one public server', () => {
  const getTransaction = 'blockchain.transaction.get';

  async function flood(count: number) {
    const watching = await prepareWatching({ own: false, software: 'ElectrumX 1.20.0' });
    const { chain, records, watcher, world, servers } = watching;
    await watching.start();
    const [flooded, other] = [await records.issue(), await records.issue()];
    for (const { scripthash } of [flooded, other]) watcher.issued(scripthash);
    await world.advance(2_000);
    chain.stock(count + 1, 30_000);
    const small = Array.from({ length: count }, (_, index) =>
      chain.pay([{ address: flooded.address, valueSat: 1_000 + index }]),
    );
    const large = chain.pay([{ address: flooded.address, valueSat: 20_000 }]);
    const payments = () => records.ledger.paymentsOf(flooded.id);
    for (let tens = 0; tens < 30 && payments().length <= count; tens += 1) {
      await world.advance(10_000);
    }
    expect(payments()).toHaveLength(count + 1);
    // The server has forgiven the cost.
    await world.advance(3_600_000);
    servers[0]?.clearLog();
    const dropped = () => payments().filter(({ state }) => state === 'dropped');
    const all = new Set<unknown>([large, ...small]);
    const askedAbout = () =>
      servers[0]?.requests.filter(
        ({ method, params: [txid] }) => method === getTransaction && all.has(txid),
      ) ?? [];
    return { ...watching, small, large, other, dropped, askedAbout };
  }

  test('P-126 delay no other payment, and a large one among them is dropped first', async () => {
    const { chain, records, world, small, large, other, dropped, askedAbout } = await flood(200);
    for (const txid of [large, ...small.toReversed()]) chain.evict(txid);
    await world.advance(40_000);
    chain.pay([{ address: other.address, valueSat: 9_000 }]);
    await world.advance(5_000);
    expect(records.ledger.paymentsOf(other.id)).toMatchObject([{ state: 'unconfirmed' }]);
    await world.advance(60_000);
    expect(dropped().map(({ txid }) => txid)).toContain(large);
    expect(askedAbout()).toHaveLength(20);
    expect(dropped()).toHaveLength(20);
    for (let tens = 0; tens < 7; tens += 1) await world.advance(600_000);
    expect(dropped()).toHaveLength(40);
  });

  test('P-126 are not checked if the transaction that spent their inputs pays us', async () => {
    const { chain, world, small, dropped, askedAbout } = await flood(50);
    for (const txid of small) chain.replace(txid);
    await world.advance(60_000);
    expect(new Set(dropped().map(({ txid }) => txid))).toEqual(new Set(small));
    expect(askedAbout()).toEqual([]);
  });
});
