// Histories full of transactions that do not exist, or that a server shows as slowly as it may.
// They delay no true payment, at their address or another one, and do not spend an honest server's
// budget.

import { afterEach, expect, test } from 'vitest';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { cleanUp } from '../../support/files.ts';
import type { Asked, Liar, Message } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import type { WatchingOptions } from '../../support/watching.ts';

afterEach(cleanUp);

const minuteMs = 60_000;
/** Within the deadline of a request. */
const slowMs = 8_000;
const getHistory = 'blockchain.scripthash.get_history';
const getTransaction = 'blockchain.transaction.get';

interface Scene extends Lying {
  readonly liar: Liar;
  readonly honest: Liar;
}

async function begin(options: WatchingOptions = {}): Promise<Scene> {
  const watching = await prepareLying(options);
  const { watcher, world, liars, labels } = watching;
  watcher.start();
  await pass(watching, 30_000);
  await world.until(() => watcher.status().caughtUp, 'the watcher to catch up');
  const used = labels.indexOf(watcher.status().server ?? '');
  const [liar, honest] = [liars[used], liars[1 - used]];
  if (liar === undefined || honest === undefined) throw new Error('there are not two');
  return { ...watching, watcher, liar, honest };
}

/** In steps that leave time for real sockets. */
async function pass({ world }: Lying, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 1_000) {
    await world.advance(1_000);
    for (let turns = 0; turns < 2; turns += 1) await world.turn();
  }
}

const pay = ({ chain }: Lying, ...to: readonly IssuedAddress[]): string =>
  chain.pay(to.map(({ address }) => ({ address, valueSat: 7_000 })));

/** Transactions that no server has; another number is another set of them. */
const invented = (count: number, set = 0): Message[] =>
  Array.from({ length: count }, (_, at) => ({
    tx_hash: `${set.toString(16).padStart(8, '0')}${at.toString(16).padStart(56, 'a')}`,
    height: 0,
    fee: 1,
  }));

/** The histories of these addresses begin with so many that do not exist. */
function invent(liar: Liar, addresses: readonly IssuedAddress[], count: number): void {
  liar.lie = ({ method, params: [first] }, answer) => {
    const set = addresses.findIndex(({ scripthash }) => scripthash === first);
    if (method !== getHistory || set < 0) return answer;
    return { ...answer, result: [...invented(count, set + 1), ...answer.result] };
  };
}

/** Lets transactions wait. */
function slowly({ world }: Lying, liar: Liar): void {
  const { lie } = liar;
  liar.lie = (asked: Asked, answer: Message) => {
    const response = lie ? lie(asked, answer) : answer;
    if (asked.method !== getTransaction) return response;
    world.after(slowMs, () => liar.say(response));
    return undefined;
  };
}

test('P-140 a true payment does not wait for thousands that do not exist', async () => {
  const scene = await begin();
  const issued = await scene.issue();
  invent(scene.liar, [issued], 5_000);
  slowly(scene, scene.liar);
  pay(scene, issued);
  await pass(scene, minuteMs);
  expect(scene.payments(issued)).toMatchObject([{ state: 'unconfirmed', valueSat: 7_000 }]);
});

test('P-141 a true payment does not wait for hundreds of unrelated ones that a server sends slowly', async () => {
  const scene = await begin();
  const { chain, liar } = scene;
  const issued = await scene.issue();
  const { address } = chain.faucet;
  const others: Message[] = [];
  for (let count = 0; count < 700; count += 1) {
    others.push({ tx_hash: chain.pay([{ address, valueSat: 1_000 }]), height: 0, fee: 1 });
  }
  liar.lie = ({ method, params: [first] }, answer) =>
    method === getHistory && first === issued.scripthash
      ? { ...answer, result: [...others, ...answer.result] }
      : answer;
  slowly(scene, liar);
  pay(scene, issued);
  await pass(scene, 3 * minuteMs);
  expect(scene.payments(issued)).toMatchObject([{ state: 'unconfirmed', valueSat: 7_000 }]);
});

