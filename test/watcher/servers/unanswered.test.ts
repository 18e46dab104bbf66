// A server leaves some requests unanswered for minutes, answers all others, and recovers.

import { afterEach, expect, test } from 'vitest';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { cleanUp } from '../../support/files.ts';
import { now, type TestRecords } from '../../support/store.ts';
import { prepareWatching, type Watching } from '../../support/watching.ts';

afterEach(cleanUp);

const day = 86_400_000;
const subscribe = 'blockchain.scripthash.subscribe';
const getHistory = 'blockchain.scripthash.get_history';

const issue = (records: TestRecords, count: number, at: number): Promise<Scripthash[]> =>
  records.write((tx) =>
    Array.from({ length: count }, () => records.addresses.issue(tx, at, 1, 1).scripthash),
  );

const hang = (server: SimulatedServer | undefined, times?: number): (() => void) | undefined =>
  server?.inject({
    kind: 'hang',
    when: (name) => name === subscribe,
    ...(times !== undefined && { times }),
  });

async function minutes({ world }: Watching, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) await world.advance(60_000);
}

/** Pays an address without the watched server. @returns its payments */
function payHidden(watching: Watching, scripthash: Scripthash): () => string[] {
  const { chain, records } = watching;
  const { address = '', id = 0 } = records.addresses.byScripthash(scripthash) ?? {};
  watching.inUse()?.inject({ kind: 'omit', scripthashes: [scripthash], deny: true });
  chain.pay([{ address, valueSat: 7_000 }]);
  return () => records.ledger.paymentsOf(id).map(({ state }) => state);
}

test.each([
  ['a public', false, 200],
  ['an own', true, 1_200],
] as const)(
  'P-158 the second server, %s one, answers no subscription for minutes: the sweeps continue afterwards',
  async (_, own, count) => {
    const watching = await prepareWatching({ servers: 2, own });
    const [hot = '' as Scripthash] = await issue(watching.records, count, now - day);
    await watching.start();
    const second = watching.servers.find((each) => each !== watching.inUse());
    const end = hang(second);
    await minutes(watching, 5);
    end?.();
    const statesOf = payHidden(watching, hot);
    await minutes(watching, 25);
    expect(statesOf()).toEqual(['unconfirmed']);
  },
);

test('P-158 the server in use leaves eight subscriptions unanswered at the start: their payments are found', async () => {
  const watching = await prepareWatching({ servers: 2, own: false });
  const [, hot = '' as Scripthash] = await issue(watching.records, 30, now - day);
  for (const server of watching.servers) hang(server, 8);
  watching.watcher.start();
  await minutes(watching, 2);
  const statesOf = payHidden(watching, hot);
  await minutes(watching, 15);
  expect(statesOf()).toEqual(['unconfirmed']);
  expect(watching.watcher.status().caughtUp).toBe(true);
});

test.each([1, 2])(
  'P-158 of %i public servers, none answers one address for 15 minutes: it is compared after that',
  async (count) => {
    const watching = await prepareWatching({ servers: count, own: false });
    const { chain, servers, records, watcher, world } = watching;
    const { address, scripthash } = await records.issue();
    await watching.start();
    watcher.issued(scripthash);
    await world.advance(2_000);
    const ends = servers.map((server) =>
      server.inject({
        kind: 'hang',
        when: (name, [first]) => name === getHistory && first === scripthash,
      }),
    );
    chain.pay([{ address, valueSat: 7_000 }]);
    await minutes(watching, 15);
    for (const end of ends) end();
    chain.mine(3);
    await minutes(watching, 15);
    const { id = 0 } = records.addresses.byScripthash(scripthash) ?? {};
    expect(records.ledger.paymentsOf(id)).toMatchObject([{ state: 'confirmed' }]);
    expect(watcher.status().failures).toEqual([]);
  },
);

test('P-158 a lone server answers as many histories late as may be in flight: it stays in use for the rest', async () => {
  const watching = await prepareWatching({ own: false });
  const { records, watcher, world, chain, servers } = watching;
  const rows = await records.write((tx) =>
    Array.from({ length: 60 }, () => records.addresses.issue(tx, now - day, 1, 1)),
  );
  await watching.start();
  const slow = rows.slice(0, 9);
  const ofSlow = new Set<unknown>(slow.map(({ scripthash }) => scripthash));
  const when = (name: string, [first]: readonly unknown[]) =>
    name === getHistory && ofSlow.has(first);
  servers[0]?.inject({ kind: 'delay', ms: 45_000, when });
  chain.pay(slow.map(({ address }) => ({ address, valueSat: 7_000 })));
  await minutes(watching, 30);
  expect(watcher.status().caughtUp).toBe(true);
  const other = rows.at(-1);
  chain.pay([{ address: other?.address ?? '', valueSat: 5_000 }]);
  await world.advance(20_000);
  expect(records.ledger.paymentsOf(other?.id ?? 0)).toHaveLength(1);
});
