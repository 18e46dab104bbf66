// Parses serialised transactions as strictly as Bitcoin Core: structure, size, value. It computes
// the txid and never checks scripts or signatures, because paygate relies on inclusion in a block.
// Sources: BIP144 (serialisation), BIP141 (weight), BIP125 (replacement signal).

import { concatBytes } from '@noble/hashes/utils.js';
import { equalBytes, sha256x2 } from '@scure/btc-signer/utils.js';
import { PaygateError } from '../lib/errors.ts';
import { displayHex, type Txid } from './ids.ts';

export interface TxInput {
  /** The spent output: its transaction and its index there. */
  readonly txid: Txid;
  readonly vout: number;
  readonly sequence: number;
}

export interface TxOutput {
  readonly valueSat: number;
  readonly script: Uint8Array;
}

export interface Transaction {
  readonly txid: Txid;
  readonly inputs: readonly TxInput[];
  readonly outputs: readonly TxOutput[];
  readonly isCoinbase: boolean;
  /** An input signals that the transaction can be replaced (BIP125, without inherited signals). */
  readonly signalsRbf: boolean;
  /** Bytes without the witness; `size` is with it. */
  readonly strippedSize: number;
  readonly size: number;
  /**
   * `whole`: every input that needs a witness has one, and no other input has. An input needs one
   * if its script is empty or pushes only a witness program (BIP141, P2SH-P2WPKH, P2SH-P2WSH).
   * `partial`: an input lacks one, which is valid for few outputs, such as anchors. `excess`: an
   * input has one that it does not need.
   */
  readonly witness: 'whole' | 'partial' | 'excess';
}

/** Relay policy: nodes relay nothing heavier, but a block may contain it. */
export const maxRelayWeight = 400_000;
/** Consensus: the maximum weight of a block, so also of a transaction. */
const maxWeight = 4_000_000;
/** Consensus: 21 million bitcoins. */
export const maxMoneySat = 21e14;
/** Two hashes. A transaction of this size can pass as an inner node of a merkle tree. */
const merkleNodeSize = 64;
const versionSize = 4;
/** An outpoint, an empty script and a sequence. */
const minInputSize = 41;
const nullTxid = '00'.repeat(32);
const nullVout = 0xffffffff;

function malformed(why: string): never {
  throw new PaygateError('invalid', `not a transaction: ${why}`);
}

/** Reads bytes in order and checks every read against their end. */
class TransactionReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  offset = 0;

  constructor(bytes: Uint8Array) {
    // A plain view, because `slice` of a Buffer shares the caller's memory.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#bytes.length - this.offset;
  }

  /** Advances and returns the offset before. */
  skip(length: number): number {
    if (length > this.remaining) malformed('it ends too early');
    const from = this.offset;
    this.offset += length;
    return from;
  }

  /** Bytes that are not copied: the caller reads them at once. */
  peek(length: number): Uint8Array {
    const from = this.skip(length);
    return this.#bytes.subarray(from, this.offset);
  }

  take(length: number): Uint8Array {
    const from = this.skip(length);
    return this.#bytes.slice(from, this.offset);
  }

  uint8(): number {
    return this.#view.getUint8(this.skip(1));
  }

  uint32(): number {
    return this.#view.getUint32(this.skip(4), true);
  }

  uint64(): number {
    return Number(this.#view.getBigUint64(this.skip(8), true));
  }

  /** A CompactSize, in its shortest form only. */
  compactSize(): number {
    const first = this.uint8();
    if (first < 0xfd) return first;
    if (first === 0xff) malformed('a length is too large');
    const wide = first === 0xfe;
    const value = wide ? this.uint32() : this.#view.getUint16(this.skip(2), true);
    return value < (wide ? 0x10000 : 0xfd)
      ? malformed('a length is not in its shortest form')
      : value;
  }

  /** A list with its count before it. A count that is too large fails at the end of the bytes. */
  list<T>(item: () => T): T[] {
    const items: T[] = [];
    for (let left = this.compactSize(); left > 0; left -= 1) items.push(item());
    return items;
  }
}

function readInput(reader: TransactionReader): TxInput & { readonly needsWitness: boolean } {
  const txid = displayHex<Txid>(reader.take(32));
  const vout = reader.uint32();
  const needsWitness = pushesProgram(reader.peek(reader.compactSize()));
  return { txid, vout, sequence: reader.uint32(), needsWitness };
}

/** Whether a script is empty, or pushes version 0 and a hash of 20 or 32 bytes. */
const pushesProgram = (script: Uint8Array): boolean =>
  script.length === 0 ||
  ([23, 35].includes(script.length) &&
    script[0] === script.length - 1 &&
    script[1] === 0 &&
    script[2] === script.length - 3);

function readOutput(reader: TransactionReader): TxOutput {
  const valueSat = reader.uint64();
  return { valueSat, script: reader.take(reader.compactSize()) };
}

