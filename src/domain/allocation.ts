// Which derivation index a wallet goes on with. Pure. An index is given out once: a counter only
// rises, and a mark outside the database remembers how far it rose, so that a database that is a
// copy of an older one (a restored backup) can be told from one that merely crashed.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/**
 * What the mark calls a wallet: 16 hex digits of its normalised descriptor. Not its row, whose number
 * another wallet may get in a restored database that does not know it.
 */
export const markName = (descriptor: string): string =>
  bytesToHex(sha256(utf8ToBytes(descriptor))).slice(0, 16);

/** What the mark calls the counter of the indexes that were given out after they had been left out. */
export const givenBackName = (wallet: string): string =>
  bytesToHex(sha256(utf8ToBytes(`${wallet} given back`))).slice(0, 16);

/** A wallet's counter as the database has it. */
export interface Counter {
  readonly walletId: number;
  /** Its name in the mark. */
  readonly wallet: string;
  readonly nextIndex: number;
  /** Whether an index of it was ever issued or skipped. */
  readonly used: boolean;
  /** Nothing is asked of the chain any more before it issues. */
  readonly scanned: boolean;
  /** It counts the indexes that were given out after they had been left out, and is no index. */
  readonly givenBack?: true;
}

/** The last raise of a counter that the mark remembers, written just before its commit. */
export interface Raise {
  /** Its name in the mark. */
  readonly wallet: string;
  readonly from: number;
  readonly to: number;
}

/** Indexes of a wallet that are taken for issued: from one to the one before another. */
export interface Skip {
  readonly walletId: number;
  readonly from: number;
  readonly to: number;
  /** The skip belongs to the counter of indexes that were given back. */
  readonly givenBack?: true;
}

/** What the mark says, and how far it can be believed. */
export interface MarkReading {
  /** Why the mark itself can't be this database's own: it was copied, or the machine is another. */
  readonly distrust?: string;
  /** At most so many indexes were issued since, for the mark was set back; absent where that is not known. */
  readonly missing?: number;
  /** It was begun for a copy. It knows what that file issued, and nothing of the original. */
  readonly ofCopy?: true;
  /** The mark is genuine and names this very database file. */
  readonly sameDatabase: boolean;
  readonly raises: readonly Raise[];
}

export type Resumption = Outcome & {
  /**
   * Wallets that this database does not know: added after the backup that it was restored from. Should
   * one be added again, it goes on at `to`.
   */
  readonly lost: readonly Raise[];
};

type Outcome =
  /** This is the database that issued last. `skips` end a commit that a crash cut off. */
  | { readonly kind: 'continue'; readonly skips: readonly Skip[] }
  /** This is a copy: others may hold addresses of the skipped indexes. */
  | {
      readonly kind: 'copy';
      readonly reason: string;
      readonly skips: readonly Skip[];
      /** No mark says how far the original went: the chain must be asked before the next address. */
      readonly mustScan: boolean;
    };

/** How far a copy skips at least where no mark says how much was issued since. */
export const blindSkip = 100;
/** At most: each skipped index is derived, up to 1.3 ms each. The scan of the chain goes on from there. */
const furthestBlindSkip = 10_000;

/** How fast a wallet's addresses were given out, as far as its database knows. */
export interface IssuingRate {
  readonly issued: number;
  /** In how many milliseconds. */
  readonly periodMs: number;
  /** Since the last write to the database. */
  readonly silentMs: number;
}

/** Twice what would have been issued since the copy was made, had the shop gone on as before. */
export function blindSkipAt({ issued, periodMs, silentMs }: IssuingRate): number {
  const expected = Math.ceil((2 * issued * Math.max(0, silentMs)) / Math.max(1, periodMs));
  return Math.min(furthestBlindSkip, Math.max(blindSkip, expected));
}

/** Addresses in a row without any history after which a wallet's scan ends (BIP44's gap limit). */
export const scanGap = 20;

/** How many addresses beyond the last issued one are derived and watched in advance, at least. */
export const lookahead = 20;
/** And at most without a reserve, so that not every address costs a commit of its own ahead of it. */
export const furthestAhead = 2 * lookahead;
/** How many addresses are derived and watched ahead for a rush, in all wallets together. */
export const mostInReserve = 1_000;

/**
 * How many addresses a wallet keeps derived ahead, so that a rush does not wait for derivations: as many as
 * it ever gave out, within bounds. A shop that sells little pays for little.
 * @param givenOut not its counter, which a server may drive away
 * @param wallets among how many the most is divided
 */
export const reserveOf = (givenOut: number, wallets: number): number =>
  Math.max(furthestAhead, Math.min(givenOut, Math.floor(mostInReserve / wallets)));

/**
 * Decides, at a start, where each counter goes on. There are three outcomes: the mark is in step with the file, it is
 * ahead of the file, or it does not say how far the counters went.
 * @param skipOf how far a wallet skips where no mark says how much was issued since
 */
