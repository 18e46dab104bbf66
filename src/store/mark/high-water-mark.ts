// The high-water mark: a small file beside the database that records how far each wallet's counter
// rose. It distinguishes a restored or copied database from the original.

// Format. 64 KiB of text, padded with zeros. Row 1 is JSON: the identity of the database. Each
// further row is a raise, `wallet from to checksum`. A wallet's name is derived from its keys. A
// clean stop adds a row `event number checksum`, for the newest event.
//
// Algorithm. A raise overwrites zeros, so that one fdatasync makes it durable. The last raise of a
// wallet counts. The first torn row ends the list, because its commit did not happen. A full file
// is rewritten under a new name and renamed. mark-position.ts recognises a mark file that was set
// back.
//
// Invariants.
// - A raise is on the disk before the commit that raises the counter.
// - No copy of `paygate.db*` includes the mark file.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { MarkReading, Raise } from '../../domain/store/allocation.ts';
import { PaygateError } from '../../lib/errors.ts';
import { replaceFile, syncPath, systemCode } from '../../world/disk.ts';
import { truePath } from '../db/file-path.ts';
import {
  type FileIdentity,
  identityOf,
  isSameFile,
  MarkPosition,
  stepsOf,
} from './mark-position.ts';

const markBytes = 65_536;
const machineIdFile = '/etc/machine-id';

/** Path of the mark file of a database: outside every glob that copies `paygate.db*`. */
export const markPath = (databasePath: string): string =>
  join(dirname(databasePath), '.paygate-mark', basename(databasePath));

/** Identity of the database. Each field detects one kind of copy. */
interface Identity {
  readonly version: 1;
  /** A random name given to the database when it was made. */
  readonly instance: string;
  /** The machine's own id, or '' where it has none. */
  readonly machine: string;
  /**
   * The type of file system: on another one, such as an overlay, the same inode is another file.
   */
  readonly fileSystem: number;
  readonly databaseInode: string;
  /** The mark file's own inode: a copied folder has a copied mark, which must not be believed. */
  readonly markInode: string;
  readonly markBorn?: number | undefined;
  /** The position before its raises, and the identity of its position file. */
  readonly position: number;
  readonly positionInode: string;
  readonly positionBorn?: number | undefined;
  /** The operator declared that the whole machine was set back, this mark file with it. */
  readonly setBack?: true;
  /** The mark file was begun for a copy. See docs/decisions/045. */
  readonly ofCopy?: true;
  /** The version that the orders of the last copy at this place got. */
  readonly versions?: number;
  /** The newest event of an order or a payment, by its number. */
  readonly lastEvent?: number;
}

/** What a mark file records beside the raises of wallets; 0 for nothing. */
export interface Noted {
  readonly versions: number;
  readonly lastEvent: number;
}

export interface HighWaterMark {
  /** The contents when it was opened; undefined if there was no mark file. */
  readonly reading: MarkReading | undefined;
  /**
   * Writes raises and syncs them: they are on the disk when this returns.
   * @throws if they are not; then the caller must not commit
   */
  raise(raises: readonly Raise[]): void;
  /**
   * Begins a mark file for this database, with these raises and no others.
   * @param ofCopy it is unknown how far the original issued; this stays true for ever
   * @param noted what is absent stays as it was
   */
  begin(raises: readonly Raise[], ofCopy?: boolean, noted?: Partial<Noted>): void;
  /**
   * Notes the newest event, so that the next start recognises an older file that issued no fewer
   * addresses. A mark file that is full, or a disk that refuses it, notes nothing.
   */
  noteEvent(lastEvent: number): void;
  /**
   * Makes the next start distrust the mark file: the machine was set back, so that the file can be
   * older than the last issue.
   */
  distrust(): void;
  close(): void;
}

