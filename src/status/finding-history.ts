// Since when each finding lasts. A finding that has a time in the database keeps that time. For
// all others, the history records when they were first seen, and stores that in the settings. A
// reload or a restart therefore never makes an old finding new.

import type { NoticedFinding } from '../domain/delivery/notice.ts';
import { reasonOf } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Records } from '../store/open-records.ts';
import type { Logger } from '../world/world.ts';
import { type FindingCode, severityOf } from './finding-severity.ts';
import { type Finding, textOf } from './findings.ts';

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

export interface FindingNoticesParts {
  readonly records: Pick<Records, 'state' | 'notifications'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
}

/** A finding that ends within this time is not announced: a start, a server that is replaced. */
const graceMs = 2 * minuteMs;
/** A finding that returns within this time never ended. */
const overAfterMs = 10 * minuteMs;
/** From one notice to the next. */
const minDistanceMs = 10 * minuteMs;

/** A failed delivery has a notice of its own. */
const announcedElsewhere: ReadonlySet<FindingCode> = new Set(['exhausted-callbacks']);

type Dated = Finding & Pick<NoticedFinding, 'since'>;

interface Seen {
  readonly firstAt: number;
  lastAt: number;
  isAnnounced: boolean;
  finding: NoticedFinding;
}

export interface FindingChanges {
  readonly began: readonly string[];
  readonly ended: readonly string[];
}

/**
 * Which findings are announced: each error once when it begins, and once when it is over. All
 * changes go in one notice, and notices keep a distance: a bad hour makes a few mails.
 */
class FindingNotices {
  readonly #parts: FindingNoticesParts;
  /** By key; times are monotonic. */
  readonly #seen = new Map<string, Seen>();
  #lastNoticeAt = Number.NEGATIVE_INFINITY;

  constructor(parts: FindingNoticesParts) {
    this.#parts = parts;
    const now = parts.monotonic();
    for (const [key, finding] of Object.entries(parts.records.state.announced.read())) {
      this.#seen.set(key, { firstAt: now, lastAt: now, isAnnounced: true, finding });
    }
  }

  /** Notes the findings of this moment. @returns what to announce now; undefined for nothing */
  note(findings: readonly Dated[]): FindingChanges | undefined {
    const now = this.#parts.monotonic();
    for (const finding of findings) if (mayAnnounce(finding)) this.#noteOne(finding, now);
    const began: string[] = [];
    const ended: string[] = [];
    for (const [key, seen] of this.#seen) {
      const isOver = now - seen.lastAt >= overAfterMs;
      if (isOver && seen.isAnnounced) ended.push(key);
      else if (isOver) this.#seen.delete(key);
      else if (!seen.isAnnounced && seen.lastAt === now && now - seen.firstAt >= graceMs)
        began.push(key);
    }
    const isTooSoon = now - this.#lastNoticeAt < minDistanceMs;
    return isTooSoon || began.length + ended.length === 0 ? undefined : { began, ended };
  }

  /** Writes the notifications of changes, and that they are announced. */
  write(tx: Tx, { began, ended }: FindingChanges): void {
    const { records, now } = this.#parts;
    const of = (keys: readonly string[]) =>
      keys.flatMap((key) => this.#seen.get(key)?.finding ?? []);
    records.notifications.findingsChanged(tx, now(), of(began), of(ended));
    const announced = [...this.#seen].filter(
      ([key, { isAnnounced }]) => (isAnnounced && !ended.includes(key)) || began.includes(key),
    );
    const findings = Object.fromEntries(announced.map(([key, { finding }]) => [key, finding]));
    records.state.announced.write(tx, findings);
    tx.afterCommit(() => this.#announced({ began, ended }));
  }

  #announced({ began, ended }: FindingChanges): void {
    this.#lastNoticeAt = this.#parts.monotonic();
    for (const key of ended) this.#seen.delete(key);
    for (const key of began) {
      const seen = this.#seen.get(key);
      if (seen !== undefined) seen.isAnnounced = true;
    }
  }

  #noteOne(found: Dated, now: number): void {
    const { code, subject = null, since } = found;
    const key = subject === null ? code : `${code} ${subject}`;
    const finding = { code, subject, since, text: textOf(found) };
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      this.#seen.set(key, { firstAt: now, lastAt: now, isAnnounced: false, finding });
    } else Object.assign(seen, { lastAt: now, finding });
  }
}

const mayAnnounce = ({ code }: Dated): boolean =>
  severityOf(code) === 'error' && !announcedElsewhere.has(code);