export function resume(
  counters: readonly Counter[],
  mark: MarkReading | undefined,
  skipOf: (walletId: number) => number = () => blindSkip,
): Resumption {
  const { raises = [], missing = 0 } = mark ?? {};
  const lost = lostFrom(counters, raises);
  if (counters.length + lost.length === 0) return { kind: 'continue', skips: [], lost };
  const doubt = doubtOf(counters, mark);
  if (doubt !== undefined) {
    const skips = skipsTo(counters, raises, (walletId) => missing + skipOf(walletId));
    const further = lost.map(({ wallet, to }) => {
      const end = to + missing + blindSkip;
      return { wallet, from: end, to: end };
    });
    return { kind: 'copy', reason: doubt, mustScan: true, skips, lost: further };
  }
  const skips = skipsTo(counters, raises);
  const reason = mark && whyOlder(counters, mark);
  if (reason === undefined) return { kind: 'continue', skips, lost };
  return { kind: 'copy', reason, mustScan: false, skips, lost };
}

/** Why the mark does not say how far the counters went; undefined where it does. */
function doubtOf(counters: readonly Counter[], mark: MarkReading | undefined): string | undefined {
  if (mark === undefined) return 'no mark stands beside it';
  if (mark.distrust !== undefined) return mark.distrust;
  const unknown = counters.find((counter) => isUnknownTo(mark, counter));
  if (unknown !== undefined) {
    return `its mark does not know how far wallet ${unknown.walletId} went`;
  }
  const isAnother = !mark.sameDatabase || olderThan(counters, mark.raises) !== undefined;
  return mark.ofCopy && isAnother
    ? 'its mark is that of a copy, and this is another file'
    : undefined;
}

/** Each start tells the mark of every wallet that has issued, and each raise comes before its commit. */
function isUnknownTo(mark: MarkReading, counter: Counter): boolean {
  const raise = raiseOf(counter.wallet, mark.raises);
  if (raise === undefined || !counter.used) return counter.used;
  // A scan skips before it tells the mark.
  const mayBeBehind = mark.sameDatabase && !(mark.ofCopy && counter.scanned);
  return counter.nextIndex > raise.to && !mayBeBehind;
}

function whyOlder(counters: readonly Counter[], mark: MarkReading): string | undefined {
  if (!mark.sameDatabase) return 'the file beside its mark is not the one that issued';
  const older = olderThan(counters, mark.raises);
  if (older === undefined) return undefined;
  return `wallet ${older.walletId} stands at index ${older.nextIndex}, its mark is further`;
}

/** A counter that stands before the last raise of its mark began: more was issued than it knows. */
export function olderThan(
  counters: readonly Counter[],
  raises: readonly Raise[],
): Counter | undefined {
  return counters.find(({ wallet, nextIndex }) => {
    const raise = raiseOf(wallet, raises);
    return raise !== undefined && nextIndex < raise.from;
  });
}

const raiseOf = (wallet: string, raises: readonly Raise[]): Raise | undefined =>
  raises.find((raise) => raise.wallet === wallet);

function lostFrom(counters: readonly Counter[], raises: readonly Raise[]): Raise[] {
  const known = new Set(counters.map(({ wallet }) => wallet));
  const unknown = raises.filter(({ wallet }) => !known.has(wallet));
  const givenBack = new Set(unknown.map(({ wallet }) => givenBackName(wallet)));
  return unknown.filter(({ wallet }) => !givenBack.has(wallet));
}

/**
 * What the mark is to know of a file that goes on from here.
 * @param known what it is to go on knowing; wallets that the file does not know stay in it
 */
export function marksOf(counters: readonly Counter[], known: readonly Raise[]): Raise[] {
  const names = new Set(counters.map(({ wallet }) => wallet));
  const own = counters.flatMap(({ wallet, nextIndex, used }): Raise[] => {
    const before = raiseOf(wallet, known);
    if (!used && before === undefined) return [];
    return [{ wallet, from: nextIndex, to: Math.max(nextIndex, before?.to ?? 0) }];
  });
  return [...own, ...known.filter(({ wallet }) => !names.has(wallet))];
}

/** Each counter goes on behind the mark, and an index so many further. Those that stand there already are left out. */
function skipsTo(
  counters: readonly Counter[],
  raises: readonly Raise[],
  further: (walletId: number) => number = () => 0,
): Skip[] {
  return counters.flatMap(({ walletId, wallet, nextIndex, givenBack }) => {
    const known = Math.max(nextIndex, raiseOf(wallet, raises)?.to ?? 0);
    const to = known + (givenBack ? 0 : further(walletId));
    return nextIndex < to
      ? [{ walletId, from: nextIndex, to, ...(givenBack && { givenBack }) }]
      : [];
  });
}

/** How a wallet's unpaid addresses lie between the paid ones. */
export interface Gaps {
  /** Given out since the last one that was paid. */
  readonly unpaid: number;
  /** The longest way from one paid address to the next, in indexes; 0 where there is none. */
  readonly widest: number;
}

/** How many addresses before the limit is reached the warning comes. */
const warnAhead = 5;
const limitStep = 20;

/**
 * The gap limit to set in the merchant's own wallet, which stops looking after so many unpaid addresses
 * and so would not show money beyond them; undefined while the one it is set to is enough.
 */
export function gapLimitNeeded({ unpaid, widest }: Gaps, limit: number): number | undefined {
  if (unpaid < Math.max(1, limit - warnAhead) && widest <= limit) return undefined;
  // With room for as many more.
  return (Math.ceil(Math.max(unpaid, widest) / limitStep) + 1) * limitStep;
}
