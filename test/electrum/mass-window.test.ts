import { expect, test } from 'vitest';
import { MassWindow } from '../../src/electrum/mass-window.ts';

const answer = (window: MassWindow, times: number, tookMs: number): number => {
  for (let at = 0; at < times; at += 1) window.answered(tookMs);
  return window.extra;
};

test('a window is four times wider when all of it was answered fast, up to 50,000', () => {
  const window = new MassWindow(100);
  expect(answer(window, 99, 250)).toBe(0);
  expect(answer(window, 1, 250)).toBe(300);
  expect(answer(window, 399, 1)).toBe(300);
  expect(answer(window, 1, 1)).toBe(1_500);
  expect(answer(window, 150_000, 1)).toBe(49_900);
});

test('an answer that is not fast begins the count anew', () => {
  const window = new MassWindow(100);
  expect(answer(window, 99, 1)).toBe(0);
  expect(answer(window, 1, 251)).toBe(0);
  expect(answer(window, 99, 1)).toBe(0);
  expect(answer(window, 1, 1)).toBe(300);
});

test('a slow answer halves it, down to what was set', () => {
  const window = new MassWindow(100);
  answer(window, 500, 1);
  expect(window.extra).toBe(1_500);
  expect(answer(window, 1, 1_001)).toBe(700);
  expect(answer(window, 1, 1_001)).toBe(300);
  expect(answer(window, 1, 1_001)).toBe(100);
  expect(answer(window, 5, 1_001)).toBe(0);
});

test('a window that was set wider stays as it is', () => {
  const window = new MassWindow(60_000);
  expect(answer(window, 60_000, 1)).toBe(0);
  expect(answer(window, 1, 1_001)).toBe(0);
});
