// A regtest network: one node and the Electrum servers on it. What a later process needs to go on with
// it is in `state.json`. Each `up` begins a new chain, `down` removes it.

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { electrsProgram, newElectrs } from './electrs.mjs';
import { cacheDir, installElectrumX, installNode, nodeRoot, progress } from './install.mjs';
import { isRunning, launch, signal, stop, untilLogged, untilReady } from './process.mjs';
import { electrumTip, newElectrumX, newNode, rpcClient } from './servers.mjs';

const FIRST_BLOCKS = 250; // the coins of 150 of them are old enough to be spent
export const FIRST_WALLET = 'regtest';
// createwallet: with private keys, not blank, no passphrase, reuse allowed, descriptors, on startup
const LOADED_AT_STARTUP = [false, false, '', false, true, true];
const FIRST_ELECTRUM = 'first';

/**
 * What is kept in `state.json`: all that a later process needs.
 * @typedef {object} State
 * @property {string} name
 * @property {import('./servers.mjs').NodeRecord} node
 * @property {Record<string, import('./servers.mjs').ElectrumRecord>} electrums
 *
 * @typedef {import('./process.mjs').Program} Program
 * @typedef {import('./servers.mjs').Rpc} Rpc
 */

/**
 * An Electrum server. Stopping and starting it keeps its ports and data.
 * @typedef {object} Electrum
 * @property {number} tcpPort
 * @property {number | null} sslPort electrs speaks no TLS
 * @property {string | null} certFile self-signed, PEM
 * @property {number | null} pid
 * @property {() => Promise<void>} start then waits until it has caught up
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop SIGKILL for a crash
 * @property {() => void} pause it keeps its connections and answers nothing
 * @property {() => void} resume also where it was not paused
 * @property {() => Promise<void>} caughtUp waits until its newest block is the node's; ElectrumX
 *   leaves a branch only for a longer one, so mine that first after taking blocks back
 */

/**
 * A network. Stopping and starting the node keeps its ports and data.
 * @typedef {object} Regtest
 * @property {string} rpcUrl without user and password
 * @property {string} rpcUser
 * @property {string} rpcPassword
 * @property {Rpc} rpc asks the node; wallet methods go to the first wallet
 * @property {(wallet: string) => Rpc} walletRpc the same for another wallet
 * @property {(blocks?: number) => Promise<string[]>} mine into the first wallet; → block hashes
 * @property {number | null} p2pPort
 * @property {string} dataDir the node's
 * @property {number | null} nodePid
 * @property {(...moreArgs: string[]) => Promise<void>} startNode with further bitcoind options
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stopNode SIGKILL for a crash
 * @property {Electrum} electrum the first one, always an ElectrumX
 * @property {(name: string) => Electrum} electrumOf
 * @property {(name: string, kind: 'electrumx' | 'electrs') => Promise<Electrum>} addElectrum starts
 *   a further Electrum server on the same node; electrs must have been built
 * @property {() => Promise<boolean>} down
 */

/**
 * Starts a network on a new chain; installs the programs the first time.
 * @param {object} options
 * @param {string} options.name networks of different names run side by side
 * @param {boolean} [options.p2p] open the node's P2P port, on loopback
 * @returns {Promise<Regtest>}
 */
export async function up({ name, p2p = false }) {
  const running = programs(readState(name)).find(isRunning);
  if (running)
    throw new Error(`"${name}" is up already (${running.label} runs); take it down first`);
  const root = await installNode();
  await installElectrumX();
  await down({ name });
  await mkdir(runDir(name), { mode: 0o700 });
  const logFile = join(runDir(name), 'bitcoind.log');
  const node = await newNode({ root, dirName: nodeDirName(name), logFile, p2p });
  const state = { name, node, electrums: {} };
  const regtest = handles(state);
  try {
    progress('starting the node…');
    await regtest.startNode();
    await regtest.rpc('createwallet', FIRST_WALLET, ...LOADED_AT_STARTUP);
    await regtest.mine(FIRST_BLOCKS);
    await regtest.rpc('gettxoutsetinfo'); // writes the chain to disk: a killed node keeps it
    await regtest.addElectrum(FIRST_ELECTRUM, 'electrumx');
  } catch (error) {
    await stopAll(state); // its files stay until the next `up` or `down`, to be looked at
    throw error;
  }
  return regtest;
}

/**
 * Stops a network, whichever process started it, and removes its chain.
 * @param {object} options
 * @param {string} options.name
 * @returns {Promise<boolean>} whether there was one
 */
export async function down({ name }) {
  const state = readState(name);
  if (state) await stopAll(state);
  await rm(join(nodeRoot(), nodeDirName(name)), { recursive: true, force: true });
  await rm(runDir(name), { recursive: true, force: true });
  return state !== null;
}

/**
 * The handles of a network that another process started.
 * @param {object} options
 * @param {string} options.name
 * @returns {Regtest}
 */
export function attach({ name }) {
  const state = readState(name);
  if (!state) throw new Error(`"${name}" is not up`);
  return handles(state);
}

