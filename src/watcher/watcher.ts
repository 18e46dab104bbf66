// Watches every address of the file on an Electrum server: which session is used, and when
// addresses are compared. A start, a reconnect and a notification all end in the same comparison,
// of the server's status of a script with the recorded one. What is true is decided by proofs.ts
// and address-sync.ts.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Network } from '../bitcoin/network.ts';
import { Pool, type PoolHandlers } from '../electrum/pool.ts';
import type { ServerAddress } from '../electrum/server-address.ts';
import type { Session } from '../electrum/session.ts';
import { type BackgroundTasks, createBackgroundTasks } from '../lib/background-tasks.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { Events } from '../lib/events.ts';
import { Unwritten } from '../store/db/disk-refusal.ts';
import type { Records } from '../store/open-records.ts';
import { type AgeJudge, trustedClock } from '../world/clock-watch.ts';
import type { Cancel, SocksProxy, World } from '../world/world.ts';
import { type AddressSubscriptions, CurrentSubscriptions } from './address-subscriptions.ts';
import { AddressSync, createAnnouncements } from './address-sync.ts';
import type { Backlog } from './backlog.ts';
import { type AssessedServer, FinalityHold, promote } from './finality-hold.ts';
import { createHeaderSync, type HeaderSync } from './header-sync.ts';
import { Interruption } from './interruption.ts';
import { createOrderExpiry, type OrderExpiry } from './order-expiry.ts';
import { createFallback, createOtherServers } from './proof/other-servers.ts';
import { createProofs } from './proof/proofs.ts';
import { createAbsenceTracker, createSecondOpinions } from './proof/second-opinion.ts';
import { ChainReader } from './reader.ts';
import { createRebroadcast } from './rebroadcast.ts';
import { createRefundWatch } from './refund-watch.ts';
import { createServerMemory, ServerChoice } from './server-choice.ts';
import { createSweeps, type Sweeps } from './sweeps.ts';
import { WalletMaintenance } from './wallet/wallet-lookahead.ts';
import type { WatcherEventMap, WatcherEvents } from './watcher-events.ts';
import { WorkQueue } from './work-queue.ts';

export interface WatcherParts {
  readonly world: World;
  readonly records: Records;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  /** All servers are connected through it. */
  readonly proxy: SocksProxy | undefined;
  /** Requests in flight at an own server, where the operator has set it. */
  readonly ownMaxInFlight?: number | undefined;
  /** Payments above it also need the depth of their block's tree. */
  readonly proveDepthAboveSat: number;
  /** How many addresses are subscribed at a server: see address-subscriptions.ts. */
  readonly maxSubscribed?: number;
  /** While it is, no certificate is stored; never without it. */
  readonly isClockWrong?: () => boolean;
  /** Orders change with time and old transactions are deleted by it. */
  readonly clock?: AgeJudge;
  readonly backlog: Backlog;
}

export type WatcherStatus = ReturnType<Watcher['status']>;

