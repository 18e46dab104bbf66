// A watcher on a store's file with simulated servers, without the rest of the app. Tests use it for
// settings that the app does not have: another network's rule, a lower limit, foreign servers.

import type { Network } from '../../src/bitcoin/network.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createBacklog } from '../../src/watcher/backlog.ts';
import { createWatcher, type Watcher } from '../../src/watcher/watcher.ts';
import { whenOver } from './files.ts';
import { Liar } from './liar.ts';
import { openTestStore, type TestRecords } from './store.ts';
import { createTestWorld, type TestWorld } from './world.ts';

export interface Watching {
  readonly world: TestWorld;
  readonly chain: SimulatedChain;
  /** The chain of each server, by default the same for all. */
  readonly chains: readonly SimulatedChain[];
  readonly records: TestRecords;
  readonly servers: readonly SimulatedServer[];
  /** The proxy before each server, when servers may lie. */
  readonly liars: readonly Liar[];
  readonly labels: readonly string[];
  readonly watcher: Watcher;
  /** The server in use. */
  inUse(): SimulatedServer | undefined;
  start(): Promise<void>;
  /** The same file and servers after a restart; the watcher before must be stopped. */
  again(): Watcher;
}

export interface WatchingOptions {
  readonly servers?: number;
  /** Regtest's rules, changed. */
  readonly network?: Partial<Network>;
  readonly maxSubscribed?: number;
  /** Each server has a chain of its own, all alike until a test changes one. */
  readonly ownChains?: boolean;
  /** Whether the servers are the operator's own, by default true. */
  readonly own?: boolean;
  /** Whether a wallet and a store exist at the start, by default true. */
  readonly wallet?: boolean;
  /** Whether a liar stands before each server. */
  readonly mayLie?: boolean;
  /** What the servers call themselves. */
  readonly software?: string;
}

/** A file with one wallet and one store; nothing is started yet. */
export async function prepareWatching(options: WatchingOptions = {}): Promise<Watching> {
  const { own = true } = options;
  const world = createTestWorld();
  const records = await openTestStore();
  if (options.wallet !== false) {
    await records.addWallet();
    await records.addStore();
  }
  const makeChain = (): SimulatedChain => {
    const made = new SimulatedChain({ seed: 'watching', now: () => world.now() / 1000 });
    made.mine(110);
    return made;
  };
  const chain = makeChain();
  const chains: SimulatedChain[] = [];
  const servers: SimulatedServer[] = [];
  const liars: Liar[] = [];
  const labels: string[] = [];
  for (let count = 0; count < (options.servers ?? 1); count += 1) {
    const served = options.ownChains && count > 0 ? makeChain() : chain;
    chains.push(served);
    const { software } = options;
    const server = new SimulatedServer({
      chain: served,
      timer: world,
      ...(software !== undefined && { software }),
    });
    const listening = await server.listen({ host: '127.0.0.1', port: 0 });
    whenOver(() => listening.close());
    servers.push(server);
    let { port } = listening;
    if (options.mayLie) {
      const liar = new Liar();
      liars.push(liar);
      port = await liar.listen(port);
    }
    labels.push(`tcp://127.0.0.1:${port}`);
  }
  const makeWatcher = (): Watcher => {
    const watcher = createWatcher({
      world,
      records,
      network: { ...networks.regtest, ...options.network },
      servers: labels.map((label) => ({ ...parseServerAddress(label), own })),
      proxy: undefined,
      proveDepthAboveSat: 0,
      ...(options.maxSubscribed !== undefined && { maxSubscribed: options.maxSubscribed }),
      backlog: createBacklog(world, () => {}),
    });
    whenOver(() => watcher.stop());
    return watcher;
  };
  let watcher = makeWatcher();
  return {
    world,
    chain,
    chains,
    records,
    servers,
    liars,
    labels,
    get watcher() {
      return watcher;
    },
    inUse: () => servers[labels.indexOf(watcher.status().server ?? '')],
    async start() {
      watcher.start();
      await world.until(() => watcher.status().caughtUp, 'the watcher to catch up');
      await watcher.idle();
    },
    again() {
      watcher = makeWatcher();
      return watcher;
    },
  };
}
