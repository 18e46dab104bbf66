// Watcher before simulated servers, each behind a proxy that may rewrite what the server answers.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Network, networks } from '../../src/bitcoin/network.ts';
import { parseServerAddress } from '../../src/electrum/trust.ts';
import { SimulatedChain } from '../../src/sandbox/chain.ts';
import { SimulatedServer } from '../../src/sandbox/server.ts';
import type { Issued } from '../../src/store/addresses.ts';
import { createBacklog } from '../../src/watcher/backlog.ts';
import { createWatcher } from '../../src/watcher/watcher.ts';
import { syncAtOnce, whenOver } from './files.ts';
import { openTestStore } from './store.ts';
import { createTestWorld } from './world.ts';

export interface Asked {
  readonly method: string;
  readonly params: readonly string[];
}

/** What a server sends, as it sends it. */
export interface Sent {
  readonly id?: number;
  readonly method?: string;
  readonly params?: readonly unknown[];
  result?: unknown;
  error?: unknown;
}

/** The answer, rewritten or as it is; undefined keeps it back. */
export type Rewrite = (asked: Asked, message: Sent) => Sent | undefined;

export class LyingProxy {
  /** Undefined: an honest server. */
  lie: Rewrite | undefined;
  /** Rewrites a notification. */
  lieNotice: ((message: Sent) => Sent | undefined) | undefined;
  readonly sockets = new Set<Socket>();
  /** How many were ever accepted. */
  accepted = 0;
  label = '';

  async listen(target: number): Promise<void> {
    const server = createServer((client) => {
      const upstream = connect(target, '127.0.0.1');
      this.sockets.add(client);
      this.accepted += 1;
      const asked = new Map<number | undefined, Asked>();
      lines(client, (line) => {
        const parsed = JSON.parse(line);
        for (const each of Array.isArray(parsed) ? parsed : [parsed]) asked.set(each.id, each);
        upstream.write(`${line}\n`);
      });
      lines(upstream, (line) => {
        const message: Sent | Sent[] = JSON.parse(line);
        const rewrite = (each: Sent): Sent | undefined => {
          if (each.method !== undefined) return this.lieNotice ? this.lieNotice(each) : each;
          const request = asked.get(each.id);
          asked.delete(each.id);
          return this.lie && request ? this.lie(request, each) : each;
        };
        const told = Array.isArray(message) ? message.map(rewrite) : rewrite(message);
        if (told !== undefined) client.write(`${JSON.stringify(told)}\n`);
      });
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        one.on('close', () => other.destroy());
        one.on('error', () => other.destroy());
      }
      client.on('close', () => this.sockets.delete(client));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    whenOver(async () => {
      for (const socket of this.sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    });
    this.label = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  notify(method: string, params: unknown[]): void {
    for (const socket of this.sockets) {
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
    }
  }
}

function lines(socket: Socket, take: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) take(part);
  });
}

export async function prepare({
  servers: count = 2,
  network,
  blocks = 110,
  proveDepthAboveSat = 1e15,
  wallet = true,
  own = true,
}: {
  servers?: number;
  network?: (chain: SimulatedChain) => Partial<Network>;
  blocks?: number;
  proveDepthAboveSat?: number;
  wallet?: boolean;
  own?: boolean;
} = {}) {
  const world = createTestWorld();
  const store = await openTestStore({ syncData: syncAtOnce });
  if (wallet) {
    await store.addWallet();
    await store.addStore();
  }
  const chain = new SimulatedChain({ seed: 'watching', now: () => world.now() / 1000 });
  chain.mine(blocks);
  const proxies: LyingProxy[] = [];
  for (let at = 0; at < count; at += 1) {
    const server = new SimulatedServer({ chain, timer: world });
    const listening = await server.listen({ host: '127.0.0.1', port: 0 });
    whenOver(() => listening.close());
    const proxy = new LyingProxy();
    await proxy.listen(listening.port);
    proxies.push(proxy);
  }
  const watcher = createWatcher({
    world,
    store,
    network: { ...networks.regtest, ...network?.(chain) },
    servers: proxies.map(({ label }) => ({ ...parseServerAddress(label), own })),
    proxy: undefined,
    proveDepthAboveSat,
    backlog: createBacklog(world, () => {}),
    onCallbacks: () => {},
  });
  whenOver(() => watcher.stop());
  return {
    world,
    store,
    chain,
    proxies,
    watcher,
    inUse: () => proxies.find(({ label }) => label === watcher.status().server) as LyingProxy,
    async start() {
      watcher.start();
      await world.until(() => watcher.status().caughtUp, 'the watcher to catch up');
      await watcher.idle();
    },
    async issue(): Promise<Issued> {
      const issued = await store.issue();
      watcher.issued(issued.scripthash);
      await world.turn();
      return issued;
    },
    async minutes(much: number) {
      for (let minute = 0; minute < much; minute += 1) {
        await world.advance(60_000 - (world.now() % 60_000));
        await watcher.idle();
      }
    },
    payments: ({ scripthash }: Pick<Issued, 'scripthash'>) =>
      store.ledger.paymentsOf(store.addresses.byScripthash(scripthash)?.id ?? 0),
  };
}
