// The mark: a small file beside the database that remembers how far each wallet's counter rose.
// It is written before the commit that raises a counter and on the disk before anybody hears of that commit, and no
// copy of `paygate.db*` takes it along, so that a restored database can be told from the one that issued last.
//
// Layout: 64 KiB of text padded with zeros, so that a raise overwrites bytes that exist already and
// one fdatasync makes it durable. Line 1 is JSON: whose mark it is. Each line after it is a raise,
// `wallet from to checksum`, where a wallet has a name made of its keys, which it has in every database;
// the last of a wallet counts; the first line that is torn ends the list, for then its commit did not
// happen. A full file is rewritten under a new name and renamed. Guesses stand in line 1, where a version that knows of
// none reads over them.

import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { MarkReading, Raise } from '../domain/allocation.ts';
import { PaygateError } from '../errors.ts';
import { makeFolder, putInPlace, syncData, syncPath } from './disk.ts';
import { truePath } from './place.ts';

const markBytes = 65_536;
const machineIdFile = '/etc/machine-id';

/** Where the mark of a database lies: outside every glob that copies `paygate.db*`. */
export const markPath = (databasePath: string): string =>
  join(dirname(databasePath), '.paygate-mark', basename(databasePath));

/** Whose mark it is. Each field tells one way in which a file can be a copy. */
interface Identity {
  readonly version: 1;
  /** A random name given to the database when it was made. */
  readonly instance: string;
  /** The machine's own id, or '' where it has none. */
  readonly machine: string;
  readonly databaseInode: string;
  /** The mark's own inode: a copied folder has a copied mark, which must not be believed. */
  readonly markInode: string;
  /** When the mark was made, epoch ms: a number that was let go of is given to the next file. Absent where nobody knew. */
  readonly markBorn?: number;
  /** The operator said that the whole machine, this mark with it, was set back to an earlier time. */
  readonly setBack?: true;
  /** A backup was restored where no mark stood that is believed, also one that had issued nothing yet. */
  readonly restored?: true;
  readonly begunBlind?: true;
  readonly guesses?: readonly Raise[];
}

export type Doubt = keyof typeof doubts;

const doubts = {
  setBack: 'this machine was set back to a snapshot',
  restored: 'no mark of its own stood beside the backup',
} as const;

export interface Highwater {
  /** What the mark said when it was opened; undefined when there was none. */
  readonly reading: MarkReading | undefined;
  /**
   * Writes raises, and resolves when they are durable: until then nobody may hear of their commit, nor when it rejects.
   * @throws at once when they can't be written: then they must not be committed
   */
  raise(raises: readonly Raise[]): Promise<void>;
  /**
   * Makes it the mark of this file, which knows these and no others from now on.
   * @param blind nobody knows how far the file before this one went
   */
  begin(raises: readonly Raise[], blind?: boolean): void;
  /** Makes the next start distrust it: what it remembers may be older than what was issued. */
  distrust(doubt: Doubt): void;
  /**
   * To be done last, before `close`: makes it anew where it still lies, so that a copy of it which is written over it later
   * does not pass for it.
   */
  renew(): void;
  close(): void;
}

/** Opens the mark of a database. The first raise, of nothing perhaps, makes it ours. */
export function openHighwater(given: string, instance: string): Highwater {
  const databasePath = truePath(given);
  const path = markPath(databasePath);
  const identity = {
    version: 1,
    instance,
    machine: machineId(),
    databaseInode: inodeOf(databasePath),
  } as const;
  const found = existsSync(path) ? parseMark(readFileSync(path, 'utf8')) : undefined;
  let latest = byWallet(found?.raises ?? []);
  let begunBlind = found?.identity?.begunBlind === true;
  let file: MarkFile | undefined;

  function raise(raises: readonly Raise[]): Promise<void> {
    const known = byWallet([...latest.values(), ...raises]);
    try {
      const synced = file?.append(linesOf(raises)) ?? rewrite(known);
      latest = known;
      return synced;
    } catch (error) {
      throw raiseFailure(path, error);
    }
  }

  function rewrite(known: ReadonlyMap<string, Raise>, doubt?: Doubt): Promise<void> {
    const raises = [...known.values()];
    const whose = {
      ...identity,
      ...(doubt && { [doubt]: true }),
      ...(begunBlind && { begunBlind }),
      guesses: raises.filter(({ guess }) => guess),
    };
    const fresh = createMark(path, whose, linesOf(raises.filter(({ guess }) => !guess)));
    file?.close();
    file = fresh;
    return Promise.resolve();
  }

  return {
    reading: found && judge(found, identity, path),
    raise,
    begin(raises, blind = false) {
      begunBlind ||= blind;
      const known = byWallet(raises);
      try {
        rewrite(known);
        latest = known;
      } catch (error) {
        throw raiseFailure(path, error);
      }
    },
    distrust: (doubt) => void rewrite(latest, doubt),
    renew() {
      try {
        if (file?.isIn(path)) rewrite(latest);
      } catch {
        // The old one knows as much, and a stop goes on.
      }
    },
    close: () => file?.close(),
  };
}

/** The last one of each. A guess is one until a raise from its end on: before that its wallet is on the way to it. */
function byWallet(raises: readonly Raise[]): Map<string, Raise> {
  const latest = new Map<string, Raise>();
  for (const raise of raises) {
    const before = latest.get(raise.wallet);
    const isGuess = before?.guess && raise.from < before.to;
    latest.set(raise.wallet, isGuess ? { ...raise, guess: true } : raise);
  }
  return latest;
}

