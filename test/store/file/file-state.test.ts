import { expect, test } from 'vitest';
import { noTarget } from '../../../src/domain/delivery/notification-settings.ts';
import { look } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';

test('the last value counts, and undefined is the same as none', async () => {
  const { state, write, path } = await openTestStore();
  expect(state.watchedAt.read()).toBeUndefined();
  await write((tx) => state.watchedAt.write(tx, 5));
  expect(state.watchedAt.read()).toBe(5);
  await write((tx) => state.watchedAt.write(tx, 0));
  expect(state.watchedAt.read()).toBe(0);
  await write((tx) => state.watchedAt.write(tx, undefined));
  expect(state.watchedAt.read()).toBeUndefined();
  const rows = look(path).prepare("SELECT count(*) FROM settings WHERE name = 'watched_at'");
  expect(rows.pluck().get()).toBe(1);
});

test('each has its own value for none', async () => {
  const { state } = await openTestStore();
  expect(state.copied.read()).toEqual({ at: 0, text: '' });
  expect(state.restored.read()).toBe(false);
  expect(state.alarmTimes.read()).toEqual({});
  expect(state.unmatched.read()).toEqual([]);
  expect(state.mailServer.read()).toBeUndefined();
  expect(state.notifyTarget(null).read()).toEqual(noTarget);
});

test('a target belongs to one owner, and left-out indexes to one wallet', async () => {
  const { state, write } = await openTestStore();
  const targetOf = (url: string) => ({ ...noTarget, webhookUrl: url });
  await write((tx) => {
    state.notifyTarget(null).write(tx, targetOf('https://operator.example/'));
    state.notifyTarget(1).write(tx, targetOf('https://shop.example/'));
    state.returned(1).write(tx, { until: 7, count: 2 });
  });
  expect(state.notifyTarget(null).read().webhookUrl).toBe('https://operator.example/');
  expect(state.notifyTarget(1).read().webhookUrl).toBe('https://shop.example/');
  expect(state.notifyTarget(2).read()).toEqual(noTarget);
  expect(state.returned(1).read()).toEqual({ until: 7, count: 2 });
  expect(state.returned(2).read()).toEqual({ until: 0, count: 0 });
});
