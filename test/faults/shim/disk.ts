// The files that may be on a disk if the power fails after a step of a log. Synced writes survive.
// Any part of a file's later writes may survive, in any order, in sectors of 512 bytes. Changes of
// names are in a journal: the first few of those since the last sync of any file may survive. The
// content of a file never depends on the sync of another file.

import type { Step } from './log.ts';

const sectorBytes = 512;

type Change =
  | { readonly at: number; readonly data: Buffer }
  /** Truncated, or extended with zeros, to this length. */
  | { readonly length: number };

interface File {
  durable: Buffer;
  pending: Change[];
}

/** The disk after the power loss: the bytes of each inode, and the inode of each name. */
export interface Remains {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly names: ReadonlyMap<string, string>;
}

/** Which of the changes that were not synced survive. */
export type Survival = 'nothing' | 'everything' | 'last' | 'all but the first' | 'some';
export const survivals: readonly Survival[] = [
  'nothing',
  'everything',
  'last',
  'all but the first',
  'some',
];

export class Disk {
  readonly #files = new Map<string, File>();
  readonly #names: Map<string, string>;
  #newNames: Step[] = [];

  /** @param before the durable files before the first step, by path */
  constructor(before: ReadonlyMap<string, { readonly inode: string; readonly bytes: Buffer }>) {
    this.#names = new Map([...before].map(([path, { inode }]) => [path, inode]));
    for (const { inode, bytes } of before.values()) {
      this.#files.set(inode, { durable: bytes, pending: [] });
    }
  }

  /** The number of changes that may or may not survive if the power fails now. */
  get inDoubt(): number {
    const counts = [...this.#files.values()].map(({ pending }) => pending.length);
    return counts.reduce((sum, count) => sum + count, this.#newNames.length);
  }

  take(step: Step): void {
    if (step.kind === 'print') return;
    if (step.kind === 'write') this.#file(step.inode).pending.push(step);
    else if (step.kind === 'truncate') this.#file(step.inode).pending.push(step);
    else if (step.kind === 'sync') this.#sync(step.inode);
    else {
      if (step.kind === 'create') this.#file(step.inode);
      this.#newNames.push(step);
    }
  }

  /** @param random in [0, 1), for `some` */
  remains(survival: Survival, random: () => number): Remains {
    const files = new Map<string, Buffer>();
    for (const [inode, { durable, pending }] of this.#files) {
      files.set(inode, applied(durable, chosen(pending, survival, random)));
    }
    const names = new Map(this.#names);
    const some =
      survival === 'some' ? Math.floor(random() * (this.#newNames.length + 1)) : undefined;
    const count = some ?? (survival === 'nothing' ? 0 : this.#newNames.length);
    for (const step of this.#newNames.slice(0, count)) rename(names, step);
    return { files, names };
  }

  #file(inode: string): File {
    const file = this.#files.get(inode) ?? { durable: Buffer.alloc(0), pending: [] };
    this.#files.set(inode, file);
    return file;
  }

  #sync(inode: string): void {
    const file = this.#files.get(inode);
    if (file !== undefined) {
      file.durable = applied(file.durable, file.pending);
      file.pending = [];
    }
    // A journal is written in order, so a sync makes all earlier changes of names durable.
    for (const step of this.#newNames) rename(this.#names, step);
    this.#newNames = [];
  }
}

function rename(names: Map<string, string>, step: Step): void {
  if (step.kind === 'create') names.set(step.path, step.inode);
  if (step.kind === 'unlink') names.delete(step.path);
  if (step.kind !== 'rename' && step.kind !== 'link') return;
  const inode = names.get(step.from);
  if (inode === undefined) throw new Error(`${step.from} has no inode`);
  if (step.kind === 'rename') names.delete(step.from);
  names.set(step.to, inode);
}

function chosen(
  pending: readonly Change[],
  survival: Survival,
  random: () => number,
): readonly Change[] {
  if (survival === 'nothing') return [];
  if (survival === 'everything') return pending;
  if (survival === 'last') return pending.slice(-1);
  if (survival === 'all but the first') return pending.slice(1);
  return pending
    .flatMap((change) => ('data' in change ? sectorsOf(change) : [change]))
    .filter(() => random() < 0.5);
}

function sectorsOf({ at, data }: { at: number; data: Buffer }): Change[] {
  const sectors: Change[] = [];
  for (let from = 0; from < data.length; ) {
    const to = Math.min(data.length, from + sectorBytes - ((at + from) % sectorBytes));
    sectors.push({ at: at + from, data: data.subarray(from, to) });
    from = to;
  }
  return sectors;
}

function applied(durable: Buffer, changes: readonly Change[]): Buffer {
  if (changes.length === 0) return durable;
  const ends = changes.map((change) =>
    'data' in change ? change.at + change.data.length : change.length,
  );
  const bytes = Buffer.alloc(Math.max(durable.length, ...ends));
  durable.copy(bytes);
  let { length } = durable;
  for (const change of changes) {
    if ('data' in change) {
      change.data.copy(bytes, change.at);
      length = Math.max(length, change.at + change.data.length);
    } else {
      bytes.fill(0, change.length, Math.max(length, change.length));
      length = change.length;
    }
  }
  return bytes.subarray(0, length);
}
