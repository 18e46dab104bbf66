#!/usr/bin/env node
// A Bitcoin network of one's own, for end-to-end tests and for trying things by hand: a real node
// (Bitcoin Knots, regtest) and real Electrum servers (ElectrumX, electrs), on loopback only. Needs Debian
// and root. All files are in a cache folder outside the checkout (PAYGATE_REGTEST_CACHE); each `up`
// begins a new chain, `down` removes it, the installed programs stay.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installElectrs } from './regtest/electrs.mjs';
import { installWebhookLibrary, nodeRoot, progress } from './regtest/install.mjs';
import { down, FIRST_WALLET, names, nodeDirName, servers, up } from './regtest/network.mjs';
import { isRunning } from './regtest/process.mjs';

const USAGE = `usage: node scripts/regtest.mjs [--name NAME] COMMAND
  up [--json] [--p2p]   start a node and an Electrum server on a new chain of 250 blocks
  down                  stop them and remove the chain
  status                what runs, and how high its chain is
  cli ARGS…             bitcoin-cli on the node (--name goes before it)
  install-electrs       build the second kind of Electrum server, once (10 to 20 min; needs Rust)
  install-webhooks      get the Python library that verifies webhooks, once
`;

const DEFAULT_NAME = 'default';

/**
 * @param {import('./regtest/network.mjs').Regtest} regtest
 * @param {string} name
 */
function summary(regtest, name) {
  const { rpcUrl, rpcUser, rpcPassword, p2pPort, dataDir, nodePid } = regtest;
  const { tcpPort, sslPort, certFile, pid: electrumPid } = regtest.electrum;
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
  const all = servers({ name });
  if (all.length === 0) {
    process.stdout.write(`"${name}" is not up\n`);
    return false;
  }
  for (const { program, height } of all) {
    const life = isRunning(program)
      ? `runs (pid ${program.process?.pid}), height ${await height().catch(() => 'not known')}`
      : 'does not run';
    process.stdout.write(`${program.label.padEnd(18)}${life}\n`);
  }
  return all.every(({ program }) => isRunning(program));
}

/**
 * Runs bitcoin-cli on the node, with this process's input and output.
 * @param {string} name
 * @param {string[]} args
 * @returns {Promise<number>} its exit code
 */
async function bitcoinCli(name, args) {
  if (!names().includes(name)) throw new Error(`"${name}" is not up`);
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
    case 'install-electrs':
      await installElectrs();
      progress('electrs is installed');
      return 0;
    case 'install-webhooks':
      await installWebhookLibrary();
      return 0;
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
