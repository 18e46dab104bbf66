// Since when each finding lasts. A finding that has a time in the database keeps that time. For
// all others, the history records when they were first seen, and stores that in the settings. A
// reload or a restart therefore never makes an old finding new.

import { reasonOf } from '../lib/errors.ts';
import type { Records } from '../store/open-records.ts';
import type { Logger } from '../world/world.ts';
import { FindingNotices, overAfterMs } from './finding-notices.ts';
import type { Finding } from './findings.ts';

export interface DatedFinding extends Finding {
  /** Epoch milliseconds. */
  readonly since: number;
}

export interface FindingHistoryParts {
  readonly records: Pick<Records, 'state' | 'database' | 'notifications'>;
  readonly find: () => readonly Finding[];
  readonly log: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

export class FindingHistory {
  readonly #parts: FindingHistoryParts;
  readonly #notices: FindingNotices;
  /** By key: its start (epoch ms), and when it was last seen (monotonic ms). */
  readonly #seen = new Map<string, { readonly since: number; lastAt: number }>();
  /** The JSON that the settings hold. */
  #stored: string;

  constructor(parts: FindingHistoryParts) {
    this.#parts = parts;
    this.#notices = new FindingNotices(parts);
    const times = parts.records.state.alarmTimes.read();
    const lastAt = parts.monotonic();
    for (const [key, since] of Object.entries(times)) this.#seen.set(key, { since, lastAt });
    this.#stored = JSON.stringify(times);
  }

  findings(): DatedFinding[] {
    return this.#parts.find().map((finding) => {
      return { ...finding, since: finding.since ?? this.#sinceOf(finding) };
    });
  }

  /** Finds again, and stores which findings are new or over, with the notices. Never rejects. */
  async record(): Promise<void> {
    const { records, monotonic, log } = this.#parts;
    try {
      const changes = this.#notices.note(this.findings());
      const now = monotonic();
      for (const [key, { lastAt }] of this.#seen) {
        if (now - lastAt >= overAfterMs) this.#seen.delete(key);
      }
      const times = Object.fromEntries([...this.#seen].map(([key, { since }]) => [key, since]));
      const text = JSON.stringify(times);
      if (text === this.#stored && changes === undefined) return;
      await records.database.write((tx) => {
        records.state.alarmTimes.write(tx, times);
        if (changes !== undefined) this.#notices.write(tx, changes);
      });
      this.#stored = text;
    } catch (error) {
      log.warn('the times of alarms could not be stored', { reason: reasonOf(error) });
    }
  }

  #sinceOf({ code, subject }: Finding): number {
    const { now, monotonic } = this.#parts;
    const key = subject === undefined ? code : `${code} ${subject}`;
    const seen = this.#seen.get(key) ?? { since: now(), lastAt: 0 };
    seen.lastAt = monotonic();
    this.#seen.set(key, seen);
    return seen.since;
  }
}
