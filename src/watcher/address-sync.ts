// Brings one address up to date: its history, the evidence for it, and what is recorded of it.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import { RequestError, RequestTimeout } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { Observation, Seen } from '../store/records/ledger.ts';
import type { World } from '../world/world.ts';
import type { Backlog } from './backlog.ts';
import {
  collectEvidence,
  type EvidenceContext,
  type EvidenceParts,
  type Subject,
  seenOf,
  unfinishedKinds,
} from './evidence.ts';
import type { HeaderSync } from './header-sync.ts';
import { type OtherServers, withFallback } from './other-servers.ts';
import type { Proofs } from './proofs.ts';
import {
  crossCheck,
  type RequestSecondOpinion,
  type SecondOpinionParts,
} from './second-opinion.ts';
import type { ScriptFailures } from './status.ts';

export interface DrainParts {
  readonly world: World;
  readonly store: Store;
  readonly chainSync: HeaderSync;
  readonly proofs: Proofs;
  readonly tasks: BackgroundTasks;
  readonly backlog: Backlog;
  readonly callWitness: RequestSecondOpinion;
  /** Another server than this one whose word counts. */
  readonly elsewhere: (session: Session) => Session | undefined;
  /** The same, and those that are connected for this alone. */
  readonly others: OtherServers;
  /** Callbacks are enqueued, or about to be. */
  readonly onCallbacks: () => void;
  /** A server's proof failed twice. False when that was no lie: it speaks of another branch. */
  readonly onLie: (session: Session, reason: string) => boolean;
  /** A server did not answer what a script needs, twice in a row: another one may. */
  readonly onMute: (session: Session, reason: string) => void;
  /** Fetches the session's tip anew, before a failed proof is believed to be a lie. */
  readonly refreshTip: (session: Session) => Promise<void>;
}

/** @throws Lie when a proof fails; PaygateError unavailable when the session ends */
export async function observeIssued(
  all: EvidenceParts & SecondOpinionParts,
  subject: Subject,
): Promise<Observation> {
  const { address, history, status, look } = subject;
  const { id: addressId, origin } = address;
  const script = lazy(() => all.store.addresses.scriptOf(addressId));
  const parts: EvidenceContext & SecondOpinionParts = {
    ...all,
    isNews: look === 'changed',
    unwritten: [],
    script,
  };
  const known = new Map(parts.store.ledger.paymentsOf(addressId).map((row) => [row.txid, row]));
  const gathered = await collectEvidence(parts, history, known);
  const testified = await crossCheck(parts, subject, known, gathered);
  const found = [...gathered, ...testified.gathered];
  const seen = withoutMined(seenOf(found));
  const isOpen = testified.isOpen || found.some(({ kind }) => unfinishedKinds.has(kind));
  const { gone } = testified;
  return { addressId, origin, seen, gone, statusHash: isOpen ? undefined : status };
}

/** What is in a block of ours is in no mempool, whoever says so. */
function withoutMined(seen: readonly Seen[]): Seen[] {
  const mined = new Set(seen.flatMap(({ txid, block }) => (block === null ? [] : [txid])));
  return seen.filter(({ txid, block }) => block !== null || !mined.has(txid));
}

/** A history, and which server has shown it. */
export interface ShownHistory {
  readonly by: Session;
  readonly history: readonly HistoryItem[];
}

export interface HistoryRequest {
  readonly session: Session;
  readonly scripthash: Scripthash;
  readonly bulk: boolean;
  /** The session did not answer, and another one did. */
  readonly onOverdue: (error: RequestTimeout) => void;
}

/** @throws what the session throws, where no other server shows it */
export function askHistory(
  elsewhere: (session: Session) => Session | undefined,
  { session, scripthash, bulk, onOverdue }: HistoryRequest,
): Promise<ShownHistory> {
  return withFallback(
    session,
    elsewhere,
    async (by) => ({ by, history: await by.history(scripthash, { bulk }) }),
    (error) => {
      if (error instanceof RequestTimeout) onOverdue(error);
    },
  );
}

/** Payments in one commit: some 20 ms of work. */
const maxRecordedAtOnce = 200;

/**
 * A flood of payments to one address is recorded in several commits, so that nothing else waits for
 * all of it. Only the last one has the status: should it not come to that, the whole is looked at again.
 */
