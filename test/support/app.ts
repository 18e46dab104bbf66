// The whole house for a test: paygate as `serve` runs it, on a simulated chain behind a real Electrum
// server, with a shop's receiver. Sockets and the file are real; the clock is the test's.

import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { type App, type AppOptions, buildApp } from '../../src/app.ts';
import type { ScriptType } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { deriveAddress, parseWalletKey, type WalletKey } from '../../src/bitcoin/keychain.ts';
import type { Config } from '../../src/config.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { SpendOptions } from '../../src/sandbox/chain/spender.ts';
import {
  type ServerOptions,
  SimulatedServer,
} from '../../src/sandbox/electrum/simulated-server.ts';
import { beginMark } from '../../src/store/mark/high-water-mark.ts';
import { openStore, type Store } from '../../src/store/open-store.ts';
import type { StoreRow } from '../../src/store/records/catalog.ts';
import { tempRoot } from './files.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';
import { createTestWorld, type TestWorld } from './world.ts';

/** What a callback said, read back from the request line. */
export interface ReceivedCallback {
  readonly status: string;
  readonly addr: string;
  readonly value: string;
  readonly txid: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at.
  readonly body: any;
}

export interface TestApp {
  readonly world: TestWorld;
  readonly chain: SimulatedChain;
  readonly servers: readonly SimulatedServer[];
  readonly server: SimulatedServer;
  /** What paygate calls the servers, in the same order. */
  readonly labels: readonly string[];
  /** The server that addresses are watched on. */
  inUse(): SimulatedServer;
  readonly receiver: Receiver;
  readonly path: string;
  readonly apiKey: string;
  /** Where the API listens. */
  readonly port: number;
  /** Where /metrics are, if they are asked for. */
  readonly metricsPort: number | undefined;
  running: App;
  /** Asks the API as a shop does. */
  ask(path: string, init?: RequestInit): Promise<Reply>;
  newAddress(query?: string): Promise<string>;
  /** Pays an address from the faucet. */
  pay(address: string, valueSat: number): string;
  /** Until everything said so far is worked up and delivered. */
  settle(): Promise<void>;
  /** The half minute after which what nobody names any more is gone. */
  outlastAbsence(): Promise<void>;
  /** The callbacks that the shop received so far, in order. */
  callbacks(): ReceivedCallback[];
  statuses(address: string): string[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Another connection to the file, as a command of the CLI opens it. */
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
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
  /** How many servers stand before the chain; the first is `server`. */
  readonly servers?: number;
  readonly server?: Partial<ServerOptions>;
  readonly receiver?: ReceiverOptions;
  readonly store?: StoreOptions;
  /** Blocks of the chain before anything else. */
  readonly blocks?: number;
  readonly world?: TestWorld;
  /** A database to begin with a copy of, instead of a new one with a store. */
  readonly file?: { readonly path: string; readonly apiKey: string; readonly instance: string };
  /** Settings that differ from those of a test: no limits, no trusted proxy. */
  readonly config?: Partial<Config>;
  readonly checkCopy?: AppOptions['checkCopy'];
  /** Called before paygate starts, with a chain that has coins. */
  readonly before?: (chain: SimulatedChain) => void;
}

/** Settings without limits: the clock of a test stands still. */
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
export function merchantKey(number = 1, scriptType: ScriptType = 'p2wpkh'): WalletKey {
  const account = accountOf(number).publicExtendedKey;
  return parseWalletKey(account, { network: 'regtest', scriptType });
}

const accountOf = (number: number): HDKey =>
  HDKey.fromMasterSeed(new Uint8Array(32).fill(number), {
    private: 0x04358394,
    public: 0x043587cf,
  }).derive("m/84'/1'/0'");

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

/** More is believed only with the depth of its block's tree. */
export const largeSat = 1_000_000;

const cleanups: (() => Promise<void>)[] = [];

/** Ends every house of the test; for `afterEach`. */
export async function closeApps(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export async function openApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { world = createTestWorld() } = options;
  const folder = mkdtempSync(join(tempRoot, 'paygate-house-'));
  cleanups.push(async () => rmSync(folder, { recursive: true }));
  const chain = new SimulatedChain({ seed: 'house', now: () => world.now() / 1000 });
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
  const house = createTestApp({
    world,
    chain,
    servers,
    addresses,
    receiver,
    path,
    config: options.config,
    checkCopy: options.checkCopy,
    ...(file === undefined ? {} : { apiKey: file.apiKey }),
  });
  cleanups.push(() => house.stop());
  if (file === undefined) await house.addStore(options.store);
  else {
    copyFileSync(file.path, path);
    beginMark(path, file.instance);
  }
  await house.start();
  return house;
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
  let app: App | undefined;
  let port = 0;
  let metricsPort: number | undefined;
  let { apiKey = '' } = built;
  const [server] = servers;
  if (server === undefined) throw new Error('a house needs a server');

  async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const newInstance = () => 'house';
    const store = await openStore({ path, create: true, network: 'regtest', newInstance });
    try {
      return await work(store);
    } finally {
      await store.database.close();
    }
  }

