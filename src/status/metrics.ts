// The metrics of /metrics, for Prometheus, on a listener of their own. A scrape scans no table:
// payments are counted once at the start and then at each commit, callbacks by index and up to a
// bound. No label names an address, a shop or a secret; an Electrum server is host:port.
// https://prometheus.io/docs/practices/naming/

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ChannelStatus } from '../delivery/dispatchers.ts';
import type { OrderEventType } from '../domain/order/order.ts';
import { isFinalState, type PaymentState } from '../domain/payment/payment.ts';
import { version } from '../lib/version.ts';
import type { StoreNodes } from '../lightning/store-nodes.ts';
import type { Prices } from '../price/prices.ts';
import type { AttemptReport, ChangedPaymentFacts, PaymentMove } from '../store/db/store-events.ts';
import type { Records } from '../store/open-records.ts';
import type { Watcher } from '../watcher/watcher.ts';
import type { FindingHistory } from './finding-history.ts';
import { findingCodes, severityOf } from './finding-severity.ts';
import type { Readiness } from './readiness.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export interface MetricsParts {
  readonly records: Records;
  readonly watcher: Pick<Watcher, 'status'>;
  readonly channels: readonly ChannelStatus[];
  readonly ready: () => Readiness;
  readonly findingHistory: Pick<FindingHistory, 'findings'>;
  /** Undefined if prices are off. */
  readonly prices: Pick<Prices, 'status'> | undefined;
  readonly lightning: Pick<StoreNodes, 'counts' | 'hasNodes'>;
}

/** A scrape counts rows up to this number, because counting all would block other requests. */
const maxCounted = 100_000;
const attemptSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
/** From a second to the end of the schedule, three days. */
const deliverySeconds = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400, 259_200];

export function createMetrics(parts: MetricsParts) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { events } = parts.records;
  const countMove = watchPayments(registry, parts);
  const countMoney = watchMoney(registry);
  events.on('paymentChanged', (_paymentId, move, facts) => {
    countMove(move);
    if (facts !== undefined) countMoney(move, facts);
  });
  const countOrderEvent = watchOrders(registry, parts);
  events.on('orderChanged', (_orderId, facts) => facts && countOrderEvent(facts.type));
  for (const channel of parts.channels) {
    watchQueue(registry, channel);
    const countAttempt = watchAttempts(registry, channel);
    events.on('attemptRecorded', (report) => {
      if (report.noun === channel.noun) countAttempt(report);
    });
  }
  watchServers(registry, parts);
  watchDatabase(registry, parts);
  watchFindings(registry, parts);
  watchLightning(registry, parts);
  return {
    contentType: registry.contentType,
    /** All figures in the text format of Prometheus. */
    read: (): Promise<string> => registry.metrics(),
  };
}

type GaugeRow = readonly [name: string, help: string, read: () => number];

/** Gauges that are asked for their values at each scrape. */
function gauges(registry: Registry, rows: readonly GaugeRow[]): void {
  for (const [name, help, read] of rows) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }
}

/** A gauge with one label. */
function labelled(
  registry: Registry,
  what: { readonly name: string; readonly help: string; readonly label: string },
  read: () => Iterable<readonly [string, number]>,
): void {
  const { label, ...named } = what;
  new Gauge({
    ...named,
    labelNames: [label],
    registers: [registry],
    collect() {
      // Without this, a label that is gone would keep its last value.
      this.reset();
      for (const [value, number] of read()) this.set({ [label]: value }, number);
    },
  });
}

function watchPayments(registry: Registry, { records }: MetricsParts): (move: PaymentMove) => void {
  const counts = new Map<PaymentState, number>(records.paymentCounts.byState());
  const add = (state: PaymentState, by: number) => counts.set(state, (counts.get(state) ?? 0) + by);
  labelled(
    registry,
    { name: 'paygate_payments', help: 'Payments by their present state.', label: 'state' },
    () => counts,
  );
  return ({ before, after }) => {
    if (before !== undefined) add(before, -1);
    add(after, 1);
  };
}