const linesOf = (raises: readonly Raise[]): string => raises.map(raiseLine).join('');

/** A lost write ends the process, for which the caller must see it as it is. */
function raiseFailure(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EIO') return error;
  return new PaygateError('unavailable', `${path}: cannot be written (${code})`, {
    retryAfterSeconds: 30,
    cause: error,
  });
}

/** Whose mark it will be, whichever file it is. */
type Own = Omit<Identity, 'markInode' | 'markBorn'>;

function judge(found: ParsedMark, own: Own, path: string): MarkReading {
  return {
    ...distrustOf(found.identity, own, path),
    ...(found.identity?.begunBlind && { begunBlind: true }),
    sameDatabase: found.identity?.databaseInode === own.databaseInode,
    raises: found.raises,
  };
}

function distrustOf(
  marked: Identity | undefined,
  own: Own,
  path: string,
): Pick<MarkReading, 'distrust' | 'declared'> {
  if (marked === undefined) return { distrust: 'its mark cannot be read' };
  const doubt = (['setBack', 'restored'] as const).find((each) => marked[each]);
  if (doubt !== undefined) return { distrust: doubts[doubt], declared: true };
  if (marked.instance !== own.instance) return { distrust: 'its mark is of another database' };
  if (marked.machine !== own.machine) return { distrust: 'its mark was made on another machine' };
  const isCopy = marked.markInode !== inodeOf(path) || wasBornAgain(marked, path);
  return isCopy ? { distrust: 'its mark is a copy as well' } : {};
}

/**
 * Whether a file was made since under the number of the one that was marked. Where the system does not know when a file was
 * made, it says 0, or of each the time of its last change: one that differs in these shows that it knows.
 */
function wasBornAgain({ markBorn }: Identity, path: string): boolean {
  const around = [path, dirname(path), dirname(dirname(path))].map((each) =>
    statSync(each, { bigint: true }),
  );
  const isKnown = around.some(
    ({ birthtimeNs, ctimeNs }) => birthtimeNs !== 0n && birthtimeNs !== ctimeNs,
  );
  return isKnown && markBorn !== undefined && markBorn !== millisecondsOf(around[0]?.birthtimeNs);
}

/** What finer a file system has of a new file it may forget. */
const millisecondsOf = (ns = 0n): number => Number(ns / 1_000_000n);

interface ParsedMark {
  /** Undefined when the first line is not what we write. */
  readonly identity: Identity | undefined;
  /** The last raise of each wallet. */
  readonly raises: readonly Raise[];
}

function parseMark(text: string): ParsedMark {
  const lines = text.split('\n');
  const identity = parseIdentity(lines[0] ?? '');
  const raises = [...(identity?.guesses ?? [])];
  for (const line of lines.slice(1)) {
    const raise = parseRaise(line);
    if (raise === undefined) break;
    raises.push(raise);
  }
  return { identity, raises: [...byWallet(raises).values()] };
}

function parseIdentity(line: string): Identity | undefined {
  try {
    const parsed = JSON.parse(line) as Identity;
    return parsed.version === 1 ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Not by node:crypto: see migrate.ts. */
const checksum = (text: string): string => bytesToHex(sha256(utf8ToBytes(text))).slice(0, 8);

function raiseLine({ wallet, from, to }: Raise): string {
  const text = `${wallet} ${from} ${to}`;
  return `${text} ${checksum(text)}\n`;
}

function parseRaise(line: string): Raise | undefined {
  const match = /^(([0-9a-f]{16}) (\d+) (\d+)) ([0-9a-f]{8})$/.exec(line);
  if (match === null) return undefined;
  const [, text = '', wallet = '', from, to, sum] = match;
  return checksum(text) === sum ? { wallet, from: Number(from), to: Number(to) } : undefined;
}

interface MarkFile {
  /** Resolves when they are durable; undefined when the file is full and must be rewritten. */
  append(lines: string): Promise<void> | undefined;
  /** Whether it still lies there. */
  isIn(path: string): boolean;
  close(): void;
}

function createMark(path: string, identity: Own, lines: string): MarkFile {
  makeFolder(dirname(path));
  const fresh = `${path}.new`;
  // What a start left that was killed.
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, 'wx', 0o600);
  const { ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  const markInode = String(ino);
  const born = birthtimeNs === 0n ? {} : { markBorn: millisecondsOf(birthtimeNs) };
  const text = `${JSON.stringify({ ...identity, ...born, markInode } satisfies Identity)}\n${lines}`;
  const bytes = Buffer.alloc(Math.max(markBytes, 2 * text.length));
  let end = bytes.write(text);
  try {
    writeAll(descriptor, bytes, 0);
    putInPlace(fresh, path);
    syncPath(dirname(dirname(path)));
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }

  return {
    append(more) {
      const chunk = Buffer.from(more);
      if (end + chunk.length > bytes.length) return undefined;
      writeAll(descriptor, chunk, end);
      end += chunk.length;
      return syncData(descriptor);
    },
    isIn: (where) => inodeOf(where) === markInode,
    close: () => closeSync(descriptor),
  };
}

/** A disk that is almost full takes a part and says so only when it is asked again. */
function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  }
}

/** Of a database that is still to be put in place as well: it is that of no file. */
const inodeOf = (path: string): string =>
  String(statSync(path, { bigint: true, throwIfNoEntry: false })?.ino);

const machineId = (): string =>
  existsSync(machineIdFile) ? readFileSync(machineIdFile, 'utf8').trim() : '';