test('P-141 payments that a server sends slowly are recorded as they arrive', async () => {
  const scene = await begin();
  const issued = await scene.issue();
  slowly(scene, scene.liar);
  scene.watcher.status();
  for (let count = 0; count < 75; count += 1) {
    scene.chain.pay([{ address: issued.address, valueSat: 7_000 + count }]);
  }
  await pass(scene, 12_000);
  const early = scene.payments(issued).length;
  expect(early).toBeGreaterThan(0);
  expect(early).toBeLessThan(75);
  await pass(scene, 2 * minuteMs);
  expect(scene.payments(issued)).toHaveLength(75);
});

test('P-143 the budget of a server is not spent on the payments that it invents for one address', async () => {
  const scene = await begin({ own: false, software: 'ElectrumX 1.20.0' });
  const [bait, other] = [await scene.issue(), await scene.issue()];
  await pass(scene, 10_000);
  invent(scene.liar, [bait], 400);
  pay(scene, bait);
  await pass(scene, 10 * minuteMs);
  pay(scene, other);
  await pass(scene, 2 * minuteMs);
  for (const each of [bait, other]) {
    expect(scene.payments(each)).toMatchObject([{ state: 'unconfirmed' }]);
  }
});

test('P-143 if it invents payments for many addresses, another server with budget left is used', async () => {
  const scene = await begin({ own: false, software: 'ElectrumX 1.20.0' });
  const { watcher, servers, labels, liars } = scene;
  const baits: IssuedAddress[] = [];
  for (let count = 0; count < 10; count += 1) baits.push(await scene.issue());
  const other = await scene.issue();
  await pass(scene, 10_000);
  const { server } = watcher.status();
  const honest = servers[liars.indexOf(scene.honest)];
  honest?.clearLog();
  invent(scene.liar, baits, 400);
  pay(scene, ...baits);
  await pass(scene, 3 * minuteMs);
  expect(labels).toContain(watcher.status().server);
  expect(watcher.status().server).not.toBe(server);
  pay(scene, other);
  await pass(scene, 2 * minuteMs);
  for (const each of [...baits, other]) {
    expect(scene.payments(each)).toMatchObject([{ state: 'unconfirmed' }]);
  }
  const isInvented = ({ method, params: [txid] }: { method: string; params: readonly unknown[] }) =>
    method === getTransaction && String(txid).includes('aaaaaaaa');
  expect(honest?.requests.filter(isInvented).length).toBeLessThanOrEqual(20);
});

test('P-141 P-142 very many slow histories are replaced by those of another server', async () => {
  const scene = await begin({ own: false });
  const { watcher } = scene;
  const baits: IssuedAddress[] = [];
  for (let count = 0; count < 100; count += 1) baits.push(await scene.issue());
  const other = await scene.issue();
  await pass(scene, 20_000);
  const { server } = watcher.status();
  invent(scene.liar, baits, 25);
  slowly(scene, scene.liar);
  pay(scene, ...baits);
  await pass(scene, minuteMs);
  pay(scene, other);
  await pass(scene, 8 * minuteMs);
  for (const each of [other, ...baits]) {
    expect(scene.payments(each)).toMatchObject([{ state: 'unconfirmed' }]);
  }
  expect(watcher.status().server).not.toBe(server);
});

test('P-143 a server cannot spend the budget of another by refusing unrelated transactions', async () => {
  const scene = await begin();
  const { chain, liar, servers, liars } = scene;
  const bait = await scene.issue();
  const { address } = chain.faucet;
  const strange = new Set<unknown>();
  while (strange.size < 1_200) strange.add(chain.pay([{ address, valueSat: 1_000 }]));
  const named: Message[] = [...strange].map((tx_hash) => ({ tx_hash, height: 0, fee: 1 }));
  await pass(scene, 10_000);
  const honest = servers[liars.indexOf(scene.honest)];
  honest?.clearLog();
  liar.lie = ({ method, params: [first] }, answer) => {
    if (method === getHistory && first === bait.scripthash) {
      return { ...answer, result: [...named, ...answer.result] };
    }
    if (method !== getTransaction || !strange.has(first)) return answer;
    return { jsonrpc: '2.0', id: answer.id, error: { code: 2, message: 'busy' } };
  };
  pay(scene, bait);
  await pass(scene, 10 * minuteMs);
  expect(scene.payments(bait)).toMatchObject([{ state: 'unconfirmed' }]);
  const asked = honest?.requests.filter(({ params: [txid] }) => strange.has(txid)) ?? [];
  expect(asked.length).toBeLessThanOrEqual(1_000);
});
