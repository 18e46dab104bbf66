// Which addresses are subscribed, and the sweeps that reach the others.

import { afterEach, expect, test } from 'vitest';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import type { WatchedScript } from '../../../src/watcher/reader.ts';
import { cleanUp } from '../../support/files.ts';
import { now, type TestRecords } from '../../support/store.ts';
import { prepareWatching, type Watching } from '../../support/watching.ts';

afterEach(cleanUp);

const day = 86_400_000;
const method = 'blockchain.scripthash.subscribe';

const asked = (server: SimulatedServer | undefined): Scripthash[] =>
  (server?.requests ?? [])
    .filter((request) => request.method === method)
    .map(({ params }) => params[0] as Scripthash);

/** Issues addresses at a time, the oldest first. */
const issue = (records: TestRecords, count: number, at: number): Promise<Scripthash[]> =>
  records.write((tx) =>
    Array.from({ length: count }, () => records.addresses.issue(tx, at, 1, 1).scripthash),
  );

/** The next twenty addresses that the wallet issues. */
const issuedNext = ({ records }: Watching): Scripthash[] =>
  records.addresses.upcoming(20).map(({ scripthash }) => scripthash);

const other = ({ servers, inUse }: Watching): SimulatedServer => {
  const found = servers.find((server) => server !== inUse());
  if (found === undefined) throw new Error('there is no second server');
  return found;
};

async function minutes({ world, watcher }: Watching, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    // The work of each tick ends before the clock goes on.
    await world.advance(60_000 - (world.now() % 60_000));
    await watcher.idle();
  }
}

test('P-130 hot addresses are subscribed first, the newest of them before all, up to the limit', async () => {
  const watching = await prepareWatching({ maxSubscribed: 5 });
  const { records, watcher, servers } = watching;
  const hot = await issue(records, 3, now - 6 * day);
  const cold = await issue(records, 40, now - 8 * day);
  const ahead = await records.write((tx) => records.addresses.deriveAhead(tx, 1, 100));
  await watching.start();
  // The wallet issues 40 of them before the later ones.
  expect(asked(servers[0])).toEqual([...hot.toReversed(), ...ahead.slice(38, 40).toReversed()]);
  expect(asked(servers[0]).filter((each) => cold.includes(each))).toEqual([]);
  expect(watcher.status().caughtUp).toBe(true);
});

test('a server that refuses every address is replaced before all of them are requested', async () => {
  const { records, servers, watcher, world } = await prepareWatching();
  await issue(records, 3_000, now - day);
  servers[0]?.inject({ kind: 'error', code: 1, message: 'busy', when: (name) => name === method });
  watcher.start();
  const isLeft = () =>
    world.logs.some(({ fields }) => String(fields.reason).includes('it refuses subscriptions to'));
  await world.until(isLeft, 'the server to be left');
  await watcher.idle();
  expect(asked(servers[0]).length).toBeGreaterThan(100);
  expect(asked(servers[0]).length).toBeLessThan(1_000);
});

test('P-106 P-130 an address with a payment that is not settled is hot however old it is', async () => {
  const watching = await prepareWatching({ maxSubscribed: 1 });
  const { records, chain, servers } = watching;
  const [oldest] = await issue(records, 1, now - 100 * day);
  const row = records.addresses.byScripthash(oldest as Scripthash);
  chain.pay([{ address: row?.address ?? '', valueSat: 5_000 }]);
  await issue(records, 10, now - 50 * day);
  await watching.start();
  expect(asked(servers[0])).not.toContain(oldest);
  // The sweep finds the payment; the next session begins with its address.
  for (let minute = 0; minute < 11; minute += 1) await minutes(watching, 1);
  expect(records.ledger.paymentsOf(row?.id ?? 0)).toMatchObject([{ state: 'unconfirmed' }]);
  servers[0]?.clearLog();
  servers[0]?.disconnectAll();
  await watching.world.until(() => !watching.watcher.status().caughtUp);
  await watching.world.advance(5_000);
  await watching.world.until(() => watching.watcher.status().caughtUp);
  expect(asked(servers[0])[0]).toBe(oldest);
});

