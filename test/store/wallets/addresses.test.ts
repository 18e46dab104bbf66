import { eq } from 'drizzle-orm';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { ScriptType } from '../../../src/bitcoin/address.ts';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import {
  type DerivedAddress,
  deriveAddress,
  parseWalletKey,
} from '../../../src/bitcoin/keychain.ts';
import type { StatusHash } from '../../../src/domain/payment/script-history.ts';
import type { Raise } from '../../../src/domain/store/allocation.ts';
import type { WriterOptions } from '../../../src/store/db/writer.ts';
import { addresses } from '../../../src/store/schema/schema.ts';
import { bip44, bip49, bip84, bip86 } from '../../bitcoin/vectors/accounts.ts';
import { cleanUp, commitsIn, countIssued } from '../../support/files.ts';
import { accountKey, markOf, now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

/** A store with one wallet that may issue. */
async function shop(beforeCommit?: WriterOptions['beforeCommit']): Promise<TestRecords> {
  const records = await openTestStore(beforeCommit ? { beforeCommit } : {});
  await records.addWallet();
  await records.addStore();
  return records;
}

const indexes = (records: TestRecords, count: number, walletId = 1) =>
  Promise.all(
    Array.from({ length: count }, async () => (await records.issue(walletId)).derivationIndex),
  );

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

/** Gives the row of an index another state, as the watcher would. */
const change = (
  { database, write }: TestRecords,
  index: number,
  fields: Partial<typeof addresses.$inferInsert>,
) =>
  write(
    () =>
      void database.orm
        .update(addresses)
        .set(fields)
        .where(eq(addresses.derivationIndex, index))
        .run(),
  );

const used: Partial<typeof addresses.$inferInsert> = {
  statusHash: 'ab'.repeat(32) as StatusHash,
};

const hashOf = (row: { readonly scripthash: Scripthash } | undefined) => row?.scripthash;

function derivedAt(index: number): DerivedAddress {
  const derived = deriveAddress(accountKey(), 0, index);
  if (derived === undefined) throw new Error(`index ${index} has no child`);
  return derived;
}

const rowOf = (records: TestRecords, index: number, walletId = 1) => {
  const derived = deriveAddress(records.catalog.walletKey(walletId), 0, index);
  return records.addresses.byScripthash(derived?.scripthash ?? ('' as Scripthash));
};

describe('the addresses', () => {
  it.each<[string, string, ScriptType, string[]]>([
    ['BIP44', bip44.xpub, 'p2pkh', bip44.receive],
    ['BIP49', bip49.ypub, 'p2sh-p2wpkh', bip49.receive],
    ['BIP84', bip84.zpub, 'p2wpkh', bip84.receive],
    ['BIP86', bip86.xpub, 'p2tr', bip86.receive],
  ])('are those of %s, also after a restart', async (_bip, account, scriptType, receive) => {
    const key = parseWalletKey(account, { network: 'mainnet', scriptType });
    const first = await openTestStore({ network: 'mainnet' });
    await first.addWallet({ key, startIndex: 0 });
    await first.addStore();
    const issued = [(await first.issue()).address];
    await first.database.close();
    const again = await openTestStore({ path: first.path, network: 'mainnet' });
    while (issued.length < receive.length) issued.push((await again.issue()).address);
    expect(issued).toEqual(receive);
  });

  it('have the data that the watcher needs', async () => {
    const records = await shop();
    const issued = await records.issue();
    const derived = deriveAddress(accountKey(), 0, 0);
    expect(issued).toEqual({
      id: 1,
      walletId: 1,
      account: accountKey().account,
      address: derived?.address,
      scripthash: derived?.scripthash,
      derivationIndex: 0,
      issuedAt: now,
    });
    expect(records.addresses.byScripthash(issued.scripthash)).toMatchObject({
      ...{ walletId: 1, storeId: 1, derivationIndex: 0, origin: 'issued' },
      ...{ issuedAt: now, statusHash: null },
    });
    expect(records.addresses.scriptOf(issued.id)).toEqual(Buffer.from(derived?.script ?? []));
    expect(() => records.addresses.scriptOf(2)).toThrow('there is no address 2');
    expect(records.database.orm.select().from(addresses).all()).toMatchObject([{ branch: 0 }]);
    expect(records.addresses.byScripthash('00'.repeat(32) as Scripthash)).toBeUndefined();
  });
});

describe('an index', () => {
  it('is issued once among concurrent requests of one commit', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    const before = commitsIn(records.path);
    expect(await indexes(records, 100)).toEqual(range(0, 100));
    expect(commitsIn(records.path) - before).toBe(1);
    expect(raises).toEqual([{ wallet: markOf(), from: 0, to: 100 }]);
    expect(countIssued(records.database)).toBe(100);
    expect(records.catalog.wallet(1).nextIndex).toBe(100);
  });

  it('is issued once by two connections', async () => {
    const one = await shop();
    const two = await openTestStore({ path: one.path });
    const issued = await Promise.all(range(0, 60).map((at) => (at % 2 === 0 ? one : two).issue()));
    const given = issued.map(({ derivationIndex }) => derivationIndex).sort((a, b) => a - b);
    expect(given).toEqual(range(0, 60));
  });

  it('is shared by the stores of a wallet, and each address is its store’s', async () => {
    const records = await shop();
    await records.addStore({ name: 'Second' });
    const issued = await Promise.all([
      records.issue(1, 1),
      records.issue(1, 2),
      records.issue(1, 1),
    ]);
    expect(issued.map(({ derivationIndex }) => derivationIndex)).toEqual([0, 1, 2]);
    expect(range(0, 3).map((index) => rowOf(records, index)?.storeId)).toEqual([1, 2, 1]);
  });

  it('is counted for each wallet', async () => {
    const records = await shop();
    await records.addWallet({ key: accountKey(2), startIndex: 7 });
    await records.addStore({ walletId: 2 });
    const [one, two] = await Promise.all([indexes(records, 3, 1), indexes(records, 3, 2)]);
    expect([one, two]).toEqual([range(0, 3), range(7, 10)]);
  });

  it('of a failed write is issued to the next request', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    const failed = records.write((tx) => {
      records.addresses.issue(tx, now, 1, 1);
      throw new Error('no store fits');
    });
    await expect(failed).rejects.toThrow('no store fits');
    expect(raises).toEqual([]);
    expect(await indexes(records, 1)).toEqual([0]);
  });

  it('that was used before is skipped, and the mark is raised over the whole step', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    await records.write((tx) => records.addresses.deriveAhead(tx, 1, 6));
    await change(records, 0, used);
    await change(records, 1, { ...used, origin: 'foreign' });
    // Its history is gone again: it was seen all the same.
    await change(records, 2, { origin: 'foreign' });
    await change(records, 4, used);
    expect(await indexes(records, 2)).toEqual([3, 5]);
    expect(raises).toEqual([{ wallet: markOf(), from: 0, to: 6 }]);
    expect(rowOf(records, 0)?.origin).toBe('ahead');
  });

  it('is left out for the claim of a single server at most five times among a hundred', async () => {
    const records = await shop();
    await records.write((tx) => records.addresses.deriveAhead(tx, 1, 120));
    for (const index of range(0, 7)) await change(records, index, used);
    expect(await indexes(records, 2)).toEqual([5, 6]);
    for (const index of [7, 100, 101]) await change(records, index, used);
    expect(await indexes(records, 93)).toEqual(range(7, 100));
    // Behind 100, index 0 is not among the last hundred any more: one more may be left out.
    expect(await indexes(records, 2)).toEqual([100, 102]);
  });

  it('of a wallet that waits for its scan is refused, and no counter rises', async () => {
    const raises: Raise[] = [];
    const records = await openTestStore({ beforeCommit: (told) => void raises.push(...told) });
    await records.addWallet({ startIndex: undefined });
    await records.addStore();
    const [refused] = await Promise.allSettled([records.issue()]);
    expect(refused).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 5 } });
    expect(raises).toEqual([]);
    await records.write((tx) => records.addresses.finishScan(tx, now, 1, 4));
    expect(await indexes(records, 1)).toEqual([4]);
  });

  it('of an unknown wallet is refused', async () => {
    const records = await shop();
    await expect(records.issue(9)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('beyond the last possible one is refused', async () => {
    const records = await openTestStore();
    await records.addWallet({ startIndex: 2 ** 31 - 1 });
    await records.addStore();
    expect(await indexes(records, 1)).toEqual([2 ** 31 - 1]);
    await expect(records.issue()).rejects.toMatchObject({ code: 'invalid' });
    expect(records.catalog.wallet(1).nextIndex).toBe(2 ** 31);
  });
});

describe('addresses derived ahead', () => {
  const ahead = (records: TestRecords, until: number) =>
    records.write((tx) => records.addresses.deriveAhead(tx, 1, until));

  it('are each reported once', async () => {
    const records = await shop();
    const first = await ahead(records, 3);
    const more = await ahead(records, 5);
    const expected = range(0, 5).map((index) => deriveAddress(accountKey(), 0, index)?.scripthash);
    expect([...first, ...more]).toEqual(expected);
    expect(await ahead(records, 5)).toEqual([]);
    expect(await ahead(records, 2)).toEqual([]);
    expect(records.addresses.derivedUntil(1)).toBe(5);
  });

  it('are issued in their order, and belong to no store until then', async () => {
    const records = await shop();
    await ahead(records, 5);
    expect(records.addresses.isUsed(1)).toBe(false);
    expect(countIssued(records.database)).toBe(0);
    expect(rowOf(records, 0)).toMatchObject({ origin: 'ahead', storeId: null, issuedAt: null });
    expect(await indexes(records, 7)).toEqual(range(0, 7));
    expect(records.addresses.isUsed(1)).toBe(true);
    expect(records.addresses.derivedUntil(1)).toBe(7);
  });

  it('begin at the start index', async () => {
    const records = await openTestStore();
    await records.addWallet({ startIndex: 50 });
    expect(records.addresses.derivedUntil(1)).toBe(50);
    expect(await ahead(records, 53)).toHaveLength(3);
    expect(rowOf(records, 49)).toBeUndefined();
  });

  it('are watched up to a distance, newest first', async () => {
    const records = await shop();
    await ahead(records, 60);
    await indexes(records, 2);
    const near = records.addresses.upcoming(40);
    expect(near.map(({ id }) => id)).toEqual(range(3, 43).toReversed());
    expect(records.addresses.ahead(1, 0, 4)).toEqual(
      [rowOf(records, 2), rowOf(records, 3)].map(hashOf),
    );
  });

  it('are watched for ever once they are issued, newest first, page by page', async () => {
    const records = await shop();
    await ahead(records, 8);
    await indexes(records, 5);
    await change(records, 1, used);
    const first = records.addresses.recent(0, undefined, 3);
    const second = records.addresses.recent(0, first.at(-1), 3);
    expect(records.addresses.recent(0, second.at(-1), 3)).toEqual([]);
    const all = [...first, ...second];
    expect(all.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1]);
    expect(all.map(({ statusHash }) => statusHash)).toEqual([
      null,
      null,
      null,
      used.statusHash,
      null,
    ]);
  });

  it('are stored unless a request was faster', async () => {
    const records = await shop();
    const derived = range(0, 4).map((index) => ({ ...derivedAt(index), index }));
    await indexes(records, 2);
    await records.write((tx) => records.addresses.keepAhead(tx, 1, derived));
    expect(range(0, 4).map((index) => rowOf(records, index)?.origin)).toEqual([
      ...['issued', 'issued', 'ahead', 'ahead'],
    ]);
    expect(await indexes(records, 3)).toEqual([2, 3, 4]);
  });
});

