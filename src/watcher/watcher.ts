// Watches every address of the file on an Electrum server. It decides what is looked at and when;
// verifier and drain decide what is believed. A start, a reconnect and a notification all end in the
// same comparison: the server's status of a script against the one that we worked up last.

import type { Scripthash } from '../bitcoin/ids.ts';
import { Pool } from '../electrum/pool.ts';
import type { Session } from '../electrum/session.ts';
import type { HeaderTip } from '../electrum/wire.ts';
import { type BackgroundTasks, createBackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Cancel } from '../world/world.ts';
import { AddressSubscriptions } from './address-subscriptions.ts';
import { FinalityHold, promote } from './finality-hold.ts';
import { createHeaderSync, type HeaderSync } from './header-sync.ts';
import { createOtherServers } from './other-servers.ts';
import { createProofs, Lie } from './proofs.ts';
import { Reader } from './reader.ts';
import { createSecondOpinions } from './second-opinion.ts';
import { createServerMemory, ServerChoice } from './server-choice.ts';
import type { WatcherStatus } from './status.ts';
import { createSweeps, type Sweeps } from './sweeps.ts';
import { WalletMaintenance } from './wallet-lookahead.ts';
import type { WatcherParts } from './watcher-parts.ts';
import { WorkQueue } from './work-queue.ts';

const everyMinute = '0 * * * * *';
/** How seldom a server is left because it does not answer what a history needs. */
const muteLeaveMs = 3_600_000;
/** Until what the disk refused to keep is tried again. */
const unwrittenAgainMs = 2_000;

export class Watcher {
  readonly #parts: WatcherParts;
  readonly #tasks: BackgroundTasks;
  readonly #chainSync: HeaderSync;
  readonly #drain: WorkQueue;
  readonly #pool: Pool;
  readonly #sweeper: Sweeps;
  /** Asks the server in use for what we do not keep. */
  readonly reader: Reader;
  readonly #roster: ServerChoice;
  readonly #hold: FinalityHold;
  readonly #care: WalletMaintenance;
  #cancelSweep: Cancel = () => {};
  #session: Session | undefined;
  #subscriber: AddressSubscriptions | undefined;
  #caughtUp = false;
  #catchUpFault: string | undefined;
  #mayLeaveMuteAt = 0;

