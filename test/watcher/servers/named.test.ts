// The watched server names a true payment at a wrong place, or does not show it. Another server's
// answer counts then, as far as it is proven.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { IssuedAddress } from '../../../src/store/wallets/address-row.ts';
import { cleanUp } from '../../support/files.ts';
import type { Liar, Message } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import { prepareWatching, type WatchingOptions } from '../../support/watching.ts';

afterEach(cleanUp);

const getHistory = 'blockchain.scripthash.get_history';

interface Scene extends Lying {
  readonly issued: IssuedAddress;
  readonly liar: Liar;
  readonly honest: Liar;
}

async function begin(options: WatchingOptions = {}): Promise<Scene> {
  const watching = await prepareLying(options);
  const { watcher, world, liars, labels } = watching;
  await watching.start();
  const isLive = () => watcher.status().servers.every(({ height }) => height === 110);
  await world.until(isLive, 'both');
  const used = labels.indexOf(watcher.status().server ?? '');
  const [liar, honest] = [liars[used], liars[1 - used]];
  if (liar === undefined || honest === undefined) throw new Error('there are not two');
  return { ...watching, issued: await watching.issue(), liar, honest };
}

function tellHistory(liar: Liar, change: (items: Message[]) => Message[]): void {
  liar.lie = ({ method }, answer) =>
    method === getHistory ? { ...answer, result: change(answer.result) } : answer;
}

const placeAt = (liar: Liar, height: number): void =>
  tellHistory(liar, (items) => items.map((item) => ({ tx_hash: item.tx_hash, height })));

const pay = ({ chain, issued }: Scene): Txid =>
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);

const bans = ({ watcher }: Lying) => watcher.status().servers.map(({ ban }) => ban);

const checkpointAt50 = async (): Promise<WatchingOptions> => {
  const { chain } = await prepareWatching();
  const hash = chain.block(50)?.hash;
  if (hash === undefined) throw new Error('the chain is too short');
  return { network: { checkpoint: { height: 50, hash } } };
};

test.each([
  ['in a block far ahead', 5_000_000, undefined],
  ['below the checkpoint', 10, checkpointAt50],
  ['in the mempool for ever', 0, undefined],
])(
  'P-129 a payment that it places %s sends callbacks if another server proves it',
  async (_, height, options) => {
    const scene = await begin(await options?.());
    placeAt(scene.liar, height);
    pay(scene);
    scene.chain.mine(3);
    await scene.minutes(25);
    expect(scene.payments(scene.issued)).toMatchObject([{ state: 'confirmed' }]);
    expect(scene.liars[scene.labels.indexOf(scene.watcher.status().server ?? '')]).toBe(scene.liar);
    expect(bans(scene)).toEqual([undefined, undefined]);
  },
);

test('P-129 a payment that it names behind invented ones and does not return sends callbacks', async () => {
  const scene = await begin();
  const { liar, chain } = scene;
  const invented = Array.from({ length: 25 }, (_, at) => ({
    tx_hash: (at + 1).toString(16).padStart(64, 'a'),
    height: 0,
    fee: 1,
  }));
  const txid = pay(scene);
  liar.lie = ({ method }, answer) => {
    if (method === getHistory) {
      return { ...answer, result: [...invented, { tx_hash: txid, height: 0, fee: 1 }] };
    }
    if (method !== 'blockchain.transaction.get') return answer;
    return { jsonrpc: '2.0', id: answer.id, error: { code: 2, message: 'no such transaction' } };
  };
  chain.mine(3);
  await scene.minutes(25);
  expect(scene.payments(scene.issued)).toMatchObject([{ txid, state: 'confirmed' }]);
});

test('P-129 a payment that it alone places below the checkpoint is checked until both agree', async () => {
  const scene = await begin(await checkpointAt50());
  placeAt(scene.liar, 10);
  pay(scene);
  scene.chain.mine();
  await scene.minutes(25);
  expect(scene.payments(scene.issued)).toMatchObject([{ state: 'confirming' }]);
  const status = () => scene.records.addresses.byScripthash(scene.issued.scripthash)?.statusHash;
  for (let count = 0; count < 10; count += 1) {
    expect(status()).toBe('unfinished');
    await scene.minutes(1);
  }
  scene.liar.lie = undefined;
  await scene.minutes(25);
  expect(status()).toMatch(/^[0-9a-f]{64}$/);
});

test('P-129 a payment that one server places below the checkpoint is not in the mempool because of another', async () => {
  const scene = await begin(await checkpointAt50());
  placeAt(scene.liar, 10);
  placeAt(scene.honest, 0);
  pay(scene);
  scene.chain.mine(3);
  await scene.minutes(25);
  expect(scene.payments(scene.issued)).toEqual([]);
});

test('P-129 a second server that places a payment falsely is banned, and reverts no status', async () => {
  const scene = await begin();
  pay(scene);
  await scene.watcher.idle();
  scene.honest.lie = ({ method, params: [first] }, { id, result, ...answer }) => {
    const says = (changed: Message) => ({ ...answer, id, result: changed });
    const isOurs = first === scene.issued.scripthash;
    // The other server is asked when its status differs from ours.
    if (method === 'blockchain.scripthash.subscribe' && isOurs) return says('ab'.repeat(32));
    if (method === getHistory && isOurs) {
      return says(result.map((item: Message) => ({ tx_hash: item.tx_hash, height: 100 })));
    }
    if (method !== 'blockchain.transaction.get_merkle') return says(result);
    return { jsonrpc: '2.0', id, result: { block_height: 100, merkle: [], pos: 0 } };
  };
  await scene.minutes(12);
  expect(scene.payments(scene.issued)).toMatchObject([{ state: 'unconfirmed' }]);
  expect(bans(scene).filter((ban) => ban !== undefined)).toHaveLength(1);
  scene.chain.mine(2);
  await scene.watcher.idle();
  expect(scene.payments(scene.issued)).toMatchObject([{ state: 'confirmed' }]);
});
