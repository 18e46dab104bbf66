import { afterEach, expect, it } from 'vitest';
import { cleanUp } from '../../support/files.ts';
import { now, openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const sha256 = 'ab'.repeat(32);

it('facts about a server are stored, and the last one counts', async () => {
  const records = await openTestStore();
  const { servers } = records;
  const label = 'ssl://electrum.example:50002';
  expect(servers.trust(label)).toBeUndefined();
  await servers.learn(label, { kind: 'pinned', sha256 }, now);
  expect(servers.trust(label)).toEqual({ kind: 'pinned', sha256 });
  await servers.learn(label, { kind: 'valid' }, now + 1);
  expect(servers.trust(label)).toEqual({ kind: 'valid' });
  await servers.learn('another', { kind: 'pinned', sha256: 'cd'.repeat(32) }, now);
  await records.database.close();

  const again = await openTestStore({ path: records.path });
  expect(again.servers.trust(label)).toEqual({ kind: 'valid' });
  expect(again.servers.trust('another')).toEqual({ kind: 'pinned', sha256: 'cd'.repeat(32) });
  expect(again.servers.trust('')).toBeUndefined();
});

it('a ban and a certificate are stored until they are deleted', async () => {
  const { servers, database } = await openTestStore();
  const label = 'tcp://electrum.example:50001';
  expect(servers.ban(label)).toBeUndefined();
  await servers.setBan(label, { until: now + 1, reason: 'it lied' }, now);
  await servers.learn(label, { kind: 'valid' }, now);
  expect(servers.all()).toEqual([
    { label, trust: { kind: 'valid' }, ban: { until: now + 1, reason: 'it lied' } },
  ]);
  expect(await database.write((tx) => servers.liftBan(tx, label))).toBe(true);
  expect(await database.write((tx) => servers.liftBan(tx, label))).toBe(false);
  expect(servers.all()).toEqual([{ label, trust: { kind: 'valid' }, ban: undefined }]);
  expect(await database.write((tx) => servers.forget(tx, label))).toBe(true);
  expect(await database.write((tx) => servers.forget(tx, label))).toBe(false);
  expect(servers.all()).toEqual([]);
});

it('an accepted certificate is pinned, but only in place of a known one', async () => {
  const { servers, database } = await openTestStore();
  const label = 'ssl://electrum.example:50002';
  const accept = (sha256: string) =>
    database.write((tx) => servers.accept(tx, label, sha256, now + 1));
  expect(await accept(sha256)).toBe(false);
  await servers.setBan(label, { until: now + 1, reason: 'it lied' }, now);
  expect(await accept(sha256)).toBe(false);
  await servers.learn(label, { kind: 'valid' }, now);
  expect(await accept('cd'.repeat(32))).toBe(true);
  expect(await accept(sha256)).toBe(true);
  const ban = { until: now + 1, reason: 'it lied' };
  expect(servers.all()).toEqual([{ label, trust: { kind: 'pinned', sha256 }, ban }]);
});
