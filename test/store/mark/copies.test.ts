// A whole paygate on a file, its mark file and copies of both. No address is issued twice, a crash
// causes no warning, and a copy is distinguished from the original.

import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { deriveAddress } from '../../../src/bitcoin/keychain.ts';
import { minSkip } from '../../../src/domain/store/allocation.ts';
import { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { mountPoints } from '../../../src/store/db/file-path.ts';
import {
  type HighWaterMark,
  markPath,
  openHighWaterMark,
} from '../../../src/store/mark/high-water-mark.ts';
import type { NewOrder } from '../../../src/store/orders/orders.ts';
import {
  cleanUp,
  connectionOf,
  countIssued,
  look,
  tempFolder,
  whenOver,
} from '../../support/files.ts';
import { withoutLastPosition } from '../../support/mark.ts';
import { goOn, run, startCopy, stoppedAfter } from '../../support/running.ts';
import { accountKey, markOf, now, openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const satOrder: NewOrder = {
  ...{ publicId: 'ord_3yQ8tZr6WmB1nK5vXc2dLp', storeId: 1, addressId: 1 },
  ...{ price: { kind: 'sat', amountSat: 1_000 }, rateCents: null, toleranceBasisPoints: 0 },
  ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: null, reference: null },
  ...{ description: null, metadata: {}, returnUrl: null, language: null },
};

const skip = (from: number, to: number, walletId = 1) => ({ walletId, from, to });
const raise = (from: number, to: number) => ({ wallet: markOf(), from, to });

describe('the same file', () => {
  it('continues where it stopped, time after time', async () => {
    const path = await stoppedAfter(3);
    expect(await goOn(path, 2)).toEqual([3, 4]);
    expect(await goOn(path, 2)).toEqual([5, 6]);
  });

  it('without a wallet continues beside the mark file of another, and records that it is a copy', async () => {
    const { path, instance, ...records } = await openTestStore();
    await records.database.close();
    const other = openHighWaterMark(path, 'another');
    other.begin([]);
    other.close();
    const paygate = await run(path);
    expect(paygate.warnings).toEqual([]);
    await paygate.stop();
    const mark = openHighWaterMark(path, instance);
    expect(mark.reading).toMatchObject({ sameDatabase: true, ofCopy: true });
    expect(mark.reading?.distrust).toBeUndefined();
    mark.close();
  });

  it('has its mark file before its first wallet, whichever command creates it', async () => {
    const { path, instance, ...records } = await openTestStore();
    const { reading } = openHighWaterMark(path, instance);
    expect(reading).toEqual({ sameDatabase: true, raises: [] });
    await records.addWallet();
    await records.addStore();
    await records.write((tx) =>
      records.keys.rotateMerchantKey(tx, now, new Uint8Array(32).fill(1), 0),
    );
    await records.database.close();
    expect(await goOn(path, 1)).toEqual([0]);
  });

  it('whose first wallet is added while it runs continues at its next start', async () => {
    const { path, ...records } = await openTestStore();
    const paygate = await run(path);
    await records.addWallet();
    await records.addStore();
    await records.write((tx) =>
      records.keys.rotateMerchantKey(tx, now, new Uint8Array(32).fill(1), 0),
    );
    await records.database.close();
    await paygate.stop();
    expect(await goOn(path, 2)).toEqual([0, 1]);
  });

  it('without any wallet needs no mark file', async () => {
    const { path, ...records } = await openTestStore();
    await records.database.close();
    rmSync(dirname(markPath(path)), { recursive: true });
    const paygate = await run(path);
    expect(paygate.warnings).toEqual([]);
    await paygate.stop();
  });

  it('in a renamed folder continues too', async () => {
    const path = await stoppedAfter(3);
    const folder = tempFolder();
    rmSync(folder, { recursive: true });
    renameSync(dirname(path), folder);
    mkdirSync(dirname(path));
    expect(await goOn(join(folder, 'paygate.db'), 1)).toEqual([3]);
  });

  it('raises the high-water mark before the commit, and never beyond it', async () => {
    const path = await stoppedAfter(2);
    const beside = look(path, { readonly: true });
    const next = beside.prepare('SELECT next_index FROM wallets').pluck();
    let mark: HighWaterMark | undefined;
    const seen: unknown[] = [];
    const records = await openTestStore({
      path,
      beforeCommit(raises) {
        const marked = mark?.raise(raises);
        seen.push([openHighWaterMark(path, 'test').reading?.raises, next.get()]);
        return marked;
      },
    });
    mark = openHighWaterMark(path, records.instance);
    await Promise.all([records.issue(), records.issue()]);
    expect(seen).toEqual([[[raise(2, 4)], 2]]);
    expect(next.get()).toBe(4);
    mark.close();
  });

  it('issues nothing while the mark file cannot be written, and continues afterwards', async () => {
    const path = await stoppedAfter(2);
    let mark: HighWaterMark | undefined;
    const records = await openTestStore({ path, beforeCommit: (raises) => mark?.raise(raises) });
    mark = openHighWaterMark(path, records.instance);
    renameSync(dirname(markPath(path)), `${path}-away`);
    writeFileSync(dirname(markPath(path)), 'in the way');
    const tries = await Promise.allSettled([records.issue(), records.issue()]);
    for (const each of tries) {
      expect(each).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 30 } });
    }
    expect(records.catalog.wallet(1).nextIndex).toBe(2);
    expect(countIssued(records.database)).toBe(2);
    rmSync(dirname(markPath(path)));
    expect((await records.issue()).derivationIndex).toBe(2);
    mark.close();
  });
});

