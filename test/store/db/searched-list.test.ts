// Pages of lists whose rows are compared one by one: they end early, and go on where they ended.

import { describe, expect, test } from 'vitest';
import { findIds, inMemory, maxRowsRead, readAll } from '../../../src/store/db/searched-list.ts';

/** Rows with these ids, and how many were read. */
function rowsDownFrom(newest: number) {
  const count = { rows: 0 };
  const read = (last: { readonly id: number } | undefined, limit: number) => {
    const from = (last?.id ?? newest + 1) - 1;
    const length = Math.max(0, Math.min(limit, from));
    count.rows += length;
    return Array.from({ length }, (_, place) => ({ id: from - place }));
  };
  return { read, count };
}

describe('a page', () => {
  test('is as long as its limit, and reads no more, if all rows match', () => {
    const { read, count } = rowsDownFrom(100);
    expect(findIds({ read }, 3)).toEqual({ ids: [100, 99, 98], goesOnAt: undefined });
    expect(count.rows).toBe(3);
    expect(findIds({ read: rowsDownFrom(2).read }, 3)).toEqual({
      ...{ ids: [2, 1], goesOnAt: undefined },
    });
  });

  test('ends at a number of compared rows, and says where', () => {
    const { read, count } = rowsDownFrom(2 * maxRowsRead);
    const matches = ({ id }: { id: number }) => id === 2 * maxRowsRead || id <= maxRowsRead;
    const goesOnAt = maxRowsRead + 1;
    expect(findIds({ read, matches }, 3)).toEqual({ ids: [2 * maxRowsRead], goesOnAt });
    expect(count.rows).toBe(maxRowsRead);
  });

  test('that found enough goes on nowhere', () => {
    const matches = ({ id }: { id: number }) => id % 2 === 0;
    const found = findIds({ read: rowsDownFrom(maxRowsRead * 2).read, matches }, 2);
    expect(found).toEqual({ ids: [2 * maxRowsRead, 2 * maxRowsRead - 2], goesOnAt: undefined });
  });

  test('of fewer rows than it compares at most has all of them', () => {
    const matches = ({ id }: { id: number }) => id === 1;
    const found = findIds({ read: rowsDownFrom(maxRowsRead - 1).read, matches }, 9);
    expect(found).toEqual({ ids: [1], goesOnAt: undefined });
  });

  test('ends where the list is over', () => {
    const { read, count } = rowsDownFrom(3 * maxRowsRead);
    const matches = ({ id }: { id: number }) => id === 1;
    const isOver = ({ id }: { id: number }) => id < 3 * maxRowsRead - 10;
    expect(findIds({ read, matches, isOver }, 9)).toEqual({ ids: [], goesOnAt: undefined });
    expect(count.rows).toBeLessThan(1_000);
  });
});

test('all rows are those of all pages, up to the limit', () => {
  const pages = new Map([
    [undefined, { rows: ['a'], goesOnAt: 9 }],
    [9, { rows: [], goesOnAt: 5 }],
    [5, { rows: ['b', 'c'], goesOnAt: undefined }],
  ]);
  const limits: number[] = [];
  const page = ({ beforeId, limit }: { beforeId: number | undefined; limit: number }) => {
    limits.push(limit);
    return pages.get(beforeId as undefined) ?? { rows: [], goesOnAt: undefined };
  };
  expect(readAll(page, { limit: 7 })).toEqual(['a', 'b', 'c']);
  expect(limits).toEqual([7, 6, 6]);
  expect(readAll(page, { beforeId: 5, limit: 7 })).toEqual(['b', 'c']);
});

test('rows in memory are read from the highest id down', () => {
  const rows = [2, 5, 1, 4].map((id) => ({ id }));
  const read = inMemory(rows);
  expect(read(undefined, 2)).toEqual([{ id: 5 }, { id: 4 }]);
  expect(read({ id: 4 }, 9)).toEqual([{ id: 2 }, { id: 1 }]);
  expect(inMemory(rows, 4)(undefined, 9)).toEqual([{ id: 2 }, { id: 1 }]);
});
