// The composition root: builds every part of paygate and connects them. `paygate serve` and the
// tests run the same one; the tests bring a World whose clock they move.

import { createHttpApp, type HttpAppOptions } from './api/http-app.ts';
import { defaultNetwork, type Network, type NetworkName, networks } from './bitcoin/network.ts';
import { apiSettings, type Config } from './config.ts';
import { createDashboard, type Dashboard } from './dashboard/dashboard.ts';
import type { DashboardOptions, ExtraPage } from './dashboard/page.ts';
import { createSignInLink } from './dashboard/sign-in-link.ts';
import { CallbackDispatcher } from './delivery/dispatcher.ts';
import { createSender } from './delivery/sender.ts';
import { newWebhookSecret } from './delivery/signature.ts';
import { clockError } from './domain/clock-check.ts';
import { builtInServers, type ServerAddress } from './electrum/server-address.ts';
import { PaygateError } from './lib/errors.ts';
import { oncePerTurn } from './lib/next-turn.ts';
import { version } from './lib/version.ts';
import { Prices } from './price/prices.ts';
import { ReceiptPricer } from './price/receipt-pricer.ts';
import { builtInSources } from './price/sources.ts';
import { FindingHistory } from './status/finding-history.ts';
import { currentFindings, type FindingSource } from './status/findings.ts';
import { createGapWarnings } from './status/gap-warnings.ts';
import { createHealth, type HealthReport, hostWarnings } from './status/health.ts';
import type { Metrics, MetricsParts } from './status/metrics.ts';
import { createReadiness } from './status/readiness.ts';
import { createSnapshots, type Snapshots } from './store/backup/backup-schedule.ts';
import type { CopyCheck } from './store/backup/daily-check.ts';
import { inspectFile, lockForServer } from './store/db/file-guards.ts';
import { createIssuingGuard, type IssuingGuard } from './store/db/issuing-guard.ts';
import { type Maintenance, startMaintenance } from './store/db/maintenance.ts';
import { type HighWaterMark, openHighWaterMark } from './store/mark/high-water-mark.ts';
import { resumeCounters } from './store/mark/resume.ts';
import { openStore, type Store } from './store/open-store.ts';
import { beginAt, followedNetwork } from './store/records/headers.ts';
import { createBacklog } from './watcher/backlog.ts';
import { logPayment } from './watcher/payment-log.ts';
import { createWatcher, type Watcher } from './watcher/watcher.ts';
import { type ChangeFeed, createChangeFeed } from './web/change-feed.ts';
import type { Fetch } from './web/http-server.ts';
import { createListeners, type Listeners } from './web/listeners.ts';
import { createMetricsEndpoint } from './web/metrics-endpoint.ts';
import { createUntrustedProxies, type UntrustedProxies } from './web/untrusted-proxies.ts';
import { minFreeBytes } from './world/disk.ts';
import type { Cancel, World } from './world/world.ts';

export interface App {
  readonly fetch: Fetch;
  readonly network: Network;
  /** Listens, connects, delivers. Resolves with the port once the API answers. */
  start(): Promise<{ readonly port: number; readonly metricsPort?: number | undefined }>;
  stop(): Promise<void>;
  /** Resolves when every notification so far is processed and no callback is due. */
  idle(): Promise<void>;
  health(): HealthReport;
  /** A one-time link to the dashboard until its password is set. */
  firstLink(origin: string): Promise<string | undefined>;
}

export interface AppOptions {
  /** The file is no longer certain (a failed fsync): the process must end at once. */
  readonly onFatal: (error: Error) => void;
  /** What the dashboard has beside its own pages. */
  readonly extraPages?: readonly ExtraPage[];
  /** A clock that shows an earlier time is wrong, epoch milliseconds; 0 without it. */
  readonly releasedAt?: number;
  /** Checks a snapshot once a day; no check without it. */
  readonly checkCopy?: CopyCheck | undefined;
}

const everyMinute = '0 * * * * *';