describe('P-17 a crash', () => {
  /** Leaves a mark file as if the process had died between it and its commit. */
  async function crashBeforeCommit(path: string, from: number, to: number): Promise<void> {
    const mark = openHighWaterMark(path, 'test');
    await mark.raise([]);
    await mark.raise([raise(from, to)]);
    mark.close();
  }

  it('between the raise and its commit continues behind the mark, without a warning', async () => {
    const path = await stoppedAfter(3);
    await crashBeforeCommit(path, 3, 6);
    expect(await goOn(path, 1)).toEqual([6]);
    const records = await openTestStore({ path });
    const rows = connectionOf(records.database)
      .prepare('SELECT origin, store_id FROM addresses WHERE derivation_index IN (3, 4, 5)')
      .raw()
      .all();
    expect(rows).toEqual([
      ['skipped', 1],
      ['skipped', 1],
      ['skipped', 1],
    ]);
  });

  it('again and again at the same place never decreases the counter', async () => {
    const path = await stoppedAfter(3);
    await crashBeforeCommit(path, 3, 4);
    await crashBeforeCommit(path, 3, 7);
    await crashBeforeCommit(path, 3, 5);
    expect(await goOn(path, 1)).toEqual([5]);
  });

  it('in the middle of a raise, which no commit can have followed', async () => {
    const path = await stoppedAfter(3);
    await crashBeforeCommit(path, 3, 6);
    const bytes = readFileSync(markPath(path));
    // The last line, without its end.
    const end = bytes.indexOf(0);
    bytes.fill(0, end - 4, end);
    writeFileSync(markPath(path), bytes);
    withoutLastPosition(path);
    expect(await goOn(path, 1)).toEqual([3]);
  });
});

