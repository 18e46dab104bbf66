// The mark file beside the file: what it remembers, what it believes, and what it survives.

import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { MarkReading, Raise } from '../../../src/domain/store/allocation.ts';
import { PaygateError } from '../../../src/lib/errors.ts';
import {
  type HighWaterMark,
  markPath,
  openHighWaterMark,
} from '../../../src/store/mark/high-water-mark.ts';
import { asOrdinaryUser, cleanUp, tempFolder, whenOver } from '../../support/files.ts';
import { withoutLastPosition } from '../../support/mark.ts';

afterEach(cleanUp);

const instance = 'a1b2';
/** What a mark file calls a wallet, as long as the real names are. */
const nameOf = (wallet: number): string => wallet.toString(16).padStart(16, '0');
const raise = (wallet: number, from: number, to: number): Raise => ({
  wallet: nameOf(wallet),
  from,
  to,
});

/** A file that stands for a database: the mark file looks at its inode alone. */
function freshDatabase(): string {
  const path = join(tempFolder(), 'paygate.db');
  writeFileSync(path, 'database');
  return path;
}

function open(path: string, name = instance): HighWaterMark {
  const mark = openHighWaterMark(path, name);
  whenOver(() => mark.close());
  return mark;
}

const reading = (path: string, name = instance): MarkReading | undefined =>
  open(path, name).reading;

/** A database with a mark file that holds these raises, one write each. */
async function marked(...raises: Raise[]): Promise<string> {
  const path = freshDatabase();
  const mark = open(path);
  for (const each of raises) await mark.raise([each]);
  return path;
}

/** Overwrites bytes of the mark file where they stand: the file stays the same one. */
function edit(path: string, change: (text: string) => string): void {
  const file = markPath(path);
  const before = readFileSync(file, 'utf8');
  const after = Buffer.from(change(before));
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, after, 0, after.length, 0);
  closeSync(descriptor);
}

describe('a mark file', () => {
  it('does not exist before the first raise', () => {
    const path = freshDatabase();
    expect(reading(path)).toBeUndefined();
    expect(existsSync(dirname(markPath(path)))).toBe(false);
  });

  it('is beside the database, outside of every copy of `paygate.db*`', () => {
    expect(markPath('/var/lib/paygate.db')).toBe('/var/lib/.paygate-mark/paygate.db');
  });

  it('is durable when a raise returns, and names the last index of each wallet', async () => {
    const path = freshDatabase();
    const mark = open(path);
    await mark.raise([raise(1, 0, 1), raise(2, 7, 9)]);
    expect(reading(path)).toEqual({
      sameDatabase: true,
      raises: [raise(1, 0, 1), raise(2, 7, 9)],
    });
    await mark.raise([raise(1, 1, 30)]);
    expect(reading(path)?.raises).toEqual([raise(1, 1, 30), raise(2, 7, 9)]);
    expect(mark.reading).toBeUndefined();
  });

  it('has the last raise if a commit was repeated', async () => {
    // The first one's commit failed, so that the second one starts at the same index.
    const path = await marked(raise(1, 5, 9), raise(1, 5, 6));
    expect(reading(path)?.raises).toEqual([raise(1, 5, 6)]);
  });

  it('can be taken over without a raise, and retains its wallets', async () => {
    const path = await marked(raise(1, 0, 5));
    const copied = join(tempFolder(), 'paygate.db');
    copyFileSync(path, copied);
    mkdirSync(dirname(markPath(copied)));
    copyFileSync(markPath(path), markPath(copied));
    const mark = open(copied);
    expect(mark.reading).toMatchObject({ distrust: 'its mark file is a copy as well' });
    await mark.raise([]);
    expect(reading(copied)).toEqual({ sameDatabase: true, raises: [raise(1, 0, 5)] });
  });

  it('that was begun for a copy stays one', async () => {
    const path = freshDatabase();
    const mark = open(path);
    mark.begin([raise(1, 9, 9)], true);
    mark.begin([raise(1, 9, 9), raise(2, 0, 4)]);
    await mark.raise([raise(1, 9, 12)]);
    const raises = [raise(1, 9, 12), raise(2, 0, 4)];
    expect(reading(path)).toEqual({ sameDatabase: true, ofCopy: true, raises });
  });

  it('is for its own user alone, whatever the umask', async () => {
    const before = process.umask(0);
    whenOver(() => void process.umask(before));
    const file = markPath(await marked(raise(1, 0, 1)));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  it('is overwritten in place: a raise creates no new file and no longer one', async () => {
    const path = await marked(raise(1, 0, 1));
    const mark = open(path);
    await mark.raise([]);
    const before = statSync(markPath(path));
    for (let at = 1; at < 20; at += 1) await mark.raise([raise(1, at, at + 1)]);
    const after = statSync(markPath(path));
    expect([after.ino, after.size]).toEqual([before.ino, 65_536]);
  });

  it('agrees with a plain map, over any raises and restarts', async () => {
    const number = fc.nat(1_000_000);
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), number, number)) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const path = freshDatabase();
        let mark = openHighWaterMark(path, instance);
        const model = new Map<string, Raise>();
        for (const each of steps) {
          if (each === 'restart') {
            mark.close();
            mark = openHighWaterMark(path, instance);
            continue;
          }
          const raises = each.map(([wallet, from, to]) => raise(wallet, from, to));
          for (const one of raises) model.set(one.wallet, one);
          await mark.raise(raises);
        }
        mark.close();
        const found = new Map(reading(path)?.raises.map((one) => [one.wallet, one]));
        expect(found).toEqual(model);
      }),
      { numRuns: 15 },
    );
  });
});

