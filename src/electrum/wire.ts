// The Electrum methods that paygate uses, protocol 1.4 and 1.6: their names and parsers of their
// results. Pure. A parser returns a typed value or throws `invalid`; none trusts a type, a length
// or a text. The heights that stand for the mempool (0 and -1) go no further than this file.
// Sections are those of https://electrum-protocol.readthedocs.io/en/latest/protocol-methods.html

import { hexToBytes } from '@noble/hashes/utils.js';
import {
  type BlockHash,
  isHash,
  parseBlockHash,
  parseTxid,
  type Scripthash,
  type Txid,
} from '../bitcoin/ids.ts';
import type { HistoryItem, Position, StatusHash } from '../domain/payment/script-history.ts';
import { plainText } from '../domain/text/format.ts';
import { reasonOf } from '../lib/errors.ts';
import { invalid, isRecord } from './framing.ts';

/** The lowest and the highest protocol version that paygate speaks. */
export const offeredVersions = ['1.4', '1.6'] as const;

/**
 * Which form of the protocol was agreed on; revisions (1.4.3) change nothing here. Fulcrum before
 * 2.0 agrees on 1.5.3, which is 1.4 for these methods.
 */
export type ProtocolVersion = (typeof offeredVersions)[number];

export const methods = {
  version: 'server.version',
  features: 'server.features',
  ping: 'server.ping',
  subscribeHeaders: 'blockchain.headers.subscribe',
  headers: 'blockchain.block.headers',
  header: 'blockchain.block.header',
  subscribe: 'blockchain.scripthash.subscribe',
  unsubscribe: 'blockchain.scripthash.unsubscribe',
  history: 'blockchain.scripthash.get_history',
  transaction: 'blockchain.transaction.get',
  merkle: 'blockchain.transaction.get_merkle',
  coinbase: 'blockchain.transaction.id_from_pos',
  broadcast: 'blockchain.transaction.broadcast',
} as const;

export type Method = (typeof methods)[keyof typeof methods];

const headerBytes = 80;
const maxHeight = 2 ** 31 - 1;
const maxSoftwareText = 60;

/** Null stands for the empty history. */
export type Status = StatusHash | null;

export interface ServerVersion {
  readonly software: string;
  readonly version: ProtocolVersion;
}

export interface Features {
  readonly genesisHash: BlockHash;
  readonly hashFunction: string;
}

export interface HeaderTip {
  readonly height: number;
  readonly raw: Uint8Array;
}

export interface CoinbaseBranch {
  readonly txid: Txid;
  /** Sibling hashes from the leaf up, in display order. */
  readonly branch: readonly string[];
}

export interface MerkleBranch {
  /** Sibling hashes from the leaf up, in display order. */
  readonly branch: readonly string[];
  readonly pos: number;
}

/** Section `server-version`. */
export function parseServerVersion(result: unknown): ServerVersion {
  const [software, version] = list(result, 'version');
  if (typeof software !== 'string' || typeof version !== 'string') {
    throw invalid('a version that is not text');
  }
  const [, minor] = /^1\.([456])(?:\.[0-9]+)?$/.exec(version) ?? [];
  if (minor === undefined) throw invalid('a protocol version that was not offered');
  return {
    software: plainText(software, maxSoftwareText),
    version: minor === '6' ? '1.6' : '1.4',
  };
}

/** Section `server-features`. */
export function parseFeatures(result: unknown): Features {
  const { genesis_hash, hash_function } = record(result, 'features');
  if (typeof hash_function !== 'string') throw invalid('a hash function that is not text');
  return { genesisHash: parseBlockHash(genesis_hash), hashFunction: hash_function };
}

/** Section `blockchain-headers-subscribe`. */
export function parseHeaderTip(result: unknown): HeaderTip {
  const { height, hex } = record(result, 'tip');
  return { height: whole(height, 'height'), raw: rawHeader(hex) };
}

/** Section `blockchain-block-headers`. */
export function parseHeaders(
  result: unknown,
  version: ProtocolVersion,
  maxCount: number,
): readonly Uint8Array[] {
  const { count, hex, headers } = record(result, 'chunk of headers');
  const found = version === '1.4' ? splitHeaders(hex) : list(headers, 'headers').map(rawHeader);
  if (found.length > maxCount || found.length !== count) throw invalid('a wrong count of headers');
  return found;
}

/** Section `blockchain-block-header`. */
export const parseOneHeader = (result: unknown): Uint8Array => rawHeader(result);

