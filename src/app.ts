// The composition root: `openApp` opens the file, `startApp` builds every part of paygate from the
// bottom up and starts it. `paygate serve` and the tests run the same app; the tests bring a World
// whose clock they move.

import {
  type AddressRequestOptions,
  createAddressIssuer,
} from './api/addresses/address-requests.ts';
import type { ApiOptions } from './api/api-parts.ts';
import { createHttpApp } from './api/http-app.ts';
import { createPaymentTaker } from './api/orders/new-order.ts';
import { defaultNetwork, type Network, type NetworkName, networks } from './bitcoin/network.ts';
import { type Checkout, createCheckout } from './checkout/checkout.tsx';
import { rehearsedPage } from './checkout/rehearsed-page.tsx';
import { apiSettings, type Config } from './config.ts';
import { createDashboard, type Dashboard } from './dashboard/dashboard.ts';
import { createSignInLink } from './dashboard/guard/sign-in-link.ts';
import type { ExtraPage } from './dashboard/page.ts';
import { createDispatchers, type Dispatchers } from './delivery/dispatchers.ts';
import { createSender, type Sender } from './delivery/sender.ts';
import { newWebhookSecret } from './delivery/signature.ts';
import { baseUrlOf, publicUrlOf } from './domain/delivery/public-endpoint.ts';
import { maxBlockAgeMs } from './domain/payment/clock-check.ts';
import { builtInServers, type ServerAddress } from './electrum/server-address.ts';
import { createGreenfield } from './greenfield/greenfield.ts';
import { PaygateError } from './lib/errors.ts';
import { oncePerTurn } from './lib/next-turn.ts';
import { version } from './lib/version.ts';
import { checkNode, openNode } from './lightning/open-node.ts';
import { type OrderPlace, StoreNodes, type StoreNodesParts } from './lightning/store-nodes.ts';
import { EveningMail } from './notify/evening-mail.ts';
import { createNotifier, type Notifier } from './notify/notifier.ts';
import { PriceWatch } from './price/price-watch.ts';
import { type Prices, pricesFor } from './price/prices.ts';
import { ReceiptPricer } from './price/receipt-pricer.ts';
import { FindingHistory } from './status/finding-history.ts';
import { currentFindings, type FindingSource, priceWarnings } from './status/findings.ts';
import { createGapRefusals, createGapWarnings } from './status/gap-warnings.ts';
import { createHealth, type HealthReport, hostWarnings } from './status/health.ts';
import { downWarnings, refusedWarnings } from './status/lightning-warnings.ts';
import { createReadiness, type Readiness } from './status/readiness.ts';
import { createSnapshots, type Snapshots } from './store/backup/backup-schedule.ts';
import type { CopyCheck } from './store/backup/daily-check.ts';
import { startMaintenance } from './store/backup/maintenance.ts';
import { createRequestedBackups, type RequestedBackups } from './store/backup/requested-backup.ts';
import { beginAt, followedNetwork } from './store/chain/headers.ts';
import { hasReceivers } from './store/delivery/receivers.ts';
import { inspectFile, lockForServer } from './store/file/file-guards.ts';
import { createIssuingGuard, type IssuingGuard } from './store/file/issuing-guard.ts';
import { openRecords, type Records } from './store/open-records.ts';
import { CounterMark } from './store/resume/counter-mark.ts';
import { createBacklog } from './watcher/backlog.ts';
import { logPayments } from './watcher/payment-log.ts';
import { createWatcher, type Watcher } from './watcher/watcher.ts';
import { createChangeFeed } from './web/change-feed.ts';
import type { Fetch } from './web/http-server.ts';
import { createUntrustedProxies, type UntrustedProxies } from './web/limits/untrusted-proxies.ts';
import { createVisitLimit } from './web/limits/visit-limit.ts';
import { createListeners, type Listeners } from './web/listeners.ts';
import { createMetricsEndpoint } from './web/metrics-endpoint.ts';
import { ClockWatch } from './world/clock-watch.ts';
import { minFreeBytes } from './world/disk.ts';
import type { World } from './world/world.ts';

