// All reads of one turn of the event loop see one state of the file. A read for itself takes and drops SQLite's
// locks, a dozen of system calls; those of a turn share one read transaction.

import type { Statement } from 'better-sqlite3';
import type { Sqlite } from './driver.ts';

/** One for each connection. Whoever needs it outside of any transaction ends the snapshot before. */
export class Snapshot {
  readonly #sqlite: Sqlite;
  readonly #begin: Statement<[]>;
  readonly #commit: Statement<[]>;
  readonly #rollback: Statement<[]>;
  #isOpen = false;
  #isAside = false;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#begin = sqlite.prepare<[]>('BEGIN');
    this.#commit = sqlite.prepare<[]>('COMMIT');
    this.#rollback = sqlite.prepare<[]>('ROLLBACK');
  }

  /** Before a read: opens the turn's snapshot, unless there is one or a transaction of a writer. */
  open(): void {
    if (this.#isOpen || this.#isAside || this.#sqlite.inTransaction) return;
    this.#begin.run();
    this.#isOpen = true;
    setImmediate(() => this.end());
  }

  /** Steps aside for a transaction, whose reads see what it wrote. */
  aside<T>(transaction: () => T): T {
    this.end();
    this.#isAside = true;
    try {
      return transaction();
    } finally {
      this.#isAside = false;
    }
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (!this.#sqlite.open) return;
    try {
      this.#commit.run();
    } catch {
      // Who met a damaged page was told so; there is nothing to keep.
      if (this.#sqlite.inTransaction) this.#rollback.run();
    }
  }
}