describe('what a mark file notes beside raises', () => {
  const lineOfEvent = (path: string) =>
    readFileSync(markPath(path), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('event '));

  it('stays until it is noted again, and a raise behind it is read', async () => {
    const path = freshDatabase();
    const mark = open(path);
    mark.begin([raise(1, 0, 1)], false, { versions: 1_763_650_000, lastEvent: 7 });
    expect(reading(path)).toEqual({
      ...{ versions: 1_763_650_000, lastEvent: 7 },
      ...{ sameDatabase: true, raises: [raise(1, 0, 1)] },
    });
    mark.noteEvent(9);
    await mark.raise([raise(1, 1, 2)]);
    mark.noteEvent(12);
    const raises = [raise(1, 1, 2)];
    expect(reading(path)).toMatchObject({ versions: 1_763_650_000, lastEvent: 12, raises });
    expect(reading(path)?.distrust).toBeUndefined();
    mark.begin(raises);
    expect(lineOfEvent(path)).toEqual([]);
    expect(reading(path)).toMatchObject({ versions: 1_763_650_000, lastEvent: 12, raises });
    mark.begin(raises, false, { lastEvent: 0 });
    expect(reading(path)).toEqual({ versions: 1_763_650_000, sameDatabase: true, raises });
  });

  it('is written once, and not before the mark file is begun', () => {
    const path = freshDatabase();
    const mark = open(path);
    mark.noteEvent(3);
    expect(existsSync(dirname(markPath(path)))).toBe(false);
    mark.begin([]);
    mark.noteEvent(0);
    expect(lineOfEvent(path)).toEqual([]);
    mark.noteEvent(3);
    mark.noteEvent(3);
    expect(lineOfEvent(path)).toHaveLength(1);
  });

  it('raises its position: a mark file without it was set back', () => {
    const path = freshDatabase();
    const mark = open(path);
    mark.begin([raise(1, 0, 1)]);
    const before = readFileSync(markPath(path));
    mark.noteEvent(5);
    expect(reading(path)?.missing).toBeUndefined();
    edit(path, () => before.toString('utf8'));
    expect(reading(path)).toMatchObject({ distrust: 'its mark file was set back', missing: 1 });
  });

  it.each<[string, (line: string) => string]>([
    ['torn', (line) => line.slice(0, 9).padEnd(line.length, '\0')],
    ['of another number', (line) => line.replace('event 55', 'event 56')],
    ['with a wrong checksum', (line) => `${line.slice(0, -1)}${line.endsWith('0') ? '1' : '0'}`],
  ])('ends before a line that is %s', async (_what, tear) => {
    const path = await marked(raise(1, 0, 1));
    const mark = open(path);
    mark.begin([raise(1, 0, 1)], false, { lastEvent: 4 });
    mark.noteEvent(55);
    await mark.raise([raise(1, 1, 2)]);
    edit(path, (text) => text.replace(lineOfEvent(path)[0] ?? '', tear));
    withoutLastPosition(path);
    expect(reading(path)).toMatchObject({ lastEvent: 4, raises: [raise(1, 0, 1)] });
  });

  it('is nothing if the first line has no numbers there', () => {
    const path = freshDatabase();
    open(path).begin([], false, { versions: 17, lastEvent: 18 });
    edit(path, (text) => text.replace('"versions":17', '"versions":{}').replace(':18', ':1e999'));
    expect(reading(path)).toEqual({ sameDatabase: true, raises: [] });
  });

  it('is left out if the file is full', async () => {
    const path = freshDatabase();
    const mark = open(path);
    mark.begin([]);
    for (let at = 0; at < 5_000; at += 1) mark.noteEvent(10 ** 14 + at);
    const { lastEvent = 0 } = reading(path) ?? {};
    expect(lastEvent).toBeGreaterThan(10 ** 14);
    expect(lastEvent).toBeLessThan(10 ** 14 + 4_999);
    await mark.raise([raise(1, 0, 1)]);
    expect(reading(path)).toMatchObject({ lastEvent, raises: [raise(1, 0, 1)] });
  });
});

