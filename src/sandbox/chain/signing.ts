// Signs transactions of the simulated chain: key-path inputs of every address type that paygate
// issues. It verifies p2wpkh signatures. Deterministic: the same inputs give the same bytes.
// Sources: BIP143, BIP341; the hashes to sign come from @scure/btc-signer.

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { OutScript, RawTx, Script, Transaction } from '@scure/btc-signer';
import { RawOldTx } from '@scure/btc-signer/script.js';
import {
  equalBytes,
  hash160,
  pubECDSA,
  sha256x2,
  signECDSA,
  signSchnorr,
  taprootTweakPrivKey,
} from '@scure/btc-signer/utils.js';
import { type ScriptType, scriptForKey } from '../../bitcoin/address.ts';
import { hashBytes } from '../../bitcoin/ids.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Coin, TransactionOutput } from './simulated-transaction.ts';

/** A private key, and the type of its script that it signs for. */
export interface Signer {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly type: ScriptType;
}

interface Unlocking {
  readonly script: Uint8Array;
  readonly witness: Uint8Array[];
}

/** Sequence numbers by BIP125: replaceable, or final but for the lock time. */
const replaceableSequence = 0xfffffffd;
const finalSequence = 0xfffffffe;
const sighashAll = 1;
/** Schnorr signing takes random bytes; the simulated chain must be reproducible. */
const fixedAux = new Uint8Array(32);
const nothing = new Uint8Array();
/** Version, lock time and the witness's marker, rounded up; an output's value. */
const overheadVsize = 9;
const valueSize = 8;
/** Each type's share of a transaction's virtual size, with the longest signature. */
const inputVsizes: Readonly<Record<ScriptType, number>> = {
  p2wpkh: 69,
  p2pkh: 149,
  'p2sh-p2wpkh': 92,
  p2tr: 58,
};
const scriptTypes = Object.keys(inputVsizes) as ScriptType[];

/**
 * The signer of a script that one key alone can spend.
 * @throws PaygateError invalid when the key cannot spend it
 */
export function signerOf(privateKey: Uint8Array, script: Uint8Array): Signer {
  const publicKey = pubECDSA(privateKey);
  const type = scriptTypes.find((one) => equalBytes(scriptForKey(publicKey, one), script));
  if (type === undefined) throw new PaygateError('invalid', 'the key does not own that output');
  return { privateKey, publicKey, type };
}

/** Bytes of a count or a length up to 65,535. */
const countSize = (count: number): number => (count < 0xfd ? 1 : 3);

export function estimateVsize(
  signers: readonly Signer[],
  outputs: readonly TransactionOutput[],
): number {
  const spent = signers.reduce((sum, { type }) => sum + inputVsizes[type], 0);
  const outputSize = ({ script: { length } }: TransactionOutput) =>
    valueSize + countSize(length) + length;
  const paid = outputs.reduce((sum, output) => sum + outputSize(output), 0);
  return overheadVsize + countSize(signers.length) + spent + countSize(outputs.length) + paid;
}

/** Raw bytes of a transaction that spends the coins by their signers. */
export function signTransaction(
  coins: readonly Coin[],
  signers: readonly Signer[],
  outputs: readonly TransactionOutput[],
  replaceable: boolean,
): Uint8Array {
  const plain = {
    version: 2,
    inputs: coins.map(({ txid, vout }) => ({
      txid: hashBytes(txid).reverse(),
      index: vout,
      finalScriptSig: nothing,
      sequence: replaceable ? replaceableSequence : finalSequence,
    })),
    outputs: outputs.map(({ script, valueSat }) => ({ script, amount: BigInt(valueSat) })),
    lockTime: 0,
  };
  const unlockings = signers.map((signer, at) => unlock(plain, coins, signer, at));
  const segwit = unlockings.some(({ witness }) => witness.length > 0);
  return RawTx.encode({
    ...plain,
    inputs: plain.inputs.map((input, at) => ({
      ...input,
      finalScriptSig: unlockings[at]?.script ?? nothing,
    })),
    segwitFlag: segwit,
    witnesses: segwit ? unlockings.map(({ witness }) => witness) : undefined,
  });
}

type Plain = ReturnType<typeof RawOldTx.decode>;

function unlock(
  plain: Plain,
  coins: readonly Coin[],
  { privateKey, publicKey, type }: Signer,
  at: number,
): Unlocking {
  const code = scriptForKey(publicKey, 'p2pkh');
  const ecdsa = (hash: Uint8Array) =>
    concatBytes(signECDSA(hash, privateKey), Uint8Array.of(sighashAll));
  if (type === 'p2pkh') {
    const inputs = plain.inputs.map((input, other) =>
      other === at ? { ...input, finalScriptSig: code } : input,
    );
    const text = concatBytes(RawOldTx.encode({ ...plain, inputs }), Uint8Array.of(1, 0, 0, 0));
    return { script: Script.encode([ecdsa(sha256x2(text)), publicKey]), witness: [] };
  }
  const hashes = Transaction.fromRaw(RawOldTx.encode(plain), { allowUnknownOutputs: true });
  const amounts = coins.map(({ valueSat }) => BigInt(valueSat));
  if (type === 'p2tr') {
    const scripts = coins.map(({ script }) => script);
    const hash = hashes.preimageWitnessV1(at, scripts, 0, amounts);
    const signature = signSchnorr(hash, taprootTweakPrivKey(privateKey), fixedAux);
    return { script: nothing, witness: [signature] };
  }
  const hash = hashes.preimageWitnessV0(at, code, sighashAll, amounts[at] ?? 0n);
  const nested = type === 'p2sh-p2wpkh';
  return {
    script: nested ? Script.encode([scriptForKey(publicKey, 'p2wpkh')]) : nothing,
    witness: [ecdsa(hash), publicKey],
  };
}

/**
 * Whether every p2wpkh input carries the right key's signature over this transaction (BIP143).
 * Inputs of other script types pass without a check.
 * @param spent the coins that the inputs spend, in their order
 */
export function hasValidSignatures(raw: Uint8Array, spent: readonly Coin[]): boolean {
  const { witnesses = [] } = RawTx.decode(raw);
  const hashes = Transaction.fromRaw(raw, { allowUnknownOutputs: true, disableScriptCheck: true });
  return spent.every(({ script, valueSat }, at) => {
    const type = OutScript.decode(script);
    if (type.type !== 'wpkh') return true;
    const [signature, publicKey, ...rest] = witnesses[at] ?? [];
    if (signature === undefined || publicKey === undefined || rest.length > 0) return false;
    if (publicKey.length !== 33 || !equalBytes(hash160(publicKey), type.hash)) return false;
    const hashType = signature.at(-1);
    if (hashType === undefined) return false;
    const code = OutScript.encode({ type: 'pkh', hash: type.hash });
    const hash = hashes.preimageWitnessV0(at, code, hashType, BigInt(valueSat));
    const form = { format: 'der', prehash: false } as const;
    return secp256k1.verify(signature.subarray(0, -1), hash, publicKey, form);
  });
}