export interface AppOptions {
  /** The file is no longer certain (a failed fsync): the process must end at once. */
  readonly onFatal: (error: Error) => void;
  /** What the dashboard has beside its own pages. */
  readonly extraPages?: readonly ExtraPage[];
  /** A clock that shows an earlier time is wrong, epoch milliseconds; 0 without it. */
  readonly releasedAt?: number;
  /** See `SenderOptions`. */
  readonly signingTime?: () => number;
  /** How old the newest block may be by a right clock; without it, as the network has it. */
  readonly maxBlockAgeMs?: number | undefined;
  /** Checks a snapshot once a day; no check without it. */
  readonly checkCopy?: CopyCheck | undefined;
  /** Opens the Lightning node of a store in a test. */
  readonly openLightning?: StoreNodesParts['open'] | undefined;
}

interface OpenedFile {
  readonly records: Records;
  readonly network: Network;
  readonly servers: readonly ServerAddress[];
  /** Closes the file. An app that was started is stopped instead. */
  close(): Promise<void>;
}

/** The open file, and what no start is needed for. */
export interface OpenedApp extends OpenedFile {
  readonly config: Config;
  readonly world: World;
  readonly options: AppOptions;
  readonly listeners: Listeners;
  /** Undefined if prices are off. */
  readonly prices: Prices | undefined;
}

export interface App {
  readonly network: Network;
  readonly port: number;
  readonly metricsPort: number | undefined;
  readonly fetch: Fetch;
  /** Finishes requests in flight and closes the file. */
  stop(): Promise<void>;
  /** Resolves when every notification so far is processed and no callback is due. */
  idle(): Promise<void>;
  health(): HealthReport;
  /** A one-time link to the dashboard until its password is set. */
  firstLink(origin: string): Promise<string | undefined>;
}

const everyMinute = '0 * * * * *';

/** @throws PaygateError with one line for the person who starts paygate; nothing stays open then */
export async function openApp(
  config: Config,
  world: World,
  options: AppOptions,
): Promise<OpenedApp> {
  const listeners = createListeners(config, world);
  const prices = pricesFor(config, world);
  // The network of a new file is fixed: none is made that could not be served.
  if (inspectFile(config.db) === 'absent') {
    const network = beginAt(networks[config.network ?? defaultNetwork], config.checkpoint);
    serversFor(network.name, config);
    await listeners.tryPorts([config.metricsListen ?? []].flat());
  }
  const lock = lockForServer(config.db);
  const release = async (): Promise<void> => lock.release();
  return closingOnError(release, async () => {
    const file = await openFile(config, world, options);
    async function close(): Promise<void> {
      await file.close();
      lock.release();
    }
    return { ...file, config, world, options, listeners, prices, close };
  });
}

async function openFile(config: Config, world: World, options: AppOptions): Promise<OpenedFile> {
  const mark = new CounterMark();
  const records = await openRecords({
    path: config.db,
    create: true,
    hasLock: true,
    network: config.network,
    baseUrl: baseUrlOf(config, config.listen.port),
    newInstance: () => Buffer.from(world.randomBytes(16)).toString('hex'),
    beforeCommit: (raises) => mark.raise(raises),
    floorOf: (wallet) => mark.floorOf(wallet),
    onFatal: options.onFatal,
    onUpdate: (versions) =>
      world.log.info(
        'the database is brought to this version; nobody is answered meanwhile',
        versions,
      ),
  });
  async function close(): Promise<void> {
    mark.noteEvents(records);
    await records.database.close();
    mark.close();
  }
  return closingOnError(close, async () => {
    const network = followedNetwork(records, config.checkpoint);
    const servers = serversFor(network.name, config);
    await mark.begin(records, world);
    return { records, network, servers, close };
  });
}

/** @throws PaygateError invalid when there is nothing to watch the network with */
function serversFor(network: NetworkName, { electrum }: Config): readonly ServerAddress[] {
  const servers = electrum.length > 0 ? electrum : builtInServers(network);
  if (servers.length === 0) {
    throw new PaygateError('invalid', `--electrum: name a server, ${network} has no built-in list`);
  }
  return servers;
}

