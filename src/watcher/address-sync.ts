// Brings one address up to date: fetches its history, collects evidence for it and records the
// result. Computes the status itself; a server's status only starts this. Never decides when that
// happens: see work-queue.ts.

import type { Scripthash, Txid } from '../bitcoin/ids.ts';
import { statusHash } from '../domain/payment/script-history.ts';
import type { RequestError } from '../electrum/requests.ts';
import { RequestTimeout } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import type { Status } from '../electrum/wire.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { withDeadline } from '../lib/deadline.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { Records } from '../store/open-records.ts';
import type { Applied, Observation, SeenPayment } from '../store/payments/observation.ts';
import type { AddressPlace } from '../store/wallets/address-row.ts';
import type { World } from '../world/world.ts';
import type { HeaderSync } from './header-sync.ts';
import type { Interruption } from './interruption.ts';
import {
  type CheckKind,
  collectEvidence,
  createEvidenceMemory,
  type EvidenceContext,
  type EvidenceParts,
  type MemoryReservation,
  type Subject,
  seenOf,
  unfinishedKinds,
} from './proof/evidence.ts';
import { type Fallback, withFallback } from './proof/other-servers.ts';
import { blame, type Proofs } from './proof/proofs.ts';
import { crossCheck, type SecondOpinionParts } from './proof/second-opinion.ts';
import { seekWholeBytes } from './rebroadcast.ts';
import type { ServerChoice } from './server-choice.ts';
import { isUnissued, observeUnissued } from './wallet/address-use.ts';
import type { WatcherEvents } from './watcher-events.ts';

export interface AddressSyncParts extends SecondOpinionParts {
  readonly world: World;
  readonly records: Records;
  readonly tasks: BackgroundTasks;
  readonly events: WatcherEvents;
  readonly headerSync: HeaderSync;
  readonly proofs: Proofs;
  readonly servers: ServerChoice;
  readonly fallback: Fallback;
  readonly announcements: Announcements;
  readonly interruption: Pick<Interruption, 'isFirstLook' | 'of' | 'shown'>;
}

export interface SyncRequest {
  readonly session: Session;
  readonly scripthash: Scripthash;
  readonly check: CheckKind;
  /** How often in a row the script could not be synced. */
  readonly failures: number;
}

export interface SyncResult {
  /**
   * `none`: not our address. `unchanged`: the status is the recorded one. `superseded`: another
   * write came first, so the check must run again. `open`: something is not proven yet.
   */
  readonly kind: 'none' | 'unchanged' | 'superseded' | 'open' | 'complete';
  /** Whether our tip moved since the evidence was asked for. */
  readonly isTipChanged?: boolean;
  /** A transaction of the history that no server has shown. */
  readonly unshown?: Unshown | undefined;
}

export interface Unshown {
  readonly by: Session;
  readonly error: RequestError;
}

/**
 * Bytes of transactions that wait to be recorded: eight of the largest, or a hundred that nodes
 * relay.
 */
const maxEvidenceBytes = 32_000_000;
/** How long a server's headers are waited for: by then the server is in doubt. */
export const maxHeadersMs = 60_000;
/** A check that takes longer records what it has found so far. */
const recordEarlyMs = 5_000;
/** Payments in one commit: some 20 ms of work. */
const maxRecordedAtOnce = 200;
/**
 * How long one server is asked for the items of one history. The time doubles with each failure, up
 * to 16 minutes, so that a long history at a slow server comes to its end.
 */
const firstTimeoutMs = 120_000;
const maxDoublings = 3;

export class AddressSync {
  readonly #parts: AddressSyncParts;
  readonly #memory;
  #tipChanges = 0;
  /** How often a session left a request unanswered that another one answered. */
  readonly #overdue = new WeakMap<Session, number>();
  /** The server that alone reported payments to unissued addresses of a wallet. */
  readonly #soleReporters = new Map<number, string>();

  constructor(parts: AddressSyncParts) {
    this.#parts = parts;
    this.#memory = createEvidenceMemory(maxEvidenceBytes, () => parts.world.monotonic());
    parts.events.on('tipChanged', () => {
      this.#tipChanges += 1;
    });
  }

  /** By wallet, the last server that alone reported payments to addresses that were not issued. */
  soleReporters(): ReadonlyMap<number, string> {
    return this.#soleReporters;
  }

  /** @throws ServerLie when a proof fails; PaygateError unavailable when the session ends */
  async sync(request: SyncRequest): Promise<SyncResult> {
    const memory = this.#memory.open();
    try {
      return await this.#sync(request, memory);
    } finally {
      memory.close();
    }
  }