/** Builds the collaborators, from those that need no other one to the watcher. */
export function createWatcher(parts: WatcherParts): Watcher {
  const { world, records, network } = parts;
  const tasks = createBackgroundTasks((error) =>
    world.log.error('background work failed', { reason: reasonOf(error) }),
  );
  const events: WatcherEvents = new Events<WatcherEventMap>();
  const recheck = (scripthash: Scripthash) => events.emit('recheck', scripthash);
  const announcements = createAnnouncements(world, recheck);
  const interruption = new Interruption({ world, records, tasks });
  const absences = createAbsenceTracker(world, recheck);
  const hold = new FinalityHold({
    world,
    records,
    servers: parts.servers.map((each) => each.label),
  });
  const proofs = createProofs({ records, network, proveDepthAboveSat: parts.proveDepthAboveSat });
  const headerSync = createHeaderSync({
    world,
    records,
    network,
    onTip: (_tip, isReorganised, callbacks) => events.emit('tipChanged', isReorganised, callbacks),
  });
  const pool = createPool(parts, events);
  const common = { world, records, tasks, events };
  const servers = new ServerChoice({ ...common, network: network.name, pool, headerSync });
  const requestSecondOpinion = createSecondOpinions({ world, pool, servers });
  const fallback = createFallback(world, createOtherServers(world, servers, pool));
  const opinions = { requestSecondOpinion, absences };
  const evidence = { proofs, servers, fallback, ...opinions };
  const syncParts = { ...common, ...evidence, headerSync, announcements, interruption };
  const addressSync = new AddressSync(syncParts);
  const { backlog } = parts;
  const syncing = { servers, addressSync, announcements, interruption };
  const queue = new WorkQueue({ ...common, ...syncing, backlog });
  const subscriptions = new CurrentSubscriptions({
    ...common,
    max: parts.maxSubscribed,
    queue,
    interruption,
  });
  const { clock = trustedClock } = parts;
  const rebroadcast = createRebroadcast({ world, clock, records, pool });
  const sweeps = createSweeps({ ...common, servers, subscriptions, queue, rebroadcast });
  const wallets = new WalletMaintenance({ ...common, proofs, servers, subscriptions });
  const orderExpiry = createOrderExpiry({ ...common, clock, servers, queue, interruption });
  const reader = new ChainReader({ records, pool, servers, queue });
  const watchRefunds = createRefundWatch({ ...common, network, proofs, pool, servers });
  return new Watcher({
    ...common,
    pool,
    headerSync,
    hold,
    servers,
    addressSync,
    queue,
    subscriptions,
    sweeps,
    wallets,
    reader,
    orderExpiry,
    interruption,
    watchRefunds,
  });
}

function createPool(parts: WatcherParts, events: WatcherEvents): Pool {
  const { world, records, servers, network, proxy, ownMaxInFlight } = parts;
  const handlers: PoolHandlers = {
    onSession: (session) => events.emit('connected', session),
    onLost: (session) => events.emit('disconnected', session),
    onHeader: (session, tip) => events.emit('header', session, tip),
    onStatus: (session, scripthash, status) => events.emit('status', session, scripthash, status),
  };
  return new Pool({
    world,
    servers,
    handlers,
    genesisHash: network.genesisHash,
    session: { proxy, ownMaxInFlight },
    memory: createServerMemory({
      servers: records.servers,
      now: () => world.now(),
      isClockWrong: parts.isClockWrong ?? (() => false),
    }),
  });
}

interface Collaborators {
  readonly world: World;
  readonly records: Records;
  readonly tasks: BackgroundTasks;
  readonly events: WatcherEvents;
  readonly pool: Pool;
  readonly headerSync: HeaderSync;
  readonly hold: FinalityHold;
  readonly servers: ServerChoice;
  readonly addressSync: AddressSync;
  readonly queue: WorkQueue;
  readonly subscriptions: CurrentSubscriptions;
  readonly sweeps: Sweeps;
  readonly wallets: WalletMaintenance;
  readonly reader: ChainReader;
  readonly orderExpiry: OrderExpiry;
  readonly interruption: Interruption;
  readonly watchRefunds: () => Promise<void>;
}

const everySecond = '* * * * * *';
const everyMinute = '0 * * * * *';

export class Watcher {
  readonly #parts: Collaborators;
  readonly reader: ChainReader;
  #cancels: readonly Cancel[] = [];
  #catchUpFault: string | undefined;

