// Decides which derivation index a wallet goes on with. An index is issued once, because a wallet's
// counter only rises. The high-water mark, a file outside the database, records how far each
// counter rose. It distinguishes a copy of an older database (a restored backup)
// from a database that crashed.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/**
 * A wallet's name in the high-water mark: 16 hex digits of a hash of its normalised descriptor.
 * The number of its row does not do: in a restored database another wallet may have that number.
 */
export const markName = (descriptor: string): string =>
  bytesToHex(sha256(utf8ToBytes(descriptor))).slice(0, 16);

/** The mark file's name for a wallet's counter of left-out indexes that were issued later. */
export const givenBackName = (wallet: string): string =>
  bytesToHex(sha256(utf8ToBytes(`${wallet} given back`))).slice(0, 16);

export interface Counter {
  readonly walletId: number;
  readonly wallet: string;
  readonly nextIndex: number;
  readonly used: boolean;
  readonly scanned: boolean;
  /** It counts indexes that were issued after they had been left out, and is no index itself. */
  readonly givenBack?: true;
}

/** The last raise of a counter that the mark file remembers, written just before its commit. */
export interface Raise {
  readonly wallet: string;
  readonly from: number;
  readonly to: number;
}

/** Indexes of a wallet that count as issued from now on: from `from` up to, not including, `to`. */
export interface Skip {
  readonly walletId: number;
  readonly from: number;
  readonly to: number;
  /** The skip belongs to the counter of indexes that were given back. */
  readonly givenBack?: true;
}

/** What the high-water mark says at a start, and how far it can be believed. */
export interface MarkReading {
  /** Why the mark file is not this database's own, such as that it was copied; absent if it is. */
  readonly distrust?: string;
  /** The mark file was set back; at most so many indexes were issued since. Absent if unknown. */
  readonly missing?: number;
  /** The mark file was begun for a copy. It does not record what the original issued. */
  readonly ofCopy?: true;
  /** The version that the orders of the last copy at this place got; absent for none. */
  readonly versions?: number;
  /** The number of the newest event that was noted; absent for none. */
  readonly lastEvent?: number;
  /** The mark file is genuine and names this very database file. */
  readonly sameDatabase: boolean;
  readonly raises: readonly Raise[];
}

export type Resumption = Outcome & {
  /**
   * Wallets that the mark file names and this database does not know, because they were added
   * after the backup. A wallet that is added again goes on at `to`.
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
      /**
       * How far the original went is unknown: each wallet is scanned before its next address. See
       * docs/decisions/024.
       */
      readonly mustScan: boolean;
    };

/** How many indexes a copy skips at least where no mark file says how many were issued since. */
export const minSkip = 100;
/** How many at most: to derive an index takes up to 1.3 ms. The scan goes on from there. */
const maxSkip = 10_000;

/** How fast a wallet issued, as far as its database knows. */
export interface IssuingRate {
  readonly issued: number;
  readonly periodMs: number;
  /** Since the last write to the database. */
  readonly silentMs: number;
}

/** Twice what the original issued since the copy was made, if it went on at the same rate. */
export function skipByRate({ issued, periodMs, silentMs }: IssuingRate): number {
  const expected = Math.ceil((2 * issued * Math.max(0, silentMs)) / Math.max(1, periodMs));
  return Math.min(maxSkip, Math.max(minSkip, expected));
}

/** Addresses in a row without any history after which a wallet's scan ends (BIP44's gap limit). */
export const scanGap = 20;

/** How many addresses beyond the last issued one are derived and watched in advance, at least. */
export const lookahead = 20;
/**
 * And at most without a reserve, so that not every address costs a commit of its own ahead of it.
 */
export const maxAhead = 2 * lookahead;
/** How many addresses are derived and watched ahead for a rush, in all wallets together. */
export const maxLookahead = 1_000;

/**
 * How many addresses a wallet derives ahead: as many as it ever issued, within bounds. A rush then
 * does not wait for derivations.
 * @param givenOut issued addresses; not the counter, which a lying server may raise
 * @param wallets share the maximum
 */