test('P-127 S-16 the second server compares every hot address once in ten minutes', async () => {
  const watching = await prepareWatching({ servers: 2 });
  const hot = await issue(watching.records, 95, now - day);
  await watching.start();
  const second = other(watching);
  second.clearLog();
  await minutes(watching, 10);
  // The daily round compares one of them each minute as well.
  expect(asked(second)).toHaveLength(95 + 10 + 20);
  expect(new Set(asked(second))).toEqual(new Set([...hot, ...issuedNext(watching)]));
});

test('so is each old address with a payment that is not settled', async () => {
  const watching = await prepareWatching({ servers: 2 });
  const { records, chain } = watching;
  const old = await issue(records, 95, now - 50 * day);
  const addressOf = (one: Scripthash) => records.addresses.byScripthash(one)?.address ?? '';
  chain.pay(old.map((each) => ({ address: addressOf(each), valueSat: 5_000 })));
  await watching.start();
  await watching.watcher.idle();
  const second = other(watching);
  second.clearLog();
  await minutes(watching, 10);
  // The daily round compares one of them each minute as well.
  expect(asked(second)).toHaveLength(95 + 10 + 20);
  expect(new Set(asked(second))).toEqual(new Set([...old, ...issuedNext(watching)]));
});

test('P-132 a sweep that a server delays does not accumulate, and continues where it stopped', async () => {
  const watching = await prepareWatching({ servers: 2 });
  const { world, records } = watching;
  const hot = await issue(records, 1_200, now - day);
  const newest = hot.slice(-50).toReversed();
  await watching.start();
  const second = other(watching);
  await minutes(watching, 1);
  expect(asked(second).slice(0, 50)).toEqual(newest);
  const reached = new Set(asked(second));
  second.clearLog();
  watching.inUse()?.clearLog();
  // A minute's share is 120; unanswered addresses are compared a batch at a time.
  const answerAgain = second.inject({ kind: 'hang', when: (name) => name === method });
  await world.advance(60_000);
  const unanswered = asked(second).filter((each) => each !== hot.at(-1));
  expect(unanswered).toHaveLength(50);
  expect(unanswered.filter((each) => reached.has(each))).toEqual([]);
  answerAgain();
  await minutes(watching, 12);
  // The same addresses again, then the rest; only the daily round compares the newest meanwhile.
  const again = asked(second).slice(50);
  expect(again.filter((each) => !reached.has(each)).slice(0, 50)).toEqual(unanswered);
  const missing = hot.filter((each) => !reached.has(each) && !again.includes(each));
  expect(missing).toEqual([]);
});

test('P-132 the budget of a public server sets the pace, and the sweeps continue', async () => {
  const watching = await prepareWatching({ servers: 2, own: false });
  const { records } = watching;
  const hot = await issue(records, 700, now - day);
  await watching.start();
  const second = other(watching);
  second.clearLog();
  await watching.world.advance(30 * 60_000);
  // Ten bulk requests a second, of which every other one unsubscribes.
  expect(asked(second).length).toBeLessThan(30 * 60 * 5 + 1_000);
  expect(hot.filter((each) => !asked(second).includes(each))).toEqual([]);
});

test('P-131 a new address replaces the coldest subscription, whose address the sweeps cover', async () => {
  const watching = await prepareWatching({ maxSubscribed: 5 });
  const { records, watcher, servers, chain, world } = watching;
  const [server] = servers;
  const cold = await issue(records, 3, now - 8 * day);
  const hot = await issue(records, 2, now - 6 * day);
  await records.write((tx) => records.addresses.deriveAhead(tx, 1, 60));
  const subscribed = (): Scripthash[] => {
    const left = new Set<Scripthash>();
    for (const { method: name, params } of server?.requests ?? []) {
      if (name === method) left.add(params[0] as Scripthash);
      else if (name.endsWith('unsubscribe')) left.delete(params[0] as Scripthash);
    }
    return [...left];
  };
  await watching.start();
  expect(subscribed()).toHaveLength(5);
  const issued: Scripthash[] = [];
  for (let count = 0; count < 12; count += 1) {
    issued.push(...(await issue(records, 1, world.now())));
    watcher.issued(issued.at(-1) as Scripthash);
    await watcher.idle();
    expect(subscribed()).toHaveLength(5);
    // Hot addresses stay longer than addresses that were not issued.
    if (count < 3) expect(subscribed()).toEqual(expect.arrayContaining([...hot, ...issued]));
  }
  expect(new Set(subscribed())).toEqual(new Set(issued.slice(-5)));
  const payments = (scripthash: Scripthash | undefined) => {
    const row = records.addresses.byScripthash(scripthash as Scripthash);
    return { row, paid: records.ledger.paymentsOf(row?.id ?? 0).length };
  };
  const paid = [issued.at(-1), issued[0]];
  for (const each of paid)
    chain.pay([{ address: payments(each).row?.address ?? '', valueSat: 5_000 }]);
  await watcher.idle();
  expect(paid.map((each) => payments(each).paid)).toEqual([1, 0]);
  expect(cold).toHaveLength(3);
  await minutes(watching, 11);
  expect(paid.map((each) => payments(each).paid)).toEqual([1, 1]);
});

