// Several servers at once: each answers for itself, and none waits for another.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import type { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { createHeaderSync } from '../../src/watcher/header-sync.ts';
import { createProofs, ServerLie } from '../../src/watcher/proof/proofs.ts';
import { open } from '../electrum/open-session.ts';
import type { Script } from '../electrum/scripted-server.ts';
import { chainOf } from '../sandbox/support.ts';
import { cleanUp } from '../support/files.ts';
import { now, openTestStore, type TestRecords } from '../support/store.ts';
import { prepareWatching } from '../support/watching.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

test('P-137 a false transaction counts against the server that sent it, not one queried meanwhile', async () => {
  const chain = chainOf(110);
  const { address, script } = chain.faucet;
  const [asked, other] = [1_000, 2_000].map((valueSat) => chain.pay([{ address, valueSat }]));
  const rawOf = (txid: Txid | undefined) =>
    Buffer.from(chain.transaction(txid as Txid)?.raw ?? '').toString('hex');
  const answers = (raw: string): Script => ({
    'blockchain.transaction.get': (peer, request) => peer.answer(request, raw),
  });
  const liar = await open(answers(rawOf(other)));
  const honest = await open(answers(rawOf(asked)));
  const proofs = createProofs({
    records: await openTestStore(),
    network: networks.regtest,
    proveDepthAboveSat: 0,
  });

  const [first, second] = await Promise.allSettled([
    proofs.output(liar.session, asked as Txid, script),
    proofs.output(honest.session, asked as Txid, script),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: expect.any(ServerLie) });
  expect(second).toMatchObject({ status: 'fulfilled' });
  // A true transaction is not fetched again, even if its server is in doubt.
  await proofs.output(liar.session, asked as Txid, script);
  expect(liar.peer.asked('blockchain.transaction.get')).toHaveLength(1);
});

test('P-159 a server that sends its headers slowly delays no other', async () => {
  const watching = await prepareWatching({ servers: 2, ownChains: true });
  const { records, world, watcher, chains, servers } = watching;
  const { address, scripthash: hash } = await records.write((tx) =>
    records.addresses.issue(tx, now, 1, 1),
  );
  await watching.start();
  const used = servers.indexOf(watching.inUse() as SimulatedServer);
  const [ours, theirs] = [chains[used], chains[1 - used]];
  const slow = servers[1 - used];
  await world.until(() => watcher.status().servers.every(({ height }) => height === 110), 'both');
  slow?.clearLog();
  slow?.inject({ kind: 'hang', when: (method) => method === 'blockchain.block.headers' });
  ours?.mine();
  theirs?.mine(2, { to: Uint8Array.of(0x51) });
  await world.until(
    () => slow?.count('blockchain.block.headers') === 1,
    'its headers to be asked for',
  );
  ours?.pay([{ address, valueSat: 5_000 }]);
  ours?.mine();
  const id = records.addresses.byScripthash(hash)?.id ?? 0;
  await world.until(() => records.ledger.paymentsOf(id).length > 0, 'the payment');
  expect(records.ledger.paymentsOf(id)).toMatchObject([{ state: 'confirming' }]);
  expect(watcher.status().tipHeight).toBe(112);
});

test('P-159 a chain that another server has sent in part is not requested from its beginning', async () => {
  const chain = chainOf(10);
  const held: (() => void)[] = [];
  const show =
    (hold: boolean): Script[string] =>
    (peer, request) => {
      const [start, count] = request.params as [number, number];
      const headers = Array.from({ length: count }, (_, index) => chain.header(start + index));
      const hex = Buffer.concat(headers.map((each) => each ?? Buffer.alloc(0))).toString('hex');
      const answer = (): void => peer.answer(request, { count: hex.length / 160, hex, max: 2016 });
      if (hold) held.push(answer);
      else answer();
    };
  const quick = await open({ 'blockchain.block.headers': show(false) });
  const slow = await open({ 'blockchain.block.headers': show(true) });
  const records = await openTestStore();
  const { regtest: network } = networks;
  const world = createTestWorld();
  const chainSync = createHeaderSync({ world, records, network, onTip: () => {} });
  const tip = { height: 10, raw: chain.tip.header };
  const late = chainSync.sync(slow.session, tip);
  await world.until(() => held.length === 1, 'the slow one to be asked');
  await chainSync.sync(quick.session, tip);
  expect(records.headers.tip()?.height).toBe(10);
  for (const answer of held.splice(0)) answer();
  // It is not asked for the rest, which is known.
  await late;
  expect(records.headers.tip()?.height).toBe(10);
});

test('P-121 payments of an orphaned block are checked again though a later commit fails', async () => {
  const watching = await prepareWatching({ servers: 2 });
  const { records, world, watcher, chain } = watching;
  // More payments than one commit decides.
  const issued: IssuedAddress[] = [];
  for (let count = 0; count < 210; count += 1) issued.push(await records.issue());
  await watching.start();
  await world.until(() => watcher.status().servers.every(({ height }) => height === 110), 'both');
  chain.pay(issued.map(({ address }) => ({ address, valueSat: 7_000 })));
  chain.mine();
  await watcher.idle();
  const states = () => new Set(issued.map((each) => stateOf(records, each)));
  expect(states()).toEqual(new Set(['confirming']));
  const used = watching.inUse();
  const lateNews = used?.inject({ kind: 'stopNotifications' });
  const write = records.database.write.bind(records.database);
  let commits = 0;
  records.database.write = (work) => {
    commits += 1;
    if (commits !== 2) return write(work);
    return Promise.reject(new PaygateError('unavailable', 'the disk is full'));
  };
  chain.reorganise(1, { transactions: 'remine-same-height', blocks: 2 });
  const isLost = () => world.logs.some(({ message }) => message === 'electrum server lost');
  await world.until(isLost, 'the second commit to fail');
  await watcher.idle();
  lateNews?.();
  used?.notifyAll();
  await watcher.idle();
  expect(watching.inUse()).toBe(used);
  expect(watcher.status().tipHeight).toBe(chain.tipHeight);
  expect(states()).toEqual(new Set(['confirmed']));
});

test('a server that is lost during the catch-up does not count for the next one', async () => {
  const { records, world, watcher, start, inUse } = await prepareWatching({ servers: 2 });
  await records.issue();
  await start();
  const both = () =>
    world.until(() => watcher.status().servers.every(({ height }) => height === 110), 'both');
  await both();
  const write = records.database.write.bind(records.database);
  let goOn = (): void => {};
  // A disk that is slow with the work after a new tip.
  records.database.write = (work, kind) => {
    records.database.write = write;
    return new Promise<void>((done) => {
      goOn = done;
    }).then(() => write(work, kind));
  };
  const first = inUse();
  first?.disconnectAll();
  await world.until(() => inUse() !== first && records.database.write === write, 'the second one');
  const second = inUse();
  await world.advance(5_000);
  await both();
  second?.disconnectAll();
  await world.until(() => inUse() === first && watcher.status().caughtUp, 'the first one again');
  goOn();
  await watcher.idle();
  expect(watcher.status()).toMatchObject({ caughtUp: true });
});

const stateOf = ({ ledger, addresses }: TestRecords, { scripthash }: IssuedAddress) =>
  ledger.paymentsOf(addresses.byScripthash(scripthash)?.id ?? 0)[0]?.state;
