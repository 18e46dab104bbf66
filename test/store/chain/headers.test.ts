import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Header } from '../../../src/bitcoin/header.ts';
import type { BlockHash } from '../../../src/bitcoin/ids.ts';
import { connectHeaders } from '../../../src/domain/payment/chain.ts';
import { cleanUp, connectionOf, look } from '../../support/files.ts';
import {
  branch,
  easyBits,
  firstHeader,
  hardBits,
  ruledBy,
  storeHeaders,
} from '../../support/headers.ts';
import { openTestStore, type TestRecords } from '../../support/store.ts';

afterEach(cleanUp);

const regtest = ruledBy('none');

/** A file that holds a chain of so many headers, the first one at height 0. */
async function holding(count: number, options = {}) {
  const records = await openTestStore();
  const first = firstHeader(options);
  const headers = [first, ...branch(first, count - 1)];
  let work = 0n;
  const added = headers.map((header, height) => {
    work += 2n;
    return { header, height, work };
  });
  await records.write((tx) => records.headers.setBest(tx, added, -1));
  return { records, headers };
}

/** Connects headers and stores what comes of it, as the verifier does. */
async function feed(records: TestRecords, headers: readonly Header[], network = regtest) {
  const tip = records.headers.tip();
  if (tip === undefined) throw new Error('nothing to connect to');
  const result = connectHeaders(records.headers.view(network, tip), headers);
  await records.write((tx) => {
    if (result.kind === 'side') records.headers.addSide(tx, result.added);
    if (result.kind === 'best') records.headers.setBest(tx, result.added, result.forkHeight);
  });
  return result.kind;
}

const bestHashes = ({ headers }: TestRecords): string[] => {
  const hashes: string[] = [];
  for (let hash = headers.bestHashAt(0); hash; hash = headers.bestHashAt(hashes.length)) {
    hashes.push(hash);
  }
  return hashes;
};
const hashesOf = (headers: readonly Header[]) => headers.map(({ hash }) => hash);
const last = (headers: readonly Header[]): Header => headers.at(-1) ?? firstHeader();

