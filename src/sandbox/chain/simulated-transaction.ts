// A transaction as the simulated chain knows it: its bytes, what it spends and pays, its fee, and
// every script it touches. All of that follows from the txid, so one record serves for ever.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { scripthash } from '../../bitcoin/address.ts';
import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import { parseTransaction } from '../../bitcoin/transaction.ts';

export interface Outpoint {
  readonly txid: Txid;
  readonly vout: number;
}

export interface TransactionOutput {
  readonly valueSat: number;
  readonly script: Uint8Array;
}

/** An unspent output. */
export interface Coin extends Outpoint, TransactionOutput {
  /** As outpointKey gives it. */
  readonly key: string;
  readonly scripthash: Scripthash;
  /** Height of its block; undefined while its transaction is in the mempool. */
  readonly height: number | undefined;
  readonly coinbase: boolean;
}

export interface SimulatedTransaction {
  readonly txid: Txid;
  /** Hash over the transaction with its witness, in the order of the hash's own bytes. */
  readonly wtxidBytes: Uint8Array;
  readonly raw: Uint8Array;
  readonly inputs: readonly Outpoint[];
  readonly outputs: readonly (TransactionOutput & { readonly scripthash: Scripthash })[];
  readonly coinbase: boolean;
  readonly segwit: boolean;
  readonly vsize: number;
  /** 0 for a coinbase. */
  readonly feeSat: number;
  /** The script of every output that it spends or makes, without those nobody can ever spend. */
  readonly touches: ReadonlySet<Scripthash>;
}

/** Map key of an outpoint. */
export const outpointKey = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;

export const totalSat = (outputs: readonly TransactionOutput[]): number =>
  outputs.reduce((sum, { valueSat }) => sum + valueSat, 0);

export function totalFeeSat(transactions: Iterable<SimulatedTransaction>): number {
  let sum = 0;
  for (const { feeSat } of transactions) sum += feeSat;
  return sum;
}

/** Outputs that nobody can ever spend (OP_RETURN) are neither coins nor part of a history. */
const isSpendable = (script: Uint8Array): boolean => script[0] !== 0x6a;

/**
 * The record of a transaction whose spent outputs are known.
 * @param spent the outputs that its inputs spend, in their order; empty for a coinbase
 * @throws PaygateError invalid when the bytes are no transaction
 */
export function readTransaction(raw: Uint8Array, spent: readonly Coin[]): SimulatedTransaction {
  const parsed = parseTransaction(raw);
  const outputs = parsed.outputs.map((output) => ({
    ...output,
    scripthash: scripthash(output.script),
  }));
  const touches = new Set(spent.map((coin) => coin.scripthash));
  for (const output of outputs) if (isSpendable(output.script)) touches.add(output.scripthash);
  return {
    txid: parsed.txid,
    wtxidBytes: sha256x2(raw),
    raw,
    inputs: parsed.isCoinbase ? [] : parsed.inputs.map(({ txid, vout }) => ({ txid, vout })),
    outputs,
    coinbase: parsed.isCoinbase,
    segwit: parsed.size !== parsed.strippedSize,
    vsize: Math.ceil((3 * parsed.strippedSize + parsed.size) / 4),
    feeSat: parsed.isCoinbase ? 0 : totalSat(spent) - totalSat(outputs),
    touches,
  };
}

/** The coin that output `vout` is, or undefined when there is no such output or nobody can spend it. */
export function coinAt(
  transaction: SimulatedTransaction,
  vout: number,
  height: number | undefined,
): Coin | undefined {
  const output = transaction.outputs[vout];
  if (output === undefined || !isSpendable(output.script)) return undefined;
  const { txid, coinbase } = transaction;
  return { key: outpointKey({ txid, vout }), txid, vout, height, coinbase, ...output };
}