  constructor(parts: WatcherParts) {
    const { world, store, network, proveDepthAboveSat } = parts;
    this.#parts = parts;
    this.#tasks = createBackgroundTasks((error) => this.#logFailure(error));
    const proofs = createProofs({ store, network, proveDepthAboveSat });
    this.#chainSync = createHeaderSync({
      world,
      store,
      network,
      onTip: (_tip, reorganised, callbacks) => this.#tipMoved(reorganised, callbacks),
    });
    this.#roster = new ServerChoice({
      world,
      store,
      network: network.name,
      pool: () => this.#pool,
      chainSync: this.#chainSync,
    });
    this.#hold = new FinalityHold({
      world,
      store,
      servers: parts.servers.map(({ label }) => label),
    });
    const elsewhere = (session: Session) => this.#roster.healthy().find((each) => each !== session);
    const common = { world, store, tasks: this.#tasks, proofs, elsewhere };
    this.#drain = new WorkQueue({
      ...parts,
      ...common,
      chainSync: this.#chainSync,
      others: createOtherServers(world, this.#roster, () => this.#pool),
      callWitness: createSecondOpinions({
        world,
        pool: () => this.#pool,
        roster: this.#roster,
        servers: parts.servers.length,
      }),
      onLie: (session, reason) => this.#lied(session, reason),
      onMute: (session, reason) => this.#leaveMute(session, reason),
      refreshTip: (session) => this.#refreshTip(session),
    });
    this.#sweeper = createSweeps({
      world,
      store,
      watched: () => this.#session,
      live: () => this.#pool.live(),
      sound: () => this.#roster.healthy(),
      isSubscribed: (scripthash) => this.#subscriber?.has(scripthash) === true,
      mark: (scripthash) => this.#drain.add(scripthash, 'cross'),
    });
    this.#care = new WalletMaintenance({
      ...common,
      session: () => (this.#caughtUp ? this.#session : undefined),
      isComparing: () => this.#session?.server.own === true && !this.#caughtUp,
      watch: (these) => this.#watch((subscriber) => subscriber.add(these)),
      watchReserve: (these) => this.#watch((subscriber) => subscriber.addLookahead(these)),
      onRefusal: (session, reason) => this.#leaveMute(session, reason),
    });
    this.reader = new Reader({
      store,
      elsewhere,
      session: () => (this.#caughtUp ? this.#session : undefined),
      isPending: (scripthash) => this.isPending(scripthash),
      onLie: (session, reason) => this.#pool.ban(session, reason),
    });
    this.#pool = new Pool({
      world,
      servers: parts.servers,
      session: { proxy: parts.proxy, ownMaxInFlight: parts.ownMaxInFlight },
      genesisHash: network.genesisHash,
      memory: createServerMemory({
        servers: store.servers,
        now: () => world.now(),
        isClockWrong: parts.isClockWrong ?? (() => false),
      }),
      handlers: {
        onSession: (session) => this.#joined(session),
        onLost: (session) => this.#lost(session),
        onHeader: (from, tip) => this.#announced(from, tip),
        onStatus: (from, ...told) => {
          if (from === this.#session) this.#drain.statusChanged(...told);
        },
      },
    });
  }

  #announced(from: Session, tip: HeaderTip): void {
    if (!this.#chainSync.replacePending(from, tip)) this.#tasks.run(() => this.#follow(from, tip));
  }

  #logFailure(error: unknown): void {
    const reason = reasonOf(error);
    this.#parts.world.log.error('background work failed', { reason });
  }

  start(): void {
    this.#pool.start();
    this.#care.now();
    this.#cancelSweep = this.#parts.world.schedule(everyMinute, () => {
      this.#look();
      this.#tasks.run(() => this.#sweeper.sweep(this.#caughtUp));
    });
  }

  /** An address was issued: see that it is watched, and that more are derived ahead. */
  issued(scripthash: Scripthash): void {
    this.#care.issued(scripthash);
    // One server alone names a payment to it, which was not worked up while nobody held the address.
    if (this.#parts.store.addresses.byScripthash(scripthash)?.statusHash != null) {
      this.#drain.add(scripthash);
    }
  }

  /** The catalog changed: there may be a new wallet. */
  catalogChanged(): void {
    this.#care.now();
    this.#tasks.run(() => this.#promote());
  }

  /** A person has forgotten what was learnt of a server, or lifted its ban. */
  serversChanged(): void {
    this.#pool.reconsider();
  }

  status(): WatcherStatus {
    return {
      servers: this.#pool.status(),
      server: this.#session?.server.label,
      caughtUp: this.#caughtUp,
      tipHeight: this.#parts.store.headers.tipHeight(),
      dirty: this.#drain.size(),
      holdReasons: this.#hold.reasons(),
      failures: this.#drain.scriptFailures(),
      catchUpFault: this.#catchUpFault,
      refusedSubscriptions: this.#subscriber?.refusals(),
      walletFault: this.#care.fault(),
      soleReporters: this.#drain.soleReporters(),
    };
  }

  /** Whether something was told of a script that is not worked up yet. */
  isPending(scripthash: Scripthash): boolean {
    return this.#drain.isPending(scripthash);
  }

  /** Resolves when all that the server has said until now is worked up. */
  async idle(): Promise<void> {
    await this.#tasks.idle();
    // The answer to a ping comes behind every notification that was sent before it.
    await Promise.all(this.#pool.live().map((session) => session.ping().catch(() => {})));
    await this.#tasks.idle();
  }

  async stop(): Promise<void> {
    this.#care.stop();
    this.#cancelSweep();
    this.#drain.use(undefined);
    this.#pool.stop();
    await this.#tasks.idle();
  }

  /** The first session is the one that addresses are watched on; another one is a second voice. */
  #joined(session: Session): void {
    if (this.#session === undefined) this.#begin(session);
    else this.#tasks.run(() => this.#hearSecond(session));
  }

  async #hearSecond(session: Session): Promise<void> {
    await this.#refreshTip(session);
    this.#drain.joined();
  }

  #begin(session: Session): void {
    this.#session = session;
    this.#subscriber = new AddressSubscriptions(
      {
        world: this.#parts.world,
        store: this.#parts.store,
        max: this.#parts.maxSubscribed,
        tasks: this.#tasks,
        differs: (...told) => this.#drain.statusChanged(...told),
        refusals: (scripthash) => this.isPending(scripthash) || this.#drain.add(scripthash),
      },
      session,
    );
    this.#tasks.run(() => this.#catchUp(session));
  }

  /** Nothing is watched on the server in use any more. */
  #end(): void {
    const isCutOff = this.#session !== undefined && !this.#caughtUp;
    this.#session = undefined;
    this.#subscriber = undefined;
    this.#caughtUp = false;
    this.#drain.use(undefined);
    if (isCutOff) this.#care.now();
  }

  #lost(session: Session): void {
    if (this.#session !== session) return;
    this.#end();
    const next = this.#roster.choose(undefined);
    if (next !== undefined) this.#begin(next);
  }

  /** Where the servers stand to our chain: which one is watched, and whether anything is promoted. */
  #look(): void {
    const live = this.#roster.assess();
    const next = this.#roster.choose(this.#session);
    if (next !== this.#session) this.#move(next);
    this.#tasks.run(async () => this.#owe(await this.#hold.update(live, this.#isBeyondLies())));
  }

  /** From a server in doubt to a better one, or to none. */
  #move(next: Session | undefined): void {
    const before = this.#session;
    this.#end();
    // It comes back without the subscriptions, to be looked at.
    const doubt = this.#pool.status().find(({ label }) => label === before?.server.label)?.doubt;
    before?.close(`left in doubt: ${doubt}`);
    if (this.#session === undefined && next !== undefined) this.#begin(next);
  }

  /** A server is in use that told no lie of late, or that has gone through everything since. */
  #isBeyondLies(): boolean {
    const server = this.#session?.server.label;
    if (server === undefined) return false;
    if (this.#caughtUp && this.#drain.size() === 0) return true;
    return this.#pool.status().find(({ label }) => label === server)?.ban === undefined;
  }

  /** @returns whether it was one: of another branch, other things are true */
  #lied(session: Session, reason: string): boolean {
    this.#look();
    if (this.#roster.mayDiffer(session)) return false;
    this.#report(session, reason);
    return true;
  }

  /** A live server whose node may be dead; not in turns with another one that is no better. */
  #leaveMute(session: Session, reason: string): void {
    const now = this.#parts.world.monotonic();
    if (now < this.#mayLeaveMuteAt || session !== this.#session) return;
    if (!this.#roster.healthy().some((each) => each !== session)) return;
    this.#mayLeaveMuteAt = now + muteLeaveMs;
    session.close(`it does not tell what is needed: ${reason}`);
  }

  #report(session: Session, reason: string): void {
    const { label } = session.server;
    this.#pool.ban(session, reason);
    if (this.#pool.live().length > 0) return;
    this.#tasks.run(async () => this.#owe(await this.#hold.lied(label)));
  }

  #owe(callbacks: number): void {
    if (callbacks > 0) this.#parts.onCallbacks();
  }

  /** Follows the server to its tip, then compares every address with it. Another one may be in use by then. */
  async #catchUp(session: Session): Promise<void> {
    const subscriber = this.#subscriber;
    try {
      await this.#follow(session, await session.subscribeHeaders());
      if (session.closed || session !== this.#session) return;
      this.#drain.use(session);
      this.#markOffChain();
      await this.#promote();
      await subscriber?.all();
      if (session === this.#session && !session.closed) this.#hasCaughtUp(session);
      this.#care.now();
      await subscriber?.allLookahead();
    } catch (error) {
      // That it is cut off by us, or that our own disk refuses writes, is no fault of the server.
      if (session === this.#session && !(error instanceof Unwritten))
        this.#catchUpFault = `${session.server.label}: ${reasonOf(error)}`;
      this.#failed(session, 'catching up', error, () => this.#catchUp(session));
    }
  }

  #hasCaughtUp({ server }: Session): void {
    this.#caughtUp = true;
    this.#catchUpFault = undefined;
    const addresses = this.#subscriber?.size;
    this.#parts.world.log.info('every address is compared', { server: server.label, addresses });
  }

  /** Subscribes addresses that are new since the session began. */
  async #watch(subscribe: (subscriber: AddressSubscriptions) => Promise<void>): Promise<void> {
    const session = this.#session;
    try {
      if (this.#subscriber !== undefined) await subscribe(this.#subscriber);
    } catch (error) {
      // An address that nobody watches must not be: the next session subscribes it.
      session?.close(`subscribing failed: ${reasonOf(error)}`);
    }
  }

  /** Connects what a server announced. A lie is one only when its newest word is one as well. */
  async #follow(session: Session, tip: HeaderTip): Promise<void> {
    try {
      await this.#chainSync.sync(session, tip);
      this.#look();
    } catch (error) {
      if (session.closed) return;
      if (error instanceof Lie) await this.#refreshTip(session);
      else this.#failed(session, 'headers', error, () => this.#follow(session, tip));
    }
  }

  /** What our own disk refuses to keep is no fault of the server: the work is done again. */
  #failed(session: Session, what: string, error: unknown, again: () => Promise<void>): void {
    if (!(error instanceof Unwritten)) session.close(`${what} failed: ${reasonOf(error)}`);
    else this.#parts.world.after(unwrittenAgainMs, () => session.closed || this.#tasks.run(again));
  }

  async #refreshTip(session: Session): Promise<void> {
    try {
      await this.#chainSync.sync(session, await session.subscribeHeaders());
      this.#look();
    } catch (error) {
      if (session.closed) return;
      if (error instanceof Lie) this.#report(session, error.message);
      else this.#failed(session, 'headers', error, () => this.#refreshTip(session));
    }
  }

  /** A store may ask for fewer confirmations than before, or a crash have left some over. */
  async #promote(): Promise<void> {
    this.#owe(await promote(this.#parts));
  }

  #tipMoved(reorganised: boolean, callbacks: number): void {
    this.#owe(callbacks);
    if (reorganised) this.#markOffChain();
    this.#drain.tipMoved();
  }

  /** Payments whose block left the chain: what became of them stands in their histories. */
  #markOffChain(): void {
    for (const scripthash of this.#parts.store.ledger.offChain()) {
      this.#drain.add(scripthash, 'again');
    }
  }
}
