// The node and ElectrumX: their settings, and how to ask them. Nothing here starts or stops one.
// ElectrumX: https://electrumx-spesmilo.readthedocs.io/en/latest/environment.html

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../ports.mjs';
import { run } from './process.mjs';

export const LOOPBACK = '127.0.0.1';
const RPC_USER = 'paygate';
const RPC_TIMEOUT_MS = 60_000;
const ELECTRUM_TIMEOUT_MS = 5_000;

/**
 * @typedef {import('./process.mjs').Program} Program
 * @typedef {(method: string, ...params: unknown[]) => Promise<any>} Rpc
 *
 * @typedef {object} NodeRecord
 * @property {Program} program
 * @property {string} dataDir
 * @property {string} rpcUrl without user and password
 * @property {string} rpcUser
 * @property {string} rpcPassword
 * @property {number | null} p2pPort
 *
 * @typedef {object} ElectrumRecord
 * @property {Program} program
 * @property {Program | null} helper what must run beside it; it is never stopped before the end
 * @property {string} bornWith what it must have logged once before it is asked for anything
 * @property {number} tcpPort
 * @property {number | null} sslPort
 * @property {string | null} certFile
 */

/**
 * Lays out a new node: its folder and its settings.
 * @param {object} options
 * @param {string} options.root the Debian tree; the node sees nothing but it
 * @param {string} options.dirName a folder to make in it
 * @param {string} options.logFile
 * @param {boolean} options.p2p
 * @returns {Promise<NodeRecord>}
 */
export async function newNode({ root, dirName, logFile, p2p }) {
  const rpcPort = await freePort();
  const p2pPort = p2p ? await freePort() : null;
  const rpcPassword = randomBytes(24).toString('hex');
  const dataDir = join(root, dirName);
  const settings = [
    'regtest=1',
    'printtoconsole=1',
    'nodebuglogfile=1',
    '[regtest]',
    'server=1',
    'rest=1',
    'txindex=1',
    'dnsseed=0',
    'fallbackfee=0.0001',
    'addresstype=bech32',
    'changetype=bech32',
    `rpcbind=${LOOPBACK}`,
    `rpcallowip=${LOOPBACK}`,
    `rpcport=${rpcPort}`,
    `rpcuser=${RPC_USER}`,
    `rpcpassword=${rpcPassword}`,
    ...(p2p
      ? ['listen=1', `bind=${LOOPBACK}:${p2pPort}`, 'listenonion=0', 'discover=0', 'natpmp=0']
      : ['listen=0']),
  ];
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(join(dataDir, 'bitcoin.conf'), `${settings.join('\n')}\n`, { mode: 0o600 });
  const program = {
    label: 'bitcoind',
    command: 'chroot',
    args: [root, '/usr/bin/bitcoind', `-datadir=/${dirName}`],
    env: {},
    logFile,
    process: null,
  };
  const rpcUrl = `http://${LOOPBACK}:${rpcPort}`;
  return { program, dataDir, rpcUrl, rpcUser: RPC_USER, rpcPassword, p2pPort };
}

/**
 * Lays out a new ElectrumX: its folder, its certificate and its settings.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.venv
 * @param {string} options.dir
 * @param {NodeRecord} options.node
 * @returns {Promise<ElectrumRecord>}
 */
export async function newElectrumX({ name, venv, dir, node }) {
  const [tcpPort, sslPort, adminPort] = [await freePort(), await freePort(), await freePort()];
  const certFile = join(dir, 'cert.pem');
  const keyFile = join(dir, 'key.pem');
  await mkdir(dir, { mode: 0o700 });
  await selfSign(certFile, keyFile);
  const program = {
    label: `electrumx ${name}`,
    command: join(venv, 'bin/python3'),
    args: [join(venv, 'bin/electrumx_server')],
    env: {
      COIN: 'Bitcoin',
      NET: 'regtest',
      DAEMON_URL: node.rpcUrl.replace('//', `//${node.rpcUser}:${node.rpcPassword}@`),
      DB_DIRECTORY: dir,
      DB_ENGINE: 'leveldb',
      SERVICES: [
        `tcp://${LOOPBACK}:${tcpPort}`,
        `ssl://${LOOPBACK}:${sslPort}`,
        `rpc://${LOOPBACK}:${adminPort}`,
      ].join(),
      SSL_CERTFILE: certFile,
      SSL_KEYFILE: keyFile,
      COST_SOFT_LIMIT: '0',
      COST_HARD_LIMIT: '0',
      PEER_DISCOVERY: 'off',
      PEER_ANNOUNCE: '',
      ALLOW_ROOT: '1',
      DAEMON_POLL_INTERVAL_BLOCKS: '100',
      DAEMON_POLL_INTERVAL_MEMPOOL: '100',
    },
    logFile: join(dir, 'electrumx.log'),
    process: null,
  };
  return { program, helper: null, bornWith: '', tcpPort, sslPort, certFile };
}

/**
 * The node's JSON-RPC. An error has the node's `code`.
 * @param {NodeRecord} node
 * @param {string} wallet for wallet methods; others do not care
 * @returns {Rpc}
 */
export function rpcClient({ rpcUrl, rpcUser, rpcPassword }, wallet) {
  const authorization = `Basic ${Buffer.from(`${rpcUser}:${rpcPassword}`).toString('base64')}`;
  return async (method, ...params) => {
    const response = await fetch(`${rpcUrl}/wallet/${encodeURIComponent(wallet)}`, {
      method: 'POST',
      headers: { authorization, connection: 'close' }, // so that none is left of a stopped node
      body: JSON.stringify({ id: 1, method, params }),
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    }).catch((error) => {
      throw new Error(`${method}: ${error.cause?.message ?? error.message}`, { cause: error });
    });
    const text = await response.text();
    if (!text.startsWith('{')) throw new Error(`${method}: HTTP ${response.status} ${text}`);
    const { result, error } = JSON.parse(text);
    if (error) throw Object.assign(new Error(`${method}: ${error.message}`), { code: error.code });
    return result;
  };
}

/**
 * Asks an Electrum server for its newest block, over a connection of its own.
 * @param {ElectrumRecord} electrum
 * @returns {Promise<{ height: number, hex: string }>} hex: the header
 */
export async function electrumTip({ tcpPort }) {
  const socket = connect(tcpPort, LOOPBACK).setEncoding('utf8');
  socket.setTimeout(ELECTRUM_TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  socket.write('{"id":0,"method":"server.version","params":["paygate-regtest",["1.4","1.6"]]}\n');
  socket.write('{"id":1,"method":"blockchain.headers.subscribe","params":[]}\n');
  let received = '';
  for await (const chunk of socket) {
    received += chunk;
    const replies = received
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const reply = replies.find(({ id }) => id === 1);
    if (reply) return reply.result;
  }
  throw new Error(`the Electrum server hung up after ${JSON.stringify(received)}`);
}

/**
 * @param {string} certFile
 * @param {string} keyFile
 */
async function selfSign(certFile, keyFile) {
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '3650', '-subj', '/CN=localhost'],
    ...['-addext', `subjectAltName=DNS:localhost,IP:${LOOPBACK}`],
    ...['-out', certFile, '-keyout', keyFile],
  ]);
}
