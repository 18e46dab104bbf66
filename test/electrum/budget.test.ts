// What others can make us ask of a server, within an hour.

import { expect, it } from 'vitest';
import { Budget, refusalCost } from '../../src/electrum/budget.ts';
import { methods } from '../../src/electrum/wire.ts';

const hour = 3_600_000;

it('an allowance covers an hour of refusals, and no more before the first is an hour old', () => {
  let now = 0;
  const allowance = new Budget({ monotonic: () => now }).allowance('absence');
  for (let refusal = 0; refusal < 20; refusal += 1) {
    expect(allowance.left()).toBeGreaterThanOrEqual(refusalCost);
    allowance.charge(refusalCost);
    now += 1_000;
  }
  expect(allowance.left()).toBe(0);
  now = hour - 1;
  expect(allowance.left()).toBe(0);
  now = hour;
  expect(allowance.left()).toBe(refusalCost);
});

it('a reservation leaves less to others until it is released, once', () => {
  const budget = new Budget({ monotonic: () => 0 });
  const allowance = budget.allowance('rebroadcast');
  const release = allowance.reserve(900);
  expect([allowance.left(), allowance.reserve(200)]).toEqual([100, undefined]);
  release?.();
  release?.();
  expect(allowance.left()).toBe(1_000);
  // Each purpose has its own.
  expect(budget.allowance('absence').left()).toBe(2_000);
});

it('an own server has no limit', () => {
  const budget = new Budget({ monotonic: () => 0 }, { isOwn: true });
  budget.opened(true);
  for (let refusal = 0; refusal < 1_000; refusal += 1) {
    budget.refused();
    budget.allowance('absence').charge(refusalCost);
  }
  expect(budget.allowance('absence').left()).toBe(Number.POSITIVE_INFINITY);
  expect(budget.allowance('absence').reserve(1_000_000)).toBeTypeOf('function');
  const request = { method: methods.subscribe, text: '', bulk: true };
  expect([budget.waitMs(request, 100_000), budget.overdrawnMs(true)]).toEqual([0, 0]);
});