describe('P-17 a copy', () => {
  it('S-152 of the file alone, in another folder', async () => {
    const path = await stoppedAfter(3);
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    expect(await startCopy(copy)).toMatchObject({
      reason: 'there is no mark file beside it',
      skips: [skip(3, 3 + minSkip)],
      next: 3 + minSkip,
      told: expect.stringMatching(
        `${minSkip} addresses were skipped.* gap limit of the merchant's wallet to ${minSkip + 20} or more`,
      ),
    });
    // The original knows nothing of it.
    expect(await goOn(path, 1)).toEqual([3]);
  });

  it('raises the versions of its orders, because the original may have sent higher ones', async () => {
    const path = await stoppedAfter(1);
    const records = await openTestStore({ path });
    const order = await records.write((tx) => records.orders.create(tx, now, satOrder));
    await records.database.close();
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    await goOn(path, 1);
    await startCopy(copy);
    const versionIn = async (file: string) => {
      const { orderView, database } = await openTestStore({ path: file });
      const row = orderView.byPublicId(satOrder.publicId);
      await database.close();
      return row?.version;
    };
    expect(await versionIn(path)).toBe(order.version);
    expect(await versionIn(copy)).toBeGreaterThanOrEqual(order.version + 1_000);
  });

  it('of the whole folder, with its mark', async () => {
    const path = await stoppedAfter(3);
    const folder = tempFolder();
    cpSync(dirname(path), folder, { recursive: true });
    expect(await startCopy(join(folder, 'paygate.db'))).toMatchObject({
      reason: 'its mark file is a copy as well',
      next: 3 + minSkip,
    });
  });

  it('of the whole folder, put back in the place of the first one', async () => {
    const path = await stoppedAfter(3);
    const backup = join(tempFolder(), 'backup');
    cpSync(dirname(path), backup, { recursive: true });
    await goOn(path, 50);
    // Open, so that the file system gives their inodes to no other file.
    for (const file of [path, markPath(path)].map((each) => openSync(each, 'r'))) {
      whenOver(() => closeSync(file));
    }
    rmSync(dirname(path), { recursive: true });
    cpSync(backup, dirname(path), { recursive: true });
    expect(await startCopy(path)).toMatchObject({
      reason: 'its mark file is a copy as well',
      next: 3 + minSkip,
    });
  });

  it('of the whole folder while it ran, written over the first one once that was stopped', async () => {
    const path = await stoppedAfter(3);
    const paygate = await run(path);
    const backup = join(tempFolder(), 'backup');
    cpSync(dirname(path), backup, { recursive: true });
    expect(await paygate.issue(2)).toEqual([3, 4]);
    await paygate.stop();
    for (const entry of readdirSync(backup, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      // The inodes stay.
      const target = join(dirname(path), relative(backup, file));
      if (entry.isFile()) writeFileSync(target, readFileSync(file));
    }
    expect(await startCopy(path)).toMatchObject({
      reason: 'its mark file was set back',
      next: 3 + 2 + minSkip,
    });
  });

  it.each<[string, (backup: string, path: string) => void, string]>([
    [
      'written over the file, whose inode stays',
      (backup, path) => writeFileSync(path, readFileSync(backup)),
      'wallet 1 stands at index 3, its mark file is further',
    ],
    [
      'put in its place under another inode',
      (backup, path) => {
        renameSync(path, `${path}.old`);
        copyFileSync(backup, path);
      },
      'its mark file was written for another file',
    ],
  ])('that is older, %s, goes to the mark', async (_what, restore, reason) => {
    const path = await stoppedAfter(3);
    const backup = join(tempFolder(), 'backup.db');
    copyFileSync(path, backup);
    await goOn(path, 7);
    restore(backup, path);
    expect(await startCopy(path)).toMatchObject({ reason, skips: [skip(3, 10)], next: 10 });
  });

  it('whose mark file is lost', async () => {
    const path = await stoppedAfter(3);
    rmSync(dirname(markPath(path)), { recursive: true });
    expect(await startCopy(path)).toMatchObject({
      reason: 'there is no mark file beside it',
      next: 3 + minSkip,
    });
  });

  it('whose mark file is damaged', async () => {
    const path = await stoppedAfter(3);
    writeFileSync(markPath(path), 'noise');
    expect(await startCopy(path)).toMatchObject({
      reason: 'its mark file cannot be read',
      next: 3 + minSkip,
    });
  });

  it('beside the mark file of another database', async () => {
    const path = await stoppedAfter(3);
    const bytes = readFileSync(markPath(path), 'utf8');
    writeFileSync(markPath(path), bytes.replace('"instance":"test"', '"instance":"tset"'));
    expect(await startCopy(path)).toMatchObject({
      reason: 'its mark file is of another database',
      next: 3 + minSkip,
    });
  });

  it('beside a newer copy of the mark file continues behind the addresses issued since', async () => {
    const path = await stoppedAfter(3);
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    for (const count of [75, 75]) await goOn(path, count);
    cpSync(dirname(markPath(path)), dirname(markPath(copy)), { recursive: true });
    const given = await goOn(path, 5);
    expect((await startCopy(copy)).next).toBeGreaterThan(given.at(-1) ?? Infinity);
  });

  /**
   * A copy of a shop that had issued three, and the chain on which one was paid that its original
   * issued since.
   */
  async function copyOfPaid(index: number) {
    const path = await stoppedAfter(3);
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    const chain = new SimulatedChain({ seed: 'copies', now: () => now / 1000 });
    chain.mine(101);
    const paid = deriveAddress(accountKey(), 0, index)?.address ?? '';
    chain.pay([{ address: paid, valueSat: 5_000 }]);
    return { copy, chain, paid };
  }

  it.each([
    ['beyond what it skipped', 3 + minSkip + 70, 0],
    ['among what it skipped', 3 + minSkip - 10, 0],
    ['before a scan that was cut off while it skipped', 3 + minSkip + 70, 3 + minSkip + 80],
  ])(
    'continues so far behind the last paid index that unpaid addresses are skipped, %s',
    async (_what, index, reached) => {
      const { copy, chain } = await copyOfPaid(index);
      await (await run(copy)).stop();
      const records = await openTestStore({ path: copy });
      await records.write((tx) => records.addresses.skip(tx, now, 1, reached));
      await records.database.close();
      const paygate = await run(copy, chain);
      expect(await paygate.issue(1)).toEqual([index + 1 + minSkip]);
      await paygate.stop();
    },
  );

  it('without a usable mark file scans for the last index of the original', async () => {
    const { copy, chain, paid } = await copyOfPaid(3 + minSkip + 70);
    const paygate = await run(copy, chain);
    expect(await paygate.issue(1)).toEqual([3 + minSkip + 71 + minSkip]);
    // The payment counts, because its address is the shop's, whichever file issued it.
    await paygate.app.idle();
    const found = look(copy, { readonly: true });
    const rows = found.prepare(
      `SELECT origin, store_id, (SELECT count(*) FROM deliveries c JOIN payments p ON p.id = c.payment_id
        WHERE p.address_id = a.id) AS told FROM addresses a WHERE address = ?`,
    );
    expect(rows.get(paid)).toEqual({ origin: 'skipped', store_id: 1, told: 1 });
    await paygate.stop();
  });

  function age(path: string, days: number): void {
    const file = look(path);
    const issued = "UPDATE addresses SET issued_at = issued_at - ? WHERE origin = 'issued'";
    file.prepare(issued).run(days * 86_400_000);
    // A newer block would show that the shop was quiet meanwhile.
    file.exec('DELETE FROM headers');
    file.close();
  }

  it('skips more indexes for a faster original and an older copy', async () => {
    const path = await stoppedAfter(3);
    // Three in a day, and 200 days since: twice that rate is 1,200.
    age(path, 200);
    rmSync(dirname(markPath(path)), { recursive: true });
    const { next = 0, progress } = await startCopy(path);
    expect(next).toBeGreaterThanOrEqual(3 + 1_200);
    expect(next).toBeLessThan(3 + 1_260);
    // Seconds, for the most that there is: a start that says nothing looks like one that hangs.
    expect(progress).toEqual([{ walletId: 1, derived: 1_000, of: next - 3 }]);
  });

  it('skips no more for a shop without orders while blocks came', async () => {
    const path = await stoppedAfter(3);
    age(path, 200);
    const chain = new SimulatedChain({ seed: 'copies', now: () => now / 1000 });
    chain.mine(101);
    const before = await run(path, chain);
    await before.world.until(() => before.app.health().electrum.height === 101, 'the headers');
    await before.stop();
    rmSync(dirname(markPath(path)), { recursive: true });
    const paygate = await run(path, chain);
    expect(paygate.warnings).toMatchObject([{ skips: [skip(3, 3 + minSkip)] }]);
    await paygate.stop();
  });

  it('made while the clock was ahead counts from its last address', async () => {
    const path = await stoppedAfter(3);
    const backup = join(tempFolder(), 'backup.db');
    copyFileSync(path, backup);
    await goOn(path, 2);
    const ahead = look(backup);
    ahead.exec(`UPDATE addresses SET issued_at = issued_at + 86400000 WHERE origin = 'issued'`);
    ahead.close();
    renameSync(backup, path);
    await (await run(path)).stop();
    const { state, addresses } = await openTestStore({ path });
    expect(addresses.unpaidSince(1, 1, 0)?.derivationIndex).toBe(2);
    expect(addresses.unpaidSince(1, 1, state.copied.read().at)).toBeUndefined();
  });

  it('that is newer, of a shop that moved to another machine, written over the file in place', async () => {
    const path = await stoppedAfter(3);
    const there = join(tempFolder(), 'paygate.db');
    copyFileSync(path, there);
    await startCopy(there);
    const newer = join(tempFolder(), 'newer.db');
    copyFileSync(there, newer);
    const given = await goOn(there, 7);
    writeFileSync(path, readFileSync(newer));
    const { reason, next = 0 } = await startCopy(path);
    expect(reason).toBe('its mark file has no current counter of wallet 1');
    expect(next).toBeGreaterThan(given.at(-1) ?? Infinity);
  });

  it('of a file that had another name for a while continues behind the addresses issued there', async () => {
    const path = await stoppedAfter(3);
    const other = join(dirname(path), 'shop.db');
    renameSync(path, other);
    expect(await startCopy(other)).toMatchObject({ next: 103 });
    copyFileSync(other, `${other}.old`);
    await goOn(other, 40);
    renameSync(other, path);
    expect(await startCopy(path)).toMatchObject({
      reason: 'its mark file has no current counter of wallet 1',
      next: 144 + minSkip,
    });
    renameSync(`${other}.old`, path);
    expect((await startCopy(path)).next).toBeGreaterThan(144 + minSkip);
  });

  it('skips once, and then has a mark file of its own', async () => {
    const path = await stoppedAfter(3);
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    const { next } = await startCopy(copy);
    expect(await goOn(copy, 2)).toEqual([(next ?? 0) + 1, (next ?? 0) + 2]);
  });

  it('that crashes while it skips continues behind the skipped indexes', async () => {
    const path = await stoppedAfter(3);
    const copy = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copy);
    // The mark file is made durable first, and the commit never came.
    const mark = openHighWaterMark(copy, 'test');
    mark.raise([raise(3, 3 + minSkip)]);
    mark.close();
    expect(await goOn(copy, 1)).toEqual([3 + minSkip]);
  });

  it('skips with every wallet, also with one that has not been scanned', async () => {
    const path = await stoppedAfter(3);
    const records = await openTestStore({ path });
    await records.addWallet({ key: accountKey(2), startIndex: undefined });
    await records.addWallet({ key: accountKey(3), startIndex: 40 });
    await records.database.close();
    rmSync(dirname(markPath(path)), { recursive: true });
    const paygate = await run(path);
    expect(paygate.warnings).toMatchObject([
      { skips: [skip(3, 103), skip(0, 100, 2), skip(40, 140, 3)] },
    ]);
    await paygate.stop();
    const again = await openTestStore({ path });
    expect(again.catalog.wallets().map(({ nextIndex }) => nextIndex)).toEqual([103, 100, 140]);
  });
});

