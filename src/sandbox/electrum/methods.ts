// The methods of the Electrum protocol, each from its parameters to its result. They read a view,
// which faults may falsify. Errors have the texts of ElectrumX.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-methods.html

import { bytesToHex } from '@noble/hashes/utils.js';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { displayHex, type Scripthash } from '../../bitcoin/ids.ts';
import { satPerBitcoin } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { relayFeeRate } from '../chain/chain-state.ts';
import { merkleBranch, merkleLevels, rootOf } from '../chain/simulated-block.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import type { ChainView } from './chain-view.ts';
import { coinsIn, type HistoryEntry } from './history-results.ts';
import {
  badRequest,
  booleanParam,
  commas,
  errorCodes,
  hexParam,
  nonNegativeInteger,
  RpcError,
  scripthashParam,
  txidParam,
} from './json-rpc.ts';
import { isAtLeast, type ProtocolVersion } from './protocol-version.ts';

interface MethodCall {
  readonly view: ChainView;
  readonly chain: SimulatedChain;
  readonly version: ProtocolVersion;
  readonly params: readonly unknown[];
  readonly server: ServerInfo;
  readonly subscriptions: Subscriptions;
}

export interface ServerInfo {
  readonly software: string;
  readonly protocols: readonly [ProtocolVersion, ProtocolVersion];
  readonly banner: string;
  readonly host: string;
  readonly port: number;
}

/** Subscriptions of a connection, with the values that the client received last. */
export interface Subscriptions {
  header: string | undefined;
  readonly statuses: Map<Scripthash, string | null>;
}

interface ElectrumMethod {
  /** Minimum and maximum number of parameters. */
  readonly params: readonly [number, number];
  /** `since`: first version with the method. `until`: first version without it. */
  readonly since?: ProtocolVersion;
  readonly until?: ProtocolVersion;
  run(call: MethodCall): unknown;
}

const feeRateEstimate = 10;
/** Converts sat/vB to BTC/kB. */
const perKilobyte = (feeRate: number): number => (feeRate * 1_000) / satPerBitcoin;

/**
 * History in the order of the version. 1.6 defines an order of the mempool. Before 1.6 any order is
 * valid: this server reverses it, so that no client relies on it.
 */
function historyAt(
  view: ChainView,
  version: ProtocolVersion,
  scripthash: Scripthash,
): HistoryEntry[] {
  const history = view.history(scripthash);
  if (isAtLeast(version, '1.6')) return history;
  const mined = history.filter(({ height }) => height > 0);
  return [...mined, ...history.slice(mined.length).reverse()];
}

/** Result of scripthash.subscribe and parameter of its notifications. */
export const statusAt = (
  view: ChainView,
  version: ProtocolVersion,
  scripthash: Scripthash,
): string | null => view.status(historyAt(view, version, scripthash));

function subscribeHeaders({ view, subscriptions }: MethodCall): unknown {
  const result = tipResult(view);
  subscriptions.header = result.hex;
  return result;
}

const toWire = ({ txid, height, feeSat }: HistoryEntry) => ({
  tx_hash: txid,
  height,
  ...(feeSat !== undefined && { fee: feeSat }),
});

const getHistory = ({ view, version, params: [scripthash] }: MethodCall) =>
  historyAt(view, version, scripthashParam(scripthash));

function getCoins({ view, params: [first] }: MethodCall) {
  const scripthash = scripthashParam(first);
  return coinsIn(view.history(scripthash), scripthash, (txid) => view.transaction(txid));
}

function getBalance(call: MethodCall): unknown {
  const { confirmedSat, unconfirmedSat } = getCoins(call);
  return { confirmed: confirmedSat, unconfirmed: unconfirmedSat };
}

function listUnspent(call: MethodCall): unknown {
  return getCoins(call).unspent.map(({ txid, vout, height = 0, valueSat }) => ({
    tx_hash: txid,
    tx_pos: vout,
    height,
    value: valueSat,
  }));
}

function subscribeScripthash({
  view,
  version,
  params: [first],
  subscriptions,
}: MethodCall): unknown {
  const scripthash = scripthashParam(first);
  const status = statusAt(view, version, scripthash);
  subscriptions.statuses.set(scripthash, status);
  return status;
}