  const house: TestApp = {
    world,
    chain,
    servers,
    server,
    labels: addresses,
    receiver,
    path,
    inUse() {
      const place = addresses.indexOf(house.running.health().electrum.server ?? '');
      const found = servers[place];
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
      return metricsPort;
    },
    get running() {
      if (app === undefined) throw new Error('paygate is not running');
      return app;
    },
    async ask(asked, init = {}) {
      const headers = { Authorization: `Bearer ${apiKey}`, ...init.headers };
      const response = await fetch(`http://127.0.0.1:${port}${asked}`, { ...init, headers });
      const text = await response.text();
      const body = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, headers: response.headers, body };
    },
    async newAddress(query = '') {
      const { status, body } = await house.ask(`/api/new_address${query}`);
      if (status !== 200) throw new Error(`no address: ${JSON.stringify(body)}`);
      return body.address;
    },
    pay: (address, valueSat) => chain.pay([{ address, valueSat }]),
    settle: () => house.running.idle(),
    async outlastAbsence() {
      await house.settle();
      await world.advance(31_000);
      await house.settle();
    },
    callbacks: () => receiver.requests.map(({ url }) => parseCallback(url)),
    statuses: (address) =>
      house.callbacks().flatMap(({ addr, status }) => (addr === address ? [status] : [])),
    async start() {
      app = await buildApp(config, world, {
        checkCopy: built.checkCopy,
        onFatal: (error) => {
          throw error;
        },
      });
      ({ port, metricsPort } = await app.start());
    },
    async stop() {
      const running = app;
      app = undefined;
      await running?.stop();
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
  return house;
}

function parseCallback(url: string): ReceivedCallback {
  const query = new URL(url, 'http://shop.invalid').searchParams;
  const read = (name: string) => query.get(name) ?? '';
  return { status: read('status'), addr: read('addr'), value: read('value'), txid: read('txid') };
}

/** Does what is lost by a restore: paygate is stopped then, and a copy of before stands in the file's place. */
export async function loseByRestore<T>(house: TestApp, work: () => Promise<T>): Promise<T> {
  await house.stop();
  copyFileSync(house.path, `${house.path}.bak`);
  await house.start();
  await untilReady(house);
  const done = await work();
  await house.stop();
  renameSync(`${house.path}.bak`, house.path);
  return done;
}

/** One that has caught up. */
export async function openReady(options: TestAppOptions = {}): Promise<TestApp> {
  const house = await openApp(options);
  await untilReady(house);
  return house;
}

/** Waits until paygate has compared every address with a server and scanned its wallets. */
export async function untilReady({ running: app, world }: TestApp): Promise<void> {
  await world.until(() => {
    const { electrum, wallets } = app.health();
    return electrum.caught_up && wallets.scanning === 0;
  }, 'paygate to catch up');
  await app.idle();
}
