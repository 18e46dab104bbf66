import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  type Counter,
  gapLimitNeeded,
  type MarkReading,
  markName,
  marksOf,
  minSkip,
  type Raise,
  type Resumption,
  resume,
  type Skip,
  skipByRate,
} from '../../../src/domain/store/allocation.ts';

const at = (nextIndex: number, used = nextIndex > 0, walletId = 1): Counter => ({
  walletId,
  wallet: `w${walletId}`,
  nextIndex,
  used,
  scanned: true,
});
const unscanned = (nextIndex: number): Counter => ({ ...at(nextIndex), scanned: false });
const raise = (from: number, to: number, walletId = 1): Raise => ({
  wallet: `w${walletId}`,
  from,
  to,
});
const skip = (from: number, to: number, walletId = 1): Skip => ({ walletId, from, to });
const own = (...raises: Raise[]): MarkReading => ({ sameDatabase: true, raises });
const otherFile = (...raises: Raise[]): MarkReading => ({ sameDatabase: false, raises });
const ofCopy = (reading: MarkReading): MarkReading => ({ ...reading, ofCopy: true });
const distrusted = (...raises: Raise[]): MarkReading => ({
  distrust: 'its mark file was made on another machine',
  sameDatabase: false,
  raises,
});

type Row = [string, readonly Counter[], MarkReading | undefined, Resumption['kind'], Skip[]];

/** Rules §5, the mark file: what the file says, what the mark file says, how it goes on. */
const rows: Row[] = [
  ['a file without wallets, no mark', [], undefined, 'continue', []],
  ['nothing issued, no mark', [at(0)], undefined, 'copy', [skip(0, minSkip)]],
  [
    'a start index and nothing issued, no mark',
    [at(500, false)],
    undefined,
    'copy',
    [skip(500, 500 + minSkip)],
  ],
  ['issued, no mark', [at(7)], undefined, 'copy', [skip(7, 7 + minSkip)]],
  [
    'one of two wallets issued, no mark: both skip',
    [at(7), at(0, false, 2)],
    undefined,
    'copy',
    [skip(7, 7 + minSkip), skip(0, minSkip, 2)],
  ],

  ['a clean stop', [at(7)], own(raise(6, 7)), 'continue', []],
  ['a mark that knows nothing of it', [at(7)], own(), 'copy', [skip(7, 7 + minSkip)]],
  [
    'the same, and its scan is still to come',
    [unscanned(7)],
    own(),
    'copy',
    [skip(7, 7 + minSkip)],
  ],
  ['a crash between mark and commit', [at(6)], own(raise(6, 9)), 'continue', [skip(6, 9)]],
  ['a crash in the very first commit', [at(0)], own(raise(0, 1)), 'continue', [skip(0, 1)]],
  ['the file further than the mark', [at(12)], own(raise(6, 9)), 'copy', [skip(12, 12 + minSkip)]],
  ['the same, while its scan goes on', [unscanned(12)], own(raise(6, 9)), 'continue', []],
  ['the file inside the last raise', [at(8)], own(raise(6, 9)), 'continue', [skip(8, 9)]],
  ['the file one below the last raise', [at(5)], own(raise(6, 9)), 'copy', [skip(5, 9)]],
  ['the file far below', [at(5)], own(raise(600, 601)), 'copy', [skip(5, 601)]],
  ['never issued by the file, but marked', [at(0)], own(raise(600, 601)), 'copy', [skip(0, 601)]],
  [
    'one wallet crashed, another stands',
    [at(6), at(40, true, 2)],
    own(raise(6, 7), raise(39, 40, 2)),
    'continue',
    [skip(6, 7)],
  ],
  [
    'one wallet is older: both that are behind go to their mark',
    [at(6), at(3, true, 2), at(9, true, 3)],
    own(raise(6, 7), raise(39, 40, 2), raise(8, 9, 3)),
    'copy',
    [skip(6, 7), skip(3, 40, 2)],
  ],
  [
    'a wallet that the mark does not know: both skip',
    [at(7), at(9, true, 2)],
    own(raise(6, 7)),
    'copy',
    [skip(7, 7 + minSkip), skip(9, 9 + minSkip, 2)],
  ],
  [
    'a wallet that never issued, and that the mark does not know',
    [at(7, false)],
    own(),
    'continue',
    [],
  ],

  ['another inode, up to date', [at(7)], otherFile(raise(6, 7)), 'copy', []],
  ['another inode, at `from`', [at(6)], otherFile(raise(6, 7)), 'copy', [skip(6, 7)]],
  ['another inode, older', [at(2)], otherFile(raise(6, 7)), 'copy', [skip(2, 7)]],
  [
    'another inode, further than the mark, which is a younger one',
    [at(8)],
    otherFile(raise(6, 7)),
    'copy',
    [skip(8, 8 + minSkip)],
  ],
  [
    'another inode, beside the mark of a copy',
    [at(3)],
    ofCopy(otherFile(raise(50, 50))),
    'copy',
    [skip(3, 50 + minSkip)],
  ],
  [
    'the same, and the file had issued nothing',
    [at(0)],
    ofCopy(otherFile(raise(100, 100))),
    'copy',
    [skip(0, 100 + minSkip)],
  ],
  [
    'the same, and the mark does not name its wallet',
    [at(0)],
    ofCopy(otherFile()),
    'copy',
    [skip(0, minSkip)],
  ],
  [
    'one that had issued nothing, beside a mark that is not of a copy',
    [at(0, false)],
    otherFile(),
    'copy',
    [],
  ],
  [
    'older, over the inode of a copy',
    [at(0)],
    ofCopy(own(raise(300, 300))),
    'copy',
    [skip(0, 300 + minSkip)],
  ],
  [
    'further, over the inode of a copy',
    [at(400)],
    ofCopy(own(raise(300, 310))),
    'copy',
    [skip(400, 400 + minSkip)],
  ],
  ['the copy itself', [at(100)], ofCopy(own(raise(100, 100))), 'continue', []],
  [
    'the copy itself after a crash',
    [at(104)],
    ofCopy(own(raise(104, 106))),
    'continue',
    [skip(104, 106)],
  ],
  [
    'the copy itself, while its scan goes on',
    [unscanned(120)],
    ofCopy(own(raise(100, 100))),
    'continue',
    [],
  ],
  [
    'the copy itself, with a wallet that has issued nothing',
    [at(0)],
    ofCopy(own()),
    'continue',
    [],
  ],

  ['another machine, nothing issued by either', [at(0)], distrusted(), 'copy', [skip(0, minSkip)]],
  ['the same without a wallet', [], distrusted(), 'continue', []],
  [
    'a mark that was set back by 200: every wallet goes on so much further',
    [at(6), at(3, true, 2)],
    { ...distrusted(raise(6, 7)), missing: 200 },
    'copy',
    [skip(6, 207 + minSkip), skip(3, 203 + minSkip, 2)],
  ],
  [
    'another machine: the mark is a lower bound at most',
    [at(6)],
    distrusted(raise(6, 7)),
    'copy',
    [skip(6, 7 + minSkip)],
  ],
  [
    'another machine, and the mark further than the least skip',
    [at(6)],
    distrusted(raise(900, 901)),
    'copy',
    [skip(6, 901 + minSkip)],
  ],
  [
    'another machine, nothing issued by the file, but marked',
    [at(0)],
    distrusted(raise(3, 4)),
    'copy',
    [skip(0, 4 + minSkip)],
  ],
];