/** Opens the mark file of a database. The first raise, of nothing perhaps, makes it ours. */
export function openHighWaterMark(given: string, instance: string): HighWaterMark {
  const databasePath = truePath(given);
  const path = markPath(databasePath);
  const identity = {
    version: 1,
    instance,
    machine: machineId(),
    fileSystem: statfsSync(dirname(databasePath)).type,
    databaseInode: inodeOf(databasePath),
  } as const;
  const found = existsSync(path) ? parseMark(readFileSync(path, 'utf8')) : undefined;
  const beside = new MarkPosition(path, positionFileOf(found?.identity));
  let position = Math.max(found?.position ?? 0, beside.furthest);
  let latest = byWallet(found?.raises ?? []);
  let isOfCopy = found?.identity?.ofCopy === true;
  let noted: Noted = found?.noted ?? { versions: 0, lastEvent: 0 };
  let file: MarkFile | undefined;

  function raise(raises: readonly Raise[]): void {
    const known = byWallet([...latest.values(), ...raises]);
    const reached = position + stepsOf(latest.values(), raises);
    try {
      if (file?.append(linesOf(raises)) !== true) rewrite(known, reached);
      latest = known;
      position = reached;
      beside.follow(reached);
    } catch (error) {
      throw raiseFailure(path, error);
    }
  }

  function rewrite(
    known: ReadonlyMap<string, Raise>,
    reached: number,
    doubt?: { readonly setBack: true },
  ): void {
    const raises = [...known.values()];
    const { inode: positionInode, born: positionBorn } = beside.identity();
    const whose = {
      ...identity,
      ...doubt,
      ...(isOfCopy && { ofCopy: isOfCopy }),
      ...presentOf(noted),
      position: reached - stepsOf([], raises),
      positionInode,
      positionBorn,
    };
    const fresh = createMark(path, whose, linesOf(raises));
    file?.close();
    file = fresh;
    beside.follow(reached);
    beside.removeOthers();
  }

  return {
    reading: found && judge(found, identity, { path, beside: beside.position }),
    raise,
    begin(raises, ofCopy = false, more = {}) {
      isOfCopy ||= ofCopy;
      noted = { ...noted, ...more };
      const reached = position + stepsOf(latest.values(), raises);
      const known = byWallet(raises);
      try {
        rewrite(known, reached);
        latest = known;
        position = reached;
      } catch (error) {
        throw raiseFailure(path, error);
      }
    },
    noteEvent(lastEvent) {
      if (file === undefined || lastEvent === noted.lastEvent) return;
      try {
        if (!file.append(eventLine(lastEvent))) return;
        noted = { ...noted, lastEvent };
        position += 1;
        beside.follow(position);
      } catch {
        // The next start takes an older file for this one, as after a crash.
      }
    },
    distrust: () => rewrite(latest, position, { setBack: true }),
    close: () => file?.close(),
  };
}

/**
 * Makes the mark file of a file that gets its name at this moment: beside none, it would be taken
 * for a copy.
 */
export function beginMark(databasePath: string, instance: string): void {
  const mark = openHighWaterMark(databasePath, instance);
  try {
    if ((mark.reading?.raises ?? []).length === 0) mark.begin([]);
  } finally {
    mark.close();
  }
}

const byWallet = (raises: readonly Raise[]): Map<string, Raise> =>
  new Map(raises.map((raise) => [raise.wallet, raise]));

const linesOf = (raises: readonly Raise[]): string => raises.map(raiseLine).join('');

/** A lost sync is returned unchanged, because the caller must end the process. */
function raiseFailure(path: string, error: unknown): unknown {
  const { syscall } = error as NodeJS.ErrnoException;
  const code = systemCode(error as NodeJS.ErrnoException);
  if (syscall === 'fdatasync' || (code === 'EIO' && syscall !== 'write')) return error;
  return new PaygateError('unavailable', `${path}: cannot be written (${code})`, {
    retryAfterSeconds: 30,
    cause: error,
  });
}

/** Whose mark it will be, whichever file it is. */
type Own = Omit<Identity, 'markInode' | 'markBorn'>;
type Here = Pick<Own, 'instance' | 'machine' | 'fileSystem' | 'databaseInode'>;

interface Place {
  readonly path: string;
  /** In the name of its own position file; undefined where it has none. */
  readonly beside: number | undefined;
}

function judge(found: ParsedMark, own: Here, place: Place): MarkReading {
  const { position, identity } = found;
  const missing = Math.max(0, (place.beside ?? 0) - (position ?? Infinity));
  const distrust = distrustOf(identity, own, place);
  const doubt = distrust ?? (missing > 0 ? 'its mark file was set back' : undefined);
  return {
    ...(doubt !== undefined && { distrust: doubt }),
    ...(missing > 0 && { missing }),
    ...(identity?.ofCopy && { ofCopy: true }),
    ...presentOf(found.noted),
    sameDatabase: identity?.databaseInode === own.databaseInode,
    raises: found.raises,
  };
}