function witnessOf(
  inputs: readonly { readonly needsWitness: boolean }[],
  witnesses: readonly boolean[],
): Transaction['witness'] {
  if (inputs.some(({ needsWitness }, at) => !needsWitness && witnesses[at])) return 'excess';
  return inputs.every(({ needsWitness }, at) => !needsWitness || witnesses[at])
    ? 'whole'
    : 'partial';
}

/** BIP144: one list of items for each input, not all of them empty. */
function readWitnesses(reader: TransactionReader, inputCount: number): boolean[] {
  const present: boolean[] = [];
  for (let input = 0; input < inputCount; input += 1) {
    present.push(reader.list(() => reader.skip(reader.compactSize())).length > 0);
  }
  if (!present.includes(true)) malformed('it has the form with a witness, but none');
  return present;
}

function read(raw: Uint8Array): Transaction {
  if (raw.length > maxWeight) malformed('it is larger than a block');
  const reader = new TransactionReader(raw);
  const version = reader.take(4);
  // Every transaction has inputs, so a count of zero is the marker of BIP144.
  const segwit = raw[reader.offset] === 0;
  if (segwit && reader.take(2)[1] !== 1) malformed('it has an unknown form');

  const bodyStart = reader.offset;
  const read = reader.list(() => readInput(reader));
  const outputs = reader.list(() => readOutput(reader));
  const bodyEnd = reader.offset;
  const inputs = read.map(({ needsWitness: _, ...input }): TxInput => input);
  if (inputs.length === 0 || outputs.length === 0) malformed('it has no input or no output');
  const witnesses = segwit ? readWitnesses(reader, inputs.length) : [];
  const lockTime = reader.take(4);

  if (reader.remaining > 0) malformed('something follows its end');
  const total = outputs.reduce((sum, output) => sum + output.valueSat, 0);
  // This also limits each value: none is negative, and floats are exact up to far above the limit.
  if (total > maxMoneySat) malformed('its outputs have too much value');
  const stripped = concatBytes(version, raw.subarray(bodyStart, bodyEnd), lockTime);
  const sizes = { strippedSize: stripped.length, size: raw.length };
  if (weightOf(sizes) > maxWeight) malformed('it is heavier than a block');

  const [first] = inputs;
  const coinbase = inputs.length === 1 && first?.txid === nullTxid && first.vout === nullVout;
  return {
    txid: displayHex<Txid>(sha256x2(stripped)),
    inputs,
    outputs,
    isCoinbase: coinbase,
    witness: coinbase ? 'whole' : witnessOf(read, witnesses),
    signalsRbf: inputs.some((input) => input.sequence < 0xfffffffe),
    ...sizes,
  };
}

/**
 * Parses a serialised transaction, with or without witness. A stripped size of 64 bytes is an
 * error, although consensus allows it: a proof of such a transaction proves nothing
 * (CVE-2017-12842).
 * @throws PaygateError invalid
 */
export function parseTransaction(raw: Uint8Array): Transaction {
  const transaction = read(raw);
  if (transaction.strippedSize === merkleNodeSize) malformed('it has the size of a merkle node');
  return transaction;
}

/** Whether bytes parse as a transaction of any size: the other half of the same protection. */
export function isTransaction(raw: Uint8Array): boolean {
  // This check is cheap and rejects nearly everything. A thrown error costs more than a whole
  // proof.
  if (!hasRoomForInputs(raw)) return false;
  try {
    read(raw);
    return true;
  } catch (thrown) {
    if (thrown instanceof PaygateError) return false;
    throw thrown;
  }
}

/** Whether the bytes are long enough for the stated number of inputs. */
function hasRoomForInputs(raw: Uint8Array): boolean {
  const [count = 0, form] = raw.subarray(versionSize);
  return count === 0 ? form === 1 : count * minInputSize <= raw.length;
}

/** The serialisation without witness, whose hash is the txid. */
export function withoutWitness(raw: Uint8Array): Uint8Array {
  if (raw[versionSize] !== 0) return raw;
  const reader = new TransactionReader(raw);
  const version = reader.take(versionSize);
  reader.skip(2);
  const bodyStart = reader.offset;
  reader.list(() => readInput(reader));
  reader.list(() => readOutput(reader));
  const body = raw.subarray(bodyStart, reader.offset);
  return concatBytes(version, body, raw.subarray(raw.length - versionSize));
}

/** Whether nodes relay these bytes, judged by weight and presence of witnesses. */
export const isRelayable = (transaction: Transaction): boolean =>
  transaction.witness === 'whole' && weightOf(transaction) <= maxRelayWeight;

/** Weight (BIP141). */
export const weightOf = ({
  strippedSize,
  size,
}: Pick<Transaction, 'strippedSize' | 'size'>): number => 3 * strippedSize + size;

/** Sum of the outputs to a script, in satoshis; 0 without any. */
export function valuePaidTo(transaction: Transaction, script: Uint8Array): number {
  return transaction.outputs
    .filter((output) => equalBytes(output.script, script))
    .reduce((sum, output) => sum + output.valueSat, 0);
}