describe('the index at which a counter continues', () => {
  it.each(rows)('%s', (_what, counters, mark, kind, skips) => {
    const resumption = resume(counters, mark);
    expect(resumption.kind).toBe(kind);
    expect(resumption.skips).toEqual(skips);
  });

  it('a copy has a reason', () => {
    const reasons = [
      [resume([at(7)], undefined), /no mark/],
      [resume([at(5)], own(raise(6, 9))), /wallet 1 stands at index 5/],
      [resume([at(7)], otherFile(raise(6, 7))), /written for another file/],
      [resume([at(7)], otherFile()), /no current counter of wallet 1/],
      [resume([at(7)], distrusted()), /another machine/],
    ] as const;
    for (const [resumption, text] of reasons) {
      expect(resumption.kind === 'copy' && resumption.reason).toMatch(text);
    }
  });

  it.each([
    ['no mark', [at(7)], undefined, true],
    ['a mark that is not believed', [at(7)], distrusted(raise(6, 7)), true],
    ['a mark that does not know it', [at(7)], own(), true],
    ['an older file over the inode of a copy', [at(0)], ofCopy(own(raise(300, 300))), true],
    ['the same, and the file is further', [at(400)], ofCopy(own(raise(300, 300))), true],
    ['a mark that is further', [at(5)], own(raise(6, 9)), false],
    ['another inode', [at(7)], otherFile(raise(6, 7)), false],
  ])('a copy asks the chain first where nobody knows how far to skip: %s', (...row) => {
    const [, counters, mark, mustScan] = row;
    expect(resume(counters, mark)).toMatchObject({ kind: 'copy', mustScan });
  });

  it('never decreases, and never stays below an index in a mark file', () => {
    const index = fc.nat(300);
    const counters = fc.uniqueArray(
      fc
        .tuple(fc.integer({ min: 1, max: 3 }), index, fc.boolean())
        .map(([walletId, nextIndex, used]) => at(nextIndex, used, walletId)),
      { selector: (counter) => counter.walletId },
    );
    const raises = fc.uniqueArray(
      fc
        .tuple(fc.integer({ min: 1, max: 3 }), index, fc.integer({ min: 1, max: 50 }))
        .map(([walletId, from, count]) => raise(from, from + count, walletId)),
      { selector: (each) => each.wallet },
    );
    const mark = fc.option(
      fc
        .tuple(
          raises,
          fc.constantFrom<typeof own>(
            own,
            otherFile,
            distrusted,
            (...all) => ofCopy(own(...all)),
            (...all) => ofCopy(otherFile(...all)),
          ),
        )
        .map(([all, of]) => of(...all)),
      { nil: undefined },
    );
    fc.assert(
      fc.property(counters, mark, (counters, mark) => {
        const { skips } = resume(counters, mark);
        for (const { walletId, wallet, nextIndex } of counters) {
          const skip = skips.find((each) => each.walletId === walletId);
          if (skip !== undefined) expect(skip.from).toBe(nextIndex);
          const next = skip?.to ?? nextIndex;
          expect(next).toBeGreaterThanOrEqual(nextIndex);
          const marked = mark?.raises.find((each) => each.wallet === wallet)?.to ?? 0;
          expect(next).toBeGreaterThanOrEqual(marked);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a wallet that is in the mark file but not in the database', () => {
  it('continues behind the mark file when it is added again', () => {
    for (const mark of [own, otherFile]) {
      const { lost } = resume([at(7)], mark(raise(6, 7), raise(4, 9, 2), raise(0, 3, 3)));
      expect(lost).toEqual([raise(4, 9, 2), raise(0, 3, 3)]);
    }
  });

  it('continues further if the mark file may be older than the last issue', () => {
    expect(resume([at(7)], distrusted(raise(6, 7), raise(4, 9, 2))).lost).toEqual([
      raise(9 + minSkip, 9 + minSkip, 2),
    ]);
  });

  it('does not exist if the database has every wallet, or there is no mark file', () => {
    expect(resume([at(7)], own(raise(6, 7))).lost).toEqual([]);
    expect(resume([at(7)], undefined).lost).toEqual([]);
    expect(resume([], distrusted()).lost).toEqual([]);
  });
});

test('the mark file identifies a wallet by its keys alone', () => {
  const names = ['wpkh(A/0/*)', 'wpkh(B/0/*)', 'tr(A/0/*)'].map(markName);
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name).toMatch(/^[0-9a-f]{16}$/);
  expect(markName('wpkh(A/0/*)')).toBe(names[0]);
});

describe('the gap limit that a wallet needs', () => {
  it.each([
    ['nothing unpaid', { unpaid: 0, widest: 0 }, 20, undefined],
    ['the last one before the warning', { unpaid: 14, widest: 20 }, 20, undefined],
    ['five before the limit', { unpaid: 15, widest: 0 }, 20, 40],
    ['at the limit', { unpaid: 20, widest: 0 }, 20, 40],
    ['beyond it', { unpaid: 21, widest: 0 }, 20, 60],
    ['a paid one beyond it', { unpaid: 0, widest: 21 }, 20, 60],
    ['both', { unpaid: 15, widest: 45 }, 20, 80],
    ['a wallet set to more', { unpaid: 94, widest: 100 }, 100, undefined],
    ['the same, five before its limit', { unpaid: 95, widest: 0 }, 100, 120],
    ['a wallet set to very little', { unpaid: 0, widest: 1 }, 1, undefined],
    ['the same with one unpaid', { unpaid: 1, widest: 1 }, 1, 40],
  ])('%s', (_name, gaps, limit, needed) => {
    expect(gapLimitNeeded(gaps, limit)).toBe(needed);
  });

  it('is above the requested gap, and sufficient', () => {
    fc.assert(
      fc.property(fc.nat(5_000), fc.nat(5_000), fc.integer({ min: 1, max: 9_999 }), (...given) => {
        const [unpaid, widest, limit] = given;
        const needed = gapLimitNeeded({ unpaid, widest }, limit);
        if (needed === undefined) return;
        expect(needed).toBeGreaterThan(Math.max(unpaid, widest));
        expect(gapLimitNeeded({ unpaid, widest }, needed)).toBeUndefined();
      }),
    );
  });
});

describe('how far a copy skips without a usable mark file', () => {
  const dayMs = 86_400_000;

  it.each([
    ['nothing was issued', 0, 400 * dayMs, minSkip],
    ['a slow shop, yesterday', 30, dayMs, minSkip],
    ['ten a day, 30 days ago: twice that', 300, 30 * dayMs, 600],
    ['a fast shop, a year ago: a start must not take minutes', 30_000, 365 * dayMs, 10_000],
    ['a clock that stands before the last write', 30_000, -dayMs, minSkip],
  ])('%s', (_what, issued, silentMs, expected) => {
    expect(skipByRate({ issued, periodMs: 30 * dayMs, silentMs })).toBe(expected);
  });
});

describe('the content of the mark file for a database that continues', () => {
  it('is every wallet that has issued, and every wallet that only the mark file has', () => {
    const counters = [at(7), at(4, false, 2), { ...at(9, true, 3), scanned: false }];
    const known = [raise(5, 6), raise(1, 8, 4)];
    expect(marksOf(counters, known)).toEqual([raise(7, 7), raise(9, 9, 3), raise(1, 8, 4)]);
  });

  it('never falls', () => {
    expect(marksOf([at(7)], [raise(7, 12)])).toEqual([raise(7, 12)]);
    // One that was lost and is added again, before its first address.
    expect(marksOf([at(0, false)], [raise(7, 12)])).toEqual([raise(0, 12)]);
  });
});
