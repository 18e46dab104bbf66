#!/usr/bin/env node
// A Bitcoin network of one's own, for end-to-end tests and for trying things by hand: a real node
// (Bitcoin Knots, regtest) and a real Electrum server (ElectrumX), on loopback only. Needs Debian
// and root. All files are in a cache folder outside the checkout (PAYGATE_REGTEST_CACHE); each `up`
// begins a new chain, `down` removes it, the installed programs stay.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cacheDir, installElectrumX, installNode, nodeRoot, progress } from './regtest/install.mjs';
import { isRunning, launch, stop, untilReady } from './regtest/process.mjs';
import { electrumTip, newElectrum, newNode, rpcClient } from './regtest/servers.mjs';

const USAGE = `usage: node scripts/regtest.mjs [--name NAME] COMMAND
  up [--json] [--p2p]   start a node and an Electrum server on a new chain of 250 blocks
  down                  stop them and remove the chain
  status                what runs, and how high its chain is
  cli ARGS…             bitcoin-cli on the node (--name goes before it)
`;

const DEFAULT_NAME = 'default';
const FIRST_BLOCKS = 250; // the coins of 150 of them are old enough to be spent
const FIRST_WALLET = 'regtest';
// createwallet: with private keys, not blank, no passphrase, reuse allowed, descriptors, on startup
const LOADED_AT_STARTUP = [false, false, '', false, true, true];
const FIRST_ELECTRUM = 'first';

/**
 * What is kept in `state.json`: all that a later process needs.
 * @typedef {object} State
 * @property {string} name
 * @property {import('./regtest/servers.mjs').NodeRecord} node
 * @property {Record<string, import('./regtest/servers.mjs').ElectrumRecord>} electrums
 *
 * @typedef {import('./regtest/process.mjs').Program} Program
 * @typedef {import('./regtest/servers.mjs').Rpc} Rpc
 */

/**
 * An Electrum server. Stopping and starting it keeps its ports and data.
 * @typedef {object} Electrum
 * @property {number} tcpPort
 * @property {number} sslPort
 * @property {string} certFile self-signed, PEM
 * @property {number | null} pid
 * @property {() => Promise<void>} start then waits until it has caught up
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop SIGKILL for a crash
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
 * @property {Electrum} electrum
 * @property {number | null} electrumPid
 * @property {Electrum['start']} startElectrum
 * @property {Electrum['stop']} stopElectrum
 * @property {(name: string, env?: Record<string, string>) => Promise<Electrum>} addElectrum starts
 *   a further Electrum server on the same node
 * @property {() => Promise<boolean>} down
 */

/**
 * Starts a network on a new chain; installs the programs the first time.
 * @param {object} [options]
 * @param {string} [options.name] networks of different names run side by side
 * @param {boolean} [options.p2p] open the node's P2P port, on loopback
 * @param {Record<string, string>} [options.electrumEnv] further settings of ElectrumX
 * @returns {Promise<Regtest>}
 */
export async function up({ name = DEFAULT_NAME, p2p = false, electrumEnv = {} } = {}) {
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
    progress('starting the Electrum server…');
    await regtest.addElectrum(FIRST_ELECTRUM, electrumEnv);
  } catch (error) {
    await stopAll(state); // its files stay until the next `up` or `down`, to be looked at
    throw error;
  }
  return regtest;
}

/**
 * Stops a network, whichever process started it, and removes its chain.
 * @param {object} [options]
 * @param {string} [options.name]
 * @returns {Promise<boolean>} whether there was one
 */
export async function down({ name = DEFAULT_NAME } = {}) {
  const state = readState(name);
  if (state) await stopAll(state);
  await rm(join(nodeRoot(), nodeDirName(name)), { recursive: true, force: true });
  await rm(runDir(name), { recursive: true, force: true });
  return state !== null;
}

/**
 * The handles of a network that another process started.
 * @param {object} [options]
 * @param {string} [options.name]
 * @returns {Regtest}
 */
