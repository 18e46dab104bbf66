// The floor: how far the mark file says that a wallet issued which the file did not know when it
// was opened.

import { afterEach, describe, expect, it } from 'vitest';
import type { Scripthash } from '../../../src/bitcoin/ids.ts';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import type { Raise } from '../../../src/domain/store/allocation.ts';
import type { WriterOptions } from '../../../src/store/db/writer.ts';
import { openHighWaterMark } from '../../../src/store/mark/high-water-mark.ts';
import { cleanUp } from '../../support/files.ts';
import { run, stoppedAfter } from '../../support/running.ts';
import { accountKey, markOf, now, openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const floor = 8;
const second = markOf(2);

/** Two wallets, of which the mark file says that the second one had issued up to its floor. */
async function shop(beforeCommit: WriterOptions['beforeCommit'] = () => undefined) {
  const floorOf = (wallet: string) => (wallet === second ? floor : 0);
  const records = await openTestStore({ beforeCommit, floorOf });
  for (const number of [1, 2]) {
    await records.addWallet({ key: accountKey(number), startIndex: 0 });
    await records.addStore({ walletId: number });
  }
  return records;
}

const skip = (records: TestRecords, to: number) =>
  records.write((tx) => records.addresses.skip(tx, now, 2, to));

const rowOf = (records: TestRecords, index: number) => {
  const { scripthash = '' as Scripthash } = deriveAddress(accountKey(2), 0, index) ?? {};
  return records.addresses.byScripthash(scripthash);
};

describe('below its floor a wallet', () => {
  it('issues nothing, and delays no other wallet', async () => {
    const records = await shop();
    expect([1, 2].map(records.addresses.floor)).toEqual([0, floor]);
    await expect(records.issue(2, 2)).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterSeconds: 5,
    });
    expect(rowOf(records, 0)).toBeUndefined();
    expect((await records.issue(1, 1)).derivationIndex).toBe(0);
  });

  it('skips in parts: each is watched, and the mark never decreases', async () => {
    const raises: Raise[] = [];
    const records = await shop((told) => void raises.push(...told));
    const first = await skip(records, 5);
    const [told] = first;
    expect([first.length, told]).toEqual([5, deriveAddress(accountKey(2), 0, 0)?.scripthash]);
    expect(rowOf(records, 4)).toMatchObject({ origin: 'skipped', storeId: 2 });
    await expect(records.issue(2, 2)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await skip(records, floor)).toHaveLength(3);
    expect((await records.issue(2, 2)).derivationIndex).toBe(floor);
    expect(raises).toEqual([
      { wallet: second, from: 0, to: floor },
      { wallet: second, from: 5, to: floor },
      { wallet: second, from: floor, to: floor + 1 },
    ]);
  });

  it('is no further after a commit that failed', async () => {
    let isFull = true;
    const records = await shop((raises) => {
      if (isFull && raises.length > 0) throw new Error('the disk is full');
    });
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(skip(records, floor)).rejects.toThrow('the disk is full');
    }
    isFull = false;
    await skip(records, records.addresses.floor(2));
    expect((await records.issue(2, 2)).derivationIndex).toBe(floor);
  });
});

describe('the mark of a wallet that the database lacks', () => {
  /** A stopped shop with one wallet, whose mark speaks of another one. */
  async function marked(): Promise<string> {
    const path = await stoppedAfter(1);
    const mark = openHighWaterMark(path, 'test');
    mark.raise([{ wallet: second, from: 4, to: floor }]);
    mark.close();
    return path;
  }
  const read = (path: string) => {
    const mark = openHighWaterMark(path, 'test');
    mark.close();
    return mark.reading?.raises.find(({ wallet }) => wallet === second);
  };

  it('survives starts without that wallet', async () => {
    const path = await marked();
    for (let starts = 0; starts < 3; starts += 1) {
      const paygate = await run(path);
      await paygate.issue(1);
      await paygate.stop();
    }
    expect(read(path)).toEqual({ wallet: second, from: 4, to: floor });
  });

  it('is raised once if the mark file is not valid', async () => {
    const path = await marked();
    const mark = openHighWaterMark(path, 'test');
    mark.distrust();
    mark.close();
    for (let starts = 0; starts < 2; starts += 1) await (await run(path)).stop();
    expect(read(path)).toEqual({ wallet: second, from: floor + 100, to: floor + 100 });
  });

  it('skips that wallet at the start after it was added, and warns', async () => {
    const path = await marked();
    const records = await openTestStore({ path });
    await records.addWallet({ key: accountKey(2), startIndex: 0 });
    await records.database.close();
    const paygate = await run(path);
    expect(paygate.warnings).toEqual([
      {
        reason: 'wallet 2 stands at index 0, its mark file is further',
        skips: [{ walletId: 2, from: 0, to: floor }],
      },
    ]);
    await paygate.stop();
  });
});