describe('indexes that a copy skips', () => {
  const skip = (records: TestRecords, to: number, walletId = 1) =>
    records.write((tx) => records.addresses.skip(tx, now, walletId, to));

  it('count as issued by the only store, are watched, and are never issued', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    await indexes(records, 2);
    await skip(records, 5);
    expect(raises.at(-1)).toEqual({ wallet: markOf(), from: 2, to: 5 });
    for (const index of range(2, 5)) {
      expect(rowOf(records, index)).toMatchObject({ origin: 'skipped', storeId: 1, issuedAt: now });
    }
    expect(records.addresses.notAhead(Number.MAX_SAFE_INTEGER, 99)).toHaveLength(5);
    expect(countIssued(records.database)).toBe(2);
    expect(await indexes(records, 2)).toEqual([5, 6]);
  });

  it('make a wallet used', async () => {
    const records = await shop();
    await skip(records, 1);
    expect(records.addresses.isUsed(1)).toBe(true);
  });

  it('belong to no store if several may have issued them', async () => {
    const records = await shop();
    await records.addStore({ name: 'Second' });
    await skip(records, 2);
    expect(rowOf(records, 1)).toMatchObject({ origin: 'skipped', storeId: null });
  });

  it('belong to the store of their wallet, also if it was removed', async () => {
    const records = await shop();
    await records.addWallet({ key: accountKey(2), startIndex: 0 });
    await records.addStore({ walletId: 2 });
    await records.write((tx) => records.catalog.archiveStore(tx, now, 2, false));
    await skip(records, 2, 2);
    expect(rowOf(records, 1, 2)).toMatchObject({ walletId: 2, origin: 'skipped', storeId: 2 });
  });

  it('retain their stored data', async () => {
    const records = await shop();
    await records.write((tx) => records.addresses.deriveAhead(tx, 1, 4));
    await change(records, 1, { ...used, origin: 'foreign' });
    await skip(records, 4);
    expect(range(0, 4).map((index) => rowOf(records, index)?.origin)).toEqual([
      'skipped',
      'foreign',
      'skipped',
      'skipped',
    ]);
  });

  it('are none if the counter is already further', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    await indexes(records, 5);
    raises.length = 0;
    await skip(records, 3);
    await skip(records, 5);
    expect(raises).toEqual([]);
    expect(records.catalog.wallet(1).nextIndex).toBe(5);
  });

  it('stay skipped when the scan of the wallet ends below them', async () => {
    const raises: Raise[] = [];
    const records = await openTestStore({ beforeCommit: (told) => void raises.push(...told) });
    await records.addWallet({ startIndex: undefined });
    await records.addStore();
    await skip(records, 100);
    expect(raises).toEqual([]);
    await records.write((tx) => records.addresses.finishScan(tx, now, 1, 4));
    expect(records.catalog.wallet(1)).toMatchObject({ nextIndex: 100, scannedAt: now });
    // The mark file takes that as issued: the next start would skip as many again.
    expect(raises).toEqual([{ wallet: markOf(), from: 100, to: 100 }]);
    expect(await indexes(records, 1)).toEqual([100]);
  });
});