export function attach({ name = DEFAULT_NAME } = {}) {
  const state = readState(name);
  if (!state) throw new Error(`"${name}" is not up`);
  return handles(state);
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
  const electrum = (name) => electrumHandles(state, name);
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
      return electrum(FIRST_ELECTRUM);
    },
    get electrumPid() {
      return electrum(FIRST_ELECTRUM).pid;
    },
    startElectrum: () => electrum(FIRST_ELECTRUM).start(),
    stopElectrum: (signal) => electrum(FIRST_ELECTRUM).stop(signal),
    async addElectrum(name, env = {}) {
      const venv = await installElectrumX();
      const dir = join(runDir(state.name), `electrum-${name}`);
      electrums[name] = await newElectrum({ name, venv, dir, node, env });
      await electrum(name).start();
      return electrum(name);
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
  const { program, tcpPort, sslPort, certFile } = record;
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
      await launch(program);
      saveState(state);
      await caughtUp();
    },
    async stop(signal) {
      await stop(program, signal);
      saveState(state);
    },
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
  return [...Object.values(state.electrums), state.node].map(({ program }) => program);
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
function runDir(name) {
  if (!/^[a-z0-9-]+$/.test(name)) throw new Error(`a name is of a-z, 0-9 and -, not "${name}"`);
  return join(cacheDir(), `run-${name}`);
}

/**
 * Where the node's data is, within the root folder that is all it sees.
 * @param {string} name
 */
function nodeDirName(name) {
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

/**
 * @param {Regtest} regtest
 * @param {string} name
 */
function summary(regtest, name) {
  const { rpcUrl, rpcUser, rpcPassword, p2pPort, dataDir, nodePid, electrumPid } = regtest;
  const { tcpPort, sslPort, certFile } = regtest.electrum;
  const electrum = { tcpPort, sslPort, certFile };
  const rpc = { rpcUrl, rpcUser, rpcPassword, wallet: FIRST_WALLET };
  return { name, ...rpc, p2pPort, electrum, dataDir, nodePid, electrumPid };
}

/** @param {ReturnType<typeof summary>} summary */
function summaryText({ rpcUrl, rpcUser, rpcPassword, wallet, p2pPort, electrum, dataDir }) {
  return `RPC       ${rpcUrl} user ${rpcUser} password ${rpcPassword} wallet ${wallet}
Electrum  tcp 127.0.0.1:${electrum.tcpPort}, ssl 127.0.0.1:${electrum.sslPort} (self-signed)
P2P       ${p2pPort ? `127.0.0.1:${p2pPort}` : 'closed'}
Data      ${dataDir}
`;
}

/**
 * Prints each server, whether it runs and how high its chain is.
 * @param {string} name
 * @returns {Promise<boolean>} whether all run
 */
async function printStatus(name) {
  const state = readState(name);
  if (!state) {
    process.stdout.write(`"${name}" is not up\n`);
    return false;
  }
  const { rpc } = handles(state);
  const servers = [
    { program: state.node.program, height: () => rpc('getblockcount') },
    ...Object.values(state.electrums).map((electrum) => ({
      program: electrum.program,
      height: async () => (await electrumTip(electrum)).height,
    })),
  ];
  for (const { program, height } of servers) {
    const life = isRunning(program)
      ? `runs (pid ${pidOf(program)}), height ${await height().catch(() => 'not known')}`
      : 'does not run';
    process.stdout.write(`${program.label.padEnd(18)}${life}\n`);
  }
  return servers.every(({ program }) => isRunning(program));
}

/**
 * Runs bitcoin-cli on the node, with this process's input and output.
 * @param {string} name
 * @param {string[]} args
 * @returns {Promise<number>} its exit code
 */
async function bitcoinCli(name, args) {
  if (!readState(name)) throw new Error(`"${name}" is not up`);
  const options = [`-datadir=/${nodeDirName(name)}`, `-rpcwallet=${FIRST_WALLET}`];
  const command = [nodeRoot(), '/usr/bin/bitcoin-cli', ...options, ...args];
  const [code] = await once(spawn('chroot', command, { stdio: 'inherit' }), 'close');
  return code ?? 1;
}

/**
 * @param {string[]} argv
 * @returns {Promise<number>} the exit code
 */
async function main(argv) {
  const cliAt = argv.indexOf('cli');
  const { values, positionals } = parseArgs({
    args: cliAt < 0 ? argv : argv.slice(0, cliAt + 1),
    allowPositionals: true,
    options: {
      name: { type: 'string', default: DEFAULT_NAME },
      json: { type: 'boolean', default: false },
      p2p: { type: 'boolean', default: false },
    },
  });
  const { name, json, p2p } = values;
  switch (positionals.join(' ')) {
    case 'up': {
      const result = summary(await up({ name, p2p }), name);
      process.stdout.write(json ? `${JSON.stringify(result)}\n` : summaryText(result));
      return 0;
    }
    case 'down':
      progress((await down({ name })) ? `"${name}" is down` : `"${name}" was not up`);
      return 0;
    case 'status':
      return (await printStatus(name)) ? 0 : 1;
    case 'cli':
      return bitcoinCli(name, argv.slice(cliAt + 1));
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    progress(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
