// The whole app for a test: paygate as `serve` runs it, on a simulated chain behind a simulated
// Electrum server, with a shop's receiver. Sockets and the file are real; the test sets the clock.

import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type AppOptions, openApp as openFile, startApp } from '../../src/app.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { deriveAddress, type WalletKey } from '../../src/bitcoin/keychain.ts';
import type { Config } from '../../src/config.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { SpendOptions } from '../../src/sandbox/chain/spender.ts';
import {
  SimulatedServer,
  type SimulatedServerOptions,
} from '../../src/sandbox/electrum/simulated-server.ts';
import { beginMark } from '../../src/store/mark/high-water-mark.ts';
import { openRecords, type Records } from '../../src/store/open-records.ts';
import type { StoreRow } from '../../src/store/wallets/catalog.ts';
import { tempRoot } from './files.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';
import { accountKey, accountOf, newFileIn } from './store.ts';
import { createTestWorld, type TestWorld } from './world.ts';

/** The parameters of a callback, parsed from its request URL. */
export interface ReceivedCallback {
  readonly status: string;
  readonly addr: string;
  readonly value: string;
  readonly txid: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the shape of the response.
  readonly body: any;
}

export interface TestApp {
  readonly world: TestWorld;
  readonly chain: SimulatedChain;
  readonly servers: readonly SimulatedServer[];
  readonly server: SimulatedServer;
  /** What paygate calls the servers, in the same order. */
  readonly labels: readonly string[];
  /** The server at which the addresses are subscribed. */
  inUse(): SimulatedServer;
  readonly receiver: Receiver;
  readonly path: string;
  readonly apiKey: string;
  /** Port of the API. */
  readonly port: number;
  /** Port of /metrics, when the configuration has one. */
  readonly metricsPort: number | undefined;
  running: App;
  /** Sends a request to the API with the shop's key. */
  ask(path: string, init?: RequestInit): Promise<Reply>;
  newAddress(query?: string): Promise<string>;
  /** Pays an address from the faucet. */
  pay(address: string, valueSat: number): string;
  /** Waits until every notification so far is processed and its callbacks are delivered. */
  settle(): Promise<void>;
  /** Passes the half minute after which an unreported payment is dropped. */
  outlastAbsence(): Promise<void>;
  /** The callbacks that the shop received so far, in order. */
  callbacks(): ReceivedCallback[];
  statuses(address: string): string[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Opens another connection to the file, as a command of the CLI does. */
  withStore<T>(work: (records: Records) => Promise<T>): Promise<T>;
  addStore(options?: StoreOptions): Promise<StoreRow>;
}

export interface StoreOptions {
  readonly name?: string;
  readonly key?: WalletKey;
  readonly startIndex?: number;
  readonly callbackUrl?: string;
  readonly confirmations?: number;
}

export interface TestAppOptions {
  /** Number of Electrum servers on the chain; the first is `server`. */
  readonly servers?: number;
  readonly server?: Partial<SimulatedServerOptions>;
  readonly receiver?: ReceiverOptions;
  readonly store?: StoreOptions;
  /** Number of blocks that the chain begins with. */
  readonly blocks?: number;
  readonly world?: TestWorld;
  /** A database to begin with a copy of, instead of a new one with a store. */
  readonly file?: { readonly path: string; readonly apiKey: string; readonly instance: string };
  /** Settings that replace the defaults of a test: no limits, no trusted proxy. */
  readonly config?: Partial<Config>;
  readonly checkCopy?: AppOptions['checkCopy'];
  readonly openLightning?: AppOptions['openLightning'];
  /** As on a network with a schedule of blocks. */
  readonly maxBlockAgeMs?: number;
  /** The clock of the miners, epoch milliseconds, where it is not that of paygate's machine. */
  readonly trueNow?: () => number;
  /** Called before paygate starts, with a chain that has coins. */
  readonly before?: (chain: SimulatedChain) => void;
}

/** Settings without rate limits, because the clock of a test stands still. */
export const withoutLimits = {
  trustedProxy: [],
  walletGap: 20,
  refuseGap: undefined,
  foreignBalances: false,
  limitNewAddress: undefined,
  limitBalance: undefined,
  limitSearchHistory: undefined,
  limitPrice: undefined,
  limitUnknownKey: undefined,
} satisfies Partial<Config>;

/** A merchant's account key; another number is another wallet. */
export const merchantKey = accountKey;

/** The merchant spends all that a transaction paid to the wallet's address of an index. */
export function spendFromWallet(
  chain: SimulatedChain,
  txid: Txid,
  index: number,
  outputs: SpendOptions['outputs'] = [],
): Txid {
  const privateKey = accountOf(1).deriveChild(0).deriveChild(index).privateKey;
  const { script } = deriveAddress(merchantKey(), 0, index) ?? {};
  if (privateKey === null || script === undefined) throw new Error(`no key ${index}`);
  const paid = chain.transaction(txid)?.outputs ?? [];
  const vout = paid.findIndex((output) => Buffer.compare(output.script, script) === 0);
  return chain.spend([{ txid, vout }], { privateKey, outputs });
}

/** A payment above this value needs a proof of the depth of its block's merkle tree. */
export const largeSat = 1_000_000;

const cleanups: (() => Promise<void>)[] = [];

/** Stops every app of the test; for `afterEach`. */
export async function closeApps(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export async function openApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { world = createTestWorld() } = options;
  const folder = mkdtempSync(join(tempRoot, 'paygate-app-'));
  cleanups.push(async () => rmSync(folder, { recursive: true }));
  const { trueNow = () => world.now() } = options;
  const chain = new SimulatedChain({ seed: 'house', now: () => trueNow() / 1000 });
  chain.mine(options.blocks ?? 110);
  options.before?.(chain);

  const receiver = await startReceiver(options.receiver);
  cleanups.push(() => receiver.close());
  const servers: SimulatedServer[] = [];
  const addresses: string[] = [];
  for (let count = 0; count < (options.servers ?? 1); count += 1) {
    const server = new SimulatedServer({ chain, timer: world, ...options.server });
    const listening = await server.listen({ host: '127.0.0.1', port: 0 });
    cleanups.push(() => listening.close());
    servers.push(server);
    addresses.push(`tcp://127.0.0.1:${listening.port}`);
  }
  const path = join(folder, 'paygate.db');
  const { file } = options;
  const app = createTestApp({
    world,
    chain,
    servers,
    addresses,
    receiver,
    path,
    config: options.config,
    checkCopy: options.checkCopy,
    openLightning: options.openLightning,
    maxBlockAgeMs: options.maxBlockAgeMs,
    ...(file === undefined ? {} : { apiKey: file.apiKey }),
  });
  cleanups.push(() => app.stop());
  if (file === undefined) {
    await newFileIn(folder);
    await app.addStore(options.store);
  } else {
    copyFileSync(file.path, path);
    beginMark(path, file.instance);
  }
  await app.start();
  return app;
}

interface TestAppParts {
  readonly world: TestWorld;
  readonly chain: SimulatedChain;
  readonly servers: readonly SimulatedServer[];
  readonly addresses: readonly string[];
  readonly receiver: Receiver;
  readonly path: string;
  readonly apiKey?: string;
  readonly config?: Partial<Config> | undefined;
  readonly checkCopy: AppOptions['checkCopy'];
  readonly openLightning: AppOptions['openLightning'];
  readonly maxBlockAgeMs: number | undefined;
}

function createTestApp(built: TestAppParts): TestApp {
  const { world, chain, servers, addresses, receiver, path } = built;
  const config: Config = {
    db: path,
    listen: { host: '127.0.0.1', port: 0 },
    network: 'regtest',
    electrum: addresses.map((address) => parseServerAddress(address)),
    proveDepthAbove: largeSat,
    publicUrl: undefined,
    ...withoutLimits,
    logLevel: 'info',
    ...built.config,
  };
  let running: App | undefined;
  let port = 0;
  let { apiKey = '' } = built;
  const [server] = servers;
  if (server === undefined) throw new Error('a test needs a server');

  async function withStore<T>(work: (records: Records) => Promise<T>): Promise<T> {
    const newInstance = () => 'app';
    const records = await openRecords({ path, create: true, network: 'regtest', newInstance });
    try {
      return await work(records);
    } finally {
      await records.database.close();
    }
  }

  const app: TestApp = {
    world,
    chain,
    servers,
    server,
    labels: addresses,
    receiver,
    path,
    inUse() {
      const index = addresses.indexOf(app.running.health().electrum.server ?? '');
      const found = servers[index];
      if (found === undefined) throw new Error('no server is in use');
      return found;
    },
    get apiKey() {
      return apiKey;
    },
    get port() {
      return port;
    },
    get metricsPort() {
      return app.running.metricsPort;
    },
    get running() {
      if (running === undefined) throw new Error('paygate is not running');
      return running;
    },
    async ask(asked, init = {}) {
      const headers = { Authorization: `Bearer ${apiKey}`, ...init.headers };
      const response = await fetch(`http://127.0.0.1:${port}${asked}`, { ...init, headers });
      const text = await response.text();
      const { status, headers: answered } = response;
      const isText = answered.get('Content-Type')?.startsWith('text/plain') ?? false;
      const body = isText ? text : text === '' ? undefined : JSON.parse(text);
      return { status, headers: answered, body };
    },
    async newAddress(query = '') {
      const { status, body } = await app.ask(`/api/new_address${query}`);
      if (status !== 200) throw new Error(`no address: ${JSON.stringify(body)}`);
      return body.address;
    },
    pay: (address, valueSat) => chain.pay([{ address, valueSat }]),
    settle: () => app.running.idle(),
    async outlastAbsence() {
      await app.settle();
      await world.advance(31_000);
      await app.settle();
    },
    callbacks: () => receiver.requests.map(({ url }) => parseCallback(url)),
    statuses: (address) =>
      app.callbacks().flatMap(({ addr, status }) => (addr === address ? [status] : [])),
    async start() {
      const opened = await openFile(config, world, {
        checkCopy: built.checkCopy,
        openLightning: built.openLightning,
        maxBlockAgeMs: built.maxBlockAgeMs,
        onFatal: (error) => {
          throw error;
        },
      });
      running = await startApp(opened);
      port = running.port;
    },
    async stop() {
      const stopped = running;
      running = undefined;
      await stopped?.stop();
    },
    withStore,
    addStore: (options = {}) =>
      withStore(async ({ catalog, keys, database }) => {
        const { key = merchantKey(), startIndex, name = 'Shop' } = options;
        const callbackUrl = options.callbackUrl ?? `${receiver.origin}/cb?secret=s3cr3t`;
        return database.write((tx) => {
          const wallet = catalog.ensureWallet(tx, world.now(), key, startIndex);
          apiKey =
            keys.merchantKey() ?? keys.rotateMerchantKey(tx, world.now(), world.randomBytes(32), 0);
          return catalog.addStore(tx, world.now(), {
            name,
            walletId: wallet.id,
            callbackUrl,
            requiredConfirmations: options.confirmations ?? 2,
            allowPrivateCallback: true,
            allowHttpCallback: true,
            webhookSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
          });
        });
      }),
  };
  return app;
}

function parseCallback(url: string): ReceivedCallback {
  const query = new URL(url, 'http://shop.invalid').searchParams;
  const read = (name: string) => query.get(name) ?? '';
  return { status: read('status'), addr: read('addr'), value: read('value'), txid: read('txid') };
}

/** Does work, then stops paygate and restores a copy of the file from before that work. */
export async function loseByRestore<T>(app: TestApp, work: () => Promise<T>): Promise<T> {
  await app.stop();
  copyFileSync(app.path, `${app.path}.bak`);
  await app.start();
  await untilReady(app);
  const done = await work();
  await app.stop();
  renameSync(`${app.path}.bak`, app.path);
  return done;
}

/** Opens an app and waits until it has caught up. */
export async function openReady(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await openApp(options);
  await untilReady(app);
  return app;
}

/** Waits until paygate has compared every address with a server and scanned its wallets. */
export async function untilReady({ running: app, world }: TestApp): Promise<void> {
  // Both ends are logged, and a report of health costs as much as many turns of the loop.
  let logged = -1;
  await world.until(() => {
    if (world.logs.length === logged) return false;
    logged = world.logs.length;
    const { electrum, wallets } = app.health();
    return electrum.caught_up && wallets.scanning === 0;
  }, 'paygate to catch up');
  await app.idle();
}