  constructor(parts: Collaborators) {
    this.#parts = parts;
    this.reader = parts.reader;
    const { events, servers, queue, headerSync, tasks, hold } = parts;
    events.on('connected', (session) => this.#connected(session));
    events.on('disconnected', (session) => this.#disconnected(session));
    events.on('status', (session, ...notification) => {
      if (session === servers.current) queue.statusChanged(...notification);
    });
    events.on('header', (session, tip) => {
      if (!headerSync.replacePending(session, tip)) tasks.run(() => servers.follow(session, tip));
    });
    events.on('tipChanged', (isReorganised, callbacks) => {
      this.#wakeDeliveries(callbacks);
      if (isReorganised) this.#checkReorganised();
      queue.tipChanged();
    });
    events.on('assessed', (assessed) => this.#assessed(assessed));
    events.on('lastServerLied', (label) => {
      tasks.run(async () => this.#wakeDeliveries(await hold.lied(label)));
    });
  }

  start(): void {
    const { pool, wallets, world, tasks, servers, sweeps } = this.#parts;
    const { orderExpiry, interruption, watchRefunds } = this.#parts;
    pool.start();
    wallets.now();
    this.#cancels = [
      world.schedule(everySecond, () => {
        if (interruption.look()) this.#beginAnew();
        orderExpiry.tick();
      }),
      world.schedule(everyMinute, () => {
        servers.assess();
        for (const session of servers.live()) tasks.run(() => this.#askForTip(session));
        tasks.run(() => sweeps.sweep());
        tasks.run(watchRefunds);
        interruption.tick();
        orderExpiry.reviewUnmined();
      }),
    ];
  }

  /** An address was issued: it must be watched, and more must be derived ahead. */
  issued(scripthash: Scripthash): void {
    const { wallets, records, queue } = this.#parts;
    wallets.issued(scripthash);
    // A payment that only one server reports is not recorded before the address is issued.
    if (records.addresses.byScripthash(scripthash)?.statusHash != null) queue.add(scripthash);
  }

  /**
   * The catalog changed: there may be a new wallet, and a store may require fewer confirmations.
   */
  catalogChanged(): void {
    this.#parts.wallets.now();
    this.#parts.tasks.run(() => this.#promote());
  }

  /** The operator has changed the stored trust or ban of a server. */
  serversChanged(): void {
    this.#parts.pool.reconsider();
  }

  status() {
    const { pool, servers, records, queue, hold, subscriptions, wallets, addressSync } =
      this.#parts;
    return {
      servers: pool.status(),
      /** The watched server; undefined while there is none. */
      server: servers.current?.server.label,
      /** Whether every address was compared with that server since it was connected. */
      caughtUp: servers.caughtUp !== undefined,
      tipHeight: records.headers.tipHeight(),
      dirty: queue.size(),
      /** Why no payment is promoted to 2; empty without a hold. */
      holdReasons: hold.reasons(),
      /** Scripts whose last check failed, and that are retried. */
      failures: queue.failures(),
      /** Why no server could be followed; undefined once every address was compared. */
      catchUpFault: this.#catchUpFault,
      refusedSubscriptions: subscriptions.refusals(),
      /** Why the last scan or look-ahead of a wallet failed; it is repeated after a minute. */
      walletFault: wallets.fault(),
      /** By wallet, the last server that alone reported payments to unissued addresses. */
      soleReporters: addressSync.soleReporters(),
    };
  }

  /** Whether every address was compared with the watched server since it was connected. */
  isCaughtUp(): boolean {
    return this.#parts.servers.caughtUp !== undefined;
  }

  /** Whether a server announced something about a script that is not recorded yet. */
  isPending(scripthash: Scripthash): boolean {
    return this.#parts.queue.isPending(scripthash);
  }

  /** Resolves when all that servers have sent until now is recorded. */
  async idle(): Promise<void> {
    const { tasks, pool } = this.#parts;
    await tasks.idle();
    // The response to a ping follows every notification that was sent before it.
    await Promise.all(pool.live().map((session) => session.ping().catch(() => {})));
    await tasks.idle();
  }

  async stop(): Promise<void> {
    const { wallets, queue, pool, tasks, interruption } = this.#parts;
    wallets.stop();
    for (const cancel of this.#cancels) cancel();
    await interruption.stop();
    queue.use(undefined);
    pool.stop();
    await tasks.idle();
  }

  /** The machine slept: what servers sent meanwhile may be lost, and no session knows it. */
  #beginAnew(): void {
    this.#end();
    this.#parts.pool.restart('the machine slept, or its clock jumped');
  }

  /** Addresses are watched on the first session; further ones give second opinions. */
  #connected(session: Session): void {
    const { servers, tasks, queue } = this.#parts;
    if (servers.current === undefined) this.#begin(session);
    else {
      tasks.run(async () => {
        await servers.refreshTip(session);
        queue.serverJoined();
      });
    }
  }

  #disconnected(session: Session): void {
    const { servers } = this.#parts;
    if (servers.current !== session) return;
    this.#end();
    const next = servers.choose();
    if (next !== undefined) this.#begin(next);
  }

  /** Finds a block whose notification was lost, or that a server never announced. */
  async #askForTip(session: Session): Promise<void> {
    const { events, world } = this.#parts;
    const before = session.tip;
    try {
      const tip = await session.subscribeHeaders();
      const isNew = before !== undefined && Buffer.compare(before.raw, tip.raw) !== 0;
      if (isNew) events.emit('header', session, tip);
    } catch (error) {
      // Whether the server is left is decided by the requests that a payment needs.
      if (!(error instanceof PaygateError)) throw error;
      world.log.debug('a server did not show its tip', {
        server: session.server.label,
        reason: reasonOf(error),
      });
    }
  }

  #begin(session: Session): void {
    const { servers, subscriptions, tasks } = this.#parts;
    servers.use(session);
    const begun = subscriptions.begin(session);
    tasks.run(() => this.#catchUp(session, begun));
  }

  #end(): void {
    const { servers, subscriptions, queue, wallets, interruption } = this.#parts;
    if (servers.caughtUp !== undefined) interruption.begin();
    const isCutOff = servers.current !== undefined && servers.caughtUp === undefined;
    servers.use(undefined);
    subscriptions.end();
    queue.use(undefined);
    if (isCutOff) wallets.now();
  }