/** Opens the file. @throws PaygateError with one line for the person who starts paygate */
export async function buildApp(config: Config, world: World, options: AppOptions): Promise<App> {
  const entrance = createListeners(config, world);
  const prices = pricesFor(config, world);
  // Before a file is made, whose network is fixed, and that could not be served.
  if (inspectFile(config.db) === 'absent') {
    const network = beginAt(networks[config.network ?? defaultNetwork], config.checkpoint);
    serversFor(network.name, config);
    await entrance.tryPorts([config.metricsListen ?? []].flat());
  }
  const lock = lockForServer(config.db);
  let store: Store | undefined;
  let mark: HighWaterMark | undefined;
  let receiptPricer: ReceiptPricer | undefined;
  let floors: ReadonlyMap<string, number> = new Map();
  const feed = createChangeFeed((paymentId) => store?.receipts.byId(paymentId));
  const meter: Meter = { metrics: undefined };
  async function release(): Promise<void> {
    await store?.database.close();
    mark?.close();
    lock.release();
  }
  try {
    store = await openStore({
      path: config.db,
      create: true,
      hasLock: true,
      network: config.network,
      newInstance: () => Buffer.from(world.randomBytes(16)).toString('hex'),
      beforeCommit: (raises) => mark?.raise(raises),
      floorOf: (wallet) => floors.get(wallet) ?? 0,
      onPayment(paymentId, move) {
        meter.metrics?.moved(move);
        feed.paymentChanged(paymentId);
        logPayment(world.log, (id) => store?.receipts.byId(id), paymentId, move);
        receiptPricer?.wake();
      },
      onTip: feed.pagesChanged,
      onFatal: options.onFatal,
      onUpdate: (versions) =>
        world.log.info(
          'the database is brought to this version; nobody is answered meanwhile',
          versions,
        ),
    });
    const network = followedNetwork(store, config.checkpoint);
    const servers = serversFor(network.name, config);
    mark = openHighWaterMark(config.db, store.instance);
    floors = await resumeCounters(store, mark, world);
    if (prices !== undefined) {
      receiptPricer = new ReceiptPricer({ ...store, world, prices, onPriced: feed.pagesChanged });
    }
    const file = store;
    const { extraPages = [], checkCopy, releasedAt } = options;
    const findClockFault = () =>
      clockError(world.now(), { releasedAt, newestBlockTime: file.headers.tipTime() });
    const opened = { config, world, entrance, store, network, servers, prices, receiptPricer };
    const parts = { ...opened, feed, meter, clockFault: findClockFault, extraPages, checkCopy };
    return join(parts, release);
  } catch (error) {
    await release();
    throw error;
  }
}

/** @throws PaygateError invalid when there is nothing to watch the network with */
function serversFor(network: NetworkName, { electrum }: Config): readonly ServerAddress[] {
  const servers = electrum.length > 0 ? electrum : builtInServers(network);
  if (servers.length === 0) {
    throw new PaygateError('invalid', `--electrum: name a server, ${network} has no built-in list`);
  }
  return servers;
}

/** Undefined if prices are off. @throws PaygateError invalid when no source is named */
function pricesFor({ price = 'off', priceSource = [] }: Config, world: World): Prices | undefined {
  if (price === 'off') return undefined;
  if (price === 'own' && priceSource.length === 0) {
    throw new PaygateError('invalid', '--price own: name a source with --price-source');
  }
  const sources = price === 'own' ? priceSource : [...builtInSources, ...priceSource];
  return new Prices({ world, sources });
}

interface Parts {
  readonly config: Config;
  readonly world: World;
  readonly entrance: Listeners;
  readonly store: Store;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  readonly prices: Prices | undefined;
  readonly receiptPricer: ReceiptPricer | undefined;
  readonly feed: ChangeFeed;
  readonly extraPages: readonly ExtraPage[];
  readonly checkCopy: CopyCheck | undefined;
  readonly meter: Meter;
  /** What shows that the clock is wrong; undefined while nothing does. */
  readonly clockFault: () => string | undefined;
}

/** Is filled, where metrics are asked for, once all that they look at is made. */
interface Meter {
  metrics: Metrics | undefined;
}

