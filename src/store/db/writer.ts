// The writer: the one queue through which the database is written.

// Format. A write is a function that changes rows, with no `await` inside. It waits in the queue of
// its priority: `awaited` when a request waits for its answer, `bulk` otherwise.
//
// Algorithm. Writes that arrive together form a group. A group is one transaction: BEGIN IMMEDIATE,
// the writes in one savepoint, the raise of the high-water mark, COMMIT. SQLite syncs the WAL
// inside COMMIT (synchronous=FULL). If a write throws, the savepoint is undone, and each write runs
// again in a savepoint of its own (docs/decisions/035). An awaited write goes first and takes few
// others into its group.
//
// Invariants.
// - A group runs from BEGIN to COMMIT in one turn of the event loop. No read and no answer of this
//   process can see rows that are not on the disk.
// - The mark file is on the disk before COMMIT, and a caller is resolved after it.
// - A failed write fails alone. A failed commit fails the whole group and leaves nothing behind.
// - A failed fsync ends the process, because nothing about the file is certain any more.

import type { Raise } from '../../domain/store/allocation.ts';
import { nextTurn } from '../../lib/next-turn.ts';
import { type DiskRefusal, isLostSync, LostSync, writeFailure } from './disk-refusal.ts';
import type { Sqlite } from './driver.ts';
import type { ReadSnapshot } from './read-snapshot.ts';

/** Proof of being inside `write`, and the place where a counter's raise is announced. */
export interface Tx {
  /**
   * Announces that a wallet's counter rises in this transaction. The raise is in the mark file
   * before the commit, so that no restored database can issue these indexes again.
   * @param wallet its name in the mark file
   */
  raise(wallet: string, from: number, to: number): void;
  /** Runs after the commit, before the caller is resolved; never if the write is undone. */
  afterCommit(run: () => void): void;
}

export interface WriterOptions {
  /** Called before a commit with the counters that it raises; throws to prevent the commit. */
  readonly beforeCommit?: (raises: readonly Raise[]) => void;
  /**
   * A sync failed, or a rollback: nothing about the file is certain any more, the process must end.
   */
  readonly onFatal?: (error: Error) => void;
}

export interface WriterParts extends WriterOptions {
  readonly sqlite: Sqlite;
  readonly snapshot: ReadSnapshot;
  readonly refusal: DiskRefusal;
  readonly changes: () => number;
}

export type Priority = 'awaited' | 'bulk';

interface Job {
  readonly work: (tx: Tx) => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Bounds how long a group holds the event loop: 100 payments take 10 ms. */
const maxGroup = 100;
const maxBesideAwaited = 10;
/** A failed write is expected until so many groups had none. */
const groupsUntilTrusted = 20;
/**
 * Turns of the event loop without a further write or request, after which a group begins. A turn
 * accepts one connection, so that a rush on new connections arrives one request a turn.
 */
const quietTurns = 2;

export class Writer {
  readonly #parts: WriterParts;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #queues: Record<Priority, Job[]> = { awaited: [], bulk: [] };
  /** Writes, and requests that joined one, since the last group. */
  #arrived = 0;
  #isScheduled = false;
  #groupsSinceFailure = groupsUntilTrusted;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#statements = prepare(parts.sqlite);
  }

