// One server that lies about addresses that were not issued must not drive a wallet's counter away.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { afterEach, describe, expect, test } from 'vitest';
import type { Scripthash, Txid } from '../../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import { merchantKey } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';
import type { Lie } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import { getHistory, getTransaction, idOf, payingTo } from '../../support/made-up.ts';

afterEach(cleanUp);

const addressAt = (index: number): string => deriveAddress(merchantKey(), 0, index)?.address ?? '';

/** Each address from an index on has an invented payment; `height` 0 is unconfirmed. */
function invent(from: number, { height = 0, shows = true, count = 150 } = {}): Lie {
  const made = new Map<Scripthash, Buffer>();
  for (let index = from; index < from + count; index += 1) {
    const derived = deriveAddress(merchantKey(), 0, index);
    if (derived !== undefined) made.set(derived.scripthash, payingTo(derived.script, index, 1));
  }
  const raws = new Map([...made.values()].map((raw) => [idOf(raw), raw.toString('hex')]));
  return ({ method, params: [of = ''] }, message) => {
    const raw = made.get(of as Scripthash);
    if (raw !== undefined && method === 'blockchain.scripthash.subscribe') {
      const status = bytesToHex(sha256(utf8ToBytes(`${idOf(raw)}:${height}:`)));
      return { ...message, result: status };
    }
    if (raw !== undefined && method === getHistory) {
      return { ...message, result: [{ tx_hash: idOf(raw), height, fee: 1 }] };
    }
    const shown = method === getTransaction ? raws.get(of as Txid) : undefined;
    return shown === undefined || !shows ? message : { id: message.id ?? 0, result: shown };
  };
}

/** Requests addresses as a shop does, some seconds apart. */
async function indexesOf(app: Lying, count: number): Promise<number[]> {
  const { records, watcher, world } = app;
  const indexes: number[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    const issued = await records.write((tx) =>
      records.addresses.issue(tx, world.now(), 1, 1, (each) => watcher.isPending(each)),
    );
    watcher.issued(issued.scripthash);
    await world.advance(5_000);
    await watcher.idle();
    indexes.push(issued.derivationIndex);
  }
  return indexes;
}

const bothLive = ({ world, watcher }: Lying) =>
  world.until(() => watcher.status().servers.every(({ state }) => state === 'live'), 'both');

describe('S-17 a server that invents a transaction for each address', () => {
  test.each([
    ['in a mempool, the only server', 1, {}],
    ['in a mempool, beside an honest server', 2, {}],
    ['in a block, the only server', 1, { height: 50 }],
    ['in a block that has not come, the only server', 1, { height: 5_000 }],
    ['in a block that has not come, beside an honest server', 2, { height: 5_000 }],
    ['in a block, beside an honest server', 2, { height: 50 }],
    ['that it does not show, beside an honest server', 2, { shows: false }],
  ])('P-147 drives no counter further than five of a hundred: %s', async (_, servers, lie) => {
    const app = await prepareLying({ servers });
    for (const liar of app.liars.slice(0, 1)) liar.lie = invent(0, lie);
    await app.start();
    if (servers > 1) await bothLive(app);
    // Later it may be left, because it names unshown payments to issued addresses.
    expect(app.inUse()).toBe(app.liars[0]);
    const indexes = await indexesOf(app, 30);
    expect(indexes.at(-1)).toBeLessThanOrEqual(34);
    expect(app.records.addresses.derivedUntil(1)).toBeLessThanOrEqual(35 + 40);
    const marked = app.records.addressView.foreignUses().filter(({ count }) => count > 0);
    expect(marked).toEqual([]);
    expect(app.watcher.status().soleReporters.get(1)).toBe(app.labels[0]);
  });

  test('P-147 does so together with a second server: none of these addresses is issued', async () => {
    const app = await prepareLying();
    for (const liar of app.liars) liar.lie = invent(0);
    await app.start();
    await bothLive(app);
    await app.watcher.idle();
    expect(app.records.addressView.foreignUses()).toMatchObject([{ count: 40, claimed: 0 }]);
    expect(await indexesOf(app, 1)).toEqual([40]);
  });

  test('P-146 ends the scan of a new wallet with an advice, once it alone has reported too many', async () => {
    const app = await prepareLying({ wallet: false, servers: 1 });
    const { records, watcher, world } = app;
    for (const liar of app.liars) liar.lie = invent(0, { count: 1_100 });
    await app.start();
    await records.addWallet({ key: merchantKey(), startIndex: undefined });
    watcher.catalogChanged();
    await world.until(() => watcher.status().walletFault !== undefined, 'the scan to fail');
    expect(watcher.status().walletFault).toContain(
      `${app.labels[0]} alone names more than 1000 used addresses of wallet 1`,
    );
    expect(records.catalog.wallet(1)).toMatchObject({ nextIndex: 0, scannedAt: null });
  });

  test('ends no scan for ever: a second server that connects later checks the unconfirmed addresses', async () => {
    const app = await prepareLying({ wallet: false });
    const { records, watcher, world } = app;
    for (const liar of app.liars.slice(0, 1)) liar.lie = invent(0, { count: 1_200 });
    const comesBack = app.servers[1]?.inject({
      ...{ kind: 'error', code: 1, message: 'busy', when: (method) => method === 'server.version' },
    });
    await app.start();
    await records.addWallet({ key: merchantKey(), startIndex: undefined });
    watcher.catalogChanged();
    await world.until(() => watcher.status().walletFault !== undefined, 'the scan to fail');
    comesBack?.();
    for (let minute = 0; minute < 3; minute += 1) await world.advance(60_000);
    await bothLive(app);
    await world.advance(60_000);
    await world.until(() => records.catalog.wallet(1).scannedAt !== null, 'the scan');
    expect(records.catalog.wallet(1).nextIndex).toBe(0);
  });

  test('cannot hide later payments to an address that it alone reported', async () => {
    const app = await prepareLying({ servers: 1 });
    for (const liar of app.liars) liar.lie = invent(0, { shows: false });
    await app.start();
    const [index = 0] = await indexesOf(app, 1);
    for (const liar of app.liars) liar.lie = undefined;
    app.chain.pay([{ address: addressAt(index), valueSat: 7_000 }]);
    await app.minutes(2);
    const issued = deriveAddress(merchantKey(), 0, index);
    expect(issued && app.payments(issued)).toMatchObject([{ valueSat: 7_000 }]);
  });
});