test('P-106 P-127 every address that was ever issued is compared once a day, spread evenly', async () => {
  const watching = await prepareWatching({ servers: 2, maxSubscribed: 1 });
  const cold = await issue(watching.records, 48, now - 400 * day);
  await watching.start();
  const second = other(watching);
  const askedIn: number[] = [];
  const reached = new Set<Scripthash>();
  for (let quarter = 0; quarter < 4; quarter += 1) {
    second.clearLog();
    await minutes(watching, 360);
    for (const each of asked(second)) reached.add(each);
    askedIn.push(asked(second).filter((each) => cold.includes(each)).length);
  }
  expect(reached).toEqual(new Set([...cold, ...issuedNext(watching)]));
  expect(Math.max(...askedIn) - Math.min(...askedIn)).toBeLessThanOrEqual(2);
});

/** The next address to be issued receives a payment of another program, in a block. */
async function payNext({ records, chain, watcher }: Watching): Promise<WatchedScript> {
  const [scripthash = '' as Scripthash] = records.addresses.ahead(1, 0, 1_000);
  const { id = 0, address = '' } = records.addresses.byScripthash(scripthash) ?? {};
  chain.pay([{ address, valueSat: 6_000 }]);
  chain.mine();
  await watcher.idle();
  return { address, scripthash, script: records.addresses.scriptOf(id) };
}

test('P-107 a use of the next address is found in ten minutes though its server is silent', async () => {
  const watching = await prepareWatching();
  const { records, servers, world } = watching;
  await watching.start();
  servers[0]?.inject({ kind: 'stopNotifications', when: (name) => name === method });
  const used = await payNext(watching);
  expect(records.addresses.byScripthash(used.scripthash)).toMatchObject({ origin: 'ahead' });
  await minutes(watching, 11);
  const [issued] = await issue(records, 1, world.now());
  expect(issued).not.toBe(used.scripthash);
});

test.each([
  ['its server is silent', {}],
  ['it is not subscribed', { maxSubscribed: 1 }],
])(
  'P-131 what another program receives counts as confirmed within a day though %s',
  async (_, options) => {
    const watching = await prepareWatching(options);
    const { records, servers, chain, watcher } = watching;
    await watching.start();
    const script = await payNext(watching);
    await minutes(watching, 11);
    expect(records.addresses.byScripthash(script.scripthash)).toMatchObject({ origin: 'foreign' });
    servers[0]?.inject({ kind: 'stopNotifications', when: (name) => name === method });
    chain.pay([{ address: script.address, valueSat: 8_000 }]);
    chain.mine();
    await watcher.idle();
    const heights = async (): Promise<unknown> =>
      (await watcher.reader.movements(script)).movements.map(({ height }) => height);
    await minutes(watching, 24 * 60);
    expect(await heights()).toEqual([111, 112]);
  },
);

test('a script is fetched once at a time, however often it changes meanwhile', async () => {
  const watching = await prepareWatching();
  const { records, watcher, world, servers, chain } = watching;
  const [server] = servers;
  const [scripthash] = await issue(records, 1, now);
  await watching.start();
  const row = records.addresses.byScripthash(scripthash as Scripthash);
  const fetches = () =>
    server?.requests.filter(
      ({ method: name, params }) => name.endsWith('get_history') && params[0] === scripthash,
    ).length;
  const slow = server?.inject({
    kind: 'delay',
    ms: 5_000,
    when: (name) => name.endsWith('get_history'),
  });
  for (let count = 0; count < 5; count += 1) {
    chain.pay([{ address: row?.address ?? '', valueSat: 5_000 }]);
    await world.turn();
    expect(fetches()).toBe(1);
  }
  slow?.();
  await world.advance(5_000);
  await watcher.idle();
  expect(fetches()).toBe(2);
  expect(records.ledger.paymentsOf(row?.id ?? 0)).toHaveLength(5);
});

