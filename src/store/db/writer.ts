// The one queue through which the file is written. Writes that arrive together share one BEGIN IMMEDIATE, one savepoint
// and one sync of the log, during which the event loop goes on and the next ones gather. Every caller hears back when
// its commit is on the disk, never before, and no transaction is begun on one that is not. Where one of them fails, all
// are taken back and done again, each in a savepoint of its own, which costs as much as a row.

import type { Raise } from '../../domain/allocation.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { nextTurn } from '../../lib/next-turn.ts';
import { type DiskRefusal, isUnwritable } from './disk-refusal.ts';
import { type Sqlite, sqliteCode } from './driver.ts';
import type { Snapshot } from './snapshot.ts';

/** Proof of being inside `write`, and the place where a counter's raise is announced. */
export interface Tx {
  /**
   * Announces that a wallet's counter rises in this transaction. The mark is written before the commit
   * and durable with it, so that no restored database can issue these indexes again.
   * @param wallet its name in the mark
   */
  raise(wallet: string, from: number, to: number): void;
  /** Runs when this write is on the disk, before its caller hears of it; never when it is undone. */
  afterCommit(run: () => void): void;
}

export interface WriterOptions {
  /**
   * Called before a commit with the counters that it raises; throws to prevent the commit. Nobody hears of it
   * before what is returned has resolved.
   */
  readonly beforeCommit?: (raises: readonly Raise[]) => Promise<void> | undefined;
  /** A sync failed, or a rollback: nothing about the file is certain any more, the process must end. */
  readonly onFatal?: (error: Error) => void;
}

export interface WriterParts extends WriterOptions {
  readonly sqlite: Sqlite;
  readonly snapshot: Snapshot;
  /** Makes all that was committed until now durable. */
  readonly sync: () => Promise<void>;
  readonly refusal: DiskRefusal;
  /** How many rows this connection has changed. */
  readonly changes: () => unknown;
  /** What was committed until now is durable, and nothing else has begun. */
  readonly onSynced: () => void;
}

/**
 * What a write is. Somebody waits for the answer of an `awaited` one: it goes before all others, one a commit
 * that takes few of them along. A loss of power may take back the latest `losable` ones, as if they had not
 * been made; they cost no fsync of their own, and are done behind all others that share their commit.
 */
export type Kind = 'awaited' | 'durable' | 'losable';

interface Job {
  readonly work: (tx: Tx) => unknown;
  readonly kind: Kind;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** How many writes may share a commit, so that the event loop is never held for long: payments take 10 ms. */
const groupLimit = 100;
/** The same while somebody asks now and then. */
const groupLimitAsked = 30;
/** After so many groups that nobody waited for, nobody asks any more. */
const groupsUntilUnasked = 20;
/** How many others share one with those that somebody waits for. */
const besideAwaited = 10;
/** After so many groups without a failed write, none is expected. */
const groupsUntilTrusted = 20;
/** Turns of the event loop without a further write, after which none is waited for: what is said at once comes by a piece a turn. */
const quietTurns = 2;

/** One for each connection that writes. */
export class Writer {
  readonly #parts: WriterParts;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #waiting: Record<Kind, Job[]> = { awaited: [], durable: [], losable: [] };
  #isGathering = false;
  /** While a commit is on its way to the disk. */
  #syncing: Promise<void> | undefined;
  /**
   * Rows that were changed before. Undefined at first: the first write is synced even where it changes nothing, for what it
   * builds on may be of a process that was killed before its sync.
   */
  #changes: unknown;
  /** How many groups ago somebody waited for one. */
  #sinceAwaited = groupsUntilUnasked;
  /** How many groups ago a write failed. */
  #sinceFailed = groupsUntilTrusted;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#statements = prepare(parts.sqlite);
  }

