// The versions of orders never go back below what a shop received. That holds for each restore, of
// whichever file and however often, at this place or another, and whatever the clock shows.

import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { marksOf } from '../../../src/domain/store/allocation.ts';
import { dayMs, minuteMs, secondMs } from '../../../src/lib/time-units.ts';
import { declareSetBack, restoreFile } from '../../../src/store/backup/restore.ts';
import { markPath, openHighWaterMark } from '../../../src/store/mark/high-water-mark.ts';
import type { NewOrder } from '../../../src/store/orders/orders.ts';
import { CounterMark } from '../../../src/store/resume/counter-mark.ts';
import { countersOf, resumeCounters } from '../../../src/store/resume/resume.ts';
import { createRandom } from '../../simulation/random.ts';
import { cleanUp, look, tempFolder } from '../../support/files.ts';
import { run, stoppedAfter } from '../../support/running.ts';
import { now, openTestStore } from '../../support/store.ts';
import { createTestWorld } from '../../support/world.ts';

afterEach(cleanUp);

const yearMs = 365 * dayMs;

const satOrder = (number: number): NewOrder => ({
  ...{ publicId: `ord_${number}`, storeId: 1, addressId: number },
  ...{ price: { kind: 'sat', amountSat: 1_000 }, rateCents: null, toleranceBasisPoints: 0 },
  ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: null, reference: null },
  ...{ description: null, metadata: {}, returnUrl: null, language: null },
});

/** A shop's file with two orders, whose second one was canceled. */
async function shopFile(): Promise<string> {
  const path = await stoppedAfter(2);
  const records = await openTestStore({ path });
  for (const number of [1, 2]) {
    await records.write((tx) => records.orders.create(tx, now, satOrder(number)));
  }
  await records.write((tx) => records.orders.cancel(tx, now, 2));
  await records.database.close();
  return path;
}

const copyOf = (path: string): string => {
  const copy = join(tempFolder(), 'backup.db');
  copyFileSync(path, copy);
  return copy;
};

const atOtherPlace = (): string => join(tempFolder(), 'paygate.db');

/** A start at a time, and a clean stop. @returns the versions of the orders */
async function start(path: string, at = now): Promise<number[]> {
  const { now: _, ...world } = createTestWorld();
  const records = await openTestStore({ path });
  const mark = new CounterMark();
  await mark.begin(records, { ...world, now: () => at });
  mark.noteEvents(records);
  await records.database.close();
  mark.close();
  return versionsIn(path);
}

function versionsIn(path: string): number[] {
  const file = look(path, { readonly: true });
  const versions = file.prepare('SELECT version FROM orders ORDER BY id').pluck().all();
  file.close();
  return versions as number[];
}

/** So many events of the first order, as the shop receives them. */
function change(path: string, count: number): void {
  const file = look(path);
  file.exec(`UPDATE orders SET version = version + ${count} WHERE id = 1`);
  const add = file.prepare(
    `INSERT INTO deliveries (channel, id, event_id, store_id, order_id, address_id, type, content,
      created_at, state, next_attempt_at)
    VALUES ('webhook', (SELECT coalesce(max(id), 0) + 1 FROM deliveries), ?, 1, 1, 1, 'order.updated', '{}', ?, 'delivered', 0)`,
  );
  for (let left = count; left > 0; left -= 1) add.run(randomBytes(16).toString('hex'), now);
  file.close();
}

/** Cancels the first order: an event, and no address. */
async function cancelFirst(path: string): Promise<void> {
  const records = await openTestStore({ path });
  await records.write((tx) => records.orders.cancel(tx, now, 1));
  await records.database.close();
}

const byTime = (at: number): number => Math.floor(at / secondMs);

describe('a start', () => {
  test('leaves the versions of a file that is no copy', async () => {
    const path = await shopFile();
    expect(await start(path)).toEqual([1, 2]);
    expect(await start(path, now + yearMs)).toEqual([1, 2]);
    expect(await start(path, now - yearMs)).toEqual([1, 2]);
  });

  test('on a copy at another place raises them by the clock', async () => {
    const path = await shopFile();
    const there = atOtherPlace();
    copyFileSync(path, there);
    expect(await start(there)).toEqual([byTime(now), byTime(now)]);
    expect(await start(there, now + minuteMs)).toEqual([byTime(now), byTime(now)]);
    change(there, 30);
    const third = atOtherPlace();
    restoreFile(copyOf(path), third, 'before');
    const later = now + minuteMs;
    expect(await start(third, later)).toEqual([byTime(later), byTime(later)]);
    expect(versionsIn(third)[0]).toBeGreaterThan(versionsIn(there)[0] ?? 0);
  });
});

