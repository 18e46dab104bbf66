// The dirty set and the loop that empties it: fetch a history, gather its proofs, commit. Whatever
// makes a script dirty (a notification, a start, a reconnect, a reorganisation) comes down this one
// road; there is no other. Repeats coalesce, and no script is worked on twice at once.

import type { Scripthash } from '../bitcoin/ids.ts';
import { statusHash } from '../domain/script-history.ts';
import { RequestTimeout, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { methods, type Status } from '../electrum/wire.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { AddressPlace } from '../store/records/address-statements.ts';
import type { Observation } from '../store/records/ledger.ts';
import type { Cancel } from '../world/world.ts';
import {
  type Announcements,
  askHistory,
  createAnnouncements,
  type DrainParts,
  deadlineAfter,
  FailedScripts,
  failureOf,
  observeIssued,
  partsOf,
  type ScriptFailure,
  scriptBackoffMs,
  waitAtMost,
} from './address-sync.ts';
import {
  type Check,
  createEvidenceMemory,
  type EvidenceParts,
  type MemoryReservation,
} from './evidence.ts';
import { createFallback, type Fallback } from './other-servers.ts';
import { blame, Lie } from './proofs.ts';
import { seekWholeBytes } from './rebroadcast.ts';
import {
  type AbsenceTracker,
  createAbsenceTracker,
  createNodeLookup,
  type NodeLookup,
} from './second-opinion.ts';
import type { ScriptFailures } from './status.ts';
import { isUnissued, observeUnissued } from './wallet-scan.ts';

/** Scripts worked on at once for each request that may be in flight: the next one has come when there is room. */
const scriptsPerRequest = 4;
/** Bytes of transactions that wait to be recorded: eight of the largest, or a hundred that nodes relay. */
const maxEvidenceBytes = 32_000_000;
/**
 * So long a server's headers are waited for: by then it is in doubt. What it says of a block whose header has not
 * come is looked at again.
 */
const headersMs = 60_000;
/** What a look has found is recorded after so long, though it goes on. */
const earlyMs = 5_000;
/** Half of all looks have lasted so long while others wait: the server is left for another one. */
const crowdedMs = 300_000;

export class WorkQueue {
  readonly #parts: DrainParts;
  readonly #silence: AbsenceTracker;
  readonly #elsewhere: Fallback;
  readonly #announced: Announcements;
  readonly #nowhere: NodeLookup;
  readonly #load = createEvidenceMemory(maxEvidenceBytes, () => this.#parts.world.monotonic());
  readonly #dirty = new Set<Scripthash>();
  /** What must be looked at in any case. */
  readonly #forced = new Map<Scripthash, 'again' | 'cross'>();
  /** And since when, monotonic. */
  readonly #underWay = new Map<Scripthash, number>();
  /** How often our tip has moved. */
  #tips = 0;
  /** Named a block above our tip or of another branch, or a transaction that was not shown. */
  readonly #waitingForTip = new Set<Scripthash>();
  /** Will be looked at again in a while; what ends that. */
  readonly #retrying = new Map<Scripthash, Cancel>();
  /** How often a script could not be worked up in full, in a row. */
  readonly #failures = new Map<Scripthash, number>();
  readonly #failing = new FailedScripts();
  /** How often a session has left open what another one answered. */
  readonly #overdue = new WeakMap<Session, number>();
  /** The server that named, alone, payments to unissued addresses of a wallet. */
  readonly #claimants = new Map<number, string>();
  /** A proof failed once, and whose it was. */
  readonly #suspect = new Map<Scripthash, Session>();
  #session: Session | undefined;

  constructor(parts: DrainParts) {
    this.#parts = parts;
    this.#elsewhere = createFallback(parts.world, parts.others);
    this.#nowhere = createNodeLookup(parts.world);
    this.#silence = createAbsenceTracker(parts.world, (scripthash) => this.add(scripthash));
    this.#announced = createAnnouncements(parts.world, (scripthash) => this.add(scripthash));
  }

  add(scripthash: Scripthash, look: Check = 'changed'): void {
    this.#force(scripthash, look);
    // A sweep comes by more often than what failed is tried again.
    if (look === 'cross' && this.#failures.has(scripthash)) return;
    this.#dirty.add(scripthash);
    this.#pump();
  }

  /** The server in use told a status that is not ours: its history is looked at until it has been shown. */
  statusChanged(scripthash: Scripthash, status: Status): void {
    this.#announced.statusChanged(scripthash, status);
    this.add(scripthash);
  }

  #force(scripthash: Scripthash, look: Check): void {
    if (look === 'changed' || this.#forced.get(scripthash) === 'cross') return;
    this.#forced.set(scripthash, look);
  }

  /** Works with this session from now on, or waits with none. */
  use(session: Session | undefined): void {
    this.#session = session;
    this.#suspect.clear();
    this.#announced.clear();
    if (session !== undefined) this.#parts.backlog.tipKnown();
    this.#pump();
  }

  /** Our tip moved: what waited for a header goes on. */
  tipMoved(): void {
    this.#tips += 1;
    for (const scripthash of this.#waitingForTip) this.#dirty.add(scripthash);
    this.#waitingForTip.clear();
    this.#pump();
  }

  /** There is one more server to ask: what failed is tried again at once. */
  joined(): void {
    for (const scripthash of this.#retrying.keys()) this.#dirty.add(scripthash);
    this.#pump();
  }

  size(): number {
    return this.#dirty.size + this.#underWay.size;
  }

  /** Whether a script is looked at, will be, or has more to show than it did. */
  isPending(scripthash: Scripthash): boolean {
    const looks = [
      this.#dirty,
      this.#underWay,
      this.#retrying,
      this.#waitingForTip,
      this.#announced,
    ];
    return looks.some((each) => each.has(scripthash));
  }

  /** What could not be worked up and is tried again. */
  scriptFailures(): ScriptFailures[] {
    return this.#failing.scriptFailures();
  }

  /** Which server was the last to name, alone, payments to addresses of a wallet that were not issued. */
  soleReporters(): ReadonlyMap<number, string> {
    return this.#claimants;
  }

  #pump(): void {
    this.#parts.backlog.count(this.size());
    const session = this.#session;
    if (session === undefined) return;
    const scriptsAtOnce = scriptsPerRequest * session.maxInFlight;
    for (const scripthash of this.#dirty) {
      if (this.#underWay.size >= scriptsAtOnce) return void this.#crowded(session);
      if (this.#underWay.has(scripthash)) continue;
      this.#dirty.delete(scripthash);
      this.#underWay.set(scripthash, this.#parts.world.monotonic());
      this.#parts.tasks.run(() => this.#work(session, scripthash));
    }
  }

  /** Others wait for a place, but not as long as a server likes that shows very many histories slowly. */
  #crowded(session: Session): void {
    const { world, onMute } = this.#parts;
    const before = world.monotonic() - crowdedMs;
    // The oldest come first, and mostly there is none.
    let slow = 0;
    for (const since of this.#underWay.values()) {
      if (since > before) break;
      slow += 1;
    }
    if (2 * slow >= this.#underWay.size) onMute(session, 'it shows many histories too slowly');
  }

  async #work(session: Session, scripthash: Scripthash): Promise<void> {
    const look = this.#forced.get(scripthash) ?? 'changed';
    this.#forced.delete(scripthash);
    const held = this.#load.open();
    try {
      const unshown = await this.#observe(session, scripthash, look, held);
      this.#suspect.delete(scripthash);
      if (unshown === undefined) this.#failing.delete(scripthash);
      else this.#isStuck(session, scripthash, unshown);
    } catch (error) {
      await this.#failed(session, scripthash, look, error);
    } finally {
      held.close();
      this.#underWay.delete(scripthash);
      this.#pump();
    }
  }

  /** @returns what its history names and nobody has shown, from the second try on */
  async #observe(
    session: Session,
    scripthash: Scripthash,
    look: Check,
    held: MemoryReservation,
  ): Promise<ScriptFailure | undefined> {
    const { store, chainSync, proofs, world, callWitness } = this.#parts;
    const { by, history } = await askHistory(this.#parts.elsewhere, {
      session,
      scripthash,
      // What failed before lets others go first.
      bulk: this.#failures.has(scripthash),
      onOverdue: (error) => this.#isOverdue(session, error),
    });
    const address = store.addresses.byScripthash(scripthash);
    if (address === undefined) return undefined;
    let unshown: ScriptFailure | undefined;
    const status = statusHash(history);
    if (by === session) this.#announced.shown(scripthash, status);
    if (look === 'changed' && status === address.statusHash) return this.#succeeded(scripthash);
    const syncing = chainSync.underWay(by);
    if (syncing !== undefined) await waitAtMost(world, syncing, headersMs);
    const tips = this.#tips;
    const parts = {
      session: by,
      proofs,
      store,
      callWitness,
      silence: this.#silence,
      elsewhere: this.#elsewhere,
      onFault: (by: Session, error: unknown, isMadeUp: boolean) => {
        if (!isMadeUp) unshown = failureOf(by, error, true);
        else if (error instanceof RequestTimeout) this.#isOverdue(by, error);
      },
      nowhere: this.#nowhere,
      held,
      early: this.#early(session, address, held),
      startDeadline: deadlineAfter(world, this.#failures.get(scripthash) ?? 0),
    };
    const observed = isUnissued(address) ? observeUnissued : observeIssued;
    const observation = await observed(parts, { address, history, status, look }).catch(
      (error: unknown) => {
        throw blame(by, error);
      },
    );
    // What a session said before it ended is no longer worth writing down.
    if (this.#isOver(session)) throw new PaygateError('unavailable', 'the session has ended');
    if (!(await this.#record(observation, by))) {
      this.#force(scripthash, look);
      this.add(scripthash, 'again');
      return undefined;
    }
    if (observation.statusHash === undefined) {
      // What it waits for may have come meanwhile.
      (tips === this.#tips ? this.#waitingForTip : this.#dirty).add(scripthash);
      // What the other server alone names is not asked of it by a look at changes.
      this.#force(scripthash, look);
      this.#later(scripthash);
    } else this.#succeeded(scripthash);
    for (const each of observation.gone) world.log.warn('a payment is gone', { ...each });
    this.#parts.tasks.run(() => seekWholeBytes(store, this.#elsewhere, by, observation.seen));
    return (this.#failures.get(scripthash) ?? 0) > 1 ? unshown : undefined;
  }

  /** Records parts of a long look; all of it is recorded again at its end, with the status. */
  #early(
    session: Session,
    { id, origin }: AddressPlace,
    held: MemoryReservation,
  ): EvidenceParts['early'] {
    const { world } = this.#parts;
    let recordedAt = world.monotonic();
    return async (unwritten) => {
      if (unwritten.length === 0 || world.monotonic() - recordedAt < earlyMs) return false;
      if (this.#isOver(session)) return false;
      const seen = unwritten.map((each) => each.seen);
      const part = { addressId: id, origin, seen, gone: [], statusHash: undefined };
      if (!(await this.#record(part, session))) return false;
      recordedAt = world.monotonic();
      held.release();
      return true;
    };
  }

  /** @returns false when it was overtaken, and must be made anew */
  async #record(observation: Observation, by: Session): Promise<boolean> {
    const { store, world, onCallbacks } = this.#parts;
    for (const part of partsOf(this.#load.bounded(observation))) {
      const writing = store.database.write((tx) => store.ledger.apply(tx, world.now(), part));
      // Told already now, the dispatcher's claim comes behind this write, and shares its commit.
      if (part.seen.length + part.gone.length > 0) onCallbacks();
      const applied = await writing;
      if (applied.callbacks > 0) onCallbacks();
      for (const txid of applied.reversed) {
        world.log.warn('a payment was taken back by the chain', { txid });
      }
      if (applied.foreignUse !== undefined) {
        world.log.warn('an address was paid that was not issued yet', { ...applied.foreignUse });
      }
      if (applied.claimedUse !== undefined) {
        const { label } = by.server;
        this.#claimants.set(applied.claimedUse.walletId, label);
        const statusChanged = { byServerAlone: label, ...applied.claimedUse };
        world.log.warn('an address was paid that was not issued yet', statusChanged);
      }
      if (applied.again) return false;
    }
    return true;
  }

  /** Another server has answered in its place: from the second time on it may be left for that one. */
  #isOverdue(session: Session, error: RequestTimeout): void {
    const times = (this.#overdue.get(session) ?? 0) + 1;
    this.#overdue.set(session, times);
    if (times > 1) this.#parts.onMute(session, error.message);
  }

  #isStuck(session: Session, scripthash: Scripthash, failure: ScriptFailure): void {
    const { by, reason } = failure;
    const { world, onMute } = this.#parts;
    const fields = { scripthash, server: by.server.label, reason };
    world.log.warn('a transaction that a history names is not shown', fields);
    this.#failing.add(scripthash, failure);
    if (by === session) onMute(session, reason);
  }

  /** Whether it has ended, or is no longer the one in use. */
  #isOver(session: Session): boolean {
    return session.closed || session !== this.#session;
  }

  async #failed(
    session: Session,
    scripthash: Scripthash,
    look: Check,
    error: unknown,
  ): Promise<void> {
    this.#force(scripthash, look === 'changed' ? 'again' : look);
    // In the next session it would take places before all else again.
    const waits = error instanceof RequestTimeout || this.#failures.has(scripthash);
    if (this.#isOver(session) && (error instanceof Lie || !waits)) {
      this.#dirty.add(scripthash);
    } else if (!(error instanceof Lie)) {
      const known = error instanceof ServerError || error instanceof PaygateError;
      this.#parts.world.log[known ? 'warn' : 'error']('a history could not be worked up', {
        scripthash,
        server: session.server.label,
        reason: reasonOf(error),
      });
      const isUnshown = error instanceof RequestTimeout && error.request !== methods.history;
      const failure = failureOf(session, error, isUnshown);
      const isSecondTime = this.#failing.add(scripthash, failure);
      this.#later(scripthash);
      // What our own disk refuses is no fault of the server.
      if (isSecondTime && !(error instanceof ServerError) && !(error instanceof Unwritten)) {
        this.#parts.onMute(session, reasonOf(error));
      }
    } else {
      const liar = error.by ?? session;
      const isSecondTime = this.#suspect.get(scripthash) === liar;
      this.#suspect.set(scripthash, liar);
      // The first time, a reorganisation may have fallen between the history and the proof.
      if (!isSecondTime) {
        this.#dirty.add(scripthash);
        await this.#refresh(liar);
      } else if (this.#parts.onLie(liar, error.message)) this.#dirty.add(scripthash);
      // The block that decides between the branches may make it true.
      else this.#later(scripthash, 'or at our next tip');
    }
  }

  /** A liar may take as long as it likes, and must not hold up the script that it lied of. */
  async #refresh(liar: Session): Promise<void> {
    const { world, tasks, refreshTip } = this.#parts;
    const refreshed = refreshTip(liar);
    tasks.run(() => refreshed);
    await waitAtMost(world, refreshed, headersMs);
  }

  /** Looks at a script again in a while, whatever else happens. */
  #later(scripthash: Scripthash, orWhen?: 'or at our next tip'): void {
    if (orWhen !== undefined) this.#waitingForTip.add(scripthash);
    const failures = (this.#failures.get(scripthash) ?? 0) + 1;
    this.#failures.set(scripthash, failures);
    if (this.#retrying.has(scripthash)) return;
    const cancel = this.#parts.world.after(scriptBackoffMs(failures), () => {
      this.#retrying.delete(scripthash);
      this.add(scripthash);
    });
    this.#retrying.set(scripthash, cancel);
  }

  /** What fails next is no longer a failure in a row, and does not wait as long as one. */
  #succeeded(scripthash: Scripthash): undefined {
    this.#failures.delete(scripthash);
    this.#retrying.get(scripthash)?.();
    this.#retrying.delete(scripthash);
    // A sweep that came by meanwhile has left its look to the try that is cancelled now.
    if (this.#forced.has(scripthash)) this.#dirty.add(scripthash);
  }
}