/** The path of a payment: watcher, backlog, dispatcher, sender. */
function joinRoad(parts: Parts) {
  const { config, world, entrance, store, network, servers, meter } = parts;
  const isClockWrong = oncePerTurn(() => parts.clockFault() !== undefined);
  const sender = createSender(world, {
    version: version.split('.').slice(0, 2).join('.'),
    listeners: entrance.addresses,
    proxy: config.proxy,
    isClockWrong,
  });
  const backlog = createBacklog(world, () => dispatcher.wake());
  const dispatcher = new CallbackDispatcher({
    ...store,
    world,
    sender,
    isHeldBack: () => backlog.isHolding(),
    onAttempt: (report) => meter.metrics?.attempted(report),
  });
  const watcher = createWatcher({
    world,
    store,
    network,
    servers,
    proxy: config.proxy,
    ownMaxInFlight: config.electrumInFlight,
    proveDepthAboveSat: config.proveDepthAbove,
    isClockWrong,
    backlog,
    onCallbacks: () => dispatcher.wake(),
  });
  return { sender, dispatcher, watcher };
}

function join(parts: Parts, release: () => Promise<void>): App {
  const { config, world, entrance, store, network, prices, receiptPricer, meter } = parts;
  const { sender, dispatcher, watcher } = joinRoad(parts);
  const room = createIssuingGuard(store.database, store.addresses.isSetBack);
  const snapshots = snapshotsFor(parts);
  const clocks = clocksOf(world);
  const untrustedProxies = untrustedProxiesOf(parts);
  const sources = findingSourcesOf(parts, { room, snapshots, untrustedProxies, dispatcher });
  const findingParts = { ...clocks, ...room, store, watcher, dispatcher, sources };
  const health = createHealth(findingParts);
  const findingHistory = new FindingHistory({
    ...clocks,
    store,
    log: world.log,
    find: () => currentFindings(findingParts, watcher.status()),
  });
  const ready = createReadiness({ store, dispatcher, watcher, ...room });
  const dashboard = dashboardFor(parts, { health, findingHistory, sender, watcher, dispatcher });
  const { app: pages, isSignedIn } = dashboard;
  const served = { health, ready, untrustedProxies, watcher, room, pages, isSignedIn };
  const fetch = fetchFor(parts, served);
  const cancels: Cancel[] = [];
  const { database } = store;
  const onOthers = () => {
    watcher.catalogChanged();
    watcher.serversChanged();
    dispatcher.retry();
  };
  let tending: Maintenance | undefined;
  let starting: ReturnType<App['start']> | undefined;

  async function start(): ReturnType<App['start']> {
    const port = await entrance.open(fetch);
    let metricsPort: number | undefined;
    if (config.metricsListen !== undefined) {
      meter.metrics = await makeMetrics({ store, watcher, dispatcher, ready });
      const fetch = createMetricsEndpoint(meter.metrics);
      metricsPort = await entrance.openExtra(fetch, config.metricsListen);
    }
    // Servers take a while to answer: they are dialled before the rest is done.
    watcher.start();
    cancels.push(world.schedule(everyMinute, () => entrance.pingSockets()));
    cancels.push(world.schedule(everyMinute, () => void findingHistory.record()));
    tending = startMaintenance({ world, database, guard: room, snapshots, onOthers });
    cancels.push(...tending.cancels);
    await dispatcher.start();
    receiptPricer?.start();
    return { port, metricsPort };
  }

  return {
    fetch,
    network,
    health,
    firstLink: (origin) => firstLink(store, world, origin),
    start() {
      starting = start();
      return starting;
    },
    async stop() {
      // Work that a start begins after this would never end. Its caller receives its error.
      await starting?.catch(() => {});
      for (const cancel of cancels) cancel();
      prices?.stop();
      dashboard.stop();
      // At the same time: a client and a shop that hang must not hold us up one after the other.
      const quiet = async (): Promise<void> => {
        await entrance.close();
        await watcher.stop();
      };
      await Promise.all([quiet(), dispatcher.stop(), snapshots.stop(), receiptPricer?.stop()]);
      await tending?.last();
      await release();
    },
    async idle() {
      await watcher.idle();
      await dispatcher.idle();
    },
  };
}