/** @throws PaygateError unavailable when a port can not be used; everything is closed then */
export async function startApp(opened: OpenedApp): Promise<App> {
  const { start, stop } = await closingOnError(opened.close, async () => buildApp(opened));
  return closingOnError(stop, start);
}

/** Runs work. @throws its error, after `close` */
async function closingOnError<T>(close: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await close();
    throw error;
  }
}

interface BuiltApp extends Pick<App, 'stop'> {
  start(): Promise<App>;
}

function buildApp(opened: OpenedApp): BuiltApp {
  const { world, listeners, records, prices } = opened;
  const { database, events, orderView } = records;
  const path = buildPaymentPath(opened);
  const { watcher, dispatchers, notifier, evening, receiptPricer, priceWatch, lightning } = path;
  const status = buildStatus(opened, path);
  const { guard, snapshots, requestedBackups, findingHistory } = status;
  const { dashboard, checkout, fetch } = buildPages(opened, path, status);
  const maintenance = startMaintenance({ world, database, guard, snapshots, events, orderView });
  const cancels = [
    ...maintenance.cancels,
    world.schedule(everyMinute, () => listeners.pingSockets()),
    world.schedule(everyMinute, () => path.clock.tick()),
    world.schedule(everyMinute, () => void findingHistory.record()),
  ];

  async function stop(): Promise<void> {
    for (const cancel of cancels) cancel();
    priceWatch.stop();
    prices?.stop();
    dashboard.stop();
    checkout.stop();
    const quiet = async (): Promise<void> => {
      await listeners.close();
      await watcher.stop();
    };
    // At the same time: a client and a shop that hang must not delay the stop one after the other.
    const others = [dispatchers, evening, notifier, snapshots, requestedBackups, lightning];
    await Promise.all([quiet(), ...others.map((each) => each.stop()), receiptPricer?.stop()]);
    await maintenance.last();
    await opened.close();
  }

  async function start(): Promise<App> {
    const port = await listeners.open(fetch);
    const metricsPort = await openMetrics(opened, path, status);
    // Servers take a while to answer: they are dialled before the rest is done.
    watcher.start();
    await dispatchers.start();
    notifier.start();
    evening.start();
    receiptPricer?.start();
    priceWatch.start();
    lightning.start();
    return {
      network: opened.network,
      port,
      metricsPort,
      fetch,
      stop,
      health: status.health,
      async idle() {
        await watcher.idle();
        await dispatchers.idle();
        await evening.idle();
        await notifier.idle();
      },
      firstLink: async (origin) =>
        records.admin.operator() === undefined
          ? createSignInLink(records, world, origin)
          : undefined,
    };
  }

  return { start, stop };
}

/** What a payment passes through, from the servers to the shop. */
interface PaymentPath {
  readonly watcher: Watcher;
  readonly dispatchers: Dispatchers;
  readonly sender: Sender;
  readonly notifier: Notifier;
  readonly evening: EveningMail;
  /** Undefined if prices are off. */
  readonly receiptPricer: ReceiptPricer | undefined;
  readonly priceWatch: PriceWatch;
  readonly lightning: StoreNodes;
  readonly clock: ClockWatch;
}

