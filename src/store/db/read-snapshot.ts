// All reads of one turn of the event loop share one read transaction, so they see one state of the
// file. SQLite then takes its file locks once a turn and not once a read. Without this, paygate
// issues a third fewer addresses a second.

import type { Statement } from 'better-sqlite3';
import type { Sqlite } from './driver.ts';

/** One for each connection. A write, a checkpoint and a backup end it first. */
export class ReadSnapshot {
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

  /** Call it before a read. Opens the turn's transaction, unless one is open. */
  open(): void {
    if (this.#isOpen || this.#isAside || this.#sqlite.inTransaction) return;
    this.#begin.run();
    this.#isOpen = true;
    setImmediate(() => this.end());
  }

  /** Ends the snapshot for a write transaction, whose reads see what it wrote. */
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
      // The read that met a damaged page has already thrown.
      if (this.#sqlite.inTransaction) this.#rollback.run();
    }
  }
}
