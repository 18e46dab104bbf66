// Statements that are built at their first use.

import { afterEach, expect, test } from 'vitest';
import { prepared, setPrepareAtOnce } from '../../../src/store/db/orm.ts';

afterEach(() => setPrepareAtOnce(false));

/** A query that counts how often it is built, and answers with the way and its values. */
function counted() {
  const built = { times: 0 };
  const ways = {
    run: (values?: object) => ['run', values],
    get: (values?: object) => ['get', values],
    all: (values?: object) => ['all', values],
    values: (values?: object) => ['values', values],
  };
  const statement = prepared(() => {
    built.times += 1;
    return { prepare: () => ways };
  });
  return { built, statement };
}

test('a statement is built at its first use, and once', () => {
  const { built, statement } = counted();
  expect(built.times).toBe(0);
  const given = { id: 1 };
  expect([statement.run(given), statement.get(given)]).toEqual([
    ['run', given],
    ['get', given],
  ]);
  expect([statement.all(), statement.values(given)]).toEqual([
    ['all', undefined],
    ['values', given],
  ]);
  expect(built.times).toBe(1);
});

test('a query that cannot be built is tried again', () => {
  let times = 0;
  const statement = prepared(() => {
    times += 1;
    if (times === 1) throw new Error('busy');
    return { prepare: () => ({ run: () => times, get: () => 0, all: () => 0, values: () => 0 }) };
  });
  expect(() => statement.run()).toThrow('busy');
  expect(statement.run()).toBe(2);
});

test('all are built at once for the test that explains them', () => {
  setPrepareAtOnce(true);
  expect(counted().built.times).toBe(1);
});