describe('P-17 a file of which a part was lost while it ran', () => {
  /**
   * The main file of a running paygate, whose log holds what it issued: as it lies after a power
   * loss.
   */
  async function withoutLog(issued: number): Promise<string> {
    const path = await stoppedAfter(3);
    const paygate = await run(path);
    const main = readFileSync(path);
    await paygate.issue(issued);
    expect(readFileSync(path).equals(main)).toBe(true);
    await paygate.stop();
    // Over the same inode, which is harder to detect.
    writeFileSync(path, main);
    return path;
  }

  it('its WAL: it continues behind the mark file', async () => {
    const path = await withoutLog(5);
    expect(await startCopy(path)).toMatchObject({ skips: [skip(3, 8)], next: 8 });
  });

  it('its WAL with only the last address: without a warning, like after a crash', async () => {
    const path = await withoutLog(1);
    expect(await goOn(path, 1)).toEqual([4]);
  });

  it('its WAL and its mark file: it skips enough', async () => {
    const path = await withoutLog(5);
    rmSync(dirname(markPath(path)), { recursive: true });
    expect(await startCopy(path)).toMatchObject({
      reason: 'there is no mark file beside it',
      next: 3 + minSkip,
    });
  });
});

it('a second paygate by a link to the file is refused, and continues later where the first one stopped', async () => {
  const path = await stoppedAfter(1);
  const link = join(tempFolder(), 'paygate.db');
  symlinkSync(path, link);
  const paygate = await run(path);
  await expect(run(link)).rejects.toMatchObject({ code: 'conflict' });
  expect(await paygate.issue(1)).toEqual([1]);
  await paygate.stop();
  expect(await goOn(link, 2)).toEqual([2, 3]);
  expect(readdirSync(dirname(link))).toEqual(['paygate.db']);
  expect(await goOn(path, 1)).toEqual([4]);
});

