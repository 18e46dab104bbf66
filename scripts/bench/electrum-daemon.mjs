// The peer: Electrum's own merchant daemon, as Debian packages it, on an Electrum server of the regtest
// network, with a watching-only wallet of the benches' account key. It is asked in its best form: JSON-RPC
// over one kept connection, no process a command. Installs the package where it is missing (as root).
// https://electrum.readthedocs.io/en/latest/merchant.html

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../ports.mjs';
import { requireTools } from '../regtest/install.mjs';
import { launch, stop, untilReady } from '../regtest/process.mjs';
import { LOOPBACK } from '../regtest/servers.mjs';
import { atEnd } from './ending.mjs';
import { accountKey } from './keys.mjs';
import { openLine } from './line.mjs';

const COMMAND = '/usr/bin/electrum';
const RPC_USER = 'bench';
/** An older one has its server changed to TLS. */
const CONFIG_VERSION = 3;

/**
 * @typedef {object} ElectrumDaemon
 * @property {string} version such as 4.3.4
 * @property {number} pid
 * @property {(method: string, params?: Record<string, unknown>) => Promise<any>} call gives parameters
 *   by their names; commands of a wallet mean the only one
 *
 * @typedef {object} Options
 * @property {string} folder on a real disk; it makes one of its own there
 * @property {number} electrumPort plain TCP, of the Electrum server
 */

/**
 * Runs a daemon until the bench is over; resolves when its wallet is synchronised.
 * @param {Options} options
 * @returns {Promise<ElectrumDaemon>}
 */
export async function startElectrumDaemon({ folder, electrumPort }) {
  await requireTools({ electrum: () => promisify(execFile)(COMMAND, ['--help']) });
  const dir = await mkdtemp(join(folder, 'electrum-'));
  const rpcPort = await freePort();
  const rpcPassword = randomBytes(24).toString('hex');
  await writeConfig(dir, {
    ...{ server: `${LOOPBACK}:${electrumPort}:t`, oneserver: true, auto_connect: false },
    ...{ rpchost: LOOPBACK, rpcport: rpcPort, rpcuser: RPC_USER, rpcpassword: rpcPassword },
    ...{ check_updates: false, config_version: CONFIG_VERSION },
  });
  const args = ['--regtest', '--dir', dir];
  await promisify(execFile)(COMMAND, ['restore', ...args, '--offline', accountKey('regtest vpub')]);
  const program = {
    label: 'electrum',
    command: COMMAND,
    args: ['daemon', ...args],
    env: { HOME: dir },
    logFile: join(dir, 'daemon.log'),
    process: null,
  };
  atEnd(() => stop(program));
  await launch(program);
  const call = rpcClient(`http://${LOOPBACK}:${rpcPort}`, rpcPassword);
  await untilReady(program, () => call('ping'));
  await call('load_wallet');
  await untilReady(program, async () => {
    if (!(await call('is_synchronized'))) throw new Error('its wallet is not synchronised');
  });
  return { version: await call('version'), pid: pidOf(program), call };
}

/**
 * @param {string} dir
 * @param {object} config
 */
async function writeConfig(dir, config) {
  await mkdir(join(dir, 'regtest'), { recursive: true, mode: 0o700 });
  // Of regtest alone: it reads no other.
  await writeFile(join(dir, 'regtest', 'config'), JSON.stringify(config), { mode: 0o600 });
}

/**
 * @param {string} origin
 * @param {string} password
 * @returns {ElectrumDaemon['call']}
 */
function rpcClient(origin, password) {
  const { host } = new URL(origin);
  const authorization = `Basic ${Buffer.from(`${RPC_USER}:${password}`).toString('base64')}`;
  const head = `POST / HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\ncontent-length: `;
  /** @type {import('./line.mjs').Line | undefined} */
  let line;
  atEnd(() => line?.end());
  let id = 0;
  return async (method, params = {}) => {
    id += 1;
    // It ends one that was quiet for a while.
    if (!line?.isOpen()) line = await openLine(origin);
    const body = JSON.stringify({ id, method, params });
    const { status, text } = await line.ask(`${head}${body.length}\r\n\r\n${body}`);
    if (status !== 200) throw new Error(`electrum ${method}: HTTP ${status} ${text}`);
    const { result, error } = JSON.parse(text);
    if (error) throw new Error(`electrum ${method}: ${error.message}`);
    return result;
  };
}

/** @param {import('../regtest/process.mjs').Program} program */
const pidOf = ({ process }) =>
  /** @type {import('../regtest/process.mjs').Process} */ (process).pid;