function buildPaymentPath(opened: OpenedApp): PaymentPath {
  const { config, world, options, listeners, records, network, servers, prices } = opened;
  const { events } = records;
  const { signingTime } = options;
  let isCaughtUp = (): boolean => false;
  const clock = new ClockWatch({
    world,
    releasedAt: options.releasedAt,
    newestBlockTime: () => records.headers.tipTime(),
    isCaughtUp: () => isCaughtUp(),
    maxAgeMs: options.maxBlockAgeMs ?? maxBlockAgeMs(network.name),
  });
  records.idempotency.judgeBy(clock);
  const isClockWrong = oncePerTurn(() => clock.fault() !== undefined);
  const sender = createSender(world, {
    version: version.split('.').slice(0, 2).join('.'),
    listeners: listeners.addresses,
    proxy: config.proxy,
    isClockWrong,
    signingTime,
  });
  const { proxy } = config;
  const publicUrl = publicUrlOf(config);
  const notifier = createNotifier({ world, records, sender, proxy, publicUrl, clock });
  const evening = new EveningMail({ world, records });
  const backlog = createBacklog(world, () => {
    events.emit('callbacksDue');
    events.emit('webhooksDue');
  });
  const isHeldBack = backlog.isHolding;
  const dispatchers = createDispatchers({ world, records, sender, isHeldBack, clock });
  const watcher = createWatcher({
    world,
    records,
    network,
    servers,
    proxy: config.proxy,
    ownMaxInFlight: config.electrumInFlight,
    proveDepthAboveSat: config.proveDepthAbove,
    isClockWrong,
    clock,
    backlog,
  });
  isCaughtUp = () => watcher.isCaughtUp();
  const receiptPricer = prices && new ReceiptPricer({ ...records, world, prices });
  logPayments(world.log, records);
  events.on('paymentChanged', () => receiptPricer?.wake());
  events.on('catalogChanged', () => watcher.catalogChanged());
  events.on('serversChanged', () => watcher.serversChanged());
  const priceWatch = new PriceWatch({ world, records, prices });
  const openKnown: StoreNodesParts['open'] = (node) =>
    openNode(world, node, { network: network.name, proxy });
  const open = options.openLightning ?? openKnown;
  const lightning = new StoreNodes({ world, records, open });
  const parts = { watcher, dispatchers, sender, notifier, evening };
  return { ...parts, receiptPricer, priceWatch, lightning, clock };
}

/** What is wrong, and whether paygate can serve. */
interface Status {
  readonly guard: IssuingGuard;
  readonly snapshots: Snapshots;
  readonly requestedBackups: RequestedBackups;
  readonly untrustedProxies: UntrustedProxies;
  readonly findingHistory: FindingHistory;
  readonly health: () => HealthReport;
  readonly ready: () => Readiness;
}

function buildStatus(opened: OpenedApp, path: PaymentPath): Status {
  const { config, world, options, listeners, records } = opened;
  const { watcher, clock } = path;
  const { refuseGap } = config;
  const { channels } = path.dispatchers;
  const guard = createIssuingGuard(records.database, records.addresses.isSetBack);
  const snapshots = createSnapshots(records.database, {
    floorBytes: minFreeBytes,
    clock,
    check: options.checkCopy,
    onDamaged: (warning) => world.log.error(warning),
  });
  const requestedBackups = createRequestedBackups(records.database, minFreeBytes);
  const common = { ...clocksOf(world), ...apiSettings(config) };
  const untrustedProxies = createUntrustedProxies({ ...common, log: world.log });
  const gapRefusals = createGapRefusals({ ...common, records, refuseGap });
  const sources: FindingSource[] = [
    { code: 'file-displaced', warnings: guard.warnings },
    { code: 'clock-wrong', warnings: () => [clock.fault() ?? []].flat() },
    { code: 'database-damaged', warnings: snapshots.damage },
    { code: 'snapshot-failed', warnings: snapshots.warnings },
    { code: 'wallet-gap', warnings: createGapWarnings({ ...common, records }) },
    { code: 'no-price', warnings: () => priceWarnings(path.priceWatch.missing()) },
    { code: 'gap-reached', warnings: gapRefusals.refused },
    { code: 'links-stopped', warnings: gapRefusals.linksStopped },
    { code: 'unlisted-proxy', warnings: untrustedProxies.warnings },
    { code: 'shop-unreachable', warnings: () => hostWarnings(channels) },
    { code: 'own-certificate', warnings: listeners.warnings },
    { code: 'lightning-down', warnings: () => downWarnings(records, path.lightning.down()) },
    { code: 'lightning-refused', warnings: () => refusedWarnings(records, world.now()) },
    { code: 'notifications-failed', warnings: () => path.notifier.warnings() },
  ];
  const parts = { ...clocksOf(world), ...guard, records, watcher, channels, sources };
  const findingHistory = new FindingHistory({
    ...clocksOf(world),
    records,
    log: world.log,
    find: () => currentFindings(parts, watcher.status()),
  });
  const health = createHealth(parts);
  const ready = createReadiness({
    records,
    channels,
    watcher,
    hasReceivers: () => hasReceivers(records),
    ...guard,
  });
  return { guard, snapshots, requestedBackups, untrustedProxies, findingHistory, health, ready };
}