/** https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#status */
export function parseStatus(result: unknown): Status {
  if (result !== null && !isHash(result)) throw invalid('a status that is not a hash');
  return result as Status;
}

/** Section `blockchain-scripthash-get-history`. */
export function parseHistory(result: unknown): readonly HistoryItem[] {
  return list(result, 'history').map((item) => {
    const { tx_hash, height } = record(item, 'history item');
    return { txid: parseTxid(tx_hash), position: parsePosition(height) };
  });
}

/** Section `blockchain-transaction-get`. */
export function parseRawTransaction(result: unknown): Uint8Array {
  return bytes(result, 'transaction');
}

/**
 * The raw transaction out of the verbose result; undefined when that does not have it.
 * Section `blockchain-transaction-get`.
 */
export function parseVerboseTransaction(result: unknown): Uint8Array | undefined {
  // A server without verbose results gives the bytes.
  const hex = isRecord(result) ? result.hex : result;
  return typeof hex === 'string' ? bytes(hex, 'transaction') : undefined;
}

/**
 * Whether the server's node has the transaction in its mempool or best chain, by the verbose result
 * of Bitcoin Core. A transaction index also finds one of a stale block; it has no confirmations.
 * Section `blockchain-transaction-get`.
 * https://developer.bitcoin.org/reference/rpc/getrawtransaction.html
 */
export function parsePresence(result: unknown): boolean {
  // A server without verbose results gives the bytes, so it has the transaction somewhere.
  if (typeof result === 'string') return true;
  const { blockhash, confirmations = 0 } = record(result, 'transaction');
  if (typeof confirmations !== 'number') throw invalid('confirmations that are no number');
  return blockhash === undefined || confirmations > 0;
}

/** Section `blockchain-transaction-get-merkle`. */
export function parseMerkle(result: unknown): MerkleBranch {
  const { merkle, pos } = record(result, 'merkle branch');
  return {
    branch: parseBranch(merkle),
    pos: whole(pos, 'place in the block'),
  };
}

/** Section `blockchain-transaction-id-from-pos`. */
export function parseCoinbase(result: unknown): CoinbaseBranch {
  // electrs from 0.9.12 up to 0.11.0 calls it `tx_id`.
  const { tx_id, tx_hash = tx_id, merkle } = record(result, 'transaction at its place');
  return { txid: parseTxid(tx_hash), branch: parseBranch(merkle) };
}

function parseBranch(merkle: unknown): string[] {
  return list(merkle, 'merkle branch').map((hash) => {
    if (!isHash(hash)) throw invalid('a merkle branch of something else than hashes');
    return hash;
  });
}

/** Section `blockchain-transaction-broadcast`. */
export function parseBroadcast(result: unknown): Txid {
  return parseTxid(result);
}

/** The parameters of a `blockchain.scripthash.subscribe` notification. */
export function parseStatusNotification(params: readonly unknown[]): {
  readonly scripthash: Scripthash;
  readonly status: Status;
} {
  const [scripthash, status] = params;
  if (!isHash(scripthash)) throw invalid('a scripthash that is not a hash');
  return { scripthash: scripthash as Scripthash, status: parseStatus(status) };
}

/** 0 when all inputs are confirmed, -1 when some are not (see `get_mempool`). */
function parsePosition(height: unknown): Position {
  if (height === 0 || height === -1) return { kind: 'mempool', unconfirmedParents: height === -1 };
  return { kind: 'mined', height: whole(height, 'height') };
}

function rawHeader(hex: unknown): Uint8Array {
  const header = bytes(hex, 'header');
  if (header.length !== headerBytes) throw invalid('a header that is not 80 bytes long');
  return header;
}

function splitHeaders(hex: unknown): Uint8Array[] {
  const joined = bytes(hex, 'run of headers');
  if (joined.length % headerBytes !== 0) throw invalid('a header that is not 80 bytes long');
  return Array.from({ length: joined.length / headerBytes }, (_, index) =>
    joined.slice(index * headerBytes, (index + 1) * headerBytes),
  );
}

function bytes(value: unknown, what: string): Uint8Array {
  if (typeof value !== 'string') throw invalid(`a ${what} that is not text`);
  try {
    return hexToBytes(value);
  } catch (cause) {
    throw invalid(`a ${what} that is not hex: ${plainText(reasonOf(cause), 80)}`);
  }
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`a ${what} that is not a list`);
  return value;
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw invalid(`a ${what} that is not an object`);
  return value;
}

function whole(value: unknown, what: string): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > maxHeight) {
    throw invalid(`a ${what} that is not a whole number`);
  }
  return value as number;
}