  async #sync(request: SyncRequest, memory: MemoryReservation): Promise<SyncResult> {
    const { session, scripthash, check } = request;
    const { records, headerSync, announcements, world, servers } = this.#parts;
    const { by, history } = await this.#history(request);
    const shown = this.#firstLook(scripthash, history);
    const address = records.addresses.byScripthash(scripthash);
    if (address === undefined) return { kind: 'none' };
    const status = statusHash(history);
    if (by === session) announcements.shown(scripthash, status);
    if (check === 'changed' && status === address.statusHash) return { kind: 'unchanged' };
    const syncing = headerSync.underWay(by);
    if (syncing !== undefined) await withDeadline(world, maxHeadersMs, syncing, () => {});
    const tipChanges = this.#tipChanges;
    let unshown: Unshown | undefined;
    const parts = {
      ...this.#parts,
      session: by,
      memory,
      onFault: (server: Session, error: RequestError, isMadeUp: boolean) => {
        if (!isMadeUp) unshown = { by: server, error };
        else if (error instanceof RequestTimeout) this.#leftUnanswered(server, error);
      },
      recordEarly: this.#recordEarly(session, address, shown, memory),
      startDeadline: deadlineAfter(world, request.failures),
    };
    const observe = isUnissued(address) ? observeUnissued : observeIssued;
    const subject = { address, history, status, check };
    const observation = await observe(parts, subject).catch((error: unknown) => {
      throw blame(by, error);
    });
    // The answers of a session are not recorded after its end.
    if (servers.isOver(session)) throw new PaygateError('unavailable', 'the session has ended');
    if (!(await this.#record(shown(observation), by))) return { kind: 'superseded' };
    for (const each of observation.gone) world.log.warn('a payment is gone', { ...each });
    this.#seekWholeBytes(by, observation.seen);
    const kind = observation.statusHash === undefined ? 'open' : 'complete';
    return { kind, isTipChanged: tipChanges !== this.#tipChanges, unshown };
  }

  /**
   * Notes what the first look after an interruption shows.
   * @returns what adds to an observation of this look what each of its payments may count from
   */
  #firstLook(
    scripthash: Scripthash,
    history: readonly { readonly txid: Txid }[],
  ): (observation: Observation) => Observation {
    const { interruption } = this.#parts;
    const isFirst = interruption.isFirstLook(scripthash);
    if (isFirst) interruption.shown(scripthash, txidsOf(history));
    return (observation) => {
      // What a second server alone shows is of the same look.
      if (isFirst) interruption.shown(scripthash, txidsOf(observation.seen));
      const seen = observation.seen.map((each) => ({
        ...each,
        interruptedAt: interruption.of(scripthash, each.txid),
      }));
      return { ...observation, seen };
    };
  }

  #history({ session, scripthash, failures }: SyncRequest) {
    return withFallback(
      session,
      this.#parts.servers,
      // A script that failed before lets others go first.
      async (by) => ({ by, history: await by.history(scripthash, { bulk: failures > 0 }) }),
      (error) => {
        if (error instanceof RequestTimeout) this.#leftUnanswered(session, error);
      },
    );
  }

  /** Records parts of a long check; all of it is recorded again at its end, with the status. */
  #recordEarly(
    session: Session,
    { id, origin }: AddressPlace,
    shown: (observation: Observation) => Observation,
    memory: MemoryReservation,
  ): EvidenceParts['recordEarly'] {
    const { world, servers } = this.#parts;
    let recordedAt = world.monotonic();
    return async (unwritten) => {
      if (unwritten.length === 0 || world.monotonic() - recordedAt < recordEarlyMs) return false;
      if (servers.isOver(session)) return false;
      const seen = unwritten.map((each) => each.seen);
      const part = { addressId: id, origin, seen, gone: [], statusHash: undefined };
      if (!(await this.#record(shown(part), session))) return false;
      recordedAt = world.monotonic();
      memory.release();
      return true;
    };
  }

  /** @returns false when another write came first: the observation must be made again */
  async #record(observation: Observation, by: Session): Promise<boolean> {
    const { records, world } = this.#parts;
    for (const part of partsOf(this.#memory.bounded(observation))) {
      const writing = records.database.write((tx) => records.ledger.apply(tx, world.now(), part));
      // Called already now, so that the dispatcher's claim follows this write and shares its
      // commit.
      if (part.seen.length + part.gone.length > 0) records.events.emit('callbacksDue');
      const applied = await writing;
      if (applied.callbacks > 0) records.events.emit('callbacksDue');
      this.#log(applied, by);
      if (applied.again) return false;
    }
    return true;
  }

  #log({ reversed, foreignUse, claimedUse }: Applied, by: Session): void {
    const { log } = this.#parts.world;
    for (const txid of reversed) log.warn('a payment was reversed by the chain', { txid });
    const message = 'an address was paid that was not issued yet';
    if (foreignUse !== undefined) log.warn(message, { ...foreignUse });
    if (claimedUse === undefined) return;
    const { label } = by.server;
    this.#soleReporters.set(claimedUse.walletId, label);
    log.warn(message, { byServerAlone: label, ...claimedUse });
  }

  #seekWholeBytes(by: Session, seen: readonly SeenPayment[]): void {
    const { records, fallback, tasks } = this.#parts;
    tasks.run(() => seekWholeBytes(records, fallback, by, seen));
  }

  /** Another server answered instead: from the second time on, this one may be left. */
  #leftUnanswered(session: Session, error: RequestTimeout): void {
    const times = (this.#overdue.get(session) ?? 0) + 1;
    this.#overdue.set(session, times);
    if (times > 1) this.#parts.servers.leaveUnanswering(session, error.message);
  }
}