const untrustedProxiesOf = ({ config, world }: Parts): UntrustedProxies =>
  createUntrustedProxies({ ...clocksOf(world), ...apiSettings(config), log: world.log });

interface FindingModules {
  readonly room: IssuingGuard;
  readonly snapshots: Snapshots;
  readonly untrustedProxies: UntrustedProxies;
  readonly dispatcher: CallbackDispatcher;
}

function findingSourcesOf(
  { config, world, entrance, store, clockFault }: Parts,
  { room, snapshots, untrustedProxies, dispatcher }: FindingModules,
): FindingSource[] {
  const gapWarnings = createGapWarnings({ ...clocksOf(world), ...apiSettings(config), store });
  return [
    { code: 'file-displaced', warnings: room.warnings },
    { code: 'clock-wrong', warnings: () => [clockFault() ?? []].flat() },
    { code: 'database-damaged', warnings: snapshots.damage },
    { code: 'snapshot-failed', warnings: snapshots.warnings },
    { code: 'wallet-gap', warnings: gapWarnings },
    { code: 'unlisted-proxy', warnings: untrustedProxies.warnings },
    { code: 'shop-unreachable', warnings: () => hostWarnings(dispatcher.downHosts()) },
    { code: 'own-certificate', warnings: entrance.warnings },
  ];
}

const snapshotsFor = ({ world, store, checkCopy }: Parts): Snapshots =>
  createSnapshots(store.database, {
    floorBytes: minFreeBytes,
    check: checkCopy,
    onDamaged: (warning) => world.log.error(warning),
  });

/** Loaded where somebody wants them: the others start without. */
async function makeMetrics(parts: MetricsParts): Promise<Metrics> {
  const { createMetrics } = await import('./status/metrics.ts');
  return createMetrics(parts);
}

interface Served
  extends Pick<HttpAppOptions, 'health' | 'ready' | 'untrustedProxies' | 'pages' | 'isSignedIn'> {
  readonly watcher: Watcher;
  readonly room: IssuingGuard;
}

const fetchFor = ({ config, world, ...parts }: Parts, served: Served): Fetch => {
  const { watcher, room, ...made } = served;
  return createHttpApp({
    ...parts,
    ...made,
    ...clocksOf(world),
    ...apiSettings(config),
    log: world.log,
    publicUrl: config.publicUrl,
    ownNames: [config.listen.host],
    reader: watcher.reader,
    after: (delayMs, run) => world.after(delayMs, run),
    surroundings: () => surroundingsOf(config, world),
    newWebhookSecret: () => newWebhookSecret((length) => world.randomBytes(length)),
    isCaughtUp: () => watcher.status().caughtUp,
    isPending: (scripthash) => watcher.isPending(scripthash),
    scanFault() {
      const { walletFault: careFault, server } = watcher.status();
      return careFault ?? (server === undefined ? 'no Electrum server is connected' : undefined);
    },
    checkIssuing: room.check,
    onIssued: ({ scripthash }) => watcher.issued(scripthash),
  });
};

const firstLink = async (
  store: Store,
  world: World,
  origin: string,
): Promise<string | undefined> =>
  store.admin.operator() === undefined ? createSignInLink(store, world, origin) : undefined;

interface Made extends Pick<DashboardOptions, 'health' | 'findingHistory' | 'sender'> {
  readonly watcher: Watcher;
  readonly dispatcher: CallbackDispatcher;
}

const dashboardFor = (
  { config, ...parts }: Parts,
  { watcher, dispatcher, ...made }: Made,
): Dashboard =>
  createDashboard({
    ...parts,
    ...made,
    proxies: config.trustedProxy,
    publicUrl: config.publicUrl,
    walletGap: config.walletGap,
    callbackSender: () => surroundingsOf(config, parts.world),
    onCatalogChange: () => watcher.catalogChanged(),
    onServerChange: () => watcher.serversChanged(),
    onCallbacksDue: () => dispatcher.retry(),
  });

const surroundingsOf = ({ proxy }: Config, world: World) => ({
  ownAddresses: world.ownAddresses(),
  hasProxy: proxy !== undefined,
});

const clocksOf = (world: World) => ({
  now: () => world.now(),
  monotonic: () => world.monotonic(),
});
