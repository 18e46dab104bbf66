import { bytesToHex } from '@noble/hashes/utils.js';
import { Transaction } from '@scure/btc-signer';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ScriptType, scriptForKey, scripthash } from '../../../src/bitcoin/address.ts';
import { displayHex, type Txid } from '../../../src/bitcoin/ids.ts';
import { parseTransaction } from '../../../src/bitcoin/transaction.ts';
import {
  estimateVsize,
  hasValidSignatures,
  signerOf,
  signTransaction,
} from '../../../src/sandbox/chain/signing.ts';
import { type Coin, outpointKey } from '../../../src/sandbox/chain/simulated-transaction.ts';

const types: readonly ScriptType[] = ['p2wpkh', 'p2pkh', 'p2sh-p2wpkh', 'p2tr'];

const key = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  // Below the order of the curve, and not zero.
  .map((bytes) => Uint8Array.from([1, ...bytes.slice(1)]));

const inputs = fc.array(
  fc.record({
    privateKey: key,
    type: fc.constantFrom(...types),
    txid: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    vout: fc.nat(500),
    valueSat: fc.integer({ min: 10_000, max: 1e12 }),
  }),
  { minLength: 1, maxLength: 4 },
);

function coinOf(
  privateKey: Uint8Array,
  type: ScriptType,
  txid: Txid,
  vout: number,
  valueSat: number,
) {
  const script = scriptForKey(pubECDSA(privateKey), type);
  const outpoint = { txid, vout };
  return {
    ...outpoint,
    key: outpointKey(outpoint),
    script,
    scripthash: scripthash(script),
    valueSat,
    height: 1,
    coinbase: false,
  } satisfies Coin;
}

/** The same transaction by the library's own signer. */
function reference(
  coins: readonly Coin[],
  keys: readonly (readonly [Uint8Array, ScriptType])[],
  script: Uint8Array,
): Uint8Array {
  const transaction = new Transaction({ allowLegacyWitnessUtxo: true, allowUnknownOutputs: true });
  for (const [at, coin] of coins.entries()) {
    const [privateKey, type] = keys[at] ?? [];
    const publicKey = pubECDSA(privateKey as Uint8Array);
    transaction.addInput({
      txid: coin.txid,
      index: coin.vout,
      sequence: 0xfffffffd,
      witnessUtxo: { amount: BigInt(coin.valueSat), script: coin.script },
      ...(type === 'p2sh-p2wpkh' && { redeemScript: scriptForKey(publicKey, 'p2wpkh') }),
      ...(type === 'p2tr' && { tapInternalKey: publicKey.slice(1) }),
    });
  }
  transaction.addOutput({ script, amount: 5_000n });
  for (const [at, [privateKey]] of keys.entries()) {
    transaction.signIdx(privateKey, at, undefined, new Uint8Array(32));
  }
  transaction.finalize();
  return transaction.extract();
}

describe('a signed transaction', () => {
  const script = scriptForKey(pubECDSA(new Uint8Array(32).fill(3)), 'p2wpkh');
  const outputs = [{ script, valueSat: 5_000 }];

  it('is what the library signs, for inputs of all types, and no larger than estimated', () => {
    fc.assert(
      fc.property(inputs, (chosen) => {
        const coins = chosen.map(({ privateKey, type, txid, vout, valueSat }) =>
          coinOf(privateKey, type, displayHex<Txid>(txid), vout, valueSat),
        );
        const signers = chosen.map(({ privateKey }, at) =>
          signerOf(privateKey, (coins[at] as Coin).script),
        );
        const raw = signTransaction(coins, signers, outputs, true);
        const keys = chosen.map(({ privateKey, type }) => [privateKey, type] as const);
        expect(bytesToHex(raw)).toBe(bytesToHex(reference(coins, keys, script)));
        expect(hasValidSignatures(raw, coins)).toBe(true);
        const { strippedSize, size } = parseTransaction(raw);
        const vsize = Math.ceil((3 * strippedSize + size) / 4);
        expect(vsize).toBeLessThanOrEqual(estimateVsize(signers, outputs));
      }),
      { numRuns: 30 },
    );
  });

  it('is valid only for its own outputs, amounts and keys', () => {
    const privateKey = new Uint8Array(32).fill(7);
    const coin = coinOf(privateKey, 'p2wpkh', displayHex<Txid>(new Uint8Array(32)), 0, 50_000);
    const raw = signTransaction([coin], [signerOf(privateKey, coin.script)], outputs, false);
    const stranger = new Uint8Array(32).fill(9);
    const strangers = coinOf(stranger, 'p2wpkh', coin.txid, 0, 50_000);
    expect(parseTransaction(raw).signalsRbf).toBe(false);
    expect(hasValidSignatures(raw, [coin])).toBe(true);
    expect(hasValidSignatures(raw, [{ ...coin, valueSat: 50_001 }])).toBe(false);
    expect(hasValidSignatures(raw, [strangers])).toBe(false);
    // Each byte of the signature, its DER frame and its key counts.
    const { strippedSize } = parseTransaction(raw);
    for (let at = strippedSize - 4 + 2; at < raw.length - 4; at++) {
      const forged = raw.slice();
      forged.set([(raw[at] ?? 0) ^ 0x01], at);
      const verdict = (() => {
        try {
          return hasValidSignatures(forged, [coin]);
        } catch {
          return false;
        }
      })();
      expect(verdict, `byte ${at}`).toBe(false);
    }
  });

  it('is refused for a key that does not own the script', () => {
    expect(() => signerOf(new Uint8Array(32).fill(4), script)).toThrow('does not own');
  });
});
