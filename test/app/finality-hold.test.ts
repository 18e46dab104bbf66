// A hold of promotions ends with its cause, also when the server that caused it is gone.

import Sqlite from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import type { BlockHash } from '../../src/bitcoin/ids.ts';
import type { HoldReason } from '../../src/store/file/file-state.ts';
import { FinalityHold } from '../../src/watcher/finality-hold.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const minuteMs = 60_000;
const server = 'tcp://127.0.0.1:1';

const branch: HoldReason = { kind: 'branch', server, text: 'it follows another branch' };
const lie: HoldReason = {
  kind: 'lie',
  server,
  text: 'the only server that can be reached has lied',
};
const deep: HoldReason = { ...branch, deepTip: 'ab'.repeat(32) as BlockHash };

/** After a restart in the middle of a hold, before servers that are never reached again. */
async function restarted(reason: HoldReason, servers: readonly string[]) {
  const records = await openTestStore();
  await records.write((tx) => records.state.hold.write(tx, [reason]));
  const world = createTestWorld();
  const hold = new FinalityHold({ world, records, servers });
  return { records, world, hold, kept: () => records.state.hold.read() };
}

test.each([branch, lie, deep])(
  'a hold because of a server that is no longer on the list ends: $kind',
  async (reason) => {
    const { hold, kept } = await restarted(reason, []);
    expect(kept()).toEqual([reason]);
    await hold.update([], false);
    expect(kept()).toEqual([]);
  },
);

test('a hold because of a server that never returns ends half an hour after its last response', async () => {
  const { hold, kept, world } = await restarted(branch, [server]);
  await world.advance(29 * minuteMs);
  await hold.update([], true);
  expect(kept()).toEqual([branch]);
  await world.advance(minuteMs);
  await hold.update([], true);
  expect(kept()).toEqual([]);
});

test('a hold because of a heavier branch ends once our chain is heavier', async () => {
  const { hold, kept, world } = await restarted(deep, [server]);
  await world.advance(minuteMs);
  await hold.update([], true);
  expect(kept()).toEqual([]);
});

test('a hold because of a lie ends once the server in use is redeemed', async () => {
  const { hold, kept } = await restarted(lie, [server]);
  await hold.update([], false);
  expect(kept()).toEqual([lie]);
  await hold.update([], true);
  expect(kept()).toEqual([]);
});

/** Has the file refuse every write of a setting, as a full disk does. */
function refuseWrites({ path }: TestRecords): () => void {
  const other = new Sqlite(path);
  const refusals = ['insert', 'update'].map(
    (event) => `create trigger refuse_${event} before ${event} on settings
      begin select raise(abort, 'no room'); end`,
  );
  for (const each of refusals) other.exec(each);
  return () => {
    other.exec('drop trigger refuse_insert; drop trigger refuse_update');
    other.close();
  };
}

test('a hold that could not be stored is stored as soon as possible', async () => {
  const { hold, kept, records } = await restarted(lie, [server]);
  const room = refuseWrites(records);
  await expect(hold.update([], true)).rejects.toThrow('no room');
  expect(kept()).toEqual([lie]);
  room();
  await hold.update([], true);
  expect(kept()).toEqual([]);
});

test('a hold that began while the disk refused writes is stored as soon as possible', async () => {
  const { hold, kept, records } = await restarted(lie, [server]);
  await hold.update([], true);
  const room = refuseWrites(records);
  await expect(hold.lied(server)).rejects.toThrow('no room');
  room();
  await hold.update([], false);
  expect(kept()).toMatchObject([{ kind: 'lie', server }]);
});
