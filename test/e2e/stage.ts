// The fixture of an end-to-end test: the shared network, and a merchant wallet, a database folder
// and paygate of its own. It is removed after the test. If the test fails, paygate's log is shown.

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base, expect } from 'vitest';
import type { ScriptType } from '../../src/bitcoin/address.ts';
import { type Clock, createClock } from './clock.ts';
import { connectNetwork, type ElectrumName, type MerchantWallet, type Network } from './network.ts';
import { type Outcome, type Reply, runPaygate, type Server, servePaygate } from './paygate.ts';
import { openShop, type Shop } from './shop.ts';

const shownLogLines = 40;

export interface StoreAnswer {
  readonly id: number;
  readonly http_callback: string;
  readonly wallet: { readonly id: number; readonly script: string; readonly account: string };
  readonly first_addresses: readonly string[];
  readonly api_key: string;
  readonly webhook_secret: string;
}

export interface CallbackAnswer {
  readonly event_id: string;
  readonly addr: string;
  readonly txid: string;
  readonly value: number;
  readonly status: number;
  readonly state: string;
  readonly attempts: number;
  readonly next_attempt_at: number | null;
}

export interface Stage {
  readonly network: Network;
  readonly merchant: MerchantWallet;
  /** Holds the database and nothing else. */
  readonly folder: string;
  readonly db: string;
  /** Gives a clock of its own to each paygate that starts afterwards. */
  setClock(behindSeconds: number): Clock;
  openShop(answer?: Parameters<typeof openShop>[0]): Promise<Shop>;
  /** Runs a command that does not serve. */
  run(args: readonly string[], input?: string): Promise<Outcome>;
  /** `store add` with the merchant wallet's account of this script type. */
  addStore(
    script: ScriptType,
    callbackUrl: string,
    ...more: readonly string[]
  ): Promise<StoreAnswer>;
  callbacks(): Promise<CallbackAnswer[]>;
  /** The log lines of every `serve` of this test. */
  log(): string[];
  /** `serve` on the database, by default with the first Electrum server. */
  serve(...args: readonly string[]): Promise<Server>;
  /** `serve` on both Electrum servers, settled. Addresses are watched on the given one. */
  serveOnBoth(watched: ElectrumName, ...args: readonly string[]): Promise<Server>;
  /** Sends a request to a route of `/api/v3` with the store's key: POST with a body, else GET. */
  askApi(server: Server, path: string, body?: object): Promise<Reply>;
  /** Requests a new address; the request may be refused. */
  askAddress(server: Server, query?: string, method?: 'GET' | 'POST'): Promise<Reply>;
  /** Requests new addresses, one after another. */
  newAddresses(server: Server, count: number, query?: string): Promise<string[]>;
}

export const test = base.extend<{ stage: Stage }>({
  stage: async ({ task, onTestFailed }, use) => {
    const name = task.name.replace(/\W+/g, '-');
    const folder = join(process.env.PAYGATE_E2E_DIR ?? '', name);
    const logFile = join(process.env.PAYGATE_E2E_DIR ?? '', `${name}.log`);
    mkdirSync(folder);
    onTestFailed(() => showLog(logFile));

    const network = connectNetwork();
    const merchant = network.createMerchantWallet();
    const servers: Server[] = [];
    const shops: Shop[] = [];
    await use(createStage({ network, merchant, folder, logFile, servers, shops }));
    for (const server of servers) await server.kill();
    for (const shop of shops) await shop.close();
    await network.mend();
    await merchant.unload();
  },
});

interface Parts extends Pick<Stage, 'network' | 'merchant' | 'folder'> {
  readonly logFile: string;
  readonly servers: Server[];
  readonly shops: Shop[];
}

function createStage({ network, merchant, folder, logFile, servers, shops }: Parts): Stage {
  const db = join(folder, 'paygate.db');
  let apiKey = '';
  let clock: Clock | undefined;

  /** Runs a command that must succeed, and returns its JSON. */
  async function runJson(...args: string[]) {
    const { code, stdout, stderr } = await runPaygate([...args, '--db', db, '--json'], '', clock);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  async function serve(...args: readonly string[]): Promise<Server> {
    const { tcp } = network.electrum('first');
    const electrum = args.includes('--electrum') ? [] : ['--electrum', tcp];
    // The merchant's wallet is the node's own, whose gap limit is 1,000 addresses.
    const own = ['--db', db, '--listen', '127.0.0.1:0', '--wallet-gap', '1000'];
    const server = await servePaygate([...own, ...electrum, ...args], logFile, clock);
    servers.push(server);
    return server;
  }

  const authorization = () => ({ Authorization: `Bearer ${apiKey}` });

  const askAddress: Stage['askAddress'] = (server, query = '', method = 'GET') =>
    server.ask(`/api/new_address${query}`, { method, headers: authorization() });

  return {
    network,
    merchant,
    folder,
    db,
    setClock(behindSeconds) {
      clock = createClock(`${folder}.clock`, behindSeconds);
      return clock;
    },
    async openShop(answer) {
      const shop = await openShop(answer, () => clock?.now() ?? Date.now());
      shops.push(shop);
      return shop;
    },
    run: (args, input) => runPaygate(args, input, clock),
    async addStore(script, callbackUrl, ...more) {
      const { tpub } = await merchant.account(script);
      const key = ['--xpub', tpub, '--script', script];
      const url = ['--callback-url', callbackUrl, '--allow-private-callback'];
      const added = await runJson(
        ...['store', 'add', '--network', 'regtest', '--name', script, ...key, ...url, ...more],
      );
      apiKey = added.api_key;
      return added;
    },
    callbacks: () => runJson('callbacks', 'list', '--limit', '10000'),
    log: () => readLog(logFile).split('\n'),
    serve,
    async serveOnBoth(watched, ...args) {
      const other = network.electrum(watched === 'first' ? 'second' : 'first');
      const { tcp } = network.electrum(watched);
      other.pause(); // the server that connects first is watched
      const server = await serve('--electrum', tcp, '--electrum', other.tcp, ...args);
      await expect.poll(async () => (await server.health()).electrum.server).toBe(tcp);
      other.resume();
      await server.settled();
      return server;
    },
    askApi: (server, path, body) =>
      server.ask(`/api/v3${path}`, {
        headers: authorization(),
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      }),
    askAddress,
    async newAddresses(server, count, query = '') {
      const addresses: string[] = [];
      for (let asked = 0; asked < count; asked += 1) {
        const reply = await askAddress(server, query, asked % 2 === 0 ? 'GET' : 'POST');
        expect(reply).toMatchObject({ status: 200, body: { crypto: 'BTC' } });
        addresses.push(reply.body.address);
      }
      return addresses;
    },
  };
}

function showLog(logFile: string): void {
  const lines = readLog(logFile).trimEnd().split('\n').slice(-shownLogLines);
  process.stderr.write(`\nThe end of ${logFile}:\n${lines.join('\n')}\n\n`);
}

function readLog(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8');
  } catch {
    return 'paygate has printed nothing';
  }
}