  write<T>(work: (tx: Tx) => T, kind: Kind = 'durable'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job = { work, kind, resolve: resolve as (result: unknown) => void, reject };
      this.#waiting[kind].push(job);
      this.#schedule();
    });
  }

  /** Until all that was committed is on the disk; undefined when it is. */
  get syncing(): Promise<void> | undefined {
    return this.#syncing;
  }

  /** How many wait for their commit. */
  queued(): number {
    const { awaited, durable, losable } = this.#waiting;
    return awaited.length + durable.length + losable.length;
  }

  async drain(): Promise<void> {
    while (this.#syncing !== undefined || this.queued() > 0) await (this.#syncing ?? nextTurn());
  }

  #schedule(): void {
    if (this.#isGathering || this.#syncing !== undefined || this.queued() === 0) return;
    this.#isGathering = true;
    setImmediate(() => this.#gather(0, 0));
  }

  /** For as long as more of it comes; while somebody asks now and then, not even that: who asks next would wait for all of it. */
  #gather(known: number, quiet: number): void {
    const length = this.queued();
    const isAsked = this.#waiting.awaited.length > 0 || this.#isAsked();
    if (isAsked || length >= this.#limit() || quiet === quietTurns) this.#flush();
    else setImmediate(() => this.#gather(length, length > known ? 0 : quiet + 1));
  }

  #limit(): number {
    return this.#isAsked() ? groupLimitAsked : groupLimit;
  }

  #isAsked(): boolean {
    return this.#sinceAwaited < groupsUntilUnasked;
  }

  #flush(): void {
    const { awaited, durable, losable } = this.#waiting;
    // One may be of a hundred requests (api/address-requests.ts).
    const first = awaited.splice(0, 1);
    const limit = first.length > 0 ? besideAwaited : this.#limit();
    this.#sinceAwaited = first.length > 0 ? 0 : this.#sinceAwaited + 1;
    const jobs = [...first, ...durable.splice(0, limit), ...losable.splice(0)];
    try {
      this.#runGroup(jobs);
    } finally {
      // Not before: what it writes itself would be begun beside its sync.
      this.#isGathering = false;
      this.#schedule();
    }
  }

  #runGroup(jobs: readonly Job[]): void {
    try {
      const { done, marked } = this.#parts.snapshot.aside(() => this.#commit(jobs));
      const isChanged = this.#isChanged();
      if (isChanged) this.#parts.refusal.databaseWritten();
      const tell = (lost?: unknown): void =>
        lost === undefined ? tellAll(done) : this.#refuse(jobs, new LostSync(lost));
      const mustSync = isChanged && jobs.some(({ kind }) => kind !== 'losable');
      if (mustSync || marked !== undefined) {
        this.#await(Promise.all([this.#parts.sync(), marked]), tell);
      } else tell();
    } catch (error) {
      this.#refuse(jobs, error);
    }
  }

  /** Nothing else is begun meanwhile. */
  #await(synced: Promise<unknown>, tell: (lost?: unknown) => void): void {
    const end = (lost?: unknown): void => {
      this.#syncing = undefined;
      tell(lost);
      if (lost === undefined) this.#parts.onSynced();
      this.#schedule();
    };
    this.#syncing = synced.then(() => end(), end);
  }

  /** Since this was asked before. */
  #isChanged(): boolean {
    const before = this.#changes;
    this.#changes = this.#parts.changes();
    return this.#changes !== before;
  }

  #mark(raises: readonly Raise[]): Promise<void> | undefined {
    const { beforeCommit, refusal } = this.#parts;
    try {
      const marked = beforeCommit?.(raises);
      refusal.markWritten();
      return marked;
    } catch (error) {
      refusal.markRefused(error);
      throw error;
    }
  }

  /** A write that changes nothing, to the mark and to the database, for as long as the disk refuses one. */
  async probe(work: () => unknown): Promise<void> {
    if (this.#parts.refusal.text() === undefined) return;
    try {
      await this.#mark([]);
      await this.write(work);
    } catch {
      // It is told as it was.
    }
  }

  #refuse(jobs: readonly Job[], error: unknown): void {
    const { sqlite, onFatal, refusal } = this.#parts;
    refusal.databaseRefused(error);
    const failure = writeFailure(error);
    for (const job of jobs) job.reject(failure);
    // A transaction that cannot be taken back would take in whatever comes next.
    if (isLostSync(error) || sqlite.inTransaction) onFatal?.(error as Error);
  }

  #commit(jobs: readonly Job[]): { done: readonly Done[]; marked: Promise<void> | undefined } {
    const { begin, commit, rollback } = this.#statements;
    const { sqlite } = this.#parts;
    let marked: Promise<void> | undefined;
    try {
      begin.run();
      const done = this.#runTogether(jobs) ?? jobs.map((job) => this.#runApart(job));
      const raises = done.flatMap((each) => each.raises);
      if (raises.length > 0) marked = this.#mark(merge(raises));
      commit.run();
      return { done, marked };
    } catch (error) {
      if (sqlite.inTransaction) rollback.run();
      // The next one is not begun beside its mark, of which a lost line would hide those behind it.
      if (marked !== undefined) {
        this.#await(marked, (lost) => lost && this.#refuse([], new LostSync(lost)));
      }
      throw error;
    }
  }

  /** @returns undefined where one of them failed, or may well: nothing of any is left then */
  #runTogether(jobs: readonly Job[]): Done[] | undefined {
    this.#sinceFailed += 1;
    if (this.#sinceFailed <= groupsUntilTrusted) return undefined;
    return this.#inSavepoint(
      () => jobs.map(runJob),
      () => undefined,
    );
  }

  #runApart(job: Job): Done {
    return this.#inSavepoint(
      () => runJob(job),
      (error) => {
        this.#sinceFailed = 0;
        this.#parts.refusal.databaseRefused(error);
        return { raises: [], tell: () => job.reject(writeFailure(error)) };
      },
    );
  }

  /**
   * What fails is undone here and not by a ROLLBACK, with which a backup under way would begin anew.
   * @throws what leaves no transaction to go on in
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

/** A write that is in the transaction. */
interface Done {
  readonly raises: readonly Raise[];
  /** Tells its caller, when it is on the disk. */
  readonly tell: () => void;
}