it('a file with two names is served under neither, and no command opens it', async () => {
  const path = await stoppedAfter(1);
  const other = join(tempFolder(), 'paygate.db');
  linkSync(path, other);
  const refusal = {
    code: 'unavailable',
    message: expect.stringMatching(/^\/.*paygate\.db: has another name/),
  };
  for (const name of [path, other]) {
    await expect(run(name)).rejects.toMatchObject(refusal);
    await expect(openTestStore({ path: name })).rejects.toMatchObject(refusal);
  }
  rmSync(other);
  expect(await goOn(path, 1)).toEqual([1]);
});

it('a new file with a second name from an interrupted creation is served', async () => {
  const path = await stoppedAfter(1);
  const folder = join(dirname(path), '.paygate-new-Ab12Cd');
  mkdirSync(folder);
  linkSync(path, join(folder, 'paygate.db'));
  expect(await goOn(path, 1)).toEqual([1]);
  expect(existsSync(folder)).toBe(false);
});

it('a dangling link creates no database', async () => {
  const link = join(tempFolder(), 'paygate.db');
  symlinkSync('/nowhere/paygate.db', link);
  await expect(run(link)).rejects.toMatchObject({
    code: 'unavailable',
    message: `${link}: is a link to a file that is not there; put that back, or remove the link`,
  });
});

it('a mount point is recognised, whatever its path', () => {
  const table = [
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue',
    '37 35 8:1 /shop.db /data/my\\040shop\\134.db rw - ext4 /dev/sda1 rw',
    '',
  ];
  expect(mountPoints(table.join('\n'))).toEqual(['/mnt2', '/data/my shop\\.db', '']);
});

it('a second paygate on the same file is refused, and the first one continues', async () => {
  const path = await stoppedAfter(1);
  const paygate = await run(path);
  await expect(run(path)).rejects.toMatchObject({
    code: 'conflict',
    message: `${path}: another \`paygate serve\` uses this database`,
  });
  expect(await paygate.issue(1)).toEqual([1]);
  await paygate.stop();
  expect(await goOn(path, 1)).toEqual([2]);
});