function broadcast({ chain, params: [raw] }: MethodCall): unknown {
  const bytes = hexParam(raw, 'raw_tx');
  try {
    return chain.broadcast(bytes);
  } catch (thrown) {
    if (!(thrown instanceof PaygateError)) throw thrown;
    const reason = thrown.message;
    return badRequest(`the transaction was rejected by network rules.\n\n${reason}\n[${raw}]`);
  }
}

function getTransaction({ view, params: [first, verbose = false] }: MethodCall): unknown {
  const txid = txidParam(first);
  const raw = view.raw(txid);
  const wantsMore = booleanParam(verbose, 'verbose');
  if (raw) {
    const hex = bytesToHex(raw);
    return wantsMore ? { txid, hex, ...view.location(txid) } : hex;
  }
  const message =
    'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.';
  const error = `DaemonError({'code': -5, 'message': '${message}'})`;
  throw new RpcError(errorCodes.daemon, `daemon error: ${error}`);
}

function getMerkle({ view, params: [first, second] }: MethodCall): unknown {
  const txid = txidParam(first);
  const height = nonNegativeInteger(second);
  const proof = view.proof(txid, height);
  if (!proof) return badRequest(`tx ${txid} not in block at height ${commas(height)}`);
  return { block_height: height, merkle: proof.branch, pos: proof.position };
}

function idFromPosition({ view, params: [first, second, merkle = false] }: MethodCall): unknown {
  const height = nonNegativeInteger(first);
  const position = nonNegativeInteger(second);
  const wantsProof = booleanParam(merkle, 'merkle');
  const txid = view.txids(height)?.[position];
  if (!txid) {
    return badRequest(`no tx at position ${commas(position)} in block at height ${commas(height)}`);
  }
  return wantsProof ? { tx_hash: txid, merkle: view.proof(txid, height)?.branch ?? [] } : txid;
}

/** Pairs of a fee rate, rounded down, and the virtual bytes that pay it; highest rate first. */
function feeHistogram({ chain }: MethodCall): unknown {
  const sizes = new Map<number, number>();
  for (const { feeSat, vsize } of chain.mempool()) {
    const rate = Math.floor(feeSat / vsize);
    sizes.set(rate, (sizes.get(rate) ?? 0) + vsize);
  }
  return [...sizes].sort(([a], [b]) => b - a);
}

function estimateFee({ params: [blocks] }: MethodCall): unknown {
  nonNegativeInteger(blocks);
  return perKilobyte(feeRateEstimate);
}

const mempoolInfo = () => ({
  mempoolminfee: perKilobyte(relayFeeRate),
  minrelaytxfee: perKilobyte(relayFeeRate),
  incrementalrelayfee: perKilobyte(relayFeeRate),
});

const features = ({ view, server: { software, protocols, host, port } }: MethodCall) => ({
  genesis_hash: view.genesisHash,
  hash_function: 'sha256',
  server_version: software,
  protocol_min: protocols[0],
  protocol_max: protocols[1],
  pruning: null,
  hosts: { [host]: { tcp_port: port } },
});