describe('a full mark file', () => {
  const wallets = Array.from({ length: 800 }, (_, at) => at + 1);

  it('is rewritten, and the last raise of each wallet stays', async () => {
    const path = freshDatabase();
    const mark = open(path);
    await mark.raise([raise(9999, 1, 2)]);
    const inodes = new Set<number>();
    for (let round = 0; round < 8; round += 1) {
      await mark.raise(wallets.map((walletId) => raise(walletId, round, round + 1)));
      inodes.add(statSync(markPath(path)).ino);
      const found = reading(path);
      expect(found).toMatchObject({ sameDatabase: true });
      expect(found?.distrust).toBeUndefined();
      expect(found?.raises).toHaveLength(801);
      expect(found?.raises).toContainEqual(raise(9999, 1, 2));
      expect(found?.raises.filter(({ to }) => to === round + 1)).toHaveLength(
        round === 1 ? 801 : 800,
      );
    }
    expect(inodes.size).toBeGreaterThan(1);
    expect(existsSync(`${markPath(path)}.new`)).toBe(false);
  });

  it('retains its first value of a wallet without a raise since', async () => {
    const path = await marked(raise(9999, 1, 2));
    const mark = open(path);
    mark.begin([raise(9999, 5, 150)]);
    const { ino } = statSync(markPath(path));
    for (let round = 0; round < 4; round += 1) {
      await mark.raise(wallets.map((walletId) => raise(walletId, round, round + 1)));
    }
    expect(statSync(markPath(path)).ino).not.toBe(ino);
    expect(reading(path)?.raises).toContainEqual(raise(9999, 5, 150));
  });

  it.skipIf(!existsSync('/proc/self/fd'))('does not leave the replaced file open', async () => {
    const mark = open(freshDatabase());
    const all = wallets.map((walletId) => raise(walletId, 0, 1));
    await mark.raise(all);
    const before = readdirSync('/proc/self/fd').length;
    for (let round = 0; round < 12; round += 1) await mark.raise(all);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  it('with more wallets than fit becomes a larger one', async () => {
    const path = freshDatabase();
    const many = Array.from({ length: 4000 }, (_, at) => raise(at + 1, 1_000_000, 1_000_001));
    const mark = open(path);
    await mark.raise(many);
    await mark.raise([raise(7, 1_000_001, 1_000_002)]);
    expect(reading(path)?.raises).toHaveLength(4000);
    expect(reading(path)?.raises).toContainEqual(raise(7, 1_000_001, 1_000_002));
  });

  it('whose rewrite was interrupted is the old one, and the leftover does no harm', async () => {
    const path = await marked(raise(1, 4, 5));
    writeFileSync(`${markPath(path)}.new`, '{"version":1,"inst');
    const mark = open(path);
    expect(mark.reading?.raises).toEqual([raise(1, 4, 5)]);
    await mark.raise([raise(1, 5, 6)]);
    expect(reading(path)).toEqual({ sameDatabase: true, raises: [raise(1, 5, 6)] });
  });
});

describe('a torn mark file', () => {
  const [first, second, third] = [raise(1, 0, 1), raise(2, 0, 1), raise(1, 1, 2)];
  const lineOf = (text: string, at: number) => text.split('\n')[at] ?? '';

  it.each<[string, (line: string) => string]>([
    ['cut short', (line) => line.slice(0, 7).padEnd(line.length, '\0')],
    ['with a wrong digit', (line) => line.replace('1 1 2', '1 1 9')],
    ['with a wrong checksum', (line) => `${line.slice(0, -1)}${line.endsWith('0') ? '1' : '0'}`],
    ['of zeros', (line) => '\0'.repeat(line.length)],
    ['of noise', (line) => 'x'.repeat(line.length)],
    ['with a minus', (line) => line.replace('1 1 2', '1 -1 2')],
  ])('whose last line is %s ends before it', async (_what, tear) => {
    const path = await marked(first, second, third);
    edit(path, (text) => text.replace(lineOf(text, 3), tear));
    withoutLastPosition(path);
    expect(reading(path)).toEqual({ sameDatabase: true, raises: [first, second] });
  });

  it('is ignored behind a torn line', async () => {
    const path = await marked(first, second, third);
    edit(path, (text) => text.replace(lineOf(text, 2), (line) => 'x'.repeat(line.length)));
    withoutLastPosition(path);
    expect(reading(path)?.raises).toEqual([first]);
  });

  it.each<[string, (line: string) => string]>([
    ['is noise', (line) => 'x'.repeat(line.length)],
    ['is cut short', (line) => line.slice(0, 20).padEnd(line.length, '\0')],
    ['is of another version', (line) => line.replace('"version":1', '"version":9')],
    ['has no position', (line) => line.replace('"position":', '"Position":')],
    ['is no object', (line) => '7'.padEnd(line.length)],
    ['is null', (line) => 'null'.padEnd(line.length)],
  ])('whose first line %s is not believed, but its raises are kept', async (_what, tear) => {
    const path = await marked(first, second);
    edit(path, (text) => text.replace(lineOf(text, 0), tear));
    expect(reading(path)).toMatchObject({
      distrust: 'its mark file cannot be read',
      raises: [first, second],
    });
  });

  it.each([
    ['empty', ''],
    ['zeros', '\0'.repeat(65_536)],
    ['another file', Buffer.from(Array.from({ length: 5000 }, (_, at) => at % 256))],
  ])('that is %s is not believed', async (_what, bytes) => {
    const path = await marked(first);
    writeFileSync(markPath(path), bytes);
    expect(reading(path)).toEqual({
      distrust: 'its mark file cannot be read',
      sameDatabase: false,
      raises: [],
    });
  });
});

describe('a mark file that is not of this database', () => {
  it('is of another database', async () => {
    expect(reading(await marked(raise(1, 0, 1)), 'another')).toMatchObject({
      distrust: 'its mark file is of another database',
    });
  });

  it('was made on another machine', async () => {
    const path = await marked(raise(1, 0, 1));
    edit(path, (text) =>
      text.replace(/"machine":"(.?)/, (_, digit) => `"machine":"${digit === 'f' ? 'e' : 'f'}`),
    );
    expect(reading(path)).toMatchObject({ distrust: 'its mark file was made on another machine' });
  });

  it('is a copy, which has another inode', async () => {
    const path = await marked(raise(1, 0, 1));
    copyFileSync(markPath(path), `${markPath(path)}.copy`);
    rmSync(markPath(path));
    renameSync(`${markPath(path)}.copy`, markPath(path));
    expect(reading(path)).toMatchObject({
      distrust: 'its mark file is a copy as well',
      sameDatabase: true,
    });
  });

  it('is a copy that has the inode of its deleted original', async () => {
    const path = await marked(raise(1, 0, 1));
    const folder = dirname(path);
    // Its times say nothing where all were made in one tick of the kernel's clock.
    const isOfOneTick = ({ birthtimeNs, ctimeNs } = statSync(folder, { bigint: true })) =>
      birthtimeNs === ctimeNs;
    while (isOfOneTick()) chmodSync(folder, 0o700);
    expect(reading(path)).toEqual({ sameDatabase: true, raises: [raise(1, 0, 1)] });
    edit(path, (text) =>
      text.replace(/"markBorn":(\d+)\d/, (_, digits) => `"markBorn":1${digits}`),
    );
    const { birthtimeNs } = statSync(folder, { bigint: true });
    const distrust = birthtimeNs === 0n ? undefined : 'its mark file is a copy as well';
    expect(reading(path)?.distrust).toBe(distrust);
  });

  it('is genuine, but another file has replaced the database', async () => {
    const path = await marked(raise(1, 0, 1));
    writeFileSync(`${path}.backup`, 'database');
    renameSync(`${path}.backup`, path);
    expect(reading(path)).toEqual({ sameDatabase: false, raises: [raise(1, 0, 1)] });
  });

  it('is the same one after the folder was renamed', async () => {
    const path = await marked(raise(1, 0, 1));
    const moved = `${dirname(path)}-moved`;
    renameSync(dirname(path), moved);
    whenOver(() => renameSync(moved, dirname(path)));
    expect(reading(join(moved, 'paygate.db'))).toEqual({
      sameDatabase: true,
      raises: [raise(1, 0, 1)],
    });
  });
});

describe('a raise that cannot be made durable', () => {
  const refusal = (path: string) => {
    try {
      open(path).raise([raise(1, 0, 1)]);
    } catch (error) {
      return error;
    }
    return 'raised';
  };
  const expected = (path: string) =>
    expect.objectContaining({
      code: 'unavailable',
      message: expect.stringContaining(`${markPath(path)}: cannot be written`),
    });

  it('throws if there is a file at the path of its folder', () => {
    const path = freshDatabase();
    writeFileSync(dirname(markPath(path)), 'in the way');
    expect(refusal(path)).toBeInstanceOf(PaygateError);
    expect(refusal(path)).toEqual(expected(path));
  });

  it('throws if there is a folder at the path of its file', () => {
    const path = freshDatabase();
    mkdirSync(`${markPath(path)}.new`, { recursive: true });
    expect(refusal(path)).toEqual(expected(path));
  });

  it('throws in a folder of another user', () => {
    const path = freshDatabase();
    chmodSync(dirname(path), 0o555);
    expect(asOrdinaryUser(() => refusal(path))).toEqual(expected(path));
  });

  it('when the mark file is full writes to no file that is opened afterwards', async () => {
    const path = freshDatabase();
    const mark = open(path);
    const many = Array.from({ length: 1000 }, (_, at) => raise(at + 1, 100_000, 100_001));
    await mark.raise(many);
    await mark.raise(many);
    mkdirSync(`${markPath(path)}.new`);
    expect(() => mark.raise(many)).toThrow('cannot be written');
    // What is opened now may get the number that the mark file's descriptor had.
    const other = join(dirname(path), 'other');
    writeFileSync(other, 'untouched');
    const descriptor = openSync(other, 'r+');
    whenOver(() => closeSync(descriptor));
    expect(() => mark.raise(many)).toThrow('cannot be written');
    await mark.raise([raise(1, 100_001, 100_002)]);
    expect(readFileSync(other, 'utf8')).toBe('untouched');
    expect(reading(path)?.raises).toContainEqual(raise(1, 100_001, 100_002));
    rmSync(`${markPath(path)}.new`, { recursive: true });
    await mark.raise(many);
    expect(reading(path)?.raises).toEqual(many);
  });

  it('is dropped, so the mark file names no index that was not issued', async () => {
    const path = freshDatabase();
    writeFileSync(dirname(markPath(path)), 'in the way');
    const mark = open(path);
    expect(() => mark.raise([raise(1, 0, 500)])).toThrow('cannot be written');
    rmSync(dirname(markPath(path)));
    await mark.raise([raise(2, 0, 1)]);
    expect(reading(path)?.raises).toEqual([raise(2, 0, 1)]);
  });

  it('does no lasting harm: the next one is written when the path is free', async () => {
    const path = freshDatabase();
    writeFileSync(dirname(markPath(path)), 'in the way');
    const mark = open(path);
    expect(() => mark.raise([raise(1, 0, 1)])).toThrow('cannot be written');
    rmSync(dirname(markPath(path)));
    await mark.raise([raise(1, 0, 1)]);
    expect(reading(path)?.raises).toEqual([raise(1, 0, 1)]);
  });
});
