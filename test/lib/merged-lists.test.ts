// Sorted lists that are read together: in order, without a gap, and no further than needed.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeLists, type ReadList } from '../../src/lib/merged-lists.ts';

const ascending = (one: number, other: number): number => one - other;

/** A list in memory that counts what is read of it. */
function listOf(entries: readonly number[]) {
  const sorted = entries.toSorted(ascending);
  const count = { reads: 0, rows: 0 };
  const read: ReadList<number> = (after, limit) => {
    const from = after === undefined ? 0 : sorted.findIndex((entry) => entry > after);
    const part = from === -1 ? [] : sorted.slice(from, from + limit);
    count.reads += 1;
    count.rows += part.length;
    return part;
  };
  return { read, count };
}

describe('the first entries of several lists', () => {
  test('are those of all of them, sorted', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 200 }), { maxLength: 60 });
    const groups = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(numbers, groups, fc.integer({ min: 0, max: 70 }), (all, group, limit) => {
        const lists = [0, 1, 2, 3, 4].map((which) =>
          listOf(all.filter((_, place) => group[place] === which)),
        );
        const found = mergeLists(
          lists.map(({ read }) => read),
          ascending,
          limit,
        );
        expect(found).toEqual(all.toSorted(ascending).slice(0, limit));
      }),
    );
  });

  test('are none of no list, and of empty ones', () => {
    expect(mergeLists([], ascending, 5)).toEqual([]);
    expect(mergeLists([listOf([]).read, listOf([]).read], ascending, 5)).toEqual([]);
  });

  test('are read in few parts, and little more than is needed', () => {
    const thousand = Array.from({ length: 1_000 }, (_, place) => place);
    const lists = [listOf(thousand), listOf(thousand.map((entry) => entry + 10_000)), listOf([])];
    const found = mergeLists(
      lists.map(({ read }) => read),
      ascending,
      100,
    );
    expect(found).toEqual(thousand.slice(0, 100));
    expect(lists.map(({ count }) => count)).toEqual([
      { reads: 2, rows: 105 },
      { reads: 1, rows: 35 },
      { reads: 1, rows: 0 },
    ]);
  });

  test('of a list that ends with a part are not asked for again without need', () => {
    const { read, count } = listOf([1, 2, 3]);
    expect(mergeLists([read], ascending, 2)).toEqual([1, 2]);
    expect(count).toEqual({ reads: 1, rows: 3 });
  });
});
