// The position of a high-water mark, in the name of an empty file beside it: `<mark>-at-17`. It
// rises with the raises. A copy that is written over the mark file in place sets its content back,
// but renames no file. A mark file that stands before its position file was set back, by at most as
// many indexes as lie between them. The mark file knows the inode of its position file: a file that
// a copy brought along is another one. See docs/decisions/040.

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
import type { Raise } from '../../domain/store/allocation.ts';
import { makePrivateFolder } from '../../world/disk.ts';

/** Identity of a file, which a copy with the same name does not have. */
export interface FileIdentity {
  readonly inode: string;
  /**
   * When it was made, epoch ms: a new file may get a deleted file's inode. Absent where unknown.
   */
  readonly born?: number | undefined;
}

export interface PositionFile {
  readonly path: string;
  readonly position: number;
}

const infix = '-at-';

/** All position files beside a mark file. At most one is its own. */
export function positionsBeside(mark: string): PositionFile[] {
  const [folder, start] = [dirname(mark), `${basename(mark)}${infix}`];
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(start) && /^\d{1,15}$/.test(name.slice(start.length)))
    .map((name) => ({ path: join(folder, name), position: Number(name.slice(start.length)) }));
}

export class MarkPosition {
  readonly #mark: string;
  #file: PositionFile | undefined;
  /** The highest position of any file beside the mark file, its own or not; 0 for none. */
  readonly furthest: number;

  /** @param own the mark file's own position file, as its first line names it */
  constructor(mark: string, own: FileIdentity | undefined) {
    const all = positionsBeside(mark);
    this.#mark = mark;
    this.#file = own && all.find(({ path }) => isSameFile(path, own));
    this.furthest = Math.max(0, ...all.map(({ position }) => position));
  }

  /** Undefined where the mark file has no file of its own. */
  get position(): number | undefined {
    return this.#file?.position;
  }

  /** Identity of the mark file's own file. Makes the file if there is none. */
  identity(): FileIdentity {
    if (this.#file === undefined || !existsSync(this.#file.path)) {
      const path = `${this.#mark}${infix}0`;
      makePrivateFolder(dirname(path));
      rmSync(path, { force: true });
      closeSync(openSync(path, 'wx', 0o600));
      this.#file = { path, position: 0 };
    }
    return identityOf(this.#file.path);
  }

  /**
   * To be called when the mark file is durable: a position ahead of its mark file is a false alarm.
   */
  follow(position: number): void {
    if (this.#file === undefined || this.#file.position >= position) return;
    const path = `${this.#mark}${infix}${position}`;
    try {
      renameSync(this.#file.path, path);
      this.#file = { path, position };
    } catch {
      // A position that is behind does no harm, and the next raise tries again.
    }
  }

  removeOthers(): void {
    for (const { path } of positionsBeside(this.#mark)) {
      if (path !== this.#file?.path) rmSync(path, { force: true });
    }
  }
}

/** How far raises rise above others: at least 1 each, and no less than the counters rose. */
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
 * Whether a path is the file that was seen before. A system that does not record when a file was
 * made reports 0, or the time of the last change. A file or folder whose two times differ shows
 * that the system records it.
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

/** A file system may report finer times for a new file than it stores. */
const millisecondsOf = (ns = 0n): number => Number(ns / 1_000_000n);