/**
 * What there is of networks, running or not.
 * @returns {string[]} their names
 */
export function names() {
  const prefix = 'run-';
  if (!existsSync(cacheDir())) return [];
  return readdirSync(cacheDir())
    .filter((entry) => entry.startsWith(prefix))
    .map((entry) => entry.slice(prefix.length));
}

/**
 * What runs, or should, and how high its chain is.
 * @param {object} options
 * @param {string} options.name
 * @returns {{ program: Program, height: () => Promise<number> }[]} nothing when it is not up
 */
export function servers({ name }) {
  const state = readState(name);
  if (!state) return [];
  return [
    { program: state.node.program, height: () => handles(state).rpc('getblockcount') },
    ...Object.values(state.electrums).map((electrum) => ({
      program: electrum.program,
      height: async () => (await electrumTip(electrum)).height,
    })),
  ];
}

/**
 * @param {State} state
 * @returns {Regtest}
 */
function handles(state) {
  const { node, electrums } = state;
  const { rpcUrl, rpcUser, rpcPassword, p2pPort, dataDir } = node;
  const rpc = rpcClient(node, FIRST_WALLET);
  /** @param {string} name */
  const electrumOf = (name) => electrumHandles(state, name);
  return {
    rpcUrl,
    rpcUser,
    rpcPassword,
    rpc,
    walletRpc: (wallet) => rpcClient(node, wallet),
    mine: async (blocks = 1) => rpc('generatetoaddress', blocks, await rpc('getnewaddress')),
    p2pPort,
    dataDir,
    get nodePid() {
      return pidOf(node.program);
    },
    async startNode(...moreArgs) {
      await launch(node.program, moreArgs);
      saveState(state);
      await untilReady(node.program, () => rpc('getblockcount'));
    },
    async stopNode(signal) {
      await stop(node.program, signal);
      saveState(state);
    },
    get electrum() {
      return electrumOf(FIRST_ELECTRUM);
    },
    electrumOf,
    async addElectrum(name, kind) {
      const dir = join(runDir(state.name), `electrum-${name}`);
      progress(`starting the Electrum server "${name}" (${kind})…`);
      electrums[name] =
        kind === 'electrs'
          ? await newElectrs({ name, command: electrsProgram(), dir, node })
          : await newElectrumX({ name, venv: await installElectrumX(), dir, node });
      await electrumOf(name).start();
      return electrumOf(name);
    },
    down: () => down({ name: state.name }),
  };
}

/**
 * @param {State} state
 * @param {string} name
 * @returns {Electrum}
 */
function electrumHandles(state, name) {
  const record = state.electrums[name];
  if (!record) throw new Error(`there is no Electrum server "${name}"`);
  const { program, helper, bornWith, tcpPort, sslPort, certFile } = record;
  const rpc = rpcClient(state.node, FIRST_WALLET);
  const caughtUp = () =>
    untilReady(program, async () => {
      const tip = await electrumTip(record);
      const nodeTip = await rpc('getblockheader', await rpc('getbestblockhash'), false);
      if (tip.hex !== nodeTip)
        throw new Error(`its newest block, ${tip.height}, is not the node’s`);
    });
  return {
    tcpPort,
    sslPort,
    certFile,
    get pid() {
      return pidOf(program);
    },
    async start() {
      if (helper && !isRunning(helper)) await launch(helper);
      await launch(program);
      saveState(state);
      await untilLogged(program, bornWith);
      await caughtUp();
    },
    async stop(signal) {
      await stop(program, signal);
      saveState(state);
    },
    pause: () => signal(program, 'SIGSTOP'),
    resume: () => signal(program, 'SIGCONT'),
    caughtUp,
  };
}

/**
 * The programs of a network, in the order in which they are stopped.
 * @param {State | null} state
 * @returns {Program[]}
 */
function programs(state) {
  if (!state) return [];
  const electrums = Object.values(state.electrums);
  return [
    ...electrums.map(({ program }) => program),
    ...electrums.flatMap(({ helper }) => (helper === null ? [] : [helper])),
    state.node.program,
  ];
}

/** @param {Program} program */
function pidOf(program) {
  return program.process?.pid ?? null;
}

/** @param {State} state */
async function stopAll(state) {
  for (const program of programs(state)) await stop(program);
}

/**
 * Where all files of a network are, but the node's data.
 * @param {string} name
 */
export function runDir(name) {
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`a name is of a-z, 0-9 and -, not "${name}"`);
  return join(cacheDir(), `run-${name}`);
}

/**
 * Where the node's data is, within the root folder that is all it sees.
 * @param {string} name
 */
export function nodeDirName(name) {
  return `run-${name}`;
}

/**
 * @param {string} name
 * @returns {State | null}
 */
function readState(name) {
  try {
    return JSON.parse(readFileSync(join(runDir(name), 'state.json'), 'utf8'));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

/** @param {State} state */
function saveState(state) {
  const file = join(runDir(state.name), 'state.json');
  writeFileSync(`${file}.tmp`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}