test('P-127 the second server is swept while paygate still catches up with the one in use', async () => {
  const watching = await prepareWatching({ servers: 2, own: false });
  const { records, chain, watcher, servers } = watching;
  const [oldest = '' as Scripthash] = await issue(records, 1_000, now - day);
  for (const server of servers) {
    server.inject({ kind: 'omit', scripthashes: [oldest], deny: true });
  }
  watcher.start();
  await watching.world.until(() => watcher.status().server !== undefined);
  const second = other(watching);
  second.heal();
  watching.inUse()?.inject({ kind: 'delay', ms: 9_500, when: (name) => name === method });
  const { address = '', id = 0 } = records.addresses.byScripthash(oldest) ?? {};
  chain.pay([{ address, valueSat: 7_000 }]);
  // The clock stops before the watched server is asked, because that would be waited for.
  for (let minute = 0; minute < 11; minute += 1) await watching.world.advance(60_000);
  expect(watcher.status().caughtUp).toBe(false);
  expect(records.ledger.paymentsOf(id)).toMatchObject([{ state: 'unconfirmed' }]);
});

test('a lone server gets no sweep before paygate has caught up with it', async () => {
  const watching = await prepareWatching({ own: false });
  const { records, watcher, servers, world } = watching;
  await issue(records, 5, now - day);
  servers[0]?.inject({ kind: 'delay', ms: 9_500, when: (name) => name === method });
  await world.advance(55_000 - (world.now() % 60_000));
  watcher.start();
  await world.until(() => asked(servers[0]).length >= 5);
  await world.advance(6_000);
  expect(watcher.status().caughtUp).toBe(false);
  expect(new Set(asked(servers[0])).size).toBe(asked(servers[0]).length);
});

test('a payment that only the second server reports is not lost in a reorganisation', async () => {
  const watching = await prepareWatching({ servers: 2 });
  const { chain, world, watcher, records } = watching;
  const [first = '' as Scripthash] = await issue(records, 1, now - day);
  // So many addresses that no sweep reaches each one every minute.
  await issue(records, 40, now - day);
  const { address = '', id = 0 } = records.addresses.byScripthash(first) ?? {};
  await watching.start();
  watching.inUse()?.inject({ kind: 'omit', scripthashes: [first], deny: true });
  chain.pay([{ address, valueSat: 7_000 }]);
  chain.mine();
  await watcher.idle();
  const write = records.database.write.bind(records.database);
  records.database.write = async (work, kind) => {
    records.database.write = write;
    chain.reorganise(1, { transactions: 'remine-same-height' });
    await world.until(() => watcher.status().tipHeight === chain.tipHeight, 'the other branch');
    return write(work, kind);
  };
  for (let count = 0; count < 12 && records.database.write !== write; count += 1) {
    expect(records.ledger.paymentsOf(id)).toEqual([]);
    await minutes(watching, 1);
  }
  expect(records.ledger.paymentsOf(id)).toMatchObject([{ state: 'confirmed' }]);
});

test('at the limit, the look-ahead displaces no subscription, and is watched before it is issued', async () => {
  const watching = await prepareWatching({ maxSubscribed: 150 });
  const { records, watcher, servers, world } = watching;
  const hot = await issue(records, 60, now - day);
  await records.write((tx) => records.addresses.deriveAhead(tx, 1, 160));
  await watching.start();
  for (let count = 0; count < 50; count += 1) {
    const [next] = records.addresses.ahead(1, 0, 1_000);
    const requests = servers[0]?.requests.filter(({ params }) => params[0] === next) ?? [];
    expect(requests.at(-1)?.method).toBe(method);
    const [issued] = await issue(records, 1, world.now());
    expect(issued).toBe(next);
    watcher.issued(issued as Scripthash);
    await world.advance(200);
    await watcher.idle();
  }
  const left = (servers[0]?.requests ?? []).filter(({ method: name }) =>
    name.endsWith('unsubscribe'),
  );
  expect(
    left.map(({ params }) => params[0]).filter((each) => hot.includes(each as Scripthash)),
  ).toEqual([]);
});