describe('the same backup restored twice', () => {
  test.each([
    ['and the clock went on', 10 * minuteMs],
    ['and the clock stood still', 0],
    ['and the clock was set back', -yearMs],
  ])('raises them above what was sent between, %s', async (_what, passed) => {
    const path = await shopFile();
    const backup = copyOf(path);
    await start(path);
    change(path, 5);
    restoreFile(backup, path, 'before');
    const [first = 0] = await start(path);
    expect(first).toBe(byTime(now));
    change(path, 5);
    restoreFile(backup, path, 'before');
    expect(Math.min(...versionsIn(path))).toBeGreaterThan(first + 5);
    expect(Math.min(...(await start(path, now + passed)))).toBeGreaterThan(first + 5);
  });

  test('without a start between raises them all the same', async () => {
    const path = await shopFile();
    const backup = copyOf(path);
    change(path, 7);
    restoreFile(backup, path, 'before');
    expect(versionsIn(path)).toEqual([9, 9]);
    restoreFile(backup, path, 'before');
    expect(versionsIn(path)).toEqual([10, 10]);
  });

  test('by a copy of the file, beside its mark file, with a clock behind', async () => {
    const path = await shopFile();
    const backup = copyOf(path);
    for (const at of [now, now - yearMs, now - 2 * yearMs]) {
      const [before = 0] = await start(path, at);
      change(path, 900);
      renameSync(path, `${path}.old`);
      copyFileSync(backup, path);
      const [after = 0] = await start(path, at);
      expect(after).toBeGreaterThan(before + 900);
    }
  });

  test('above a former file that is damaged, by the clock or by the mark file', async () => {
    const path = await shopFile();
    const backup = copyOf(path);
    rmSync(path);
    copyFileSync(backup, path);
    const [first = 0] = await start(path);
    change(path, 500);
    writeFileSync(path, readFileSync(path).fill(7, 100));
    restoreFile(backup, path, 'before');
    expect(versionsIn(path)).toEqual([3, 3]);
    expect((await start(path, now - yearMs))[0]).toBe(first + 1_000);
  });
});

describe('an older file that issued no fewer addresses', () => {
  test('written over the file, whose inode stays, is recognised by its events', async () => {
    const path = await shopFile();
    const backup = copyOf(path);
    await start(path);
    await cancelFirst(path);
    expect(await start(path)).toEqual([2, 2]);
    writeFileSync(path, readFileSync(backup));
    expect(await start(path)).toEqual([byTime(now), byTime(now)]);
    // It is this file from now on.
    expect(await start(path, now + minuteMs)).toEqual([byTime(now), byTime(now)]);
  });

  test('that was restored under the inode of the former one is raised', async () => {
    const path = await shopFile();
    await start(path);
    const backup = copyOf(path);
    rmSync(path);
    restoreFile(backup, path, 'before');
    const records = await openTestStore({ path });
    expect(records.state.restored.read()).toBe(true);
    const mark = openHighWaterMark(path, records.instance);
    mark.begin(marksOf(countersOf(records), []));
    mark.close();
    await records.database.close();
    expect(await start(path)).toEqual([byTime(now), byTime(now)]);
    const again = await openTestStore({ path });
    expect(again.state.restored.read()).toBe(false);
    await again.database.close();
    expect(await start(path, now + minuteMs)).toEqual([byTime(now), byTime(now)]);
  });

  test('whose machine was set back is raised once that is declared', async () => {
    const path = await shopFile();
    await start(path);
    const { database, catalog, addresses, instance } = await openTestStore({ path });
    declareSetBack({ path, instance, catalog, addresses });
    await database.close();
    expect(await start(path)).toEqual([byTime(now), byTime(now)]);
  });
});

test('a start that is killed after the raise raises again', async () => {
  const path = await shopFile();
  const there = atOtherPlace();
  copyFileSync(path, there);
  const records = await openTestStore({ path: there });
  const mark = openHighWaterMark(there, records.instance);
  const { log, ...world } = createTestWorld();
  const killed = () => {
    throw new Error('killed');
  };
  const opened = { ...mark, begin: killed };
  const starting = resumeCounters(records, opened, { ...world, log, now: () => now });
  await expect(starting).rejects.toThrow('killed');
  mark.close();
  await records.database.close();
  const [first = 0] = versionsIn(there);
  expect(first).toBe(byTime(now));
  expect((await start(there))[0]).toBeGreaterThan(first);
});

test('a running paygate notes its newest event when it stops', async () => {
  const path = await shopFile();
  const paygate = await run(path);
  await paygate.stop();
  expect(openHighWaterMark(path, 'test').reading).toMatchObject({ lastEvent: 1 });
  await cancelFirst(path);
  const again = await run(path);
  expect(again.warnings).toEqual([]);
  await again.stop();
  expect(openHighWaterMark(path, 'test').reading).toMatchObject({ lastEvent: 2 });
  expect(versionsIn(path)).toEqual([2, 2]);
});

test('whatever is restored how often, from whichever file, by whichever way', async () => {
  for (let seed = 1; seed <= 4; seed += 1) {
    const random = createRandom(seed);
    let path = await shopFile();
    let at = now;
    let sent = 2;
    const backups = [copyOf(path)];
    const steps: string[] = [];
    const ways = {
      restore: () => restoreFile(random.pick(backups), path, 'before'),
      copy() {
        rmSync(path);
        copyFileSync(random.pick(backups), path);
      },
      restoreWithoutMark() {
        rmSync(dirname(markPath(path)), { recursive: true });
        restoreFile(random.pick(backups), path, 'before');
      },
      move() {
        // Another machine knows nothing of the others but the time.
        at = Math.max(at, sent * secondMs) + minuteMs;
        path = atOtherPlace();
        restoreFile(random.pick(backups), path, 'before');
      },
    };
    for (let left = 8; left > 0; left -= 1) {
      const way = random.pick([
        'restore',
        'restore',
        'copy',
        'restoreWithoutMark',
        'move',
      ] as const);
      at += random.pick([-yearMs, -minuteMs, 0, 0, minuteMs, yearMs]);
      steps.push(way);
      ways[way]();
      const versions = await start(path, at);
      expect(Math.min(...versions), `seed ${seed}: ${steps.join(' ')}`).toBeGreaterThan(sent);
      change(path, random.int(0, 40));
      sent = Math.max(...versionsIn(path));
      backups.push(copyOf(path));
    }
  }
});