const txidsOf = (items: readonly { readonly txid: Txid }[]): Txid[] =>
  items.map(({ txid }) => txid);

async function observeIssued(
  all: EvidenceParts & SecondOpinionParts,
  subject: Subject,
): Promise<Observation> {
  const { address, history, status, check } = subject;
  const { id: addressId, origin } = address;
  const script = lazy(() => all.records.addresses.scriptOf(addressId));
  const isNews = check === 'changed';
  const parts: EvidenceContext & SecondOpinionParts = { ...all, isNews, unwritten: [], script };
  const known = new Map(parts.records.ledger.paymentsOf(addressId).map((row) => [row.txid, row]));
  const first = await collectEvidence(parts, history, known);
  const second = await crossCheck(parts, subject, known, first);
  const evidence = [...first, ...second.evidence];
  const seen = withoutMined(seenOf(evidence));
  const isOpen = second.isOpen || evidence.some(({ kind }) => unfinishedKinds.has(kind));
  const { gone } = second;
  return { addressId, origin, seen, gone, statusHash: isOpen ? undefined : status };
}

/** A transaction in a block of our chain is in no mempool, whatever a server reports. */
function withoutMined(seen: readonly SeenPayment[]): SeenPayment[] {
  const mined = new Set(seen.flatMap(({ txid, block }) => (block === null ? [] : [txid])));
  return seen.filter(({ txid, block }) => block !== null || !mined.has(txid));
}

/**
 * Splits a flood of payments to one address into several commits, so that other writes do not wait
 * for all of it. Only the last part has the status: without it, the whole is checked again.
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

/** @returns what starts a deadline, whose result says whether it is over */
function deadlineAfter(world: Pick<World, 'monotonic'>, failures: number): () => () => boolean {
  const timeoutMs = firstTimeoutMs * 2 ** Math.min(maxDoublings, failures);
  return () => {
    const deadline = world.monotonic() + timeoutMs;
    return () => world.monotonic() >= deadline;
  };
}

const recheckMs = 60_000;
/**
 * Before protocol 1.6, server and client may order the mempool differently, so that the two
 * statuses never agree. The sweeps go on comparing them.
 */
const maxChecks = 10;

interface Announcement {
  readonly status: Status;
  checks: number;
}

/**
 * Statuses that the watched server announced without showing their history yet. It announces each
 * status once: a history that is older than the announcement would hide the rest for ever.
 */
export type Announcements = ReturnType<typeof createAnnouncements>;

/** @param recheck called after a minute for a status that was announced and not shown */
export function createAnnouncements(world: World, recheck: (scripthash: Scripthash) => void) {
  const announcements = new Map<Scripthash, Announcement>();
  return {
    announced(scripthash: Scripthash, status: Status): void {
      announcements.set(scripthash, { status, checks: 0 });
    },
    /**
     * The status of a history that the server showed; another than the announced one is checked
     * again.
     */
    shown(scripthash: Scripthash, status: Status): void {
      const announcement = announcements.get(scripthash);
      if (announcement === undefined) return;
      announcement.checks += 1;
      if (announcement.status === status || announcement.checks > maxChecks) {
        announcements.delete(scripthash);
        return;
      }
      world.after(recheckMs, () => {
        if (announcements.get(scripthash) === announcement) recheck(scripthash);
      });
    },
    /** Announced, and not shown yet. */
    has: (scripthash: Scripthash): boolean => announcements.has(scripthash),
    /** The session has ended: the next one announces anew. */
    clear(): void {
      announcements.clear();
    },
  };
}
