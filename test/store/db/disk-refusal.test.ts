// A disk that refuses writes and takes them again: what is reported, which write detects it, and
// which ends it.

import { mkdirSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { createReadiness } from '../../../src/status/readiness.ts';
import { DiskRefusal } from '../../../src/store/db/disk-refusal.ts';
import { createIssuingGuard } from '../../../src/store/file/issuing-guard.ts';
import {
  type HighWaterMark,
  markPath,
  openHighWaterMark,
} from '../../../src/store/mark/high-water-mark.ts';
import { cleanUp, connectionOf, countIssued } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

async function openShop() {
  let fault: NodeJS.ErrnoException | undefined;
  let mark: HighWaterMark | undefined;
  const records = await openTestStore({
    beforeCommit(raises) {
      if (fault !== undefined) throw fault;
      return mark?.raise(raises);
    },
  });
  mark = openHighWaterMark(records.path, records.instance);
  await records.addWallet();
  await records.addStore();
  const room = createIssuingGuard(records.database, records.addresses.isSetBack);
  const ready = createReadiness({
    records,
    channels: [],
    watcher: { status: () => ({ failures: [] }) },
    ...room,
  });
  const close = () => mark?.close();
  return {
    ...records,
    room,
    ready,
    close,
    /** As on a disk that was mounted read-only: SQLite changes nothing any more. */
    refuse: (refuses: boolean) =>
      void connectionOf(records.database).pragma(`query_only = ${refuses ? 'ON' : 'OFF'}`),
    refuseMark(code: string | undefined) {
      fault = code === undefined ? undefined : Object.assign(new Error(code), { code });
    },
  };
}

describe('a database that cannot be written', () => {
  it('is reported with the reason from the first failed write on', async () => {
    const shop = await openShop();
    shop.refuse(true);
    expect(shop.room.refused()).toBeUndefined();
    await expect(shop.issue()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the database cannot be written (SQLITE_READONLY)',
    });
    const told = 'the database cannot be written: its disk refuses writes (SQLITE_READONLY)';
    expect(shop.room.refused()).toBe(told);
    expect(shop.ready()).toEqual({ ready: false, reasons: [`no address is issued: ${told}`] });
    shop.close();
  });

  it('is writable again after the next write or probe', async () => {
    const shop = await openShop();
    for (const mend of [() => shop.issue(), () => shop.database.probe()]) {
      shop.refuse(true);
      await expect(shop.issue()).rejects.toThrow('cannot be written');
      await shop.database.probe();
      expect(shop.room.refused()).toContain('cannot be written');
      shop.refuse(false);
      await mend();
      expect(shop.room.refused()).toBeUndefined();
      expect(shop.ready().ready).toBe(true);
    }
    expect(countIssued(shop.database)).toBe(1);
    shop.close();
  });

  it('is not probed while it can be written', async () => {
    const shop = await openShop();
    const before = shop.database.changes();
    await shop.database.probe();
    expect(shop.database.changes()).toBe(before);
    shop.close();
  });
});

describe('a mark file that cannot be written', () => {
  it.each([
    ['EROFS', 'its disk is mounted read-only (EROFS)'],
    ['ENOSPC', 'its disk is full (ENOSPC)'],
    ['EDQUOT', 'the disk quota of its user is used up (EDQUOT)'],
    ['EACCES', 'its user may not write to it any more (EACCES)'],
    ['EIO', 'its disk refuses writes (EIO)'],
  ])('for %s is reported until a raise succeeds', async (code, reason) => {
    const shop = await openShop();
    shop.refuseMark(code);
    await expect(shop.issue()).rejects.toThrow();
    const told = `the high-water mark of the database cannot be written: ${reason}`;
    expect(shop.room.refused()).toBe(told);
    // What raises nothing goes on, and says nothing of the mark file.
    await shop.write((tx) => shop.state.watchedAt.write(tx, 1));
    await shop.database.probe();
    expect(shop.room.refused()).toBe(told);
    shop.refuseMark(undefined);
    await shop.database.probe();
    expect(shop.room.refused()).toBeUndefined();
    await shop.issue();
    shop.close();
  });

  it('because of a folder at its path is reported with the system’s error code', async () => {
    const shop = await openShop();
    const path = markPath(shop.path);
    rmSync(path);
    mkdirSync(`${path}.new`);
    const refusal = new DiskRefusal(shop.path);
    const other = openHighWaterMark(shop.path, shop.instance);
    try {
      other.raise([]);
    } catch (error) {
      refusal.markRefused(error);
    }
    expect(refusal.text()).toMatch(/its disk refuses writes \(E[A-Z_]+\)$/);
    shop.close();
  });
});
