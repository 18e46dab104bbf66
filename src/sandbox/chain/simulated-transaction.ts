// A transaction of the simulated chain: its bytes, inputs, outputs, fee and touched scripts.
// The txid determines all of these, so a record never changes.

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

export interface Coin extends Outpoint, TransactionOutput {
  readonly key: string;
  readonly scripthash: Scripthash;
  /** Height of its block; undefined while its transaction is in the mempool. */
  readonly height: number | undefined;
  readonly coinbase: boolean;
}

export interface SimulatedTransaction {
  readonly txid: Txid;
  /** Hash of the transaction with its witness, in internal byte order. */
  readonly wtxidBytes: Uint8Array;
  readonly raw: Uint8Array;
  readonly inputs: readonly Outpoint[];
  readonly outputs: readonly (TransactionOutput & { readonly scripthash: Scripthash })[];
  readonly coinbase: boolean;
  readonly segwit: boolean;
  readonly vsize: number;
  /** 0 for a coinbase. */
  readonly feeSat: number;
  /** Scripts of the outputs that it spends or creates, except unspendable ones. */
  readonly touches: ReadonlySet<Scripthash>;
}

export const outpointKey = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`;

export const totalSat = (outputs: readonly TransactionOutput[]): number =>
  outputs.reduce((sum, { valueSat }) => sum + valueSat, 0);

export function totalFeeSat(transactions: Iterable<SimulatedTransaction>): number {
  let sum = 0;
  for (const { feeSat } of transactions) sum += feeSat;
  return sum;
}

/** Unspendable outputs (OP_RETURN) are neither coins nor part of a history. */
const isSpendable = (script: Uint8Array): boolean => script[0] !== 0x6a;

/**
 * The record of a transaction whose spent outputs are known.
 * @param spent the outputs that its inputs spend, in the same order. Empty for a coinbase.
 * @throws PaygateError invalid when the bytes are not a transaction
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

/** The coin of output `vout`, or undefined when it does not exist or is unspendable. */
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