function tellAll(done: readonly Done[]): void {
  for (const { tell } of done) tell();
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
    tell() {
      try {
        for (const run of after) run();
        job.resolve(result);
      } catch (error) {
        // It is in the file; those who shared its commit hear of that all the same.
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

/** A commit that may not be on the disk, and cannot be taken back. */
class LostSync extends PaygateError {
  constructor(cause: unknown) {
    const reason = `the disk lost what was written (${reasonOf(cause)})`;
    super(
      'unavailable',
      `${reason}; it may be in the database all the same: look before you repeat it`,
      { cause },
    );
    this.name = 'LostSync';
  }
}

/** An fsync that failed may have dropped what it should have kept: nothing can be taken back. */
export const isLostSync = (error: unknown): boolean =>
  error instanceof LostSync ||
  /^SQLITE_IOERR.*FSYNC/.test(sqliteCode(error)) ||
  (error as NodeJS.ErrnoException | undefined)?.code === 'EIO';

/** What SQLite did not write, in words without the path, for shops read them too. */
export class Unwritten extends PaygateError {}

/** What a caller is told of an error of SQLite's. */
export function writeFailure(error: unknown): unknown {
  const code = sqliteCode(error);
  // The second where the index of the log finds no room.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return new Unwritten('unavailable', `the disk is full (${code}): free some room`, {
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  if (isUnwritable(code)) {
    return new Unwritten('unavailable', `the database cannot be written (${code})`, {
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  if (code === 'SQLITE_BUSY') {
    return new Unwritten('unavailable', 'another process keeps the database locked', {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  return error;
}