describe('the stored chain', () => {
  it('has no tip before the first header', async () => {
    const { headers } = await openTestStore();
    expect(headers.tip()).toBeUndefined();
    expect(headers.bestAt(0)).toBeUndefined();
    expect(headers.bestHashAt(0)).toBeUndefined();
    expect(headers.byHash('00'.repeat(32) as BlockHash)).toBeUndefined();
  });

  it('is read back as it was, also after a restart', async () => {
    const { records, headers } = await holding(5);
    await records.database.close();
    const again = await openTestStore({ path: records.path });
    const tip = { header: last(headers), height: 4, work: 10n };
    expect(again.headers.tip()).toEqual(tip);
    expect(again.headers.bestAt(4)).toEqual(tip);
    expect(again.headers.byHash(last(headers).hash)).toEqual(tip);
    expect(bestHashes(again)).toEqual(hashesOf(headers));
    expect(again.headers.bestAt(5)).toBeUndefined();
    expect(again.headers.bestAt(-1)).toBeUndefined();
  });

  it('may begin high up', async () => {
    const records = await openTestStore();
    const header = firstHeader();
    await records.write((tx) =>
      records.headers.setBest(tx, [{ header, height: 963_647, work: 1n }], 963_646),
    );
    expect(records.headers.tip()?.height).toBe(963_647);
    expect(records.headers.bestAt(963_646)).toBeUndefined();
    expect(await feed(records, branch(header, 3))).toBe('best');
    expect(records.headers.tip()?.height).toBe(963_650);
  });

  it('returns the last times up to a height, latest first, of the best chain only', async () => {
    const { records, headers } = await holding(8);
    const other = branch(headers[4] ?? last(headers), 4);
    expect(await feed(records, other)).toBe('best');
    const tip = records.headers.tip();
    const view = tip && records.headers.view(regtest, tip);
    const best = [...headers.slice(0, 5), ...other].map(({ time }) => time).toReversed();
    expect(view?.bestTimes(8, 3)).toEqual(best.slice(0, 3));
    expect(view?.bestTimes(5, 3)).toEqual(best.slice(3, 6));
    expect(view?.bestTimes(2, 11)).toEqual(best.slice(6));
  });

  it('stores the largest possible work', async () => {
    const records = await openTestStore();
    const header = firstHeader();
    const work = 2n ** 256n - 1n;
    await records.write((tx) => records.headers.setBest(tx, [{ header, height: 0, work }], -1));
    expect(records.headers.tip()?.work).toBe(work);
  });

  it('follows a reorganisation, there and back', async () => {
    const { records, headers } = await holding(8);
    const other = branch(headers[4] ?? last(headers), 4);
    expect(await feed(records, other)).toBe('best');
    expect(bestHashes(records)).toEqual(hashesOf([...headers.slice(0, 5), ...other]));
    expect(records.headers.byHash(last(headers).hash)).toMatchObject({ height: 7 });
    const back = branch(last(headers), 2);
    expect(await feed(records, back)).toBe('best');
    expect(bestHashes(records)).toEqual(hashesOf([...headers, ...back]));
  });

  it('stores a branch with less work, and adopts it when it wins', async () => {
    const { records, headers } = await holding(8);
    const side = branch(headers[4] ?? last(headers), 3);
    expect(await feed(records, side)).toBe('side');
    expect(bestHashes(records)).toEqual(hashesOf(headers));
    expect(await feed(records, side)).toBe('known');
    const more = branch(last(side), 1);
    expect(await feed(records, more)).toBe('best');
    expect(bestHashes(records)).toEqual(hashesOf([...headers.slice(0, 5), ...side, ...more]));
  });

  it('becomes shorter when a shorter branch has more work', async () => {
    const testnet3 = ruledBy('testnet3');
    const records = await openTestStore();
    const first = firstHeader({ bits: hardBits });
    await records.write((tx) =>
      records.headers.setBest(tx, [{ header: first, height: 0, work: 512n }], -1),
    );
    for (let tip = first, count = 0; count < 9; count += 1) {
      [tip = first] = branch(tip, 1, { bits: easyBits, time: tip.time + 1201 });
      expect(await feed(records, [tip], testnet3)).toBe('best');
    }
    expect(records.headers.tip()?.height).toBe(9);
    const hard = branch(first, 1);
    expect(await feed(records, hard, testnet3)).toBe('best');
    expect(bestHashes(records)).toEqual(hashesOf([first, ...hard]));
    expect(records.headers.tip()).toMatchObject({ height: 1 });
    expect(records.headers.bestAt(2)).toBeUndefined();
  });

  it('changes as a whole or not at all', async () => {
    const { records, headers } = await holding(8);
    const other = branch(headers[4] ?? last(headers), 4);
    const tip = records.headers.tip();
    if (tip === undefined) throw new Error('no tip');
    const result = connectHeaders(records.headers.view(regtest, tip), other);
    const failed = records.write((tx) => {
      if (result.kind === 'best') records.headers.setBest(tx, result.added, result.forkHeight);
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(bestHashes(records)).toEqual(hashesOf(headers));
    expect(records.headers.byHash(last(other).hash)).toBeUndefined();
  });

  it('never has two headers of one height on the best chain: the file refuses that', async () => {
    const { records, headers } = await holding(3);
    await feed(records, branch(headers[1] ?? last(headers), 1));
    const other = look(records.path);
    expect(() => other.exec('UPDATE headers SET on_best = 1 WHERE height = 2')).toThrow('UNIQUE');
  });

  it('is read by an index, not by a scan', async () => {
    const { records } = await holding(3);
    const sqlite = connectionOf(records.database);
    const plans = [
      'SELECT * FROM headers WHERE on_best = 1 ORDER BY height DESC LIMIT 1',
      'SELECT hash FROM headers WHERE on_best = 1 AND height = 2',
    ].map((text) => sqlite.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]);
    for (const [step] of plans) expect(step?.detail).toContain('headers_best');
  });
});

it('over any order of headers, the file and a chain in memory agree', async () => {
  const tree = fc.array(fc.nat(30), { minLength: 1, maxLength: 20 });
  const order = fc.array(fc.nat(30), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(tree, order, async (parents, turns) => {
      const { records, headers } = await holding(1);
      const memory = storeHeaders(regtest, headers);
      const all = [...headers];
      for (const parent of parents) {
        const on = all[all.length - 1 - (parent % Math.min(all.length, 4))] ?? last(all);
        all.push(...branch(on, 1));
      }
      for (const turn of turns) {
        const header = all[turn % all.length] ?? last(all);
        expect(await feed(records, [header])).toBe(memory.feed([header]).kind);
      }
      expect(bestHashes(records)).toEqual(memory.hashes());
      expect(records.headers.tip()).toEqual(memory.tip());
      await records.database.close();
    }),
    { numRuns: 10 },
  );
});