export function* partsOf(observation: Observation): Generator<Observation> {
  const { seen } = observation;
  let from = 0;
  for (; from + maxRecordedAtOnce < seen.length; from += maxRecordedAtOnce) {
    const part = seen.slice(from, from + maxRecordedAtOnce);
    yield { ...observation, seen: part, gone: [], statusHash: undefined };
  }
  yield { ...observation, seen: seen.slice(from) };
}

export interface ScriptFailure {
  readonly by: Session;
  readonly reason: string;
  readonly request: string | undefined;
  /** The history was shown, and names what is not. */
  readonly isUnshown: boolean;
}

export const failureOf = (by: Session, error: unknown, isUnshown: boolean): ScriptFailure => ({
  by,
  reason: reasonOf(error),
  request: error instanceof RequestError ? error.request : undefined,
  isUnshown,
});

export class FailedScripts {
  readonly #failures = new Map<Scripthash, ScriptFailure>();

  /** @returns whether the same server failed at its last try as well */
  add(scripthash: Scripthash, failure: ScriptFailure): boolean {
    const isSecondTime = this.#failures.get(scripthash)?.by === failure.by;
    // The newest last.
    this.#failures.delete(scripthash);
    this.#failures.set(scripthash, failure);
    return isSecondTime;
  }

  delete(scripthash: Scripthash): void {
    this.#failures.delete(scripthash);
  }

  scriptFailures(): ScriptFailures[] {
    const found = new Map<string, ScriptFailures>();
    for (const { by, request, reason, isUnshown } of this.#failures.values()) {
      const server = by.server.label;
      const key = `${server} ${request}`;
      const { scripts, unshown } = found.get(key) ?? { scripts: 0, unshown: 0 };
      const counts = { scripts: scripts + 1, unshown: unshown + Number(isUnshown) };
      found.set(key, { server, request, reason, ...counts });
    }
    return [...found.values()];
  }
}

const recheckMs = 60_000;
/**
 * Before protocol 1.6 the two may order the mempool differently, and never agree; the rounds go on
 * comparing them.
 */
const maxChecks = 10;

interface Notification {
  readonly status: Status;
  looks: number;
}

export interface Announcements {
  /** The server's newest word on a script. */
  statusChanged(scripthash: Scripthash, status: Status): void;
  /** The status of a history that it showed: another one than was told is looked at again. */
  shown(scripthash: Scripthash, status: Status): void;
  /** Told, and not shown yet. */
  has(scripthash: Scripthash): boolean;
  /** The session has ended: another one tells anew. */
  clear(): void;
}

/** @param lookAgain called in a minute for what was told and not shown */
export function createAnnouncements(
  world: World,
  lookAgain: (scripthash: Scripthash) => void,
): Announcements {
  const announcements = new Map<Scripthash, Notification>();
  return {
    statusChanged(scripthash, status) {
      announcements.set(scripthash, { status, looks: 0 });
    },
    shown(scripthash, status) {
      const announcement = announcements.get(scripthash);
      if (announcement === undefined) return;
      announcement.looks += 1;
      if (announcement.status === status || announcement.looks > maxChecks) {
        announcements.delete(scripthash);
        return;
      }
      world.after(recheckMs, () => {
        if (announcements.get(scripthash) === announcement) lookAgain(scripthash);
      });
    },
    has: (scripthash) => announcements.has(scripthash),
    clear() {
      announcements.clear();
    },
  };
}

/** What has not come right by then seldom does soon, and a public server bills each refusal. */
const minuteRetries = 10;
/**
 * So long a server is asked for what one history names before the other one is heard; then twice as long each
 * time, up to 16 minutes, so that a long history at a slow server comes to its end.
 */
const firstTimeoutMs = 120_000;
const maxDoublings = 3;

/**
 * Each minute at first, then every ten minutes.
 * @param failures in a row
 */
export const scriptBackoffMs = (failures: number): number =>
  failures < minuteRetries ? minuteMs : 10 * minuteMs;

/**
 * For what one history names.
 * @param failures in a row
 * @returns what begins it, and then says whether it is over
 */
export function deadlineAfter(
  world: Pick<World, 'monotonic'>,
  failures: number,
): () => () => boolean {
  const timeoutMs = firstTimeoutMs * 2 ** Math.min(maxDoublings, failures);
  return () => {
    const deadline = world.monotonic() + timeoutMs;
    return () => world.monotonic() >= deadline;
  };
}

/** Waits until work has ended, and no longer than so: it goes on by itself. */
export function waitAtMost(
  world: Pick<World, 'after'>,
  work: Promise<void>,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = world.after(timeoutMs, resolve);
    work.then(resolve, reject).finally(cancel);
  });
}