/** Satoshis of all stores together, so that no label names a shop. */
function watchMoney(
  registry: Registry,
): (move: PaymentMove, facts: Pick<ChangedPaymentFacts, 'valueSat'>) => void {
  const confirmed = new Counter({
    name: 'paygate_confirmed_satoshis_total',
    help: 'Satoshis of payments that became confirmed since the start.',
    registers: [registry],
  });
  const reversed = new Counter({
    name: 'paygate_reversed_satoshis_total',
    help: 'Satoshis of payments that were confirmed and no longer are, since the start.',
    registers: [registry],
  });
  return ({ before, after }, { valueSat }) => {
    const was = before !== undefined && isFinalState(before);
    const is = isFinalState(after);
    if (is && !was) confirmed.inc(valueSat);
    if (was && !is) reversed.inc(valueSat);
  };
}

const orderEvents = ['processing', 'paid', 'expired', 'canceled', 'reversed', 'updated'] as const;

function watchOrders(
  registry: Registry,
  { records }: MetricsParts,
): (type: OrderEventType) => void {
  labelled(
    registry,
    {
      name: 'paygate_orders',
      help: `Orders that are not over, by status, counted up to ${maxCounted}.`,
      label: 'status',
    },
    () =>
      (['open', 'processing'] as const).map((status) => [
        status,
        records.orderCounts.withStatus(status, maxCounted),
      ]),
  );
  const events = new Counter({
    name: 'paygate_order_events_total',
    help: 'Events of orders since the start, by type.',
    labelNames: ['type'],
    registers: [registry],
  });
  for (const type of orderEvents) events.inc({ type }, 0);
  return (type) => events.inc({ type: type.slice('order.'.length) });
}

/** Each code has a value at all times: a missing one means that paygate does not run. */
function watchFindings(registry: Registry, { findingHistory, prices }: MetricsParts): void {
  new Gauge({
    name: 'paygate_findings',
    help: 'Present findings of /healthz, by code and severity.',
    labelNames: ['code', 'severity'],
    registers: [registry],
    collect() {
      for (const code of findingCodes) this.set({ code, severity: severityOf(code) }, 0);
      for (const { code } of findingHistory.findings()) {
        this.inc({ code, severity: severityOf(code) });
      }
    },
  });
  labelled(
    registry,
    {
      name: 'paygate_price_source_up',
      help: '1 if the latest price of a source counted; absent before its first request.',
      label: 'source',
    },
    () =>
      (prices?.status() ?? []).flatMap(({ source, prices: found }): [string, number][] => {
        const newest = Math.max(...found.map(({ at }) => at));
        const latest = found.filter(({ at }) => at === newest);
        if (latest.length === 0) return [];
        return [[source, Number(latest.some(({ fault }) => fault === undefined))]];
      }),
  );
}

function watchQueue(registry: Registry, { noun, queue, dispatcher }: ChannelStatus): void {
  labelled(
    registry,
    {
      name: `paygate_${noun}s`,
      help: `${titleOf(noun)}s by state; owed and exhausted are counted up to ${maxCounted}, done are delivered, superseded or held.`,
      label: 'state',
    },
    () => Object.entries(queue.depths(maxCounted)),
  );
  gauges(registry, [
    [`paygate_${noun}s_in_flight`, `In-flight ${noun} requests.`, () => dispatcher.inFlight()],
  ]);
}