  /** Moves from a server in doubt to a better one, and updates the finality hold. */
  #assessed(assessed: readonly AssessedServer[]): void {
    const { servers, tasks, hold } = this.#parts;
    const next = servers.choose();
    if (next !== servers.current) this.#moveTo(next);
    tasks.run(async () =>
      this.#wakeDeliveries(await hold.update(assessed, this.#isLiarRedeemed())),
    );
  }

  #moveTo(next: Session | undefined): void {
    const { servers, pool } = this.#parts;
    const before = servers.current;
    this.#end();
    // It reconnects without subscriptions, and is assessed again.
    const doubt = pool.status().find(({ label }) => label === before?.server.label)?.doubt;
    before?.close(`left in doubt: ${doubt}`);
    if (servers.current === undefined && next !== undefined) this.#begin(next);
  }

  /** Whether the watched server did not lie of late, or everything was checked with it since. */
  #isLiarRedeemed(): boolean {
    const { servers, queue, pool } = this.#parts;
    const server = servers.current?.server.label;
    if (server === undefined) return false;
    if (servers.caughtUp !== undefined && queue.size() === 0) return true;
    return pool.status().find(({ label }) => label === server)?.ban === undefined;
  }

  #wakeDeliveries(callbacks: number): void {
    if (callbacks > 0) this.#parts.records.events.emit('callbacksDue');
  }

  /** Follows the server to its tip, then compares every address with it. */
  async #catchUp(session: Session, subscriptions: AddressSubscriptions): Promise<void> {
    const { servers, queue, wallets } = this.#parts;
    try {
      await servers.follow(session, await session.subscribeHeaders());
      // Another server may be watched by now.
      if (servers.isOver(session)) return;
      queue.use(session);
      this.#checkReorganised();
      await this.#promote();
      await subscriptions.all();
      if (!servers.isOver(session)) this.#caughtUp(session, subscriptions.size);
      wallets.now();
      await subscriptions.allLookahead();
    } catch (error) {
      // A session that we closed, or a write that our own disk refused, is no fault of the server.
      if (session === servers.current && !(error instanceof Unwritten))
        this.#catchUpFault = `${session.server.label}: ${reasonOf(error)}`;
      const retry = () => this.#catchUp(session, subscriptions);
      servers.closeOrRetry(session, 'catching up', error, retry);
    }
  }

  #caughtUp({ server }: Session, addresses: number): void {
    this.#parts.servers.setCaughtUp();
    this.#parts.interruption.end();
    this.#catchUpFault = undefined;
    this.#parts.world.log.info('every address is compared', { server: server.label, addresses });
    this.#parts.records.events.emit('caughtUp');
  }

  /** A store may require fewer confirmations than before, or a crash have left promotions over. */
  async #promote(): Promise<void> {
    this.#wakeDeliveries(await promote(this.#parts));
  }

  /** Payments whose block left our chain: their histories decide about them. */
  #checkReorganised(): void {
    const { records, queue } = this.#parts;
    for (const scripthash of records.ledger.offChain()) queue.add(scripthash, 'again');
  }
}