it('over any sequence of events: no index twice, no used one, and the counter only rises', async () => {
  const raises: Raise[] = [];
  const records = await openTestStore({ beforeCommit: (told) => void raises.push(...told) });
  let wallets = 0;
  const index = fc.nat(12);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('issue' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('ahead' as const), index }),
    fc.record({ kind: fc.constant('skip' as const), index }),
    fc.record({ kind: fc.constant('use' as const), index }),
    fc.record({ kind: fc.constant('fail' as const) }),
  );
  const course = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    wallets += 1;
    const { id } = await records.addWallet({ key: accountKey(wallets), startIndex: 0 });
    const { id: storeId } = await records.addStore({ walletId: id });
    raises.length = 0;
    const given: number[] = [];
    const usedOnes = new Set<number>();
    const next = () => records.catalog.wallet(id).nextIndex;
    for (const each of steps) {
      const before = next();
      raises.length = 0;
      if (each.kind === 'issue') {
        const issued = await Promise.all(
          range(0, each.count).map(() => records.issue(id, storeId)),
        );
        for (const { derivationIndex } of issued) {
          expect(usedOnes).not.toContain(derivationIndex);
          expect(derivationIndex).toBeGreaterThanOrEqual(before);
          expect(derivationIndex).toBeGreaterThan(given.at(-1) ?? -1);
          given.push(derivationIndex);
        }
      } else if (each.kind === 'ahead') {
        await records.write((tx) => records.addresses.deriveAhead(tx, id, before + each.index));
      } else if (each.kind === 'skip') {
        await records.write((tx) => records.addresses.skip(tx, now, id, each.index));
      } else if (each.kind === 'use') {
        const row = rowOf(records, each.index, id);
        if (row?.origin !== 'ahead') continue;
        usedOnes.add(each.index);
        await records.write(
          () =>
            void records.database.orm
              .update(addresses)
              .set(used)
              .where(eq(addresses.id, row.id))
              .run(),
        );
      } else {
        const failed = records.write((tx) => {
          records.addresses.issue(tx, now, id, storeId);
          throw new Error('no');
        });
        await expect(failed).rejects.toThrow('no');
      }
      // The mark file gets every rise, from the counter of the file, and nothing else.
      const rise = next() > before ? [{ wallet: markOf(wallets), from: before, to: next() }] : [];
      expect(raises).toEqual(rise);
    }
  });
  await fc.assert(course, { numRuns: 20 });
});