  /** @returns what `work` returned, once it is on the disk */
  write<T>(work: (tx: Tx) => T, priority: Priority = 'bulk'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job = { work, resolve: resolve as (result: unknown) => void, reject };
      this.#queues[priority].push(job);
      this.joined();
      this.#schedule();
    });
  }

  /** A further request is served by a queued write: others may follow it. */
  joined(): void {
    this.#arrived += 1;
  }

  queued(): number {
    return this.#queues.awaited.length + this.#queues.bulk.length;
  }

  async drain(): Promise<void> {
    while (this.queued() > 0) await nextTurn();
  }

  /**
   * Writes without a change to the mark file and to the database while the disk refuses one of
   * them.
   */
  async probe(work: () => unknown): Promise<void> {
    if (this.#parts.refusal.text() === undefined) return;
    try {
      this.#mark([]);
      await this.write(work);
    } catch {
      // The refusal stands as it was.
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.queued() === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#gather(0, 0));
  }

  #gather(known: number, quiet: number): void {
    const arrived = this.#arrived;
    const isFull = this.queued() >= maxGroup || arrived >= maxGroup;
    if (isFull || quiet === quietTurns) this.#flush();
    else setImmediate(() => this.#gather(arrived, arrived > known ? 0 : quiet + 1));
  }

  #flush(): void {
    this.#arrived = 0;
    const { awaited, bulk } = this.#queues;
    // A single awaited write may serve a hundred requests (api/addresses/address-requests.ts).
    const first = awaited.splice(0, 1);
    const jobs = [...first, ...bulk.splice(0, first.length > 0 ? maxBesideAwaited : maxGroup)];
    try {
      const done = this.#parts.snapshot.aside(() => this.#commit(jobs));
      for (const { answer } of done) answer();
    } catch (error) {
      this.#refuse(jobs, error);
    } finally {
      this.#isScheduled = false;
      this.#schedule();
    }
  }

  #refuse(jobs: readonly Job[], error: unknown): void {
    const { sqlite, onFatal, refusal } = this.#parts;
    refusal.databaseRefused(error);
    const failure = isLostSync(error) ? new LostSync(error) : writeFailure(error);
    for (const job of jobs) job.reject(failure);
    // The next write would join a transaction that cannot be rolled back.
    if (isLostSync(error) || sqlite.inTransaction) onFatal?.(error as Error);
  }

  #commit(jobs: readonly Job[]): readonly Done[] {
    const { begin, commit, rollback } = this.#statements;
    const { sqlite, changes, refusal } = this.#parts;
    const before = changes();
    try {
      begin.run();
      const done = this.#runTogether(jobs) ?? jobs.map((job) => this.#runApart(job));
      const raises = done.flatMap((each) => each.raises);
      if (raises.length > 0) this.#mark(merge(raises));
      commit.run();
      if (changes() !== before) refusal.databaseWritten();
      return done;
    } catch (error) {
      if (sqlite.inTransaction) rollback.run();
      throw error;
    }
  }

  #mark(raises: readonly Raise[]): void {
    const { beforeCommit, refusal } = this.#parts;
    try {
      beforeCommit?.(raises);
      refusal.markWritten();
    } catch (error) {
      refusal.markRefused(error);
      throw error;
    }
  }

  /** @returns undefined if a write failed, or may well fail: nothing of the group is left then */
  #runTogether(jobs: readonly Job[]): Done[] | undefined {
    this.#groupsSinceFailure += 1;
    if (this.#groupsSinceFailure <= groupsUntilTrusted) return undefined;
    return this.#inSavepoint(
      () => jobs.map(runJob),
      () => undefined,
    );
  }

  #runApart(job: Job): Done {
    return this.#inSavepoint(
      () => runJob(job),
      (error) => {
        this.#groupsSinceFailure = 0;
        this.#parts.refusal.databaseRefused(error);
        return { raises: [], answer: () => job.reject(writeFailure(error)) };
      },
    );
  }

  /**
   * Undoes a failure with the savepoint, because a ROLLBACK would restart a running backup.
   * @throws if the transaction has ended
   */
  #inSavepoint<T>(work: () => T, failed: (error: unknown) => T): T {
    const { savepoint, release, undo } = this.#statements;
    savepoint.run();
    try {
      const done = work();
      release.run();
      return done;
    } catch (error) {
      // A full disk may have rolled the whole transaction back: then no savepoint is left.
      if (isLostSync(error) || !this.#parts.sqlite.inTransaction) throw error;
      undo.run();
      release.run();
      return failed(error);
    }
  }
}

interface Done {
  readonly raises: readonly Raise[];
  readonly answer: () => void;
}

function runJob(job: Job): Done {
  const raises: Raise[] = [];
  const after: (() => void)[] = [];
  const result = job.work({
    raise: (wallet, from, to) => raises.push({ wallet, from, to }),
    afterCommit: (run) => after.push(run),
  });
  return {
    raises,
    answer() {
      try {
        for (const run of after) run();
        job.resolve(result);
      } catch (error) {
        // The write is committed, and the other writes of its group are resolved in any case.
        job.reject(error);
      }
    },
  };
}

const prepare = (sqlite: Sqlite) => ({
  begin: sqlite.prepare('BEGIN IMMEDIATE'),
  commit: sqlite.prepare('COMMIT'),
  rollback: sqlite.prepare('ROLLBACK'),
  savepoint: sqlite.prepare('SAVEPOINT writes'),
  release: sqlite.prepare('RELEASE writes'),
  undo: sqlite.prepare('ROLLBACK TO writes'),
});

/** One range a wallet: from the lowest start to the highest end. */
function merge(raises: readonly Raise[]): Raise[] {
  const merged = new Map<string, Raise>();
  for (const { wallet, from, to } of raises) {
    const known = merged.get(wallet) ?? { wallet, from, to };
    merged.set(wallet, {
      wallet,
      from: Math.min(known.from, from),
      to: Math.max(known.to, to),
    });
  }
  return [...merged.values()];
}
