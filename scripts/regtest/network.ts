// A regtest network: one node and the Electrum servers on it, on loopback only. What a later process
// needs to go on with it is in `state.json`. Each `up` begins a new chain, `down` removes it.

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installElectrumX, installNode, nodeRoot, progress } from './install.mjs';
import {
  isRunning,
  launch,
  type Program,
  signal,
  stop,
  untilLogged,
  untilReady,
} from './process.ts';
import {
  type ElectrumRecord,
  electrumTip,
  type NodeRecord,
  newElectrs,
  newElectrumX,
  newNode,
  RPC_USER,
  rpcClient,
} from './servers.ts';

const FIRST_BLOCKS = 250; // the coins of 150 of them are old enough to be spent
const FIRST_WALLET = 'regtest';
// createwallet: with private keys, not blank, no passphrase, reuse allowed, descriptors, on startup
const LOADED_AT_STARTUP = [false, false, '', false, true, true];

/** What is stored in `state.json`. */
interface State {
  readonly name: string;
  readonly node: NodeRecord;
  readonly electrums: Record<string, ElectrumRecord>;
}

/** A network. Stopping and starting its servers preserves their ports and data. */
export type Regtest = ReturnType<typeof handles>;
export type RegtestElectrum = ReturnType<typeof electrumHandles>;

/**
 * Starts a network on a new chain with an ElectrumX named `first`; installs the programs the first time.
 * @param name networks of different names run side by side
 */
export async function up(name: string): Promise<Regtest> {
  const running = programs(readState(name)).find(isRunning);
  if (running) throw new Error(`"${name}" is up already (${running.label} runs)`);
  const root = await installNode();
  await installElectrumX();
  await down(name);
  await mkdir(runDir(name), { mode: 0o700 });
  const node = await newNode(root, nodeDirName(name), join(runDir(name), 'bitcoind.log'));
  const state = { name, node, electrums: {} };
  const regtest = handles(state);
  try {
    progress('starting the node…');
    await regtest.startNode();
    await regtest.rpc('createwallet', FIRST_WALLET, ...LOADED_AT_STARTUP);
    await regtest.mine(FIRST_BLOCKS);
    await regtest.rpc('gettxoutsetinfo'); // writes the chain to disk: it survives a kill
    await regtest.addElectrum('first', 'electrumx');
  } catch (error) {
    await stopAll(state); // its files stay until the next `up` or `down`, to be looked at
    throw error;
  }
  return regtest;
}

/** Stops a network, whichever process started it, and removes its chain. */
export async function down(name: string): Promise<void> {
  const state = readState(name);
  if (state) await stopAll(state);
  await rm(join(nodeRoot(), nodeDirName(name)), { recursive: true, force: true });
  await rm(runDir(name), { recursive: true, force: true });
}

/** A network that another process started. */
export function attach(name: string): Regtest {
  const state = readState(name);
  if (!state) throw new Error(`"${name}" is not up`);
  return handles(state);
}

/** The names of all networks, running or not. */
export function names(): string[] {
  const prefix = 'run-';
  if (!existsSync(cacheDir())) return [];
  return readdirSync(cacheDir())
    .filter((entry) => entry.startsWith(prefix))
    .map((entry) => entry.slice(prefix.length));
}

function handles(state: State) {
  const { node, electrums } = state;
  /** Asks the node; wallet methods go to the first wallet. */
  const rpc = rpcClient(node, FIRST_WALLET);
  const electrumOf = (name: string) => electrumHandles(state, name);
  return {
    rpc,
    walletRpc: (wallet: string) => rpcClient(node, wallet),
    /** What a program needs that asks the node itself. */
    rpcAccess: { host: new URL(node.rpcUrl).host, user: RPC_USER, password: node.rpcPassword },
    /** Into the first wallet. @returns block hashes */
    mine: async (blocks = 1): Promise<string[]> =>
      rpc('generatetoaddress', blocks, await rpc('getnewaddress')),
    get nodePid() {
      return pidOf(node.program);
    },
    async startNode() {
      await launch(node.program);
      saveState(state);
      await untilReady(node.program, () => rpc('getblockcount'));
    },
    /** @param signal SIGKILL for a crash */
    async stopNode(signal?: NodeJS.Signals) {
      await stop(node.program, signal);
      saveState(state);
    },
    electrumOf,
    /** Starts a further Electrum server on the same node; electrs must have been built. */
    async addElectrum(name: string, kind: 'electrumx' | 'electrs') {
      const dir = join(runDir(state.name), `electrum-${name}`);
      progress(`starting the Electrum server "${name}" (${kind})…`);
      const lay = kind === 'electrs' ? newElectrs : newElectrumX;
      electrums[name] = await lay(name, dir, node);
      await electrumOf(name).start();
    },
  };
}

function electrumHandles(state: State, name: string) {
  const record = state.electrums[name];
  if (!record) throw new Error(`there is no Electrum server "${name}"`);
  const { program, helper, bornWith, tcpPort, sslPort, certFile } = record;
  const rpc = rpcClient(state.node, FIRST_WALLET);
  /**
   * Waits until its newest block is the node's. ElectrumX leaves a branch only for a longer one, so mine
   * that first after taking blocks back.
   */
  const caughtUp = () =>
    untilReady(program, async () => {
      const tip = await electrumTip(record);
      const nodeTip = await rpc('getblockheader', await rpc('getbestblockhash'), false);
      if (tip.hex !== nodeTip) {
        throw new Error(`its newest block, ${tip.height}, is not the node’s`);
      }
    });
  return {
    tcpPort,
    sslPort,
    certFile,
    get pid() {
      return pidOf(program);
    },
    /** Waits until it has caught up. */
    async start() {
      if (helper && !isRunning(helper)) await launch(helper);
      await launch(program);
      saveState(state);
      await untilLogged(program, bornWith);
      await caughtUp();
    },
    /** @param signal SIGKILL for a crash */
    async stop(signal?: NodeJS.Signals) {
      await stop(program, signal);
      saveState(state);
    },
    /** It preserves its connections and answers nothing. */
    pause: () => signal(program, 'SIGSTOP'),
    resume: () => signal(program, 'SIGCONT'),
    caughtUp,
  };
}

/** In the order in which they are stopped. */
function programs(state: State | null): Program[] {
  if (!state) return [];
  const electrums = Object.values(state.electrums);
  const helpers = electrums.flatMap(({ helper }) => helper ?? []);
  return [...electrums.map(({ program }) => program), ...helpers, state.node.program];
}

const pidOf = (program: Program) => program.process?.pid ?? null;

async function stopAll(state: State) {
  for (const program of programs(state)) await stop(program);
}

/** Where all files of a network are, but the node's data. */
export function runDir(name: string): string {
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`a name is of a-z, 0-9 and -, not "${name}"`);
  return join(cacheDir(), `run-${name}`);
}

/** Where the node's data is, within the root folder that is all it sees. */
const nodeDirName = (name: string) => `run-${name}`;

function readState(name: string): State | null {
  try {
    return JSON.parse(readFileSync(join(runDir(name), 'state.json'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function saveState(state: State) {
  const file = join(runDir(state.name), 'state.json');
  writeFileSync(`${file}.tmp`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}
