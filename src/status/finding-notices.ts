// Which findings are announced: each error once when it begins, and once when it is over. A finding
// that comes and goes is announced once. All changes go in one notice, and notices keep a distance.
// A bad hour therefore makes a few mails. Announcements survive a restart.

import type { NoticedFinding } from '../domain/delivery/notice.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Records } from '../store/open-records.ts';
import { type FindingCode, severityOf } from './finding-severity.ts';
import { type Finding, textOf } from './findings.ts';

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
export const overAfterMs = 10 * minuteMs;
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

export class FindingNotices {
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
