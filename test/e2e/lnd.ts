// Real LND nodes on the regtest node: a merchant's, and a customer's with a channel to it. They are
// children of the test, so they end with it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/ports.mjs';
import { lndProgram } from '../../scripts/regtest/lnd.mjs';
import { attach } from '../../scripts/regtest/network.ts';

/** What the customer has in each channel. */
const channelSat = 10_000_000;
const walletSat = 100_000_000;
const readyTimeoutMs = 60_000;
const pollMs = 100;

export interface Lnd {
  /** What a merchant enters for it. */
  readonly url: string;
  /** For peers. */
  readonly peerAddress: string;
  readonly folder: string;
  /** Asks its REST API with all rights. */
  ask(path: string, body?: object): Promise<LndAnswer>;
  /** Bakes a macaroon, in hex. @param permissions such as `invoices:read` */
  bake(...permissions: readonly string[]): Promise<string>;
  start(): Promise<void>;
  /** By default like a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: each path has an answer of its own shape.
export type LndAnswer = any;

export interface Lightning {
  readonly merchants: readonly Lnd[];
  /** @returns the preimage @throws what its node says */
  pay(invoice: string): Promise<string>;
  /** Waits until every channel can be used again, such as after a start. */
  untilConnected(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a customer's node and merchants' nodes, with a channel to each. */
export async function startLightning(merchantCount: number): Promise<Lightning> {
  const regtest = attach(process.env.PAYGATE_E2E_NETWORK ?? '');
  const customer = await startLnd('customer');
  const names = Array.from({ length: merchantCount }, (_, index) => `merchant-${index + 1}`);
  const merchants = await Promise.all(names.map(startLnd));
  const { address } = await customer.ask('/v1/newaddress');
  await regtest.rpc('sendtoaddress', address, walletSat / 1e8);
  await regtest.mine(1);
  await until(async () => {
    const { confirmed_balance: balance } = await customer.ask('/v1/balance/blockchain');
    return Number(balance) === walletSat;
  }, 'the coins of the customer');
  for (const merchant of merchants) {
    const { identity_pubkey: pubkey } = await merchant.ask('/v1/getinfo');
    await customer.ask('/v1/peers', { addr: { pubkey, host: merchant.peerAddress } });
    const node_pubkey = Buffer.from(pubkey, 'hex').toString('base64');
    const opened = {
      node_pubkey,
      local_funding_amount: String(channelSat),
      spend_unconfirmed: true,
    };
    await customer.ask('/v1/channels', opened);
  }
  await regtest.mine(6);
  const untilConnected = (): Promise<void> =>
    until(async () => {
      const nodes = [customer, ...merchants];
      const lists = await Promise.all(
        nodes.map((node) => node.ask('/v1/channels?active_only=true')),
      );
      const active = lists.map(({ channels }) => channels.length);
      if (active[0] !== merchantCount || active.includes(0)) return false;
      // A payment needs the policies of both sides.
      for (const { chan_id } of lists[0].channels) {
        const edge = await customer.ask(`/v1/graph/edge/${chan_id}`);
        if (edge.node1_policy === null || edge.node2_policy === null) return false;
      }
      return true;
    }, 'the channels');
  await untilConnected();
  return {
    merchants,
    async pay(invoice) {
      const paid = await customer.ask('/v1/channels/transactions', { payment_request: invoice });
      if (paid.payment_error) throw new Error(paid.payment_error);
      return Buffer.from(paid.payment_preimage, 'base64').toString('hex');
    },
    untilConnected,
    async close() {
      for (const node of [customer, ...merchants]) {
        await node.stop('SIGKILL');
        rmSync(node.folder, { recursive: true, force: true });
      }
    },
  };
}

async function startLnd(name: string): Promise<Lnd> {
  const { rpcAccess } = attach(process.env.PAYGATE_E2E_NETWORK ?? '');
  const folder = mkdtempSync(join(tmpdir(), `paygate-lnd-${name}-`));
  const [rest, rpc, peers] = [await freePort(), await freePort(), await freePort()];
  const options = {
    lnddir: folder,
    'bitcoin.node': 'bitcoind',
    'bitcoin.defaultchanconfs': 1,
    'bitcoind.rpchost': rpcAccess.host,
    'bitcoind.rpcuser': rpcAccess.user,
    'bitcoind.rpcpass': rpcAccess.password,
    'bitcoind.blockpollinginterval': '200ms',
    'bitcoind.txpollinginterval': '200ms',
    restlisten: `127.0.0.1:${rest}`,
    rpclisten: `127.0.0.1:${rpc}`,
    listen: `127.0.0.1:${peers}`,
    minbackoff: '1s',
    maxbackoff: '2s',
  };
  const flags = ['bitcoin.regtest', 'bitcoind.rpcpolling', 'noseedbackup', 'nobootstrap'];
  const args = [
    ...flags.map((flag) => `--${flag}`),
    ...Object.entries(options).map(([option, value]) => `--${option}=${value}`),
  ];
  let child: ChildProcess | undefined;
  const admin = (): string =>
    readFileSync(join(folder, 'data/chain/bitcoin/regtest/admin.macaroon')).toString('hex');
  const ask: Lnd['ask'] = (path, body) => askRest(rest, path, admin(), body);
  const node: Lnd = {
    url: `https://127.0.0.1:${rest}`,
    peerAddress: `127.0.0.1:${peers}`,
    folder,
    ask,
    async bake(...permissions) {
      const asked = permissions.map((permission) => {
        const [entity, ...action] = permission.split(':');
        return { entity, action: action.join(':') };
      });
      return (await ask('/v1/macaroon', { permissions: asked })).macaroon;
    },
    async start() {
      child = spawn(lndProgram(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout?.pipe(createWriteStream(join(folder, 'lnd.log'), { flags: 'a' }));
      await until(async () => (await ask('/v1/getinfo')).synced_to_chain, `LND ${name}`);
    },
    async stop(signal = 'SIGKILL') {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
  await node.start();
  return node;
}

/** @throws what LND says */
const askRest = (port: number, path: string, macaroon: string, body?: object): Promise<LndAnswer> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { 'grpc-metadata-macaroon': macaroon };
    const options = { host: '127.0.0.1', port, path, method, headers, agent: false };
    const sent = request({ ...options, rejectUnauthorized: false }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      if (response.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`${path}: ${response.statusCode} ${text}`));
    });
    sent.once('error', reject).end(body && JSON.stringify(body));
  });

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  let reason = 'not yet';
  while (Date.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      reason = (error as Error).message;
    }
    await sleep(pollMs);
  }
  throw new Error(`${what}: ${reason}`);
}
