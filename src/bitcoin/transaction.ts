// Reads a serialised transaction, strictly: what Bitcoin Core would not deserialise or would not
// let into a block for its shape is refused. It owns the id of a transaction (the hash without the
// witness) and never checks scripts or signatures: that a block holds it is what paygate relies on.
// Sources: BIP144 (serialisation), BIP141 (weight), BIP125 (replacement signal).

import { concatBytes } from '@noble/hashes/utils.js';
import { equalBytes, sha256x2 } from '@scure/btc-signer/utils.js';
import { PaygateError } from '../lib/errors.ts';
import { displayHex, type Txid } from './ids.ts';

export interface TxInput {
  /** The output that is spent: its transaction and its place there. */
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
  /** It creates new coins: the first transaction of a block. */
  readonly isCoinbase: boolean;
  /** Some input says that the transaction may be replaced (BIP125, without inherited signals). */
  readonly signalsRbf: boolean;
  /** Bytes without and with the witness. */
  readonly strippedSize: number;
  readonly size: number;
  /**
   * Whether each input that asks for a witness has one, and no other has (`excess`). It asks for one where its script is empty,
   * or pushes nothing but a witness program (BIP141, P2WPKH and P2WSH in P2SH). That one has none (`partial`) is right
   * for few outputs alone, such as anchors.
   */
  readonly witness: 'whole' | 'partial' | 'excess';
}

/** Policy: nodes relay nothing that weighs more. It may be in a block all the same. */
export const maxRelayWeight = 400_000;
/** Consensus: a block weighs at most this much, and a transaction is lighter than its block. */
const maxWeight = 4_000_000;
/** Consensus: all the satoshis that there will ever be. */
export const maxMoneySat = 21e14;
/** Two hashes of a merkle tree: a transaction of this size could be taken for an inner node. */
const merkleNodeSize = 64;
const versionSize = 4;
/** An outpoint, an empty script and a sequence. */
const minInputSize = 41;
const nullTxid = '00'.repeat(32);
const nullVout = 0xffffffff;

function refuse(why: string): never {
  throw new PaygateError('invalid', `not a transaction: ${why}`);
}

/** Walks over bytes; every step is checked against their end. */
class TransactionReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  offset = 0;

  constructor(bytes: Uint8Array) {
    // A plain view, because a Node Buffer's own slice() would share the caller's memory.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#bytes.length - this.offset;
  }

  /** Moves on and answers where it stood. */
  skip(length: number): number {
    if (length > this.remaining) refuse('it ends too early');
    const from = this.offset;
    this.offset += length;
    return from;
  }

  /** The same bytes, not copied: to be read at once. */
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

  /** Bitcoin's variable-length number, in its shortest form only. */
  compactSize(): number {
    const first = this.uint8();
    if (first < 0xfd) return first;
    if (first === 0xff) refuse('a length is too large');
    const wide = first === 0xfe;
    const value = wide ? this.uint32() : this.#view.getUint16(this.skip(2), true);
    return value < (wide ? 0x10000 : 0xfd) ? refuse('a length is not in its shortest form') : value;
  }

  /** A counted list; a count beyond the bytes ends with them. */
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

/** An empty script, or the push of version 0 and a hash of 20 or 32 bytes. */
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

/** BIP144: one list of items an input, and not all of them empty. */
function readWitnesses(reader: TransactionReader, inputCount: number): boolean[] {
  const present: boolean[] = [];
  for (let input = 0; input < inputCount; input += 1) {
    present.push(reader.list(() => reader.skip(reader.compactSize())).length > 0);
  }
  if (!present.includes(true)) refuse('it has the form with a witness, but none');
  return present;
}

function read(raw: Uint8Array): Transaction {
  if (raw.length > maxWeight) refuse('it is larger than a block');
  const reader = new TransactionReader(raw);
  const version = reader.take(4);
  // No transaction is without inputs, so a count of zero is BIP144's marker.
  const segwit = raw[reader.offset] === 0;
  if (segwit && reader.take(2)[1] !== 1) refuse('it has an unknown form');

  const bodyStart = reader.offset;
  const read = reader.list(() => readInput(reader));
  const outputs = reader.list(() => readOutput(reader));
  const bodyEnd = reader.offset;
  const inputs = read.map(({ needsWitness: _, ...input }): TxInput => input);
  if (inputs.length === 0 || outputs.length === 0) refuse('it has no input or no output');
  const witnesses = segwit ? readWitnesses(reader, inputs.length) : [];
  const lockTime = reader.take(4);

  if (reader.remaining > 0) refuse('something follows its end');
  const total = outputs.reduce((sum, output) => sum + output.valueSat, 0);
  // Also of one value alone: none is negative, and what a float rounds is far above the limit.
  if (total > maxMoneySat) refuse('its outputs have too much value');
  const stripped = concatBytes(version, raw.subarray(bodyStart, bodyEnd), lockTime);
  const sizes = { strippedSize: stripped.length, size: raw.length };
  if (weightOf(sizes) > maxWeight) refuse('it is heavier than a block');

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
 * A transaction from its serialised bytes, with or without witness.
 *
 * One whose stripped form has 64 bytes is refused, though consensus allows it: its hash could be
 * that of an inner node of a merkle tree, and a proof of it would prove nothing (CVE-2017-12842).
 * @throws PaygateError invalid
 */
export function parseTransaction(raw: Uint8Array): Transaction {
  const transaction = read(raw);
  if (transaction.strippedSize === merkleNodeSize) refuse('it has the size of a merkle node');
  return transaction;
}

/** Whether bytes read as a transaction of whatever size: the other side of the same guard. */
export function isTransaction(raw: Uint8Array): boolean {
  // Nearly all that are none end here: a refusal, with its stack, costs far more than the hashes of a proof.
  if (!hasRoomForInputs(raw)) return false;
  try {
    read(raw);
    return true;
  } catch (thrown) {
    if (thrown instanceof PaygateError) return false;
    throw thrown;
  }
}

/** Whether as many inputs as its first count names, or more, would fit. */
function hasRoomForInputs(raw: Uint8Array): boolean {
  const [count = 0, form] = raw.subarray(versionSize);
  return count === 0 ? form === 1 : count * minInputSize <= raw.length;
}

/** Without its witness: what its id is the hash of. */
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

/** Whether nodes would take these bytes, as far as their weight and the presence of witnesses go. */
export const isRelayable = (transaction: Transaction): boolean =>
  transaction.witness === 'whole' && weightOf(transaction) <= maxRelayWeight;

/** BIP141: what it takes of a block's room. */
export const weightOf = ({
  strippedSize,
  size,
}: Pick<Transaction, 'strippedSize' | 'size'>): number => 3 * strippedSize + size;

/** Satoshis that the outputs with exactly this script add up to; 0 when there are none. */
export function valuePaidTo(transaction: Transaction, script: Uint8Array): number {
  return transaction.outputs
    .filter((output) => equalBytes(output.script, script))
    .reduce((sum, output) => sum + output.valueSat, 0);
}
