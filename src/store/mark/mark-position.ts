// The position of a mark, kept in the name of an empty file beside it: `<mark>-at-17`. It rises by as many indexes as the
// mark's raises go on by. A copy that is written over a mark in place sets its content back, but not the name of another
// file. So a mark that stands before its position file was set back, by as many indexes at most as lie between them.
// The file keeps its inode for ever, which the mark knows: one that a copy brought along is another file.

import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Raise } from '../../domain/allocation.ts';
import { makeFolder } from '../../world/disk.ts';

/** What tells a file from a copy of it that has the same name. */
export interface FileIdentity {
  readonly inode: string;
  /** When it was made, epoch ms: the inode of a deleted file is given to the next one. Absent where nobody knows. */
  readonly born?: number | undefined;
}

export interface PositionFile {
  readonly path: string;
  readonly position: number;
}

const infix = '-at-';

/** Another database may have the name of a position: its mark is not empty. */
const isTaken = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** All that stand beside a mark, of which at most one is its own. */
export function positionsBeside(mark: string): PositionFile[] {
  const [folder, start] = [dirname(mark), `${basename(mark)}${infix}`];
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(start) && /^\d{1,15}$/.test(name.slice(start.length)))
    .map((name) => ({ path: join(folder, name), position: Number(name.slice(start.length)) }))
    .filter(({ path }) => !isTaken(path));
}

export class MarkPosition {
  readonly #mark: string;
  #file: PositionFile | undefined;
  /** The furthest that any file beside the mark names, be it its own or not; 0 for none. */
  readonly furthest: number;

  /** @param own its own file, as the mark knows it */
  constructor(mark: string, own: FileIdentity | undefined) {
    const all = positionsBeside(mark);
    this.#mark = mark;
    this.#file = own && all.find(({ path }) => isSameFile(path, own));
    this.furthest = Math.max(0, ...all.map(({ position }) => position));
  }

  /** Undefined where the mark has no file of its own. */
  get position(): number | undefined {
    return this.#file?.position;
  }

  /** Identity of its own file, which is made if there is none. */
  identity(): FileIdentity {
    if (this.#file === undefined || !existsSync(this.#file.path)) {
      let path = `${this.#mark}${infix}0`;
      while (isTaken(path)) path += '0';
      makeFolder(dirname(path));
      rmSync(path, { force: true });
      closeSync(openSync(path, 'wx', 0o600));
      this.#file = { path, position: 0 };
    }
    return identityOf(this.#file.path);
  }

  /** Behind a mark that is on the disk, never before it: a position that is ahead would be a false alarm. */
  follow(position: number): void {
    if (this.#file === undefined || this.#file.position >= position) return;
    const path = `${this.#mark}${infix}${position}`;
    try {
      if (isTaken(path)) return;
      renameSync(this.#file.path, path);
      this.#file = { path, position };
    } catch {
      // One that is behind is no harm; the next raise tries again.
    }
  }

  removeOthers(): void {
    for (const { path } of positionsBeside(this.#mark)) {
      if (path !== this.#file?.path) rmSync(path, { force: true });
    }
  }
}

/** How far raises go on behind others, one at least for each: no wallet's counter has risen by more meanwhile. */
export function stepsOf(before: Iterable<Raise>, raises: readonly Raise[]): number {
  const ends = new Map([...before].map(({ wallet, to }) => [wallet, to]));
  let steps = 0;
  for (const { wallet, from, to } of raises) {
    steps += Math.max(1, to - (ends.get(wallet) ?? from));
    ends.set(wallet, to);
  }
  return steps;
}

export function identityOf(file: string | number): FileIdentity {
  const { ino, birthtimeNs } =
    typeof file === 'number' ? fstatSync(file, { bigint: true }) : statSync(file, { bigint: true });
  return {
    inode: String(ino),
    ...(birthtimeNs !== 0n && { born: millisecondsOf(birthtimeNs) }),
  };
}

/**
 * Whether it is the file that was seen before. If the system does not know when a file was made, it says 0, or of each
 * the time of its last change: one that differs in these shows that it knows.
 */
export function isSameFile(path: string, { inode, born }: FileIdentity): boolean {
  const stats = [path, dirname(path), dirname(dirname(path))].map((each) =>
    statSync(each, { bigint: true }),
  );
  const isKnown = stats.some(
    ({ birthtimeNs, ctimeNs }) => birthtimeNs !== 0n && birthtimeNs !== ctimeNs,
  );
  const [own] = stats;
  if (String(own?.ino) !== inode) return false;
  return !isKnown || born === undefined || born === millisecondsOf(own?.birthtimeNs);
}

/** What finer a file system has of a new file it may forget. */
const millisecondsOf = (ns = 0n): number => Number(ns / 1_000_000n);
