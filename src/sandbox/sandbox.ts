// The composition root of `paygate sandbox`, one process without connections to the outside.
// It builds a simulated chain and its Electrum server. It starts the app of `serve` on them, with a
// demo store and the Chain page in its dashboard. It also starts the demo shop.
// The chain ends with the process, so every start needs a new database file (docs/decisions/025).

import { HDKey } from '@scure/bip32';
import { type App, type AppOptions, openApp, startApp } from '../app.ts';
import { parseWalletKey, type WalletKey } from '../bitcoin/keychain.ts';
import { type Config, readConfig } from '../config.ts';
import { base } from '../dashboard/page.ts';
import { newWebhookSecret } from '../delivery/signature.ts';
import { hostAndPort, type ListenAddress } from '../domain/delivery/public-endpoint.ts';
import { defaultConfirmations } from '../domain/payment/confirmation-policy.ts';
import { PaygateError } from '../lib/errors.ts';
import { hourMs } from '../lib/time-units.ts';
import { inspectFile } from '../store/file/file-guards.ts';
import { openRecords } from '../store/open-records.ts';
import { setUpShop } from '../store/wallets/store-setup.ts';
import { type HttpListener, listen } from '../web/http-server.ts';
import type { World } from '../world/world.ts';
import { SimulatedChain } from './chain/simulated-chain.ts';
import { SimulatedServer } from './electrum/simulated-server.ts';
import { movableClock, type SandboxWorld } from './sandbox-clock.ts';
import { chainPath, createChainPage } from './shop/chain-page.tsx';
import { createPaygateClient, type PaygateClient } from './shop/paygate-client.ts';
import { createSandboxSignIn } from './shop/sandbox-sign-in.ts';
import { callbackPath, webhookPath } from './shop/shop.ts';
import { simulatedRates } from './shop/shop-orders.ts';
import { createSite } from './shop/shop-site.ts';

export interface SandboxOptions extends Pick<AppOptions, 'onFatal'> {
  /** Path of the database file, which must not exist yet. */
  readonly db: string;
  readonly api: ListenAddress;
  readonly shop: ListenAddress;
  /** Hash of the dashboard's password, from `dashboard/guard/password.ts`. */
  readonly passwordHash: string;
}

export interface Sandbox {
  readonly app: App;
  readonly chain: SimulatedChain;
  readonly apiKey: string;
  /** Scheme, host and port. */
  readonly apiOrigin: string;
  readonly shopOrigin: string;
  /** Links that sign the visitor in. */
  readonly links: { readonly dashboard: string; readonly chain: string };
  stop(): Promise<void>;
}

const loopback = '127.0.0.1';
/** Confirmed coins of the faucet: with many, a payment seldom spends unconfirmed change. */
const stock = { coins: 200, valueSat: 100_000_000 };
/** After these blocks the first coinbases are mature. */
const blocksBeforeStock = 110;
/** Blocks that may be reorganised without touching the stock. */
const blocksAfterStock = 20;