export const lookaheadOf = (givenOut: number, wallets: number): number =>
  Math.max(maxAhead, Math.min(givenOut, Math.floor(maxLookahead / wallets)));

/**
 * Decides, at a start, where each counter goes on. There are three outcomes. The mark file is in
 * step with the database, or it is ahead, or it does not record how far the counters went.
 * @param skipOf how many indexes a wallet skips in the third outcome
 */
export function resume(
  counters: readonly Counter[],
  mark: MarkReading | undefined,
  skipOf: (walletId: number) => number = () => minSkip,
): Resumption {
  const { raises = [], missing = 0 } = mark ?? {};
  const lost = lostFrom(counters, raises);
  if (counters.length + lost.length === 0) return { kind: 'continue', skips: [], lost };
  const doubt = doubtOf(counters, mark);
  if (doubt !== undefined) {
    const skips = skipsTo(counters, raises, (walletId) => missing + skipOf(walletId));
    const further = lost.map(({ wallet, to }) => {
      const end = to + missing + minSkip;
      return { wallet, from: end, to: end };
    });
    return { kind: 'copy', reason: doubt, mustScan: true, skips, lost: further };
  }
  const skips = skipsTo(counters, raises);
  const reason = mark && whyOlder(counters, mark);
  if (reason === undefined) return { kind: 'continue', skips, lost };
  return { kind: 'copy', reason, mustScan: false, skips, lost };
}

/** Why the mark file does not say how far the counters went; undefined where it does. */
function doubtOf(counters: readonly Counter[], mark: MarkReading | undefined): string | undefined {
  if (mark === undefined) return 'there is no mark file beside it';
  if (mark.distrust !== undefined) return mark.distrust;
  const unknown = unknownTo(mark, counters);
  if (unknown !== undefined) {
    return `its mark file has no current counter of wallet ${unknown.walletId}`;
  }
  const isAnother = !mark.sameDatabase || olderThan(counters, mark.raises) !== undefined;
  return mark.ofCopy && isAnother
    ? 'its mark file belongs to a copy, and this is another file'
    : undefined;
}

/**
 * A counter of which the mark file does not say how far it went.
 * A start writes each used wallet into the mark file, and a raise is durable there before its
 * commit. Only a scan raises the counter first, and the mark file when it ends.
 */
export const unknownTo = (
  { raises }: Pick<MarkReading, 'raises'>,
  counters: readonly Counter[],
): Counter | undefined =>
  counters.find(({ wallet, nextIndex, used, scanned }) => {
    const raise = raiseOf(wallet, raises);
    return used && (raise === undefined || (scanned && nextIndex > raise.to));
  });

function whyOlder(counters: readonly Counter[], mark: MarkReading): string | undefined {
  if (!mark.sameDatabase) return 'its mark file was written for another file';
  const older = olderThan(counters, mark.raises);
  if (older === undefined) return undefined;
  return `wallet ${older.walletId} stands at index ${older.nextIndex}, its mark file is further`;
}

/** A counter below the start of its last raise in the mark file: the database lacks issues. */
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
 * What the mark file records of a file that goes on from here.
 * @param known raises that stay recorded, also of wallets that the file does not know
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

/** Skips to the mark file, and further for wallets. A counter that is there already has no skip. */
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
 * The number of unpaid addresses from which on a warning comes, and strangers get no more addresses
 * by links. The rest is for the orders of the shop itself. See docs/decisions/049.
 * @param limit gap limit of the merchant's own wallet
 */
export const unpaidLimitOf = (limit: number): number => Math.max(1, limit - warnAhead);

/** Unpaid addresses that the strangers of one network may hold, so that others still order. */
export const maxUnpaidOfNetwork = 3;

/**
 * The gap limit to set in the merchant's own wallet; undefined while its present one is enough. A
 * wallet stops at so many unpaid addresses in a row, and does not show money beyond them.
 */
export function gapLimitNeeded({ unpaid, widest }: Gaps, limit: number): number | undefined {
  if (unpaid < unpaidLimitOf(limit) && widest <= limit) return undefined;
  // Enough for as many more.
  return (Math.ceil(Math.max(unpaid, widest) / limitStep) + 1) * limitStep;
}