const receipts = { callback: 'answered 200', webhook: 'answered 2xx' } as const;
const titleOf = (noun: string): string => `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;

function watchAttempts(
  registry: Registry,
  { noun }: ChannelStatus,
): (report: AttemptReport) => void {
  const attempts = new Histogram({
    name: `paygate_${noun}_attempt_seconds`,
    help: `Duration of ${noun} requests, by outcome.`,
    labelNames: ['outcome'],
    buckets: attemptSeconds,
    registers: [registry],
  });
  const deliveries = new Histogram({
    name: `paygate_${noun}_delivery_seconds`,
    help: `Time from the creation of a ${noun} until the shop ${receipts[noun]}.`,
    buckets: deliverySeconds,
    registers: [registry],
  });
  const exhausted = new Counter({
    name: `paygate_${noun}s_exhausted_total`,
    help: `Exhausted ${noun}s since the start.`,
    registers: [registry],
  });
  return ({ outcome, durationMs, state, deliveredAfterMs }) => {
    attempts.observe({ outcome }, durationMs / 1000);
    if (deliveredAfterMs !== undefined) deliveries.observe(Math.max(0, deliveredAfterMs) / 1000);
    if (state === 'exhausted') exhausted.inc();
  };
}

/** No values without a node. */
function watchLightning(registry: Registry, { lightning }: MetricsParts): void {
  labelled(
    registry,
    {
      name: 'paygate_lightning_invoices',
      help: 'Lightning invoices since the start, by result.',
      label: 'result',
    },
    () => (lightning.hasNodes() ? Object.entries(lightning.counts) : []),
  );
}

const hostAndPort = (label: string): string => label.replace(/^\w+:\/\//, '');

type Server = ReturnType<Watcher['status']>['servers'][number];

const serverGauges: readonly (readonly [string, string, (server: Server) => number | undefined])[] =
  [
    [
      'paygate_electrum_up',
      '1 while the Electrum server is connected.',
      ({ state }) => Number(state === 'live'),
    ],
    [
      'paygate_electrum_height_blocks',
      'The newest block that an Electrum server announced.',
      ({ height }) => height,
    ],
    [
      'paygate_electrum_latency_seconds',
      'Smoothed response time of an Electrum server.',
      ({ latencyMs }) => latencyMs && latencyMs / 1000,
    ],
    [
      'paygate_electrum_doubted',
      '1 while a connected Electrum server is not trusted.',
      ({ doubt }) => Number(doubt !== undefined),
    ],
  ];

function watchServers(registry: Registry, { watcher }: MetricsParts): void {
  for (const [name, help, read] of serverGauges) {
    labelled(registry, { name, help, label: 'server' }, () =>
      watcher.status().servers.flatMap((server): [string, number][] => {
        const value = read(server);
        return value === undefined ? [] : [[hostAndPort(server.label), value]];
      }),
    );
  }
}

function watchDatabase(registry: Registry, { records, watcher, ready }: MetricsParts): void {
  const { database, catalog } = records;
  const status = () => watcher.status();
  labelled(
    registry,
    { name: 'paygate_info', help: 'Always 1; the label is the version.', label: 'version' },
    () => [[version, 1]],
  );
  const issued = () => catalog.wallets().reduce((sum, { nextIndex }) => sum + nextIndex, 0);
  const addresses =
    'Addresses that were issued or skipped: the sum of the counters of all wallets.';
  const caughtUp = '1 while every address has been compared with the server in use.';
  const dirty = 'Addresses whose history changed and is not processed yet.';
  const held = 'Reasons why no payment becomes 2; 0 when all is well.';
  const wal = 'Bytes of the write-ahead log that are not in the database file yet.';
  gauges(registry, [
    ['paygate_addresses', addresses, issued],
    ['paygate_ready', '1 while /readyz answers 200.', () => Number(ready().ready)],
    [
      'paygate_chain_height_blocks',
      'The newest block that paygate has verified.',
      () => status().tipHeight ?? 0,
    ],
    ['paygate_caught_up', caughtUp, () => Number(status().caughtUp)],
    ['paygate_dirty_addresses', dirty, () => status().dirty],
    ['paygate_confirmations_held', held, () => status().holdReasons.length],
    ['paygate_queued_writes', 'Writes that wait for their commit.', database.queued],
    ['paygate_database_bytes', 'Size of the database file.', database.bytes],
    ['paygate_wal_bytes', wal, database.walBytes],
    ['paygate_disk_free_bytes', 'Free bytes on the disk of the database.', database.freeBytes],
  ]);
}