/** @throws PaygateError conflict when the file is there, unavailable when a port is taken */
export async function startSandbox(options: SandboxOptions, world: World): Promise<Sandbox> {
  if (inspectFile(options.db) !== 'absent') {
    const why = 'is there already; the chain of a sandbox ends with it, so each begins a new file';
    throw new PaygateError('conflict', `${options.db}: ${why}`);
  }
  const ends: (() => Promise<void>)[] = [];
  async function stop(): Promise<void> {
    for (const end of ends.splice(0).reverse()) await end();
  }
  try {
    return { ...(await start(options, movableClock(world), (end) => ends.push(end))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param onStop registers what a stop does, in reverse order */
async function start(
  options: SandboxOptions,
  world: SandboxWorld,
  onStop: (end: () => Promise<void>) => void,
): Promise<Omit<Sandbox, 'stop'>> {
  const chain = createChain(world);
  const server = new SimulatedServer({ chain, timer: world });
  const electrum = await server.listen({ host: loopback, port: 0 });
  onStop(() => electrum.close());

  const webhookSecret = newWebhookSecret(world.randomBytes);
  let started: StartedPaygate | undefined;
  const whenStarted = (): StartedPaygate => {
    if (started !== undefined) return started;
    throw new PaygateError('unavailable', 'paygate is starting: try again');
  };
  const chainUrl = (): string => `${whenStarted().apiOrigin}${chainPath}`;
  const paygate = (): PaygateClient => whenStarted().client;
  const site = createSite({
    world,
    chain,
    webhookSecret,
    chainUrl,
    paygate,
    passTo: world.passTo,
  });
  let shop: HttpListener | undefined;
  // Registered before it listens, because the site must also end when the port is taken.
  onStop(async () => {
    site.end();
    await shop?.close();
  });
  // No idle timeout: event streams may be silent for an hour, and only loopback connects.
  const address = { ...options.shop, flag: '--shop', timeouts: { idleMs: 0 } };
  shop = await listen(site.fetch, address, world.after);
  const shopOrigin = originOf({ ...options.shop, port: shop.port });

  const { apiKey, storeId } = await createDatabase(options, world, {
    callbackUrl: `${shopOrigin}${callbackPath}`,
    webhookUrl: `${shopOrigin}${webhookPath}`,
    webhookSecret,
  });
  const chainPage = createChainPage({ world, chain, server, shopUrl: `${shopOrigin}/` });
  onStop(async () => chainPage.end());
  const signIn = createSandboxSignIn(Buffer.from(world.randomBytes(16)).toString('hex'));
  const opened = await openApp(configOf(options, electrum.port, shopOrigin), world, {
    onFatal: options.onFatal,
    extraPages: [chainPage.page, signIn.page],
    // Receivers on this machine refuse a signature of the future.
    signingTime: world.machineNow,
  });
  const app = await startApp(opened);
  onStop(() => app.stop());
  const apiOrigin = originOf({ ...options.api, port: app.port });
  const client = createPaygateClient(world, { origin: apiOrigin, apiKey, storeId });
  onStop(() => client.close());
  started = { apiOrigin, client };
  const linkTo = (page: string): string => apiOrigin + signIn.linkTo(page);
  const links = { dashboard: linkTo(base), chain: linkTo(chainPath) };
  return { app, chain, apiKey, apiOrigin, shopOrigin, links };
}

/** Values that exist once paygate has started. */
interface StartedPaygate {
  readonly apiOrigin: string;
  readonly client: PaygateClient;
}

const originOf = (at: ListenAddress): string => `http://${hostAndPort(at)}`;

/** Its first blocks are dated an hour back, because each needs a time of its own. */
function createChain(world: World): SimulatedChain {
  const seed = Buffer.from(world.randomBytes(16)).toString('hex');
  let backMs = hourMs;
  const chain = new SimulatedChain({ seed, now: () => (world.now() - backMs) / 1000 });
  chain.mine(blocksBeforeStock);
  chain.stock(stock.coins, stock.valueSat);
  chain.mine(blocksAfterStock);
  backMs = 0;
  return chain;
}

/** Options as `serve` reads them, without the environment, which may be for another paygate. */
const configOf = (
  { db, api }: SandboxOptions,
  electrumPort: number,
  shopOrigin: string,
): Config => ({
  ...readConfig(
    {
      db: [db],
      network: ['regtest'],
      electrum: [`tcp://${loopback}:${electrumPort}`],
      price: ['own'],
    },
    {},
  ),
  priceSource: [simulatedRates(shopOrigin)],
  listen: api,
});

/** Creates the file, with a password and the demo store. */
async function createDatabase(
  { db, passwordHash }: SandboxOptions,
  world: World,
  store: {
    readonly callbackUrl: string;
    readonly webhookUrl: string;
    readonly webhookSecret: string;
  },
): Promise<{ readonly apiKey: string; readonly storeId: number }> {
  const { database, catalog, keys, admin } = await openRecords({
    path: db,
    create: true,
    network: 'regtest',
    newInstance: () => Buffer.from(world.randomBytes(16)).toString('hex'),
  });
  try {
    return await database.write((tx) => {
      const now = world.now();
      admin.setPassword(tx, now, passwordHash);
      const shop = setUpShop({ catalog, keys }, tx, now, {
        key: newWalletKey(world),
        // The wallet is new, so a scan would find nothing.
        startIndex: 0,
        fields: {
          ...store,
          name: 'Demo shop',
          // That of the shop's prices: a till sells in it.
          currency: 'EUR',
          requiredConfirmations: defaultConfirmations,
          reversalCallback: true,
          allowPrivateCallback: true,
        },
        secret: world.randomBytes(32),
      });
      return { apiKey: shop.apiKey, storeId: shop.row.id };
    });
  } finally {
    await database.close();
  }
}

/** A wallet whose private keys are discarded: nothing spends its coins on a simulated chain. */
function newWalletKey(world: World): WalletKey {
  const versions = { private: 0x04358394, public: 0x043587cf };
  const root = HDKey.fromMasterSeed(world.randomBytes(32), versions);
  const account = root.derive("m/84'/1'/0'").publicExtendedKey;
  return parseWalletKey(account, { network: 'regtest', scriptType: 'p2wpkh' });
}