function distrustOf(
  marked: Identity | undefined,
  own: Here,
  { path, beside }: Place,
): string | undefined {
  if (marked === undefined) return 'its mark file cannot be read';
  if (marked.setBack) return 'this machine was set back to a snapshot';
  if (marked.instance !== own.instance) return 'its mark file is of another database';
  if (marked.machine !== own.machine) return 'its mark file was made on another machine';
  if (marked.fileSystem !== own.fileSystem) {
    return 'its mark file was made on another kind of file system';
  }
  const isOwn = isSameFile(path, { inode: marked.markInode, born: marked.markBorn });
  return isOwn && beside !== undefined ? undefined : 'its mark file is a copy as well';
}

const positionFileOf = (marked: Identity | undefined): FileIdentity | undefined =>
  marked && { inode: marked.positionInode, born: marked.positionBorn };

interface ParsedMark {
  /** Undefined when the first line is not what we write. */
  readonly identity: Identity | undefined;
  readonly raises: readonly Raise[];
  readonly noted: Noted;
  readonly position: number | undefined;
}

function parseMark(text: string): ParsedMark {
  const lines = text.split('\n');
  const identity = parseIdentity(lines[0] ?? '');
  const raises: Raise[] = [];
  const events: number[] = [];
  for (const line of lines.slice(1)) {
    const raise = parseRaise(line);
    const event = parseEvent(line);
    if (raise !== undefined) raises.push(raise);
    else if (event !== undefined) events.push(event);
    else break;
  }
  return {
    identity,
    raises: [...byWallet(raises).values()],
    noted: notedIn(identity, events.at(-1)),
    position: identity && identity.position + stepsOf([], raises) + events.length,
  };
}

const notedIn = (identity: Identity | undefined, newest: number | undefined): Noted => ({
  versions: countOf(identity?.versions),
  lastEvent: newest ?? countOf(identity?.lastEvent),
});

const countOf = (value: number | undefined): number =>
  Number.isSafeInteger(value) ? (value ?? 0) : 0;

const presentOf = ({ versions, lastEvent }: Noted): Partial<Noted> => ({
  ...(versions > 0 && { versions }),
  ...(lastEvent > 0 && { lastEvent }),
});

function parseIdentity(line: string): Identity | undefined {
  try {
    const parsed = JSON.parse(line) as Identity;
    return parsed.version === 1 && Number.isSafeInteger(parsed.position) ? parsed : undefined;
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

function eventLine(event: number): string {
  const text = `event ${event}`;
  return `${text} ${checksum(text)}\n`;
}

function parseEvent(line: string): number | undefined {
  const match = /^(event (\d+)) ([0-9a-f]{8})$/.exec(line);
  if (match === null) return undefined;
  const [, text = '', event, sum] = match;
  return checksum(text) === sum ? Number(event) : undefined;
}

interface MarkFile {
  /** Writes and syncs them. @returns false when the file is full and must be rewritten */
  append(lines: string): boolean;
  close(): void;
}

function createMark(path: string, identity: Own, lines: string): MarkFile {
  const fresh = `${path}.new`;
  // A start that was killed can have left one.
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, 'wx', 0o600);
  const { inode: markInode, born: markBorn } = identityOf(descriptor);
  const whose: Identity = { ...identity, markBorn, markInode };
  const text = `${JSON.stringify(whose)}\n${lines}`;
  const bytes = Buffer.alloc(Math.max(markBytes, 2 * text.length));
  let end = bytes.write(text);
  try {
    writeAll(descriptor, bytes, 0);
    replaceFile(fresh, path);
    syncPath(dirname(dirname(path)));
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }

  return {
    append(more) {
      // With the zero that ends it, so that an empty raise also shows that the disk takes writes.
      const chunk = Buffer.from(`${more}\0`);
      if (end + chunk.length > bytes.length) return false;
      writeAll(descriptor, chunk, end);
      end += chunk.length - 1;
      fdatasyncSync(descriptor);
      return true;
    },
    close: () => closeSync(descriptor),
  };
}

/** A disk that is almost full takes a part of the bytes; only the next write fails. */
function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  }
}

/** `undefined` for a database that is not in its place yet: equal to no inode. */
const inodeOf = (path: string): string =>
  String(statSync(path, { bigint: true, throwIfNoEntry: false })?.ino);

const machineId = (): string =>
  existsSync(machineIdFile) ? readFileSync(machineIdFile, 'utf8').trim() : '';