/** All methods except server.version, which the session handles. */
const methods: ReadonlyMap<string, ElectrumMethod> = new Map<string, ElectrumMethod>([
  ['blockchain.block.header', { params: [1, 2], run: blockHeader }],
  ['blockchain.block.headers', { params: [2, 3], run: blockHeaders }],
  ['blockchain.estimatefee', { params: [1, 2], run: estimateFee }],
  ['blockchain.headers.subscribe', { params: [0, 0], run: subscribeHeaders }],
  ['blockchain.relayfee', { params: [0, 0], until: '1.6', run: () => perKilobyte(relayFeeRate) }],
  ['blockchain.scripthash.get_balance', { params: [1, 1], run: getBalance }],
  [
    'blockchain.scripthash.get_history',
    { params: [1, 1], run: (call) => getHistory(call).map(toWire) },
  ],
  [
    'blockchain.scripthash.get_mempool',
    {
      params: [1, 1],
      run: (call) =>
        getHistory(call)
          .filter(({ height }) => height <= 0)
          .map(toWire),
    },
  ],
  ['blockchain.scripthash.listunspent', { params: [1, 1], run: listUnspent }],
  ['blockchain.scripthash.subscribe', { params: [1, 1], run: subscribeScripthash }],
  [
    'blockchain.scripthash.unsubscribe',
    {
      params: [1, 1],
      since: '1.4.2',
      run: ({ params: [scripthash], subscriptions }) =>
        subscriptions.statuses.delete(scripthashParam(scripthash)),
    },
  ],
  ['blockchain.transaction.broadcast', { params: [1, 1], run: broadcast }],
  ['blockchain.transaction.get', { params: [1, 2], run: getTransaction }],
  ['blockchain.transaction.get_merkle', { params: [2, 2], run: getMerkle }],
  ['blockchain.transaction.id_from_pos', { params: [2, 3], run: idFromPosition }],
  ['mempool.get_fee_histogram', { params: [0, 0], run: feeHistogram }],
  ['mempool.get_info', { params: [0, 0], since: '1.6', run: mempoolInfo }],
  ['server.banner', { params: [0, 0], run: ({ server }) => server.banner }],
  ['server.features', { params: [0, 0], run: features }],
  ['server.ping', { params: [0, 0], run: () => null }],
]);

export const isMethod = (name: string): boolean => name === 'server.version' || methods.has(name);

/** @throws RpcError for a method that the version lacks, or a wrong number of parameters */
export function runMethod(name: string, call: MethodCall): unknown {
  const method = methods.get(name);
  const { version, params } = call;
  const exists =
    method &&
    isAtLeast(version, method.since ?? version) &&
    !(method.until && isAtLeast(version, method.until));
  if (!exists) throw new RpcError(errorCodes.methodNotFound, `unknown method "${name}"`);
  const [min, max] = method.params;
  if (params.length < min || params.length > max) {
    const expected = min === max ? `${min}` : `${min} to ${max}`;
    const message = `expected ${expected} arguments, got ${params.length}`;
    throw new RpcError(errorCodes.invalidParams, message);
  }
  return method.run(call);
}

interface HeaderCall {
  readonly view: ChainView;
  readonly version: ProtocolVersion;
  readonly params: readonly unknown[];
}

const maxHeaders = 2016;

/** Result of headers.subscribe and parameter of its notifications. */
export function tipResult(view: ChainView): { hex: string; height: number } {
  return { hex: headerHex(view, view.tipHeight), height: view.tipHeight };
}

function headerHex(view: ChainView, height: number): string {
  const header = view.header(height);
  return header ? bytesToHex(header) : badRequest(`height ${commas(height)} out of range`);
}

/** Proof that a header is in the chain up to a checkpoint height. */
function headerProof(view: ChainView, height: number, checkpoint: number) {
  if (height > checkpoint || checkpoint > view.tipHeight) {
    badRequest(
      `require header height ${commas(height)} <= cp_height ${commas(checkpoint)} <= ` +
        `chain height ${commas(view.tipHeight)}`,
    );
  }
  const hashes = Array.from({ length: checkpoint + 1 }, (_, at) =>
    sha256x2(view.header(at) ?? new Uint8Array()),
  );
  const tree = merkleLevels(hashes);
  return { branch: merkleBranch({ tree }, height), root: displayHex(rootOf(tree)) };
}

function blockHeader({ view, params: [first, second = 0] }: HeaderCall): unknown {
  const height = nonNegativeInteger(first);
  const checkpoint = nonNegativeInteger(second);
  const header = headerHex(view, height);
  return checkpoint === 0 ? header : { header, ...headerProof(view, height, checkpoint) };
}

function blockHeaders({ view, version, params: [first, second, third = 0] }: HeaderCall): unknown {
  const start = nonNegativeInteger(first);
  const asked = nonNegativeInteger(second);
  const checkpoint = nonNegativeInteger(third);
  const count = Math.max(0, Math.min(asked, maxHeaders, view.tipHeight + 1 - start));
  const headers = Array.from({ length: count }, (_, at) => headerHex(view, start + at));
  return {
    count,
    max: maxHeaders,
    ...(isAtLeast(version, '1.6') ? { headers } : { hex: headers.join('') }),
    ...(count > 0 && checkpoint > 0 && headerProof(view, start + count - 1, checkpoint)),
  };
}