/** What answers requests: the API with its documentation, the dashboard, pages for customers. */
function buildPages(
  opened: OpenedApp,
  { watcher, sender, notifier, clock, lightning }: PaymentPath,
  { guard, requestedBackups, untrustedProxies, findingHistory, health, ready }: Status,
): { readonly dashboard: Dashboard; readonly checkout: Checkout; readonly fetch: Fetch } {
  const { config, world, options, records, network, prices } = opened;
  const callbackSender = () => ({
    ownAddresses: world.ownAddresses(),
    hasProxy: config.proxy !== undefined,
  });
  const common = {
    ...clocksOf(world),
    ...apiSettings(config),
    records,
    prices,
    publicUrl: publicUrlOf(config),
    checkIssuing: guard.check,
    ensureInvoice: (order: OrderPlace) => lightning.ensure(order),
    limitVisit: createVisitLimit(config.trustedProxy, () => world.monotonic()),
  };
  const feed = createChangeFeed(records);
  const issuing: AddressRequestOptions = {
    ...common,
    isCaughtUp: () => watcher.status().caughtUp,
    isPending: (scripthash) => watcher.isPending(scripthash),
    scanFault() {
      const { walletFault, server } = watcher.status();
      return walletFault ?? (server === undefined ? 'no Electrum server is connected' : undefined);
    },
    onIssued: ({ scripthash }) => watcher.issued(scripthash),
  };
  const api: ApiOptions = {
    ...common,
    untrustedProxies,
    log: world.log,
    reader: watcher.reader,
    after: (delayMs, run) => world.after(delayMs, run),
    surroundings: callbackSender,
    randomBytes: (length) => world.randomBytes(length),
    newWebhookSecret: () => newWebhookSecret((length) => world.randomBytes(length)),
    issue: createAddressIssuer(issuing),
  };
  const takePayment = createPaymentTaker(api);
  const dashboard = createDashboard({
    ...common,
    world,
    health,
    feed,
    findingHistory,
    reader: watcher.reader,
    requestedBackups,
    sender,
    notifier,
    clockFault: () => clock.fault(),
    callbackSender,
    checkNode: (asked) => checkNode(world, asked, { network: network.name, proxy: config.proxy }),
    dashboardPlainHttp: config.dashboardPlainHttp,
    rehearse: rehearsedPage,
    takePayment,
    askApi: (asked, env) => fetch(asked, env),
    extraPages: options.extraPages ?? [],
  });
  const checkout = createCheckout({
    ...common,
    ...issuing,
    world,
    takePayment,
    reader: watcher.reader,
  });
  const fetch = createHttpApp({
    ...api,
    ...common,
    health,
    feed,
    ready,
    greenfield: createGreenfield(api),
    pages: dashboard.app,
    checkout: checkout.app,
    receiptPage: checkout.receiptPage,
    isOwner: dashboard.isOwner,
    ownNames: [config.listen.host],
  });
  return { dashboard, checkout, fetch };
}

/** Listens for scrapes of the metrics. Their library is loaded only when it is asked for. */
async function openMetrics(
  { config, listeners, records, prices }: OpenedApp,
  { watcher, lightning, dispatchers: { channels } }: PaymentPath,
  { ready, findingHistory }: Status,
): Promise<number | undefined> {
  if (config.metricsListen === undefined) return undefined;
  const { createMetrics } = await import('./status/metrics.ts');
  const metrics = createMetrics({
    records,
    watcher,
    channels,
    ready,
    findingHistory,
    prices,
    lightning,
  });
  return listeners.openExtra(createMetricsEndpoint(metrics), config.metricsListen);
}

const clocksOf = (world: World) => ({
  now: () => world.now(),
  monotonic: () => world.monotonic(),
});