describe('an address that another program has used', () => {
  test('P-147 in a block is never issued, if the only server proves it', async () => {
    const app = await prepareLying({ servers: 1 });
    await app.start();
    for (let index = 0; index < 12; index += 1) {
      app.chain.pay([{ address: addressAt(index), valueSat: 7_000 }]);
    }
    app.chain.mine();
    await app.watcher.idle();
    expect(await indexesOf(app, 2)).toEqual([12, 13]);
    expect(app.records.addressView.foreignUses()).toEqual([{ walletId: 1, count: 12, claimed: 0 }]);
  });

  test('in the mempools of two servers is never issued', async () => {
    const app = await prepareLying();
    await app.start();
    await bothLive(app);
    for (let index = 0; index < 12; index += 1) {
      app.chain.pay([{ address: addressAt(index), valueSat: 7_000 }]);
    }
    await app.watcher.idle();
    expect(await indexesOf(app, 1)).toEqual([12]);
  });

  test('P-147 in the mempool of the only server is skipped, and proven by the next block', async () => {
    const app = await prepareLying({ servers: 1 });
    await app.start();
    app.chain.pay([{ address: addressAt(0), valueSat: 7_000 }]);
    await app.watcher.idle();
    expect(await indexesOf(app, 1)).toEqual([1]);
    expect(app.records.addressView.foreignUses()).toEqual([{ walletId: 1, count: 0, claimed: 1 }]);
    app.chain.mine();
    await app.watcher.idle();
    expect(app.records.addressView.foreignUses()).toEqual([{ walletId: 1, count: 1, claimed: 0 }]);
  });
});

describe('addresses that are checked again', () => {
  /** A block marks so many indexes as used, and no server reports them later. */
  async function marked(count: number): Promise<Lying> {
    const app = await prepareLying();
    await app.start();
    await bothLive(app);
    for (let index = 0; index < count; index += 1) {
      app.chain.pay([{ address: addressAt(index), valueSat: 7_000 }]);
    }
    app.chain.mine();
    await app.watcher.idle();
    expect(await indexesOf(app, 1)).toEqual([count]);
    return app;
  }

  async function recheck({ records, watcher, world }: Lying): Promise<void> {
    await records.write((tx) =>
      records.state.rechecks.write(tx, [...new Set([...records.state.rechecks.read(), 1])]),
    );
    watcher.catalogChanged();
    for (let second = 0; second < 60; second += 1) await world.advance(1_000);
    await watcher.idle();
  }

  test('stay marked if a second server reports the payment that the one in use omits', async () => {
    const app = await marked(3);
    app.inUse().lie = ({ method }, message) =>
      method === getHistory ? { ...message, result: [] } : message;
    await recheck(app);
    expect(await indexesOf(app, 1)).toEqual([4]);
    expect(app.records.state.rechecks.read().includes(1)).toBe(false);
  });

  test('do not wait for an address that no server answers, and neither do the subscriptions', async () => {
    const app = await marked(3);
    const script = (index: number) => deriveAddress(merchantKey(), 0, index)?.scripthash;
    for (const liar of app.liars) {
      liar.lie = ({ method, params: [of] }, message) => {
        if (method !== getHistory) return message;
        if (of === script(1)) return undefined;
        return [script(0), script(2)].includes(of) ? { ...message, result: [] } : message;
      };
    }
    await recheck(app);
    expect(app.records.state.rechecks.read().includes(1)).toBe(false);
    expect(app.watcher.status().walletFault).toBeUndefined();
    expect(await indexesOf(app, 3)).toEqual([0, 2, 4]);
  });
});
