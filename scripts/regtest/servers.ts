// The node, ElectrumX and electrs: their settings, and how to ask them. Nothing here starts or stops
// one. ElectrumX: https://electrumx-spesmilo.readthedocs.io/en/latest/environment.html

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../ports.mjs';
import { electrsProgram } from './electrs.mjs';
import { installElectrumX, run } from './install.mjs';
import { newProgram, type Program } from './process.ts';

const LOOPBACK = '127.0.0.1';
export const RPC_USER = 'paygate';
const RPC_TIMEOUT_MS = 60_000;
const ELECTRUM_TIMEOUT_MS = 5_000;

// biome-ignore lint/suspicious/noExplicitAny: each method has a response of its own shape.
export type Rpc = (method: string, ...params: unknown[]) => Promise<any>;

export interface NodeRecord {
  readonly program: Program;
  /** Without user and password. */
  readonly rpcUrl: string;
  readonly rpcPassword: string;
}

export interface ElectrumRecord {
  readonly program: Program;
  /** What must run beside it; it is never stopped before the end. */
  readonly helper: Program | null;
  /** What it must have logged once before it is asked for anything. */
  readonly bornWith: string;
  readonly tcpPort: number;
  /** electrs speaks no TLS. */
  readonly sslPort: number | null;
  /** Self-signed, PEM. */
  readonly certFile: string | null;
}

/**
 * Lays out a new node: its folder and its settings.
 * @param root the Debian tree; the node sees nothing but it
 * @param dirName a folder to make in it
 */
export async function newNode(root: string, dirName: string, logFile: string): Promise<NodeRecord> {
  const rpcPort = await freePort();
  const rpcPassword = randomBytes(24).toString('hex');
  const dataDir = join(root, dirName);
  const settings = `regtest=1
printtoconsole=1
nodebuglogfile=1
[regtest]
server=1
rest=1
txindex=1
deprecatedrpc=warnings
dnsseed=0
listen=0
fallbackfee=0.0001
addresstype=bech32
changetype=bech32
rpcbind=${LOOPBACK}
rpcallowip=${LOOPBACK}
rpcport=${rpcPort}
rpcuser=${RPC_USER}
rpcpassword=${rpcPassword}
`;
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(join(dataDir, 'bitcoin.conf'), settings, { mode: 0o600 });
  const args = [root, '/usr/bin/bitcoind', `-datadir=/${dirName}`];
  const program = newProgram('bitcoind', 'chroot', args, logFile);
  return { program, rpcUrl: `http://${LOOPBACK}:${rpcPort}`, rpcPassword };
}

/** Lays out a new ElectrumX: its folder, its certificate and its settings. */
export async function newElectrumX(name: string, dir: string, node: NodeRecord) {
  const venv = await installElectrumX();
  const [tcpPort, sslPort, adminPort] = [await freePort(), await freePort(), await freePort()];
  const certFile = join(dir, 'cert.pem');
  const keyFile = join(dir, 'key.pem');
  await mkdir(dir, { mode: 0o700 });
  await selfSign(certFile, keyFile);
  const services = { tcp: tcpPort, ssl: sslPort, rpc: adminPort };
  const env = {
    COIN: 'Bitcoin',
    NET: 'regtest',
    DAEMON_URL: node.rpcUrl.replace('//', `//${RPC_USER}:${node.rpcPassword}@`),
    DB_DIRECTORY: dir,
    DB_ENGINE: 'leveldb',
    SERVICES: `${Object.entries(services).map(([type, port]) => `${type}://${LOOPBACK}:${port}`)}`,
    SSL_CERTFILE: certFile,
    SSL_KEYFILE: keyFile,
    COST_SOFT_LIMIT: '0',
    COST_HARD_LIMIT: '0',
    PEER_DISCOVERY: 'off',
    PEER_ANNOUNCE: '',
    ALLOW_ROOT: '1',
    DAEMON_POLL_INTERVAL_BLOCKS: '100',
    DAEMON_POLL_INTERVAL_MEMPOOL: '100',
  };
  const [python, args] = [join(venv, 'bin/python3'), [join(venv, 'bin/electrumx_server')]];
  const program = newProgram(`electrumx ${name}`, python, args, join(dir, 'electrumx.log'), env);
  return { program, helper: null, bornWith: '', tcpPort, sslPort, certFile };
}

/** Lays out a new electrs: its folder and its settings. */
export async function newElectrs(name: string, dir: string, node: NodeRecord) {
  const [tcpPort, monitoringPort, nodePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const confFile = join(dir, 'electrs.toml');
  const settings = {
    auth: `${RPC_USER}:${node.rpcPassword}`,
    network: 'regtest',
    db_dir: dir,
    daemon_rpc_addr: `${LOOPBACK}:${nodePort}`,
    electrum_rpc_addr: `${LOOPBACK}:${tcpPort}`,
    monitoring_addr: `${LOOPBACK}:${monitoringPort}`,
    wait_duration_secs: 1, // the least; it is how often the node is asked
    log_filters: 'INFO',
  };
  const lines = Object.entries(settings).map(
    ([key, value]) => `${key} = ${JSON.stringify(value)}\n`,
  );
  await mkdir(dir, { mode: 0o700 });
  await writeFile(confFile, lines.join(''), { mode: 0o600 });
  const args = ['--skip-default-conf-files', '--conf', confFile];
  const log = join(dir, 'electrs.log');
  const program = newProgram(`electrs ${name}`, electrsProgram(), args, log);
  const blockpart = [join(import.meta.dirname, 'blockpart.ts'), `${nodePort}`];
  const helper = newProgram(
    `blockpart ${name}`,
    process.execPath,
    [...blockpart, new URL(node.rpcUrl).port],
    join(dir, 'blockpart.log'),
  );
  // A client that comes before the first block is indexed ends it with a panic.
  return { program, helper, bornWith: ': indexed ', tcpPort, sslPort: null, certFile: null };
}

/**
 * The node's JSON-RPC. An error has the node's `code`.
 * @param wallet for wallet methods; others ignore it
 */
export function rpcClient({ rpcUrl, rpcPassword }: NodeRecord, wallet: string): Rpc {
  const authorization = `Basic ${btoa(`${RPC_USER}:${rpcPassword}`)}`;
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
 * @returns hex: the header
 */
export async function electrumTip({
  tcpPort,
}: ElectrumRecord): Promise<{ height: number; hex: string }> {
  const socket = connect(tcpPort, LOOPBACK).setEncoding('utf8');
  socket.setTimeout(ELECTRUM_TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  socket.write('{"id":0,"method":"server.version","params":["paygate-regtest",["1.4","1.6"]]}\n');
  socket.write('{"id":1,"method":"blockchain.headers.subscribe","params":[]}\n');
  try {
    for await (const line of createInterface(socket)) {
      const { id, result } = JSON.parse(line);
      if (id === 1) return result;
    }
    throw new Error('the Electrum server closed the connection');
  } finally {
    socket.destroy();
  }
}

const selfSign = (certFile: string, keyFile: string) =>
  run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '3650', '-subj', '/CN=localhost'],
    ...['-addext', `subjectAltName=DNS:localhost,IP:${LOOPBACK}`],
    ...['-out', certFile, '-keyout', keyFile],
  ]);
