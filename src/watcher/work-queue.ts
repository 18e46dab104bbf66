// The scripts that must be checked, and the loop that checks them. A notification, a start, a
// reconnect, a sweep and a reorganisation all add a script here; no other way leads to a check.
// Repeats coalesce, and no script is checked twice at once. What one check does is in
// address-sync.ts.

import type { Scripthash } from '../bitcoin/ids.ts';
import { RequestError, RequestTimeout, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { methods, type Status } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { withDeadline } from '../lib/deadline.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Cancel, World } from '../world/world.ts';
import {
  type AddressSync,
  type Announcements,
  maxHeadersMs,
  type SyncResult,
  type Unshown,
} from './address-sync.ts';
import type { Backlog } from './backlog.ts';
import type { Interruption } from './interruption.ts';
import type { CheckKind } from './proof/evidence.ts';
import { ServerLie } from './proof/proofs.ts';
import type { ServerChoice } from './server-choice.ts';
import type { WatcherEvents } from './watcher-events.ts';

export interface WorkQueueParts {
  readonly world: World;
  readonly tasks: BackgroundTasks;
  readonly events: WatcherEvents;
  readonly backlog: Backlog;
  readonly servers: ServerChoice;
  readonly addressSync: AddressSync;
  readonly announcements: Announcements;
  readonly interruption: Pick<Interruption, 'found' | 'recorded'>;
}

/** Scripts whose check failed, by the server and the request that failed. */
export interface ScriptFailures {
  readonly server: string;
  /** The method, where a request failed. */
  readonly request: string | undefined;
  readonly scripts: number;
  /** Those among them whose history names a transaction that is not shown or not proven. */
  readonly unshown: number;
  readonly reason: string;
}

/**
 * Scripts checked at once for each request in flight: the next one is ready when a request may go
 * out.
 */
const scriptsPerRequest = 4;
/** The server is left when half of all checks last so long while others wait. */
const maxCheckMs = 300_000;
/**
 * A script that failed so often seldom succeeds soon, and a public server bills each refusal. See
 * docs/decisions/007 and docs/decisions/009.
 */
const minuteRetries = 10;

/**
 * The backoff of a script: a minute at first, then ten minutes.
 * @param failures in a row
 */
export const scriptBackoffMs = (failures: number): number =>
  failures < minuteRetries ? minuteMs : 10 * minuteMs;

export class WorkQueue {
  readonly #parts: WorkQueueParts;
  readonly #dirty = new Set<Scripthash>();
  /** Scripts that must be checked whatever their status is. */
  readonly #forced = new Map<Scripthash, 'again' | 'cross'>();
  /** Since when, monotonic. */
  readonly #underWay = new Map<Scripthash, number>();
  /** The history names a block above our tip or of another branch, or an unshown transaction. */
  readonly #waitingForTip = new Set<Scripthash>();
  /** Scripts that will be checked again after a backoff; what cancels that. */
  readonly #retrying = new Map<Scripthash, Cancel>();
  /** How often in a row a script could not be synced in full. */
  readonly #failures = new Map<Scripthash, number>();
  readonly #failed = new FailedScripts();
  /** A proof failed once, and at which server. */
  readonly #suspects = new Map<Scripthash, Session>();
  #session: Session | undefined;

  constructor(parts: WorkQueueParts) {
    this.#parts = parts;
    parts.events.on('recheck', (scripthash) => this.add(scripthash));
  }

  add(scripthash: Scripthash, check: CheckKind = 'changed'): void {
    this.#parts.interruption.found(scripthash);
    this.#force(scripthash, check);
    // A sweep comes by more often than a failed script is retried.
    if (check === 'cross' && this.#failures.has(scripthash)) return;
    this.#dirty.add(scripthash);
    this.#checkNext();
  }

  statusChanged(scripthash: Scripthash, status: Status): void {
    this.#parts.announcements.announced(scripthash, status);
    this.add(scripthash);
  }

  #force(scripthash: Scripthash, check: CheckKind): void {
    if (check === 'changed' || this.#forced.get(scripthash) === 'cross') return;
    this.#forced.set(scripthash, check);
  }

  /** Works with this session from now on, or waits without one. */
  use(session: Session | undefined): void {
    this.#session = session;
    this.#suspects.clear();
    this.#parts.announcements.clear();
    if (session !== undefined) this.#parts.backlog.tipKnown();
    this.#checkNext();
  }

  /** Our tip moved: scripts that waited for a header go on. */
  tipChanged(): void {
    for (const scripthash of this.#waitingForTip) this.#dirty.add(scripthash);
    this.#waitingForTip.clear();
    this.#checkNext();
  }

  /** One more server can be asked: failed scripts are retried at once. */
  serverJoined(): void {
    for (const scripthash of this.#retrying.keys()) this.#dirty.add(scripthash);
    this.#checkNext();
  }

  size(): number {
    return this.#dirty.size + this.#underWay.size;
  }

  /** Whether a script is checked, will be, or has an announced status that was not shown yet. */
  isPending(scripthash: Scripthash): boolean {
    const waiting = [
      this.#dirty,
      this.#underWay,
      this.#retrying,
      this.#waitingForTip,
      this.#parts.announcements,
    ];
    return waiting.some((each) => each.has(scripthash));
  }

  /** Scripts whose last check failed, and that are retried. */
  failures(): ScriptFailures[] {
    return this.#failed.byServer();
  }

  #checkNext(): void {
    this.#parts.backlog.count(this.size());
    const session = this.#session;
    if (session === undefined) return;
    const maxUnderWay = scriptsPerRequest * session.maxInFlight;
    for (const scripthash of this.#dirty) {
      if (this.#underWay.size >= maxUnderWay) return void this.#leaveIfSlow(session);
      if (this.#underWay.has(scripthash)) continue;
      this.#dirty.delete(scripthash);
      this.#underWay.set(scripthash, this.#parts.world.monotonic());
      this.#parts.tasks.run(() => this.#check(session, scripthash));
    }
  }

  /** Other scripts wait, but not for a server that shows very many histories slowly. */
  #leaveIfSlow(session: Session): void {
    const { world, servers } = this.#parts;
    const before = world.monotonic() - maxCheckMs;
    // The oldest come first, and usually none is slow.
    let slow = 0;
    for (const since of this.#underWay.values()) {
      if (since > before) break;
      slow += 1;
    }
    if (2 * slow >= this.#underWay.size) {
      servers.leaveUnanswering(session, 'it shows many histories too slowly');
    }
  }

  async #check(session: Session, scripthash: Scripthash): Promise<void> {
    const check = this.#forced.get(scripthash) ?? 'changed';
    this.#forced.delete(scripthash);
    const failures = this.#failures.get(scripthash) ?? 0;
    const { addressSync } = this.#parts;
    try {
      const result = await addressSync.sync({ session, scripthash, check, failures });
      this.#finish(scripthash, check, result);
      this.#suspects.delete(scripthash);
      // A transaction may be replaced, or a block be on its way, between a history and its items.
      const isRepeated = (this.#failures.get(scripthash) ?? 0) > 1;
      if (result.unshown === undefined || !isRepeated) this.#failed.delete(scripthash);
      else this.#reportUnshown(session, scripthash, result.unshown);
    } catch (error) {
      await this.#fail(session, scripthash, check, error);
    } finally {
      this.#underWay.delete(scripthash);
      this.#checkNext();
    }
  }

  #finish(scripthash: Scripthash, check: CheckKind, { kind, isTipChanged }: SyncResult): void {
    if (kind === 'unchanged' || kind === 'complete') this.#succeed(scripthash);
    // A repeated check must not lose that it was forced.
    if (kind === 'superseded' || kind === 'open') this.#force(scripthash, check);
    if (kind === 'superseded') this.add(scripthash, 'again');
    if (kind !== 'open') return;
    // The block that it waits for may have come meanwhile.
    (isTipChanged ? this.#dirty : this.#waitingForTip).add(scripthash);
    this.#retryLater(scripthash);
  }

  #reportUnshown(session: Session, scripthash: Scripthash, { by, error }: Unshown): void {
    const { world, servers } = this.#parts;
    const failure = failureOf(by, error, true);
    const { reason } = failure;
    const fields = { scripthash, server: by.server.label, reason };
    world.log.warn('a transaction that a history names is not shown', fields);
    this.#failed.add(scripthash, failure);
    if (by === session) servers.leaveUnanswering(session, reason);
  }

  async #fail(
    session: Session,
    scripthash: Scripthash,
    check: CheckKind,
    error: unknown,
  ): Promise<void> {
    this.#force(scripthash, check === 'changed' ? 'again' : check);
    // In the next session, a slow script would go before all others again.
    const waits = error instanceof RequestTimeout || this.#failures.has(scripthash);
    const isOver = session.closed || session !== this.#session;
    if (isOver && (error instanceof ServerLie || !waits)) this.#dirty.add(scripthash);
    else if (error instanceof ServerLie)
      await this.#suspect(error.by ?? session, scripthash, error);
    else this.#failLater(session, scripthash, error);
  }

  #failLater(session: Session, scripthash: Scripthash, error: unknown): void {
    const { world, servers } = this.#parts;
    const isKnown = error instanceof ServerError || error instanceof PaygateError;
    world.log[isKnown ? 'warn' : 'error']('a history could not be processed', {
      scripthash,
      server: session.server.label,
      reason: reasonOf(error),
    });
    const isUnshown = error instanceof RequestTimeout && error.request !== methods.history;
    const isRepeated = this.#failed.add(scripthash, failureOf(session, error, isUnshown));
    this.#retryLater(scripthash);
    // A write that our own disk refused is no fault of the server.
    if (isRepeated && !(error instanceof ServerError) && !(error instanceof Unwritten)) {
      servers.leaveUnanswering(session, reasonOf(error));
    }
  }

  /** The first failed proof may mean a reorganisation between the history and the proof. */
  async #suspect(liar: Session, scripthash: Scripthash, { message }: ServerLie): Promise<void> {
    const isRepeated = this.#suspects.get(scripthash) === liar;
    this.#suspects.set(scripthash, liar);
    if (!isRepeated) {
      this.#dirty.add(scripthash);
      await this.#refreshTip(liar);
    } else if (this.#parts.servers.reportLie(liar, message)) this.#dirty.add(scripthash);
    else {
      // The block that decides between the branches may make the proof true.
      this.#waitingForTip.add(scripthash);
      this.#retryLater(scripthash);
    }
  }

  /** A slow liar must not hold up the script that it lied about. */
  async #refreshTip(liar: Session): Promise<void> {
    const { world, tasks, servers } = this.#parts;
    const refreshed = servers.refreshTip(liar);
    tasks.run(() => refreshed);
    await withDeadline(world, maxHeadersMs, refreshed, () => {});
  }

  #retryLater(scripthash: Scripthash): void {
    const failures = (this.#failures.get(scripthash) ?? 0) + 1;
    this.#failures.set(scripthash, failures);
    if (this.#retrying.has(scripthash)) return;
    const cancel = this.#parts.world.after(scriptBackoffMs(failures), () => {
      this.#retrying.delete(scripthash);
      this.add(scripthash);
    });
    this.#retrying.set(scripthash, cancel);
  }

  #succeed(scripthash: Scripthash): void {
    this.#parts.interruption.recorded(scripthash);
    this.#failures.delete(scripthash);
    this.#waitingForTip.delete(scripthash);
    this.#retrying.get(scripthash)?.();
    this.#retrying.delete(scripthash);
    // A sweep that came by meanwhile left its check to the retry that is cancelled now.
    if (this.#forced.has(scripthash)) this.#dirty.add(scripthash);
  }
}

interface ScriptFailure {
  readonly by: Session;
  readonly reason: string;
  readonly request: string | undefined;
  /** The server showed the history, and not what it names. */
  readonly isUnshown: boolean;
}

const failureOf = (by: Session, error: unknown, isUnshown: boolean): ScriptFailure => ({
  by,
  reason: reasonOf(error),
  request: error instanceof RequestError ? error.request : undefined,
  isUnshown,
});

/** Scripts whose last check failed: which server failed at which request. */
class FailedScripts {
  readonly #failures = new Map<Scripthash, ScriptFailure>();

  /** @returns whether the same server failed at the last attempt as well */
  add(scripthash: Scripthash, failure: ScriptFailure): boolean {
    const isRepeated = this.#failures.get(scripthash)?.by === failure.by;
    // The newest last.
    this.#failures.delete(scripthash);
    this.#failures.set(scripthash, failure);
    return isRepeated;
  }

  delete(scripthash: Scripthash): void {
    this.#failures.delete(scripthash);
  }

  byServer(): ScriptFailures[] {
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
